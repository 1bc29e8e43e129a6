"""A bundle, opened from a plain file server: live, and what it says is what Python says."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networks_of_a_bundle as networks
import pytest
import torch

import brittle
from brittle.errors import BrittleError
from brittle.explorer.bundle.runtime import NPM, Runtime, find_runtime
from brittle.explorer.bundle.site import write_bundle
from brittle.explorer.session import Session
from brittle.report.page.loaded import load

AGREE = 1e-3
HOSTILE = ("<img src=x onerror=window.hit=1>", "</script><script>window.hit=1</script>", "\"'&amp;", "靴")
LIVE = ("plain", "augmented", "file", "residual")
FILE = networks.__file__
# What the page itself uses: its source, asked from the test.
SOURCE = "window.source ??= import('./bundle_source.js').then((module) => module.open())"


@pytest.fixture(scope="session")
def runtime() -> Runtime:
    """onnxruntime-web, from where npm has put it, or fetched."""
    for where in (None, NPM):
        try:
            return find_runtime(where)
        except BrittleError as error:
            why = str(error)
    pytest.skip(why)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("bundle")
    networks.write_onnx(at / "net.onnx")
    (at / "names.txt").write_text("\n".join([*HOSTILE, *(f"class {place}" for place in range(6))]), encoding="utf-8")
    study = {
        "title": "<b>hostile</b> & sons",
        "classifiers": {
            "plain": "bundled:plain",
            "augmented": "bundled:augmented",
            "file": f"onnx:{at / 'net.onnx'},labels={at / 'names.txt'}",
            "residual": f"torch:{FILE}:residual,channels=rgb,mean=0.5,std=0.25",
            "by hand": f"python:{FILE}:by_hand",
        },
        "images": {"sample": {"spec": "sample", "count": 12}},
        "nuisances": {"affine": "affine:alpha=50", "noisy": "noise:sigma=0.2", "blobs": "fourier-mask"},
        "robustness": {"samples": 10},
        "weak-points": {"count": 3, "budget": 200, "keep": 40, "nuisances": ["affine"]},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        brittle.run(study, out=at / "run")
    return at


@pytest.fixture(scope="module")
def session(folder: Path) -> Session:
    return Session(load(folder / "run"))


@pytest.fixture(scope="module")
def address(folder: Path, session: Session, runtime: Runtime) -> Iterator[str]:
    """The address of the bundle, given by Python's own file server in a process of its own."""
    write_bundle(session.run, folder / "site", runtime, 6, lambda text: None)
    words = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(folder / "site")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield f"{server.stdout.readline().split('(')[1].split(')')[0]}"
        server.terminate()


@pytest.fixture
def ask(visit: Callable[..., Any], address: str) -> Iterator[Callable[..., Any]]:
    """`ask("evaluate", query)`: what the bundle's source says in the browser."""
    opened = visit(address)

    def call(method: str, *given: Any) -> Any:
        return opened.page.evaluate(
            f"async ([method, given]) => (await ({SOURCE}))[method](...given)", [method, list(given)]
        )

    yield call
    hosts = {each.split("/")[2] for each in opened.requests if each.startswith("http")}
    assert hosts == {address.split("/")[2]}, "a bundle asks no other host"
    assert not [each for each in opened.requests if not each.startswith(("http", "data:", "blob:"))]


def meant(session: Session, classifier: str, nuisance: str, image: int, theta: Any, severity: float) -> torch.Tensor:
    """What Python says."""
    found = session.at("sample", image, nuisance, classifier, None)
    picture = found.replay.at(found.place, theta, severity)
    with torch.no_grad():
        return session.classifier(classifier).log_probs(picture)[0].exp()


def differs(answer: dict[str, Any], classifier: str, probabilities: torch.Tensor) -> float:
    top = answer["answers"][classifier]["top"]
    assert len(top) == len(probabilities)
    return max(abs(probability - float(probabilities[place])) for place, probability in top)


