"""Pages in a real browser: headless Chromium, and what axe finds wrong with them."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: see `make test-browser`"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The machine's Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


class Visit(NamedTuple):
    """A page in the browser, and what happened since it was opened."""

    page: Page
    requests: list[str]  # addresses, that of the page itself first
    errors: list[str]  # of scripts, and what the console calls an error


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """`visit(path_or_address, phone=True, color_scheme="dark")`: opens a page in a window of its own. Other keywords
    are those of Playwright's `new_context`."""
    contexts = []

    def call(address: Path | str, phone: bool = False, **context: Any) -> Visit:
        contexts.append(browser.new_context(**({"viewport": PHONE if phone else DESKTOP} | context)))
        page = contexts[-1].new_page()
        page.set_default_timeout(15_000)
        opened = Visit(page, [], [])
        page.on("request", lambda request: opened.requests.append(request.url))
        page.on("pageerror", lambda error: opened.errors.append(str(error)))
        page.on("console", lambda said: opened.errors.append(said.text) if said.type == "error" else None)
        page.goto(address.resolve().as_uri() if isinstance(address, Path) else address)
        return opened

    yield call
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def accessibility_faults() -> Callable[[Page], list[str]]:
    """What axe finds that is serious or critical: the rule, and the first element that breaks it."""

    def call(page: Page) -> list[str]:
        found = Axe().run(page).response["violations"]
        return [
            f"{each['id']}: {each['nodes'][0]['html'][:200]} ({len(each['nodes'])} in all)"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]

    return call


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served() -> Iterator[Callable[[Path], str]]:
    """`served(folder)`: the address of a plain file server for a folder, on this machine alone."""
    servers = []

    def call(folder: Path) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield call
    for server in servers:
        server.shutdown()
        server.server_close()
