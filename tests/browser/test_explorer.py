"""The explorer in a real browser: what is dragged, clicked, typed and copied, and what is then on the screen."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from explored_run import explored_run, serving
from PIL import Image
from playwright.sync_api import Page

import brittle
from brittle.cases import read_cases
from brittle.explorer.serve import LocalServer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return explored_run(tmp_path_factory.mktemp("explored") / "run")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LocalServer]:
    with serving(folder) as found:
        yield found


@pytest.fixture
def explorer(server: LocalServer, visit: Callable[..., Any]) -> Callable[..., Page]:
    """`explorer("#nuisance=turned", phone=True)`: the page, once it shows answers; it must have no errors so far."""

    def call(state: str = "", **context: Any) -> Page:
        opened = visit(f"{server.address}{state}", **context)
        opened.page.wait_for_selector(".answer", state="attached")
        assert opened.errors == []
        assert all(each.startswith((server.origin, "data:", "blob:")) for each in opened.requests)
        page: Page = opened.page
        return page

    return call


def shown(page: Page) -> dict[str, Any]:
    """What is on the screen: the changed picture, and of each classifier the answer and its probability."""
    found: dict[str, Any] = page.evaluate(
        """() => ({
            picture: document.querySelector('[data-key^=changed] img').src,
            answers: Object.fromEntries([...document.querySelectorAll('.answer')].map((each) => [
                each.dataset.classifier, [Number(each.dataset.predicted), Number(each.dataset.probability)]])),
            state: document.body.dataset.shown,
        })"""
    )
    return found


def until_shown(page: Page, act: Callable[[], Any]) -> dict[str, Any]:
    """What is on the screen once `act` has changed it."""
    before = page.evaluate("document.body.dataset.shown")
    act()
    page.wait_for_function("before => document.body.dataset.shown !== before", arg=before)
    return shown(page)


def test_dragging_a_slider_changes_the_picture_and_the_probabilities(explorer: Callable[..., Page]) -> None:
    page = explorer("#nuisance=turned&theta=0&first=plain")
    before = shown(page)
    box = page.locator("#theta-0").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    seen = []
    for step in range(1, 6):
        moved = box["x"] + box["width"] * (0.5 + 0.08 * step)
        seen.append(until_shown(page, lambda moved=moved: page.mouse.move(moved, middle)))
    page.mouse.up()
    assert len({each["picture"] for each in [before, *seen]}) == 6
    assert len({each["answers"]["plain"][1] for each in [before, *seen]}) == 6


def test_the_severity_slider_goes_from_the_untouched_picture_to_theta(explorer: Callable[..., Page]) -> None:
    page = explorer("#nuisance=turned&theta=60&first=plain")
    full = shown(page)
    page.locator("#severity").fill("0")
    page.wait_for_function("() => document.body.dataset.shown.includes(',0,')")
    original = page.locator("[data-key=original] img").get_attribute("src")
    assert shown(page)["picture"] == original != full["picture"]


def test_clicking_a_weak_point_loads_it(explorer: Callable[..., Page]) -> None:
    page = explorer("#nuisance=affine&first=plain")
    page.wait_for_selector(".map .dot")
    dots = page.locator(".map .dot")
    assert dots.count() > 10
    found = until_shown(page, lambda: dots.nth(3).dispatch_event("click"))
    assert "chosen" in (page.locator('.map [data-place="3"]').get_attribute("class") or "")
    wrong = "doubt" not in (page.locator('.map [data-place="3"]').get_attribute("class") or "")
    assert ("wrong" in (page.locator(".answer.first").get_attribute("class") or "")) == wrong
    theta = [float(page.locator(f"#theta-{place}-exact").input_value()) for place in range(6)]
    assert theta == pytest.approx(eval(found["state"], {"null": None})[0], rel=1e-3, abs=1e-4)


def test_a_click_on_the_map_goes_there_and_the_map_is_shaded(explorer: Callable[..., Page]) -> None:
    page = explorer("#nuisance=affine&first=plain&x=4&y=5")
    page.wait_for_selector(".map canvas.shading")
    before = page.locator("#theta-4-exact").input_value()
    until_shown(page, lambda: page.locator(".map svg").click(position={"x": 90, "y": 40}))
    assert float(page.locator("#theta-4-exact").input_value()) < float(before) + 1
    assert page.locator("#theta-4-exact").input_value() != before
    page.locator("#shade").select_option("posterior")
    page.wait_for_selector(".map canvas.shading")
    page.locator("#shade").select_option("")
    assert page.locator(".map canvas.shading").count() == 0


def test_two_classifiers_stand_side_by_side_at_the_same_theta(explorer: Callable[..., Page]) -> None:
    page = explorer("#nuisance=turned&theta=45&first=plain&second=augmented")
    answers = page.locator(".answer")
    assert [answers.nth(place).get_attribute("data-classifier") for place in range(2)] == ["plain", "augmented"]
    first, second = (answers.nth(place).bounding_box() for place in range(2))
    assert first is not None
    assert second is not None
    assert first["y"] == second["y"]
    assert first["x"] + first["width"] <= second["x"]
    found = shown(page)["answers"]
    assert found["plain"] != found["augmented"]


@pytest.mark.parametrize(
    "state", ["#nuisance=affine&first=plain", "#nuisance=turned&theta=20.5&severity=1.3&first=plain"]
)
def test_what_is_copied_gives_the_probability_that_is_shown(
    explorer: Callable[..., Page], state: str, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    page = explorer(state)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    predicted, probability = shown(page)["answers"]["plain"]
    page.locator("#copy-python").click()
    page.wait_for_function("() => document.getElementById('again-said').textContent === 'Copied.'")
    python = page.evaluate("navigator.clipboard.readText()")
    ran = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    name, label, said = ran.stdout.splitlines()[0].split("\t")
    assert (name, label) == ("plain", brittle.classifier("bundled:plain").labels[predicted])
    assert abs(float(said) - probability) < 1e-4
    page.locator("#copy-command").click()
    page.wait_for_function("() => document.getElementById('again-text').textContent.startsWith('brittle')")
    command = page.locator("#again-text").text_content() or ""
    again = cli(*shlex.split(command)[1:], "--json")
    assert abs(again.json["answers"]["plain"]["top"][0][1] - probability) < 1e-4


def test_a_link_opens_the_same_again(explorer: Callable[..., Page], visit: Callable[..., Any]) -> None:
    page = explorer("#nuisance=affine&first=augmented&second=plain")
    until_shown(page, lambda: page.locator("#theta-2").fill("0.2"))
    until_shown(page, lambda: page.locator("#image-after").click())
    page.locator("#copy-link").click()
    page.wait_for_function("() => document.getElementById('copy-link').textContent === 'Copied'")
    again = visit(page.url).page
    again.wait_for_selector(".answer")
    assert shown(again) == shown(page)


def test_everything_can_be_done_with_the_keyboard_alone(explorer: Callable[..., Page]) -> None:
    page = explorer("#nuisance=affine&first=plain&second=augmented")
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        outlined = (
            "getComputedStyle(document.activeElement.closest('label.button') ?? document.activeElement).outlineStyle"
        )
        assert page.evaluate(outlined) != "none", reached[-1]
    wanted = {"nuisance", "first", "second", "image", "theta-0", "theta-0-exact", "severity", "draw-after", "map-x"}
    assert wanted | {"point-after", "copy-python", "case-name", "own-file", "theme"} <= set(reached)
    page.locator("#theta-0").focus()
    slid = until_shown(page, lambda: page.keyboard.press("ArrowRight"))
    page.locator("#point-after").focus()
    loaded = until_shown(page, lambda: page.keyboard.press("Enter"))
    assert loaded["picture"] != slid["picture"]
    page.locator("#tab-explore").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#cards button")
    assert page.evaluate("document.activeElement.id") == "tab-gallery"
    page.locator("#cards button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#view-explore:not([hidden])")


def test_the_gallery_is_filtered_sorted_and_loads_what_is_chosen(explorer: Callable[..., Page]) -> None:
    page = explorer("#nuisance=affine&first=plain&view=gallery")
    page.wait_for_selector("#cards button")
    page.locator("#gallery-wrong").uncheck()
    page.wait_for_function("() => !document.querySelector('#gallery-said').textContent.startsWith('0')")
    flows = page.locator("#gallery-flow option").all_text_contents()[1:]
    page.locator("#gallery-flow").select_option(index=1)
    flow, count = flows[0].rsplit(" ", 1)
    page.wait_for_function(
        "n => document.querySelector('#gallery-said').textContent.includes(n)", arg=f" of {count[1:-1]} "
    )
    assert all(flow in each for each in page.locator("#cards .flow").all_text_contents())
    page.locator("#gallery-measure").select_option("robustness")
    page.wait_for_function("() => document.querySelectorAll('#cards .wrong').length > 0")
    before = page.evaluate("document.body.dataset.shown")
    page.locator("#cards button").first.click()
    page.wait_for_function("before => document.body.dataset.shown !== before", arg=before)
    assert "wrong" in (page.locator(".answer.first").get_attribute("class") or "")


def test_an_image_of_ones_own_is_shown_and_a_drawn_one_too(explorer: Callable[..., Page]) -> None:
    page = explorer("#nuisance=turned&theta=0&first=plain")
    made = io.BytesIO()
    Image.effect_noise((64, 64), 90).save(made, "PNG")
    before = shown(page)
    file = {"name": "noise.png", "mimeType": "image/png", "buffer": made.getvalue()}
    own = until_shown(page, lambda: page.locator("#own-file").set_input_files(file))
    assert own["picture"] != before["picture"]
    assert "Your own image" in page.locator("#pictures").inner_text()
    page.locator("#own-draw").click()
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 220, steps=5)
    page.mouse.up()
    drawn = until_shown(page, lambda: page.locator("#draw-use").click())
    assert drawn["picture"] not in (own["picture"], before["picture"])
    assert until_shown(page, lambda: page.locator("#own-back").click())["picture"] == before["picture"]


def test_a_dropped_picture_is_shown(explorer: Callable[..., Page]) -> None:
    page = explorer("#nuisance=turned&theta=0&first=plain")
    before = shown(page)

    def drop() -> None:
        page.evaluate(
            """async () => {
                const canvas = new OffscreenCanvas(40, 40);
                canvas.getContext('2d').fillRect(10, 5, 8, 30);
                const data = new DataTransfer();
                data.items.add(new File([await canvas.convertToBlob()], 'own.png', { type: 'image/png' }));
                document.getElementById('pictures').dispatchEvent(
                    new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
            }"""
        )

    assert until_shown(page, drop)["picture"] != before["picture"]


def test_what_is_shown_is_saved_as_a_case(explorer: Callable[..., Page], folder: Path) -> None:
    page = explorer("#nuisance=turned&theta=20&first=plain")
    page.locator("#case-name").fill("turned, from the page")
    page.locator("#case button").click()
    page.wait_for_function("() => document.getElementById('again-said').textContent.startsWith('Saved')")
    case = next(each for each in read_cases(folder.parent / "cases.toml") if each.name == "turned, from the page")
    assert case.theta == (20.0,)


def test_the_report_is_there_with_every_section(explorer: Callable[..., Page]) -> None:
    page = explorer("#view=report")
    frame = page.frame_locator("#report")
    frame.locator("h1").wait_for()
    assert "obustness" in (frame.locator("body").text_content() or "")
    assert "eak points" in (frame.locator("body").text_content() or "")


@pytest.mark.parametrize("view", ["explore", "gallery"])
@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"phone": True}])
def test_axe_finds_no_serious_fault(
    explorer: Callable[..., Page], accessibility_faults: Callable[[Page], list[str]], view: str, look: dict[str, Any]
) -> None:
    page = explorer(f"#nuisance=affine&first=plain&second=augmented&view={view}", **look)
    page.wait_for_selector({"explore": ".map canvas", "gallery": "#cards button"}[view])
    assert accessibility_faults(page) == []


def test_on_a_phone_nothing_is_wider_than_the_window(explorer: Callable[..., Page]) -> None:
    for view in ("explore", "gallery"):
        page = explorer(f"#nuisance=affine&first=plain&second=augmented&view={view}", phone=True)
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page = explorer("#nuisance=affine&first=plain&second=augmented", phone=True)
    first, second = (each.bounding_box() for each in page.locator(".answer").all())
    assert first is not None
    assert second is not None
    assert (first["y"], first["width"]) == (second["y"], second["width"]), "two classifiers stand side by side"
    page = explorer("#nuisance=turned&theta=0&first=plain", phone=True, has_touch=True)
    page.locator("#theta-0").scroll_into_view_if_needed()
    before = shown(page)
    box = page.locator("#theta-0").bounding_box()
    assert box is not None
    found = until_shown(page, lambda: page.touchscreen.tap(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2))
    assert found["picture"] != before["picture"]
    assert page.locator("#pictures").is_visible()


def test_without_the_token_the_page_says_so(server: LocalServer, visit: Callable[..., Any]) -> None:
    page = visit(server.origin).page
    page.wait_for_selector("#problem:not([hidden])")
    assert "brittle explore" in page.locator("#problem").inner_text()