@pytest.mark.parametrize("classifier", LIVE)
def test_probabilities_in_the_browser_are_those_of_python(ask: Any, session: Session, classifier: str) -> None:
    run, largest = ask("run"), 0.0
    moved = set()
    for image, _, label in run["sets"][0]["images"][:3]:
        for nuisance in ("affine", "blobs"):
            found = session.at("sample", image, nuisance, classifier, None)
            for draw, severity in ((0, 0.5), (1, 1.0), (2, 1.5)):
                theta = found.replay.theta(found.place, draw)[None]
                query = {"set": "sample", "image": image, "nuisance": nuisance, "severity": severity}
                asked = {"draw": draw} if nuisance == "blobs" else {"theta": theta[0].tolist()}
                answer = ask("evaluate", query | asked | {"classifiers": [classifier]})
                largest = max(
                    largest, differs(answer, classifier, meant(session, classifier, nuisance, image, theta, severity))
                )
                assert answer["answers"][classifier]["label"] == label
                moved.add(answer["pictures"][0]["uri"])
    assert largest < AGREE
    assert len(moved) == 18


def test_noise_in_the_browser_is_the_draw_that_python_makes(ask: Any, session: Session) -> None:
    image = ask("run")["sets"][0]["images"][0][0]
    found = session.at("sample", image, "noisy", "plain", None)
    for draw in (0, 7, 12345):
        theta = found.replay.theta(found.place, draw)[None]
        query = {"set": "sample", "image": image, "nuisance": "noisy", "draw": draw, "classifiers": ["plain"]}
        assert differs(ask("evaluate", query), "plain", meant(session, "plain", "noisy", image, theta, 1.0)) < AGREE


def test_readings_and_density_are_those_of_python(ask: Any, session: Session) -> None:
    from brittle.explorer.spaces import read, relative_log_prior

    image = ask("run")["sets"][0]["images"][0][0]
    found = session.at("sample", image, "affine", "plain", None)
    theta = found.replay.theta(found.place, 3)
    nuisance, batch = found.replay.nuisance, found.replay.batch([found.place])
    query = {"set": "sample", "image": image, "nuisance": "affine", "theta": theta.tolist(), "classifiers": []}
    answer = ask("evaluate", query)
    assert answer["readings"] == pytest.approx(read(nuisance, theta, (1, 28, 28)), abs=1e-3)
    assert answer["log_prior"] == pytest.approx(float(relative_log_prior(nuisance, batch, theta[None])[0]), abs=1e-2)


def test_what_cannot_be_live_says_so(ask: Any) -> None:
    run = ask("run")
    (by_hand,) = (each for each in run["classifiers"] if each["name"] == "by hand")
    assert not by_hand["live"]
    assert "only torch modules and ONNX files" in by_hand["why"]
    query = {"set": "sample", "image": run["sets"][0]["images"][0][0], "nuisance": "affine", "draw": 0}
    with pytest.raises(Exception, match="only torch modules and ONNX files"):
        ask("evaluate", query | {"classifiers": ["by hand"]})


def test_a_question_that_is_aborted_is_dropped_and_later_ones_are_answered(ask: Any, visit: Any, address: str) -> None:
    page = visit(address).page
    said = page.evaluate(
        f"""async () => {{
        const source = await ({SOURCE});
        const image = (await source.run()).sets[0].images[0][0];
        const query = {{ set: "sample", image, nuisance: "affine", draw: 0, classifiers: ["plain"] }};
        const stop = new AbortController();
        const first = source.evaluate(query, {{ signal: stop.signal }}).catch((error) => error.name);
        stop.abort();
        return [await first, (await source.evaluate(query)).answers.plain.top.length];
    }}"""
    )
    assert said == ["AbortError", 10]


@pytest.fixture
def page(visit: Callable[..., Any], address: str) -> Iterator[Callable[..., Any]]:
    """`page("#nuisance=affine")`: the bundle's page, once it shows answers."""
    opened: list[Any] = []

    def call(state: str = "") -> Any:
        opened.append(visit(f"{address}{state}"))
        opened[-1].page.wait_for_selector(".answer", state="attached")
        return opened[-1].page

    yield call
    for each in opened:
        assert each.errors == []
        assert {one.split("/")[2] for one in each.requests if one.startswith("http")} == {address.split("/")[2]}
        assert not each.page.evaluate("window.hit"), "a name ran as code"


