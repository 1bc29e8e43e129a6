"""The bundle itself: a folder that any file server can give, with nothing of Python behind it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

from brittle.errors import BrittleError
from brittle.explorer.bundle.live import GRAPHS, LiveGraphs
from brittle.explorer.bundle.pictures import KeptImages, chosen_images
from brittle.explorer.bundle.runtime import PACKAGE, Runtime
from brittle.explorer.described import described
from brittle.explorer.points import PointCell, gallery, point_cells, weak_points
from brittle.explorer.queries import PointsQuery
from brittle.explorer.session import Session
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.shell import render
from brittle.report.sections import section_of

MARK, VERSION = "brittle-bundle.json", 1
MOST_IN_GALLERY, AT_ONCE = 240, 60
DATA, RUNTIME = "data", "runtime"
# Nothing of another host is ever asked for, and WebAssembly is compiled from files beside the page.
POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self' data: blob:; worker-src 'self'; frame-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'"
)
SERVER_ONLY = ("server_source.js",)


class WrittenBundle(NamedTuple):
    """What a bundle has in it."""

    folder: Path
    bytes: int
    live: int  # pairs of a nuisance on an image set and a classifier
    pairs: int
    largest_difference: float


def write_bundle(
    run: LoadedRun, folder: Path, runtime: Runtime, images: int, say: Callable[[str], None]
) -> WrittenBundle:
    """Writes a run as a static site. An earlier bundle in the folder is replaced; anything else there is left alone."""
    session = Session(run)
    _empty(folder)
    for name in (DATA, GRAPHS, RUNTIME):
        (folder / name).mkdir(parents=True)
    _json(folder / MARK, {"brittle bundle": VERSION, "runtime": PACKAGE if runtime else ""})
    _page(folder, resources.files("brittle.explorer") / "web")
    for name, content in runtime.items():
        (folder / RUNTIME / name).write_bytes(content)
    (folder / "report.html").write_text(render(run, section_of).text, encoding="utf-8")
    kept = chosen_images(session, images)
    told = described(session) | {"version": "", "going": ""}
    live = LiveGraphs(session, folder, kept, say)
    spaces = [live.of_space(*pair) if runtime else _nothing_live() for pair in session.spaces]
    _told(told, session, kept, spaces)
    told["bundle"] = {
        "images": {
            name: each.written(run.job.images[name].images, folder, f"{DATA}/images-{place}.bin")
            for place, (name, each) in enumerate(kept.items())
        },
        "labels": _labels(session, kept),
        "spaces": spaces,
        "points": [
            _points(session, cell, kept[cell.cell.images], folder, f"{DATA}/points-{place}.json")
            for place, cell in enumerate(point_cells(session))
        ],
    }
    _json(folder / DATA / "run.json", told)
    return _summed_up(folder, spaces)


def check_folder(folder: Path) -> None:
    """Refuses what a bundle can't go to: a file, or a folder with anything in it that is not a bundle."""
    if folder.exists() and not folder.is_dir():
        raise BrittleError(f"{folder} is a file", "Name a new folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise BrittleError(f"{folder} is not empty and is not a bundle", "Name a new folder.")


def _empty(folder: Path) -> None:
    """Removes an earlier bundle. Its mark goes last: what was removed in part is still a bundle."""
    check_folder(folder)
    for name in (DATA, GRAPHS, RUNTIME):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / MARK).unlink(missing_ok=True)


def _page(folder: Path, files: Traversable) -> None:
    """The page's own files, told to read files in place of asking a server."""
    folder.mkdir(exist_ok=True)
    for each in files.iterdir():
        if each.is_dir():
            _page(folder / each.name, each)
            continue
        if each.name in SERVER_ONLY:
            continue
        content = each.read_bytes()
        if each.name == "index.html":
            plain = '<meta name="source" content="server">'
            text = content.decode()
            assert text.count(plain) == 1
            policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            content = text.replace(plain, f'{policy}\n<meta name="source" content="bundle">').encode()
        (folder / each.name).write_bytes(content)


