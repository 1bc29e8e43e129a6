"""Pictures of the explorer for its page: the demo's run in headless Chromium, on a desktop, in the dark, on a phone.

`python docs/explorer.py [RUN]`; without a run folder, `brittle demo` is carried out first (a minute).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from brittle.explorer.opened import OpenedRun
from brittle.explorer.serve import explorer_server

IMAGES = Path(__file__).parent / "images"
# The file, what the page shows, the window.
PICTURES = (
    ("explorer.png", "", {"viewport": {"width": 1280, "height": 960}}),
    ("explorer-gallery.png", "view=gallery&", {"viewport": {"width": 1280, "height": 700}, "color_scheme": "dark"}),
    ("explorer-phone.png", "", {"viewport": {"width": 390, "height": 844}}),
)
STATE = "nuisance=affine:alpha%3D100&first=plain&second=augmented"


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else _demo(Path(temporary) / "demo")
        server = explorer_server(OpenedRun(folder), Path(temporary) / "cases.toml")
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for name, view, window in PICTURES:
                _picture(browser, f"{server.address}#{view}{STATE}", window, IMAGES / name)
            browser.close()
        server.stop()
        thread.join(10)


def _demo(out: Path) -> Path:
    subprocess.run([sys.executable, "-m", "brittle", "demo", "--out", str(out)], check=True)
    return out


def _picture(browser: Browser, address: str, window: dict[str, object], path: Path) -> None:
    context = browser.new_context(**window)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    if "view=gallery" in address:
        page.wait_for_selector("#cards button")
    else:
        page.wait_for_selector(".map .dot")
        page.locator("#point-after").click()
        page.wait_for_selector(".map canvas.shading")
        page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(2500)
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=path)
    Image.open(path).convert("RGB").save(path, optimize=True)
    print(f"wrote {path}")
    context.close()


if __name__ == "__main__":
    main()
