"""The HTML report of a run: one file that needs nothing else, readable without JavaScript."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from brittle.files import write_durably
from brittle.report import hardening, sentences, weak_points, weak_sentences
from brittle.report.colours import Look, looks
from brittle.report.figures import class_figure, curve_figure, shown_classes
from brittle.report.gallery import LONGEST, Gallery, galleries
from brittle.report.loaded import Run, load
from brittle.report.options import Curve, curves
from brittle.report.weak_points import Part

MOST_HEADLINES = 3  # of weak points, on top of the report
EXTRAS = {"nll": "NLL", "ece": "ECE", "top5": "top-5 accuracy"}


def write_report(folder: Path) -> Path:
    """Writes `report.html` into a run folder and returns its path."""
    run = load(Path(folder))
    text = render(run)
    write_durably(run.folder.report, lambda to: to.write_text(text, encoding="utf-8"))
    return run.folder.report


def render(run: Run) -> str:
    """The report as text; the same run gives the same text."""
    environment = Environment(
        loader=PackageLoader("brittle.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    said = (sentences.number, sentences.interval, sentences.listed, sentences.pixels, sentences.size)
    environment.filters |= {each.__name__: each for each in said}
    appearance = looks(list(run.study.classifiers))
    pictures, check = galleries(run)
    weak, weak_check = weak_points.parts(run)
    hardened, unshown = hardening.section(run, appearance)
    first = next(iter(run.summary.get("results", ())), None)
    return environment.get_template("report.html.j2").render(
        run=run,
        title=sentences.title(run),
        looks=appearance,
        first=first,
        extras={key: name for key, name in EXTRAS.items() if first is not None and key in first},
        cautions=[*sentences.cautions(run), *unshown],
        hardened=hardened,
        sets=[
            _image_set(run, name, appearance, pictures, weak, hardened, place)
            for place, name in enumerate(run.study.images)
        ],
        check=check,
        weak=weak,
        weak_check=weak_check,
        longest_table=weak_points.TABLE,
        most_rows=weak_points.MOST_ROWS,
        longest=LONGEST,
        calls=_calls(run),
        command=f"brittle run study.toml --out {shlex.quote(run.folder.path.resolve().name + '-again')}",
        study_text=run.folder.study.read_text(encoding="utf-8"),
        environment=_flat(run.environment),
    )


def _image_set(
    run: Run,
    name: str,
    appearance: Mapping[str, Look],
    pictures: Sequence[Gallery],
    weak: Sequence[Part],
    hardened: hardening.Section | None,
    place: int,
) -> dict[str, Any]:
    """Everything of one image set, ready for the template."""
    rows, chosen = run.results(name), run.images.get(name)
    points = run.weak_points(name)
    entries = [*rows, *points]
    sampled = [part for part in weak if part.entry["image_set"] == name]
    shown = [gallery for gallery in pictures if gallery.image_set == name]
    return {
        "name": name,
        "entry": run.study.images[name],
        "chosen": chosen,
        "rows": rows,
        "by_nuisance": {nuisance: run.results(name, nuisance) for nuisance in run.study.nuisances},
        "used": [entry["images"] for entry in rows or points],
        "weak_used": [entry["images"] for entry in points] if rows else [],
        "priors": {entry["nuisance"]: entry["prior"] for entry in entries},
        "ranks": {nuisance: sentences.ranks(run, name, nuisance) for nuisance in run.study.nuisances},
        "labelled": all(row["reference"] == "label" for row in rows) if rows else _labelled(run, name),
        "classes_there": len(rows[0].get("classes", ()) if rows else run.summary["image_sets"][name]["classes"]),
        "findings": [
            *(hardened.findings if hardened else ()),
            *sentences.findings(run, name, hardening.PAIR if hardened else None),
            *(weak_sentences.headline(part.entry, part.called.names) for part in sampled[:MOST_HEADLINES]),
        ],
        "pairs": run.comparisons(name),
        "curves": _curves(run, rows, appearance, shown, f"s{place}"),
        "classes": _classes(run, name, appearance, f"s{place}"),
        "galleries": shown,
        "small": chosen is not None and max(chosen.images.shape[1:]) <= 64,
    }


def _labelled(run: Run, name: str) -> bool:
    """Whether all images have labels, as far as can still be known."""
    chosen = run.images.get(name)
    return True if chosen is None else bool((chosen.images.labels >= 0).all())


def _curves(
    run: Run, rows: Sequence[Mapping[str, Any]], appearance: Mapping[str, Look], shown: Sequence[Gallery], key: str
) -> list[tuple[Curve, Markup]]:
    change = {gallery.nuisance: gallery.change for gallery in shown}
    if not rows:
        return []
    return [
        (curve, Markup(curve_figure(f"{key}o{place}", curve, rows, appearance, falling=_falling(curve, change))))
        for place, curve in enumerate(curves(run.nuisances))
    ]


def _falling(curve: Curve, change: Mapping[str, float | None]) -> bool | None:
    """Whether smaller values of the option change images more, told from the pictures themselves; None if unclear."""
    changes = [change.get(name) for name in curve.points.values()]
    known = [each for each in changes if each is not None]
    if len(known) < len(changes) or len(set(known)) == 1:
        return None
    slope = statistics.correlation(range(len(known)), known)
    return slope < 0 if abs(slope) > 0.5 else None


def _classes(run: Run, name: str, appearance: Mapping[str, Look], key: str) -> list[dict[str, Any]]:
    """A figure and its numbers per nuisance; none where images have no labels or all are of one class."""
    found = []
    for place, nuisance in enumerate(run.study.nuisances):
        rows = run.results(name, nuisance)
        if rows and all(len(row.get("classes", ())) > 1 for row in rows):
            classes = shown_classes(rows)
            found.append(
                {
                    "nuisance": nuisance,
                    "figure": Markup(class_figure(f"{key}c{place}", nuisance, rows, appearance)),
                    "shown": [each for each in classes if each is not None],
                    "cut": None in classes,
                    "total": len(rows[0]["classes"]),
                    "by": {(row["classifier"], each["label"]): each for row in rows for each in row["classes"]},
                }
            )
    return found


def _calls(run: Run) -> dict[str, int]:
    """Images classified, per classifier: every draw and whatever samplers tried, and each set's untouched images
    once."""
    calls = {}
    for name in run.study.classifiers:
        rows, sampled = (
            [entry for entry in run.summary.get(key, ()) if entry["classifier"] == name]
            for key in ("results", "weak_points")
        )
        clean = {row["image_set"]: 0 for row in (*rows, *sampled)}
        for row in (*rows, *sampled):
            clean[row["image_set"]] = max(clean[row["image_set"]], row["images"])
        drawn = sum(row["images"] * row["samples"] for row in rows) + sum(entry["calls"] for entry in sampled)
        calls[name] = drawn + sum(clean.values())
    return calls


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Nested values as a table of two columns."""
    if not isinstance(value, dict):
        return {prefix: "none" if value is None else str(value)}
    flat: dict[str, str] = {}
    for key, item in value.items():
        flat |= _flat(item, f"{prefix} {key}".strip())
    return flat
