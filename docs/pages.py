"""Pictures of what people see, for README and documentation: report, explorer, bundle and the gate's summary.

`python docs/pages.py [RUN]`: real runs in headless Chromium. Without a run folder, `brittle demo` is carried out first
(a minute). The bundle needs onnxruntime-web: `--runtime FOLDER`, or npm fetches it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import markdown
import tomli_w
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from brittle.explorer.opened import OpenedRun
from brittle.explorer.serve import explorer_server
from brittle.report.html import write_report

IMAGES = Path(__file__).parent / "images"
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
STATE = "nuisance=affine:alpha%3D100&first=plain&second=augmented"
BRITTLE = [sys.executable, "-m", "brittle"]
RELEASE = {
    "images": {"sample": {"spec": "sample"}},
    "nuisances": ["rotation:sigma=15", "noise:sigma=0.2"],
    "robustness": {"samples": 20},
}
# The picture, the weights behind the classifier "mine" before and after.
BEFORE, AFTER = "bundled:augmented", "bundled:plain"
GITHUB = """body { font: 14px/1.5 system-ui, sans-serif; color: #1f2328; margin: 24px; }
table { border-collapse: collapse; margin: 12px 0; } th, td { border: 1px solid #d1d9e0; padding: 5px 11px; }
th { font-weight: 600; } tr:nth-child(2n) td { background: #f6f8fa; } h3 { margin: 18px 0 0; }"""


def main() -> None:
    asked = argparse.ArgumentParser(description="Pictures of report, explorer, bundle and gate.")
    asked.add_argument("run", nargs="?", type=Path)
    asked.add_argument("--runtime", default="npm", help="where onnxruntime-web is")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        home = Path(temporary)
        folder = given.run or _brittle("demo", "--out", home / "demo") or home / "demo"
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        _report(browser, folder)
        _explorer(browser, folder, home)
        _bundle(browser, folder, home, given.runtime)
        _gate(browser, home)
        browser.close()


def _report(browser: Browser, folder: Path) -> None:
    """Its first screen."""
    address = write_report(folder).local.resolve().as_uri()
    with _page(browser, address, viewport=DESKTOP | {"height": 800}) as page:
        _keep(page, "report.png")


def _explorer(browser: Browser, folder: Path, home: Path) -> None:
    server = explorer_server(OpenedRun(folder), home / "cases.toml")
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    with _page(browser, f"{server.address}#{STATE}", viewport=DESKTOP | {"height": 960}) as page:
        _weak_point(page)
        _keep(page, "explorer.png")
    gallery = f"{server.address}#view=gallery&{STATE}"
    with _page(browser, gallery, viewport=DESKTOP | {"height": 700}, color_scheme="dark") as page:
        page.wait_for_selector("#cards button")
        _keep(page, "explorer-gallery.png")
    with _page(browser, f"{server.address}#{STATE}", viewport=PHONE) as page:
        _weak_point(page)
        _keep(page, "explorer-phone.png")
    server.stop()
    thread.join(10)


def _bundle(browser: Browser, folder: Path, home: Path, runtime: str) -> None:
    """The static site, from a plain file server, with two classifiers that run in the browser."""
    _brittle("explore", folder, "--bundle", home / "bundle", "--runtime", runtime)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(home / "bundle")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with _page(browser, f"http://127.0.0.1:{server.server_port}/#{STATE}", viewport=DESKTOP) as page:
        _weak_point(page)
        _keep(page, "bundle.png")
    server.shutdown()


def _gate(browser: Browser, home: Path) -> None:
    """The Markdown summary of a release whose weights are worse, laid out as the page of a job does."""
    for name, weights in (("baseline", BEFORE), ("candidate", AFTER)):
        (home / f"{name}.toml").write_text(tomli_w.dumps({"classifiers": {"mine": weights}} | RELEASE))
    _brittle("run", "baseline.toml", "--out", "baseline", within=home)
    _brittle(
        *("check", "candidate.toml", "--against", "baseline", "--allow", "0.01", "--require", "rho.low>=0.6"),
        *("--out", "candidate", "--markdown", "summary.md"),
        within=home,
        status=3,
    )
    body = markdown.markdown((home / "summary.md").read_text(encoding="utf-8"), extensions=["tables"])
    (home / "summary.html").write_text(f"<meta charset=utf-8><style>{GITHUB}</style>{body}", encoding="utf-8")
    with _page(browser, (home / "summary.html").as_uri(), viewport={"width": 1280, "height": 400}) as page:
        _keep(page, "gate.png", full_page=True)


def _brittle(*words: object, within: Path | None = None, status: int = 0) -> None:
    done = subprocess.run([*BRITTLE, *map(str, words)], cwd=within)
    if done.returncode != status:
        raise SystemExit(f"brittle {words[0]} ended with status {done.returncode}")


@contextmanager
def _page(browser: Browser, address: str, **window: object) -> Iterator[Page]:
    context = browser.new_context(**window)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    yield page
    context.close()


def _weak_point(page: Page) -> None:
    """Goes to the first weak point, and waits for the map's shading."""
    page.wait_for_selector(".map .dot", state="attached", timeout=120_000)
    page.locator("#point-after").click()
    page.wait_for_selector(".map canvas.shading", state="attached", timeout=120_000)
    page.evaluate("scrollTo(0, 0)")


def _keep(page: Page, name: str, full_page: bool = False) -> None:
    page.wait_for_timeout(2500)
    page.evaluate("document.activeElement.blur()")
    path = IMAGES / name
    page.screenshot(path=path, full_page=full_page)
    Image.open(path).convert("RGB").save(path, optimize=True)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
