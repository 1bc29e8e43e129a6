"""The server's routes: the page's own files, and questions about one opened run."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import resources
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from brittle.errors import BrittleError
from brittle.explorer.described import described
from brittle.explorer.evaluate import LONGEST, evaluate
from brittle.explorer.points import gallery, weak_points
from brittle.explorer.queries import PointsQuery, Query
from brittle.explorer.security import Refused
from brittle.explorer.session import Session
from brittle.report.page.pictures import data_uri

KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
MOST_WAITING = 64  # questions; more are refused
Answer = Callable[[Session, Any], dict[str, Any]]


def page_files() -> dict[str, tuple[bytes, str]]:
    """What the page is made of, by path: read once, and nothing else on the disk is ever given."""
    found = {}
    for each in (resources.files("brittle.explorer") / "web").iterdir():
        kind = KINDS.get(each.name.rpartition(".")[2])
        if kind is not None:
            found["/" if each.name == "index.html" else f"/{each.name}"] = (each.read_bytes(), kind)
    return found


def make_app(session: Session) -> Starlette:
    """The app, yet without its guard."""
    turn, waiting = CapacityLimiter(1), [0]

    async def asked(ask: Callable[[], dict[str, Any]], request: Request) -> Response:
        if waiting[0] >= MOST_WAITING:
            raise Refused(503, "Too many questions at once: wait a moment.")
        waiting[0] += 1
        try:
            async with turn:
                if await request.is_disconnected():
                    return Response(status_code=499)
                with session.in_turn():
                    found = await to_thread.run_sync(ask)
        finally:
            waiting[0] -= 1
        return JSONResponse(found)

    def question(path: str, kind: Any, answer: Answer) -> Route:
        async def call(request: Request) -> Response:
            query = kind.of(await _json(request))
            return await asked(partial(answer, session, query), request)

        return Route(path, call, methods=["POST"])

    async def run(request: Request) -> Response:
        return await asked(partial(described, session), request)

    pages = [
        Route(path, partial(_page, content, kind), methods=["GET"]) for path, (content, kind) in page_files().items()
    ]
    return Starlette(
        routes=[
            *pages,
            Route("/api/run", run, methods=["GET"]),
            question("/api/image", Query, _image),
            question("/api/evaluate", Query, evaluate),
            question("/api/points", PointsQuery, weak_points),
            question("/api/gallery", PointsQuery, gallery),
        ],
        exception_handlers={BrittleError: _mistake, Refused: _refused, ClientDisconnect: _gone, Exception: _failed},
    )


async def _page(content: bytes, kind: str, request: Request) -> Response:
    return Response(content, media_type=kind)


def _image(session: Session, query: Query) -> dict[str, Any]:
    images = session.run.job.images
    place = session.place_of(query.set, query.image)
    return {"uri": data_uri(images[query.set].images.batch([place]).images[0], LONGEST)}


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError):
        raise BrittleError("the question is not JSON", "Send a JSON object.") from None


def _answer(status: int, why: str) -> Awaitable[Response]:
    async def made() -> Response:
        return JSONResponse({"error": why}, status)

    return made()


def _mistake(request: Request, error: Exception) -> Awaitable[Response]:
    return _answer(422, str(error))


def _refused(request: Request, error: Exception) -> Awaitable[Response]:
    assert isinstance(error, Refused)
    return _answer(error.status, error.why)


def _gone(request: Request, error: Exception) -> Awaitable[Response]:
    return _answer(499, "")


def _failed(request: Request, error: Exception) -> Awaitable[Response]:
    return _answer(500, f"{type(error).__name__}: {error}".splitlines()[0][:300])