def shown(page: Any) -> dict[str, Any]:
    """What is on the screen: the changed picture, and of each classifier the answer and its probability."""
    found: dict[str, Any] = page.evaluate(
        """() => ({
            picture: document.querySelector('[data-key^=changed] img').src,
            answers: Object.fromEntries([...document.querySelectorAll('.answer')].map((each) => [
                each.dataset.classifier, [Number(each.dataset.predicted), Number(each.dataset.probability)]])),
            state: JSON.parse(document.body.dataset.shown),
        })"""
    )
    return found


def test_a_slider_changes_picture_and_probability_to_what_python_says(page: Any, session: Session) -> None:
    there = page("#nuisance=affine&theta=1,0,0,1,0,0&first=plain&second=file")
    before = shown(there)
    slider = there.locator("#theta-4")
    for step in (3, 6):
        last = shown(there)["state"]
        slider.focus()
        for _ in range(10 * step):
            slider.press("ArrowRight")
        there.wait_for_function(
            "() => Number(document.querySelector('#theta-4').value) === JSON.parse(document.body.dataset.shown)[0]?.[4]"
        )
        now = shown(there)
        assert now["state"] != last
        assert now["picture"] != before["picture"]
        theta, image = torch.tensor([now["state"][0]], dtype=torch.float32), now["state"][3]
        for name in ("plain", "file"):
            probabilities = meant(session, name, "affine", image, theta, 1.0)
            predicted, probability = now["answers"][name]
            assert probability == pytest.approx(float(probabilities[predicted]), abs=AGREE)


def test_a_link_opens_the_same_again(page: Any) -> None:
    first = page("#nuisance=affine&theta=1.1,0,0.2,1,0.1,0&first=augmented&second=residual")
    link = first.evaluate("location.href")
    again = page(link[link.index("#") :])
    assert shown(again) == shown(first)


def test_names_with_html_in_them_are_text(page: Any) -> None:
    there = page("#nuisance=affine&first=file")
    text = there.locator(".answer.first").inner_text()
    for name in HOSTILE:
        assert name in text
    assert "<b>hostile</b> & sons" in there.locator("#title").inner_text()
    there.locator("#tab-gallery").click()
    there.wait_for_selector(".card")


def test_a_classifier_that_is_not_live_is_marked_and_its_reason_is_on_the_page(page: Any) -> None:
    there = page("#nuisance=affine&first=plain")
    assert "by hand (not live)" in there.locator("#first").inner_text()
    assert "only torch modules and ONNX files can run in a browser" in there.content()


def test_the_report_is_in_the_bundle(page: Any) -> None:
    there = page("#nuisance=affine&first=plain")
    there.locator("#tab-report").click()
    there.wait_for_selector("#report:not([hidden])")
    there.frame_locator("#report").locator("h1").first.wait_for()


def test_points_are_those_of_the_run(ask: Any, session: Session) -> None:
    from brittle.explorer.points import weak_points
    from brittle.explorer.queries import PointsQuery

    image = ask("run")["sets"][0]["images"][0][0]
    query = {"set": "sample", "nuisance": "affine", "classifier": "plain", "image": image}
    there, here = ask("weakPoints", query)["points"], weak_points(session, PointsQuery(**query))["points"]
    assert [each["predicted"] for each in there] == [each["predicted"] for each in here]
    gallery = ask("gallery", {**query, "measure": "", "image": None, "sort": "p_label", "limit": 5})
    chosen = [each["p_label"] for each in gallery["items"]]
    assert chosen == sorted(chosen)
    assert len(chosen) == 5


def test_nothing_in_the_bundle_names_a_place_on_this_machine(folder: Path, address: str) -> None:
    with urllib.request.urlopen(f"{address}data/run.json") as answer:
        assert answer.status == 200
    for each in (folder / "site" / "graphs").iterdir():
        content = each.read_bytes()
        assert b"site-packages" not in content, each.name
        assert str(folder).encode() not in content, each.name


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"phone": True}], ids=["light", "dark", "phone"])
def test_axe_finds_no_serious_fault(
    visit: Callable[..., Any], address: str, accessibility_faults: Callable[[Any], list[str]], look: dict[str, Any]
) -> None:
    opened = visit(f"{address}#nuisance=affine&first=plain&second=augmented", **look)
    opened.page.wait_for_selector(".answer.second", state="attached")
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert accessibility_faults(opened.page) == []
