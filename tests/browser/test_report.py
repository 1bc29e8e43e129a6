"""The report in a real browser: opened from disk, sorted, filtered, saved, by keyboard, on a phone, and by axe."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from odd_runs import write_odd_run
from playwright.sync_api import Page, expect

from brittle.report.blocks import Matrix
from brittle.report.html import write_report
from brittle.report.page.loaded import load
from brittle.report.page.shell import contents
from brittle.report.renderers.data import as_csv
from brittle.report.sections import section_of
from brittle.report.side_by_side import write_comparison

pytestmark = pytest.mark.warned("")  # of runs as small as these there is much to warn of
NUISANCES = ["rotation:sigma=15", "rotation:sigma=30", "noise", "contrast:sigma=0.4", "translation:sigma=0.1"]
MARKUP = ["<img src=x onerror=document.title='broken'>", "</script><b>bold</b>", "犬 (いぬ)"]
Visit = Callable[..., Any]
Faults = Callable[[Page], list[str]]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = write_odd_run(tmp_path_factory.mktemp("usual"), nuisances=NUISANCES, images=18, size=28, channels=1)
    write_report(found)
    return found


@pytest.fixture
def page(folder: Path, visit: Visit) -> Page:
    opened: Page = visit(folder / "report.html").page
    return opened


def column(page: Page, place: int) -> list[str]:
    """What stands first in every square of a column of the matrix."""
    return page.locator(f".matrix tbody tr td:nth-child({place + 1}) b").all_inner_texts()


def test_the_report_opens_from_disk_and_asks_for_nothing_else(folder: Path, visit: Visit) -> None:
    opened = visit(folder / "report.html")
    opened.page.wait_for_load_state("networkidle")
    assert [each for each in opened.requests if not each.startswith(("data:", "blob:"))] == opened.requests[:1]
    assert opened.requests[0].startswith("file://")
    assert opened.errors == []


def test_the_first_screen_holds_the_verdict_the_matrix_and_three_failures(page: Page) -> None:
    expect(page.locator(".verdict")).to_be_in_viewport()
    expect(page.locator(".matrix tbody tr").nth(3)).to_be_in_viewport()
    expect(page.locator(".failures img").first).to_be_in_viewport()
    assert 1 <= page.locator(".failures .strip").count() <= 3
    assert page.locator(".caution.brief li").count() <= 3
    assert page.locator(".contents > details > ul > li").count() <= 15
    expect(page.locator(".matrix").get_by_text("Rotation, σ 15°")).to_have_attribute("title", "rotation:sigma=15")


def test_a_click_on_a_head_sorts_and_another_turns_the_order(page: Page) -> None:
    head = page.locator(".matrix thead th").nth(1)
    head.get_by_role("button").click()
    rising = column(page, 1)
    assert rising == sorted(rising)
    expect(head).to_have_attribute("aria-sort", "ascending")
    head.get_by_role("button").click()
    assert column(page, 1) == sorted(rising, reverse=True)
    expect(head).to_have_attribute("aria-sort", "descending")


def test_typing_filters_the_rows_and_says_how_many_are_left(page: Page) -> None:
    table = page.locator("#robustness-results .data").first
    rows = table.locator("tbody tr")
    every = rows.count()
    table.get_by_role("searchbox").fill("rotation c01")
    expect(rows.filter(visible=True)).to_have_count(2)
    expect(table.get_by_role("status")).to_have_text(f"2 of {every} rows")
    table.get_by_role("searchbox").fill("")
    expect(rows.filter(visible=True)).to_have_count(every)


def test_csv_is_saved_and_holds_what_is_shown(page: Page, folder: Path) -> None:
    with page.expect_download() as saving:
        page.locator(".map").get_by_role("button", name="Download the data as CSV").click()
    assert saving.value.suggested_filename.endswith(".csv")
    text = Path(saving.value.path()).read_text(encoding="utf-8-sig")
    shown = contents(load(folder), section_of).first.shown
    assert isinstance(shown, Matrix)
    assert text == as_csv(shown)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["nuisance"] for row in rows} == {*NUISANCES, "Mean of 5"}


def test_every_table_and_figure_has_its_data_and_every_figure_a_sentence(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert page.locator("main table.sortable, main .drawing").count() > 5
    assert page.locator(".data:not(:has(script.csv))").count() == 0
    assert page.locator("main table.sortable").count() == page.locator(".data table.sortable").count()
    assert all(text.strip() for text in page.locator("figure.figure > figcaption").all_inner_texts())


def test_colours_follow_the_system_until_the_reader_chooses(folder: Path, visit: Visit) -> None:
    page = visit(folder / "report.html", color_scheme="dark").page

    def paper() -> str:
        return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    assert paper() == "rgb(22, 24, 27)"
    page.get_by_role("button", name="Light colours").click()
    assert paper() == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Dark colours").click()
    assert paper() == "rgb(22, 24, 27)"


def test_all_can_be_done_with_a_keyboard(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip the contents")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    head = page.locator(".matrix thead th button").first
    for _ in range(12):
        page.keyboard.press("Tab")
        if head.evaluate("each => each === document.activeElement"):
            break
    expect(head).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".matrix thead th").first).to_have_attribute("aria-sort", "ascending")
    picture = page.locator(".failures .enlarge").first
    picture.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".failures .enlarge").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("img")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".failures .enlarge").nth(1)).to_be_focused()


def test_a_phone_shows_all_of_it_and_says_what_scrolls(folder: Path, visit: Visit) -> None:
    page = visit(folder / "report.html", phone=True).page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator(".map .scrolls")).to_be_hidden()  # two classifiers fit
    expect(page.locator("#robustness-results .scrolls").first).to_be_visible()
    expect(page.locator(".contents li").first).to_be_hidden()
    page.locator(".contents summary").click()
    page.get_by_role("link", name="What was measured").click()
    expect(page.locator("#measured h2")).to_be_in_viewport()
    expect(page.locator(".contents summary")).to_be_in_viewport()  # it sticks
    expect(page.locator(".contents li").first).to_be_hidden()


def test_what_is_open_is_printed_whole_and_what_is_folded_says_so(page: Page) -> None:
    page.locator("summary").nth(1).click()
    page.emulate_media(media="print")
    expect(page.locator(".contents")).to_be_hidden()
    expect(page.locator(".tools").first).to_be_hidden()
    assert page.evaluate(
        "[...document.querySelectorAll('.first .wide, .strip')].every(w => w.scrollHeight <= w.clientHeight + 1)"
    )
    assert page.evaluate("[...document.querySelectorAll('.strip')].every(w => w.scrollWidth <= w.clientWidth + 1)")
    said = "getComputedStyle(document.querySelector('details:not([open]) > summary'), '::after').content"
    assert "not printed" in page.evaluate(said)
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("context", [{}, {"color_scheme": "dark"}, {"phone": True}], ids=["light", "dark", "phone"])
def test_axe_finds_no_serious_fault(
    folder: Path, visit: Visit, accessibility_faults: Faults, context: dict[str, Any]
) -> None:
    page = visit(folder / "report.html", **context).page
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert accessibility_faults(page) == []


def test_names_with_markup_and_in_japanese_are_text(tmp_path: Path, visit: Visit, accessibility_faults: Faults) -> None:
    run = write_odd_run(tmp_path, classes=MARKUP, classifiers={"<i>one</i>": "c0", "二番": "c1"})
    opened = visit(write_report(run).local)
    assert opened.errors == []
    assert "<i>one</i>" in opened.page.title()
    assert opened.page.locator("main i, main b:text-is('bold'), img[src=x]").count() == 0
    assert "犬 (いぬ)" in opened.page.locator("main").inner_text()
    expect(opened.page.locator(".matrix").get_by_text("二番")).to_be_visible()
    assert accessibility_faults(opened.page) == []


def test_a_run_without_failures_says_so(tmp_path: Path, visit: Visit) -> None:
    run = write_odd_run(tmp_path, {"perfect": "perfect"}, nuisances=["contrast:sigma=0.0001"])
    page = visit(write_report(run).local).page
    expect(page.locator(".verdict")).to_contain_text("perfect is right on 1.000")
    expect(page.get_by_text("No failure is pictured here")).to_be_visible()


@pytest.mark.parametrize("harm", ["missing", "broken"])
def test_a_run_that_has_not_ended_shows_what_is_finished(folder: Path, tmp_path: Path, visit: Visit, harm: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder, run)
    (run / "summary.json").unlink()
    (file,) = (run / "units" / "robustness" / "c00" / "random").glob("noise*/*.rows.parquet")
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-100])
    page = visit(write_report(run).local).page
    expect(page.locator(".caution.brief")).to_contain_text("This run has not ended")
    expect(page.locator("#cautions")).to_contain_text("Of robustness 4 of 5 nuisances are finished")
    expect(page.locator(".verdict")).to_contain_text("4 nuisances")
    assert page.locator(".matrix").get_by_text("Gaussian noise").count() == 0


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        ({"classifiers": 40, "nuisances": ["rotation", "noise", "contrast"], "size": 12}, "Of 40 classifiers"),
        ({"classes": 1000, "images": 1000, "size": 16, "robustness": {"samples": 2}}, "c00"),
    ],
    ids=["40 classifiers", "1,000 classes"],
)
def test_large_runs_have_a_first_screen_and_a_small_page(
    tmp_path: Path, visit: Visit, asked: dict[str, Any], verdict: str
) -> None:
    path = write_report(write_odd_run(tmp_path, **asked)).local
    assert path.stat().st_size < 10e6
    opened = visit(path)
    assert opened.errors == []
    expect(opened.page.locator(".verdict")).to_contain_text(verdict)
    expect(opened.page.locator(".matrix tbody tr").first).to_be_in_viewport()
    expect(opened.page.locator(".failures img").first).to_be_in_viewport()


def test_of_many_classifiers_the_best_comes_first(tmp_path: Path, visit: Visit) -> None:
    asked: dict[str, Any] = {"nuisances": ["noise", "contrast"], "robustness": {"samples": 2}, "size": 8}
    page = visit(write_report(write_odd_run(tmp_path, 9, **asked)).local).page
    means = column(page, 1)
    assert len(means) == 9
    assert means == sorted(means, reverse=True)
    expect(page.locator(".verdict")).to_contain_text(page.locator(".matrix tbody th").first.inner_text())


def test_seventy_five_nuisances_have_a_first_screen_and_a_small_page(tmp_path: Path, visit: Visit) -> None:
    suite = [f"{kind}:sigma={0.01 * (1 + step)}" for kind in ("rotation", "contrast", "noise") for step in range(25)]
    path = write_report(write_odd_run(tmp_path, nuisances=suite, robustness={"samples": 2}, size=12)).local
    assert path.stat().st_size < 10e6
    opened = visit(path)
    expect(opened.page.locator(".matrix tbody tr")).to_have_count(76)
    expect(opened.page.locator(".matrix tbody th").first).to_have_text("Mean of 75")
    expect(opened.page.locator(".failures img").first).to_be_in_viewport()
    assert opened.page.locator(".contents li").count() < 30


def test_runs_side_by_side_can_be_sorted_and_saved_and_have_no_serious_fault(
    folder: Path, tmp_path: Path, visit: Visit, accessibility_faults: Faults
) -> None:
    other = write_odd_run(tmp_path, {"c00": "c2", "c01": "c1"}, nuisances=NUISANCES, images=18, size=28, channels=1)
    opened = visit(write_comparison([folder, other], tmp_path / "page.html"))
    page = opened.page
    assert opened.errors == []
    assert [each for each in opened.requests if not each.startswith("data:")] == opened.requests[:1]
    expect(page.locator(".verdict")).to_contain_text("Of 22 numbers")
    expect(page.locator("table.sortable").first).to_be_in_viewport()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Download the data as CSV").nth(1).click()
    rows = list(csv.DictReader(io.StringIO(Path(saving.value.path()).read_text(encoding="utf-8-sig"))))
    assert len(rows) == page.locator("table.sortable").first.locator("tbody tr").count() == 22
    assert accessibility_faults(page) == []