def _nothing_live() -> dict[str, Any]:
    why = "This bundle was written without a runtime, so nothing in it is live."
    return {"classifiers": {}, "draws": None, "theta": None, "change": None, "why": why}


def _told(told: dict[str, Any], session: Session, kept: Mapping[str, KeptImages], spaces: list[dict[str, Any]]) -> None:
    """Changes what a server tells of the run into what is true of the bundle."""
    for each in told["sets"]:
        there = kept[each["name"]]
        ids = {int(session.run.job.images[each["name"]].images.ids[place]) for place in there.places}
        each["images"] = [image for image in each["images"] if image[0] in ids]
        each["shape"] = list(there.shape)
        if there.others:
            told["notes"].append(
                f"This bundle has {len(there.places)} of the {each['total']:,} images of {each['name']}; numbers are "
                "of all of them."
            )
    for space, found in zip(told["spaces"], spaces, strict=True):
        reasons = [each["why"] for each in found["classifiers"].values()]
        alive = any(not each for each in reasons)
        space["live"] = space["live"] and (alive or found["change"] is not None)
        space["why"] = space["why"] or found["why"]
        space["draws"] = found["draws"]
        told["notes"] += [each for each in [found["why"], *reasons] if each]
        if not {"readings"} & set(found.get("outputs", ())):
            space["readings"] = []
    for each in told["classifiers"]:
        mine = [found["classifiers"].get(each["name"], {"why": found["why"]}) for found in spaces]
        if mine and all(one["why"] for one in mine):
            each["live"], each["why"] = False, each["why"] or mine[0]["why"]
    told["notes"].append(f"Galleries hold points of these images alone, {MOST_IN_GALLERY} at most.")
    told["notes"] = list(dict.fromkeys(told["notes"]))


def _labels(session: Session, kept: Mapping[str, KeptImages]) -> dict[str, dict[str, list[int]]]:
    """By image set and classifier, the right class of every kept image as the classifier counts."""
    job = session.run.job
    return {
        name: {one: job.references(one, name)[list(each.places)].tolist() for one in job.facts}
        for name, each in kept.items()
    }


def _points(session: Session, at: PointCell, kept: KeptImages, folder: Path, file: str) -> dict[str, Any]:
    """Writes the points of a cell: a gallery of some, and all that were kept of each image in the bundle."""
    cell = at.cell
    query = PointsQuery(cell.images, cell.nuisance, cell.classifier, at.measure)
    ids = session.run.job.images[cell.images].images.ids[list(kept.places)].tolist()
    each = max(1, MOST_IN_GALLERY // max(1, len(ids)))
    items: list[Any] = []
    for image in ids:
        items += gallery(session, _replaced(query, image=image, limit=min(each, AT_ONCE)))["items"]
    whole = gallery(session, _replaced(query, limit=0))
    by_image = {image: weak_points(session, _replaced(query, image=image)) for image in ids} if at.sampled else {}
    _json(folder / file, {"items": items, "flows": whole["flows"], "labels": whole["labels"], "weak": by_image})
    return {**at.described(), "file": file, "total": whole["total"], "shown": len(items)}


def _replaced(query: PointsQuery, **changes: Any) -> PointsQuery:
    return PointsQuery(**{**vars(query), **changes})


def _json(path: Path, what: Any) -> None:
    text = json.dumps(_short(what), ensure_ascii=False, separators=(",", ":"))
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # names of files may be no text


def _short(what: Any) -> Any:
    """The same with no more digits than float32 has, of which there are millions."""
    if isinstance(what, float):
        return float(f"{what:.9g}")
    if isinstance(what, Mapping):
        return {name: _short(each) for name, each in what.items()}
    return [_short(each) for each in what] if isinstance(what, (list, tuple)) else what


def _summed_up(folder: Path, spaces: list[dict[str, Any]]) -> WrittenBundle:
    size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    pairs = [one for space in spaces for one in space["classifiers"].values()]
    differences = [one["difference"] for one in pairs if not one["why"]]
    return WrittenBundle(folder, size, len(differences), len(pairs), max(differences, default=0.0))
