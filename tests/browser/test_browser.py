"""The set-up itself: a page that should be found faulty is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = """<!DOCTYPE html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,"></head>
<body><main><h1>A page</h1>{}</main></body></html>"""


def test_axe_finds_a_picture_without_words_and_nothing_on_a_sound_page(
    tmp_path: Path, visit: Callable[..., Any], accessibility_faults: Callable[..., list[str]]
) -> None:
    picture = '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'
    sound, faulty = tmp_path / "sound.html", tmp_path / "faulty.html"
    sound.write_text(PAGE.format("<p>Text.</p>"))
    faulty.write_text(PAGE.format(picture))
    assert accessibility_faults(visit(sound).page) == []
    assert [each.split(":")[0] for each in accessibility_faults(visit(faulty).page)] == ["image-alt"]


def test_requests_and_errors_of_a_page_are_noted(
    tmp_path: Path, visit: Callable[..., Any], served: Callable[[Path], str]
) -> None:
    (tmp_path / "index.html").write_text(PAGE.format("<script>fetch('gone.json'); throw Error('lost')</script>"))
    opened = visit(served(tmp_path))
    opened.page.wait_for_load_state("networkidle")
    assert [each.rsplit("/", 1)[1] for each in opened.requests] == ["", "gone.json"]
    assert any("lost" in each for each in opened.errors)
