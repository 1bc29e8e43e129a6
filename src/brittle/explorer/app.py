"""The server's routes: the page's own files, and questions about one opened run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from brittle.errors import BrittleError
from brittle.explorer.cases import save_case
from brittle.explorer.evaluate import LONGEST, evaluate
from brittle.explorer.opened import OpenedRun
from brittle.explorer.own_image import decoded, exact_uri
from brittle.explorer.points import gallery, weak_points
from brittle.explorer.queries import CaseQuery, MapQuery, PointsQuery, Query
from brittle.explorer.reproduce import reproduced
from brittle.explorer.security import REPORTS, Refused
from brittle.explorer.session import Session
from brittle.explorer.slice_map import posterior_map
from brittle.report.page.pictures import data_uri

KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
MOST_WAITING = 64  # questions; more are refused
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'; sandbox allow-scripts allow-downloads allow-popups"
)
Ask = Callable[[], dict[str, Any]]
GONE = Response(status_code=499)


def page_files() -> dict[str, tuple[bytes, str]]:
    """What the page is made of, by path: read once, and nothing else on the disk is ever given."""
    found = {}
    for each in (resources.files("brittle.explorer") / "web").iterdir():
        kind = KINDS.get(each.name.rpartition(".")[2])
        if kind is not None:
            found["/" if each.name == "index.html" else f"/{each.name}"] = (each.read_bytes(), kind)
    return found


@dataclass
class Desk:
    """Where questions are answered, one at a time: classifiers and caches are never asked by two threads."""

    run: OpenedRun
    cases: Path  # where named cases are saved
    turn: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))
    waiting: int = 0

    async def answer(self, ask: Ask, request: Request) -> Response:
        """What `ask` says, in its turn; nothing is computed for those who have gone meanwhile."""
        with self._counted():
            async with self.turn:
                if await request.is_disconnected():
                    return GONE
                return JSONResponse(await to_thread.run_sync(ask))

    async def in_steps(self, query: MapQuery, request: Request) -> Response:
        """A map, between whose steps others have their turn."""
        with self._counted():
            steps = posterior_map(self.run.session, query)
            while not await request.is_disconnected():
                async with self.turn:
                    found = await to_thread.run_sync(partial(_next, steps))
                if found is not None:
                    return JSONResponse(found)
            return GONE

    def _counted(self) -> _Place:
        return _Place(self)


class _Place:
    """A place among those who wait."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def __enter__(self) -> None:
        if self.desk.waiting >= MOST_WAITING:
            raise Refused(503, "Too many questions at once: wait a moment.")
        self.desk.waiting += 1

    def __exit__(self, *error: object) -> None:
        self.desk.waiting -= 1


def _next(steps: Any) -> dict[str, Any] | None:
    try:
        next(steps)
    except StopIteration as end:
        found: dict[str, Any] = end.value
        return found
    return None


def make_app(run: OpenedRun, cases: Path) -> Starlette:
    """The app, yet without its guard."""
    desk = Desk(run, cases)

    def question(path: str, kind: Any, answer: Callable[[Session, Any], dict[str, Any]]) -> Route:
        async def call(request: Request) -> Response:
            query = kind.of(await _json(request))
            return await desk.answer(lambda: answer(run.session, query), request)

        return Route(path, call, methods=["POST"])

    def told(path: str, ask: Ask) -> Route:
        async def call(request: Request) -> Response:
            return await desk.answer(ask, request)

        return Route(path, call, methods=["GET"])

    async def map_(request: Request) -> Response:
        return await desk.in_steps(MapQuery.of(await _json(request)), request)

    async def own(request: Request) -> Response:
        images, content = request.query_params.get("set", ""), await request.body()
        return await desk.answer(lambda: _own(run.session, images, content), request)

    async def report(request: Request) -> Response:
        page = run.redeemed(request.path_params["ticket"])
        if page is None:
            raise Refused(404, "There is no such page.")
        return Response(page, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY})

    files = page_files().items()
    return Starlette(
        routes=[
            *(Route(path, partial(_page, content, kind), methods=["GET"]) for path, (content, kind) in files),
            told("/api/run", run.described),
            told("/api/version", run.look_again),
            told("/api/report", run.ticket),
            question("/api/image", Query, _image),
            question("/api/evaluate", Query, evaluate),
            question("/api/points", PointsQuery, weak_points),
            question("/api/gallery", PointsQuery, gallery),
            question("/api/reproduce", Query, reproduced),
            question("/api/case", CaseQuery, lambda session, query: save_case(session, query, cases)),
            Route("/api/map", map_, methods=["POST"]),
            Route("/api/own", own, methods=["POST"]),
            Route(f"{REPORTS}{{ticket}}", report, methods=["GET"]),
        ],
        exception_handlers={BrittleError: _mistake, Refused: _refused, ClientDisconnect: _gone, Exception: _failed},
    )


async def _page(content: bytes, kind: str, request: Request) -> Response:
    return Response(content, media_type=kind)


def _image(session: Session, query: Query) -> dict[str, Any]:
    place = session.place_of(query.set, query.image)
    return {"uri": data_uri(session.run.job.images[query.set].images.batch([place]).images[0], LONGEST)}


def _own(session: Session, images: str, content: bytes) -> dict[str, Any]:
    picture = decoded(content, session.shape(images))
    return {"own": session.keep_own(picture), "uri": exact_uri(picture)}


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError):
        raise BrittleError("the question is not JSON", "Send a JSON object.") from None


async def _mistake(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 422)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse({"error": error.why}, error.status)


async def _gone(request: Request, error: Exception) -> Response:
    return GONE


async def _failed(request: Request, error: Exception) -> Response:
    said = (str(error).splitlines() or [""])[0][:300]
    return JSONResponse({"error": f"{type(error).__name__}: {said}"}, 500)
