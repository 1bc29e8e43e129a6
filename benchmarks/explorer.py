"""The explorer's round trip in a real browser: from dragging a slider to the new picture and bars on the screen.

`python benchmarks/explorer.py [--seconds 20] [--out benchmarks/results/explorer.json] [--runtime npm]` carries out a
small study of the bundled classifiers, starts `brittle explore` as a process of its own, and drags a slider of θ with
the mouse, 20 moves per second, in headless Chromium. Then it does the same with a bundle of the run behind a plain
file server, where the classifiers run in the browser; --runtime says where its onnxruntime-web is. The clock is the
browser's: it starts when the page hears of the slider, and stops when the picture that belongs to it, or to a later
place of the slider, is decoded and the next frame begins. A move that the page skips, since a later one is there
already, is counted until that later one is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

import brittle

STUDY = {
    "classifiers": {"plain": "bundled:plain", "augmented": "bundled:augmented"},
    "images": {"sample": {"spec": "sample", "count": 50}},
    "nuisances": {"affine": "affine:alpha=50"},
    "robustness": {"samples": 20},
    "weak-points": {"count": 3, "budget": 300, "keep": 100},
}
PER_SECOND = 20
WARM = 20  # moves that are not counted
MOST = {"server": 100, "bundle": 150}  # milliseconds, of a median
SHADED = {"server": 3000, "bundle": 8000}  # milliseconds to wait for it
LISTEN = """() => {
    window.moves = [];
    window.shownAt = [];
    const slider = document.getElementById('theta-0');
    slider.addEventListener('input', () => moves.push([Number(slider.value), performance.now()]), { capture: true });
    addEventListener('shown', async ({ detail }) => {
        const value = detail.theta?.[0];
        await document.querySelector('[data-key^=changed] img').decode().catch(() => {});
        requestAnimationFrame(() => shownAt.push([value, performance.now()]));
    });
}"""


@contextmanager
def explorer(folder: Path) -> Iterator[str]:
    """The address of the explorer, in a process of its own."""
    command = [sys.executable, "-m", "brittle", "explore", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def bundle(folder: Path, runtime: str) -> Iterator[str]:
    """The address of the run's bundle, from Python's file server in a process of its own."""
    site = str(folder.parent / "site")
    command = [sys.executable, "-m", "brittle", "explore", str(folder), "--bundle", site, "--runtime", runtime]
    subprocess.run([*command, "--count", "8"], check=True, stdout=subprocess.DEVNULL)
    words = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", site]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split("(")[1].split(")")[0]
    finally:
        process.terminate()
        process.wait(20)


def dragged(page: Page, seconds: float) -> list[float]:
    """Milliseconds from every move of the slider until the page shows it, or a later one."""
    page.evaluate(LISTEN)
    box = page.locator("#theta-0").bounding_box()
    assert box is not None
    middle, width = box["y"] + box["height"] / 2, box["width"]
    page.mouse.move(box["x"] + width / 2, middle)
    page.mouse.down()
    began = time.perf_counter()
    for step in range(int(seconds * PER_SECOND)):
        place = 0.5 + 0.35 * ((step % 40) - 20 if step % 80 < 40 else 20 - step % 40) / 20
        page.mouse.move(box["x"] + width * place, middle)
        time.sleep(max(0.0, began + (step + 1) / PER_SECOND - time.perf_counter()))
    page.mouse.up()
    page.wait_for_timeout(1500)
    moves, shown = page.evaluate("[moves, shownAt]")
    return _waits(moves, shown)[WARM:]


def _waits(moves: list[list[float]], shown: list[list[float]]) -> list[float]:
    """Every move with the first picture that is of it or of a later one: both come in order."""
    found, at = list[float](), 0
    order = dict[float, list[int]]()
    for place, (value, _) in enumerate(moves):
        order.setdefault(value, []).append(place)
    reached = []  # of each picture: the latest move that it can be of
    for value, when in shown:
        places = [place for place in order.get(value, ()) if moves[place][1] <= when]
        reached.append((max(places, default=-1), when))
    for place, (_, began) in enumerate(moves):
        while at < len(reached) and reached[at][0] < place:
            at += 1
        if at == len(reached):
            break
        found.append(reached[at][1] - began)
    return found


def result(where: str, waits: list[float], seconds: float, side_by_side: bool) -> dict[str, Any]:
    ordered = sorted(waits)
    return {
        "where": where,
        "classifiers": 2 if side_by_side else 1,
        "moves": len(waits),
        "per_second": round((len(waits) + WARM) / seconds, 1),
        "median_ms": round(statistics.median(ordered), 1),
        "p90_ms": round(ordered[int(0.9 * len(ordered))], 1),
        "p99_ms": round(ordered[int(0.99 * len(ordered))], 1),
        "largest_ms": round(ordered[-1], 1),
    }


def main() -> None:
    asked = argparse.ArgumentParser(description="The explorer's round trip in a browser.")
    asked.add_argument("--seconds", type=float, default=20)
    asked.add_argument("--out", type=Path, default=Path("benchmarks/results/explorer.json"))
    asked.add_argument("--runtime", default="npm", help="where onnxruntime-web is; off: no bundle")
    given = asked.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary) / "run"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", brittle.BrittleWarning)
            brittle.run(STUDY, out=folder)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        version = browser.version
        places = {"server": explorer(folder)}
        if given.runtime != "off":
            places["bundle"] = bundle(folder, given.runtime)
        for where, opened in places.items():
            with opened as address:
                for second in ("", "augmented"):
                    page = browser.new_page(viewport={"width": 1280, "height": 900})
                    page.goto(f"{address}#nuisance=affine&first=plain&second={second}")
                    page.wait_for_selector(".answer", timeout=120_000)
                    page.wait_for_timeout(SHADED[where])  # the map is shaded once, before anybody drags
                    found.append(result(where, dragged(page, given.seconds), given.seconds, bool(second)))
                    print(json.dumps(found[-1]))
                    page.close()
        browser.close()
    machine = {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "chromium": version,
        "load": os.getloadavg()[0],
    }
    given.out.write_text(json.dumps({"machine": machine, "round_trips": found}, indent=1) + "\n")
    if late := [each["where"] for each in found if each["median_ms"] >= MOST[each["where"]]]:
        sys.exit(f"a median is over the {MOST} ms that are promised: {', '.join(late)}")


if __name__ == "__main__":
    main()
