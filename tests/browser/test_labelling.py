"""The labelling page in a real browser: two people, by keyboard and mouse, an interrupted afternoon, a wrong token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cns_folder import CLASSES, SCALES, SEEDS, SHIFTS, make
from labelled_benchmark import labelling
from playwright.sync_api import Page

import brittle
from brittle.explorer.serve import LocalServer
from brittle.generation.labels.store import read_labeller

IMAGES = 1 + len(CLASSES) * len(SEEDS) * (1 + len(SHIFTS) * (len(SCALES) - 1))  # with the example of one class


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    return make(tmp_path / "generated")


@pytest.fixture
def server(benchmark: Path, tmp_path: Path) -> Iterator[LocalServer]:
    with labelling(benchmark, tmp_path / "labels") as found:
        yield found


def begun(visit: Callable[..., Any], server: LocalServer, person: str, **context: Any) -> Page:
    """The page of one person, who has typed their name."""
    opened = visit(server.address, **context)
    page: Page = opened.page
    page.locator("#person").fill(person)
    page.keyboard.press("Enter")
    page.wait_for_selector("#work:not([hidden]), #finished:not([hidden])")
    assert opened.errors == []
    assert all(each.startswith((server.origin, "data:")) for each in opened.requests)
    return page


def shown(page: Page) -> str:
    found: str = page.evaluate("document.body.dataset.image")
    return found


def answer(page: Page, key: str, visible: str = "y") -> str:
    """Presses keys until the next image is there; returns the one that was answered."""
    before = shown(page)
    page.keyboard.press(key)
    if page.locator("#question-shift").is_visible():
        page.keyboard.press(visible)
    page.wait_for_function("before => document.body.dataset.image !== before", arg=before)
    return before


def test_two_people_label_everything_by_keyboard(
    server: LocalServer, visit: Callable[..., Any], benchmark: Path, tmp_path: Path
) -> None:
    anna, ben = begun(visit, server, "anna"), begun(visit, server, "ben")
    for number in range(IMAGES):
        answer(anna, "1")
        answer(ben, "3" if number % 10 == 5 else "2", "n")
    for page in (anna, ben):
        assert page.locator("#finished").is_visible()
        assert shown(page) == ""
    found = brittle.labels_of(benchmark, tmp_path / "labels")
    assert found.by_two == found.images == IMAGES - 1
    assert found.out_of_class.value == pytest.approx(len(range(5, IMAGES, 10)) / (IMAGES - 1))
    assert found.agreements[0].images == IMAGES - 1


def test_an_interrupted_afternoon_goes_on_where_it_stopped(
    benchmark: Path, visit: Callable[..., Any], tmp_path: Path
) -> None:
    with labelling(benchmark, tmp_path / "labels") as server:
        page = begun(visit, server, "anna")
        done = [answer(page, "1") for _ in range(6)]
        left = shown(page)
        page.keyboard.press("2")  # half an answer, which is none
    page.keyboard.press("y")
    page.wait_for_selector("#problem:not([hidden])")
    assert "can't be reached" in page.locator("#problem").inner_text()
    assert list(read_labeller(tmp_path / "labels" / "anna.jsonl").answers) == done
    with labelling(benchmark, tmp_path / "labels") as server:
        page = begun(visit, server, "anna")
        assert shown(page) == left
        assert page.locator("#progress").inner_text() == f"anna: 6 labelled, {IMAGES - 6} to go"


def test_a_page_that_is_loaded_again_shows_the_same_image(server: LocalServer, visit: Callable[..., Any]) -> None:
    page = begun(visit, server, "anna")
    answer(page, "1")
    before = shown(page)
    page.reload()
    page.wait_for_selector("#work:not([hidden])")
    assert shown(page) == before


def test_one_goes_back_with_a_key_and_sees_the_earlier_answer(
    server: LocalServer, visit: Callable[..., Any], tmp_path: Path
) -> None:
    page = begun(visit, server, "anna")
    first = answer(page, "2")
    page.keyboard.press("Backspace")
    page.wait_for_function("image => document.body.dataset.image === image", arg=first)
    assert page.locator("[data-label=partly]").get_attribute("aria-pressed") == "true"
    page.locator("[data-label=not]").click()
    page.wait_for_function("image => document.body.dataset.image !== image", arg=first)
    assert read_labeller(tmp_path / "labels" / "anna.jsonl").answers[first].label == "not"


def test_a_wrong_token_is_told_and_nothing_is_kept(
    server: LocalServer, visit: Callable[..., Any], tmp_path: Path
) -> None:
    opened = visit(f"{server.origin}/?token=wrong")
    opened.page.locator("#person").fill("anna")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector("#problem:not([hidden])")
    assert "token is missing or wrong" in opened.page.locator("#problem").inner_text()
    assert not opened.page.locator("#work").is_visible()
    assert list((tmp_path / "labels").iterdir()) == []


def test_a_name_that_is_a_path_is_refused(server: LocalServer, visit: Callable[..., Any], tmp_path: Path) -> None:
    opened = visit(server.address)
    opened.page.locator("#person").fill("../anna")
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate("document.getElementById('person').matches(':invalid')")
    assert list(tmp_path.glob("**/anna*")) == []


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_can_be_used_by_everybody(
    server: LocalServer,
    visit: Callable[..., Any],
    accessibility_faults: Callable[[Page], list[str]],
    phone: bool,
    scheme: str,
) -> None:
    page = begun(visit, server, "anna", phone=phone, color_scheme=scheme)
    answer(page, "1")
    answer(page, "1")
    page.keyboard.press("1")
    assert page.locator("#question-shift").is_visible()
    assert accessibility_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
