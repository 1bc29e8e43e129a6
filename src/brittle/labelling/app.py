"""The labelling page's routes: its own files, and three questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib import resources
from typing import Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from brittle.errors import BrittleError
from brittle.explorer.security import Refused
from brittle.labelling.session import LabellingSession

KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
Ask = Callable[[Mapping[str, Any]], dict[str, Any]]


def page_files() -> dict[str, tuple[bytes, str]]:
    """What the page is made of, by path."""
    found = {}
    for each in (resources.files("brittle.labelling") / "web").iterdir():
        kind = KINDS.get(each.name.rpartition(".")[2])
        if kind is not None:
            found["/" if each.name == "index.html" else f"/{each.name}"] = (each.read_bytes(), kind)
    return found


def make_app(session: LabellingSession) -> Starlette:
    """The app, yet without its guard."""

    def question(path: str, ask: Ask) -> Route:
        async def call(request: Request) -> Response:
            given = _object(await request.body())
            return JSONResponse(await to_thread.run_sync(partial(ask, given)))

        return Route(path, call, methods=["POST"])

    return Starlette(
        routes=[
            *(Route(path, partial(_page, *file), methods=["GET"]) for path, file in page_files().items()),
            question("/api/next", lambda given: session.next(_text(given, "person"))),
            question("/api/answer", partial(_answer, session)),
            question("/api/back", lambda given: session.back(_text(given, "person"), given.get("image"))),
        ],
        exception_handlers={BrittleError: _mistake, Refused: _refused, Exception: _failed},
    )


def _answer(session: LabellingSession, given: Mapping[str, Any]) -> dict[str, Any]:
    visible = given.get("shift_visible")
    if visible not in (None, True, False):
        raise BrittleError("shift_visible is not true, false or null", "Load the page again.")
    return session.answer(_text(given, "person"), _text(given, "image"), _text(given, "label"), visible)


def _text(given: Mapping[str, Any], key: str) -> str:
    if not isinstance(given.get(key), str):
        raise BrittleError(f"the question does not say which {key}", "Load the page again.")
    return str(given[key])


def _object(content: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BrittleError("the question is not a JSON object", "Load the page again.")
    return found


async def _page(content: bytes, kind: str, request: Request) -> Response:
    return Response(content, media_type=kind)


async def _mistake(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 422)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse({"error": error.why}, error.status)


async def _failed(request: Request, error: Exception) -> Response:
    said = (str(error).splitlines() or [""])[0][:300]
    return JSONResponse({"error": f"{type(error).__name__}: {said}"}, 500)
