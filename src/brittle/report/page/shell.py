"""The page: what was measured, the findings of all sections, each section in turn, and how to redo it."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from brittle.engine.view import SetFacts
from brittle.errors import BrittleError
from brittle.report.page import figures
from brittle.report.page.cells import CellNotes
from brittle.report.page.colours import looks
from brittle.report.page.jinja import environment
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.section import Finding, MeasureRun, Remarks, Section
from brittle.report.page.words import in_words, listed, sentence, size, unreadable

MOST_CAUTIONS = 8  # at the head of the page; what is left can be opened
MOST_FINDINGS = 10  # on top; what is left can be opened
OWN_IDS = ("measured", "cells", "limits", "redo")
PART = re.compile(r'<section[^>]*?\bid="([^"]+)"[^>]*>\s*<h3[^>]*>(.*?)</h3>', re.DOTALL)

SectionOf = Callable[[str], Section]  # by kind of measure; "" for the one that shows any summary


class ShownMeasure(NamedTuple):
    """A measure of the study with its section."""

    run: MeasureRun
    section: Section
    title: str


class Body(NamedTuple):
    """A measure's part of the page, and what the table of contents says of it."""

    key: str
    title: str
    markup: Markup
    parts: Sequence[tuple[str, str]]  # id and heading


class Page(NamedTuple):
    """The report as text, and what it says on top; the same run gives the same page."""

    text: str
    findings: Sequence[str]


def render(run: LoadedRun, section_of: SectionOf) -> Page:
    notes = CellNotes(lambda images, nuisance: _gathered(shown, images, nuisance), run.many_sets)
    shown = list(_shown(run, section_of, notes))
    missing = list(run.missing)
    bodies = [_body(each, section_of, missing) for each in shown]
    remarks = [each.section.remarks(each.run) for each in shown]
    findings = ranked(itertools.chain.from_iterable(each.section.findings(each.run) for each in shown))
    cautions = _cautions(run, remarks)
    page = environment().get_template("page.html.j2")
    text = page.render(
        run=run,
        title=_title(run, shown),
        looks=looks(list(run.study.classifiers)),
        styles=list(dict.fromkeys(filter(None, (each.section.style() for each in shown)))),
        cautions=[*cautions[:MOST_CAUTIONS], *missing],
        more_cautions=cautions[MOST_CAUTIONS:],
        missing=bool(missing),
        findings=findings[:MOST_FINDINGS],
        more_findings=findings[MOST_FINDINGS:],
        explanations=[each.explanation for each in remarks if each.explanation],
        limits=[text for each in remarks for text in each.limits],
        citing=[each.citing for each in remarks if each.citing],
        references=list(dict.fromkeys(text for each in remarks for text in each.references)),
        bodies=bodies,
        rest=list(notes.rest(_cells(run))),
        image_sets=[_image_set(run, name) for name in run.summary["image_sets"]],
        nuisances=[_nuisance(run, *cell) for cell in _cells(run)],
        command=f"brittle run study.toml --out {'run' if run.path is None else _again(run.path)}",
        live=listed(run.live, 6),
        study_text=run.study_text,
        environment=_flat(run.environment),
    )
    return Page(text, findings)


def figures_of(run: LoadedRun, section_of: SectionOf, measure: str) -> list[Figure]:
    """What the report draws of one measure."""
    notes = CellNotes(lambda images, nuisance: (), run.many_sets)
    shown = next(each for each in _shown(run, section_of, notes) if each.run.name == measure)
    with figures.kept() as drawn:
        shown.section.body(shown.run)
    return drawn


def _again(path: Path) -> str:
    return shlex.quote(f"{path.resolve().name}-again")


def _shown(run: LoadedRun, section_of: SectionOf, notes: CellNotes) -> Iterator[ShownMeasure]:
    """Every measure, those that are read before their readers."""
    entries = run.summary["measures"]
    kinds = [entry["kind"] for entry in entries.values()]
    appearance, taken = looks(list(run.study.classifiers)), set(OWN_IDS)
    for name, entry in entries.items():
        key = _key(name, taken)
        section = section_of(entry["kind"])
        title = section.title or in_words(entry["kind"])
        title = f"{title}: {name}" if kinds.count(entry["kind"]) > 1 else title
        yield ShownMeasure(MeasureRun(name, entry, run, appearance, key, notes.beside, notes.see), section, title)


def _key(name: str, taken: set[str]) -> str:
    """An id made of the measure's name."""
    base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "measure"
    key = next(key for count in itertools.count() if (key := f"{base}-{count}" if count else base) not in taken)
    taken.add(key)
    return key


def _gathered(shown: Iterable[ShownMeasure], images: str, nuisance: str) -> Iterator[Markup | None]:
    for each in shown:
        yield each.section.beside(each.run, images, nuisance)


def _body(each: ShownMeasure, section_of: SectionOf, missing: list[str]) -> Body:
    """What the section shows; its summary alone where more can't be had."""
    try:
        markup = each.section.body(each.run)
    except (BrittleError, OSError) as error:
        reason = str(error).rstrip(".")
        missing.append(f"Of {each.run.name} only the summary is shown: {reason}.")
        markup = section_of("").body(each.run)
    markup += each.run.distortion()  # what the section has not put beside its numbers itself
    parts = [(anchor, Markup(heading).striptags()) for anchor, heading in PART.findall(markup)]
    return Body(each.run.key, each.title, markup, parts)


def ranked(findings: Iterable[Finding]) -> list[str]:
    """The weightiest first; of those about the same thing only the weightiest."""
    said: set[Hashable] = set()
    kept = []
    for each in sorted(findings, key=lambda finding: -finding.weight):
        if each.about is None or each.about not in said:
            kept.append(each.text)
            said.add(each.about)
    return kept


def _title(run: LoadedRun, shown: Sequence[ShownMeasure]) -> str:
    """The study's own, or what was measured of which classifiers under which nuisances."""
    if run.study.title:
        return run.study.title
    first, *others = dict.fromkeys(each.title for each in shown)
    what = listed([first, *(text[:1].lower() + text[1:] for text in others)], 3)
    nuisances = list(dict.fromkeys(nuisance for _, nuisance in _cells(run)))
    under = f" under {listed(nuisances, 3)}" if nuisances else f" on {listed(list(run.summary['image_sets']), 3)}"
    return f"{what} of {listed(list(run.study.classifiers), 3)}{under}"


def _cells(run: LoadedRun) -> list[tuple[str, str]]:
    """Each image set under each nuisance that a measure was asked about."""
    asked = (each for each in run.job.assignments.values() if each.asked)
    cells = ((cell.images, cell.nuisance) for each in asked for cell in each.cells())
    return list(dict.fromkeys(cell for cell in cells if all(cell)))


def _cautions(run: LoadedRun, remarks: Sequence[Remarks]) -> list[str]:
    """What a reader must see before the numbers."""
    said = [sentence(text) for text in run.summary["warnings"] if text]
    for name, skipped in run.summary["skipped"].items():
        if skipped:
            said.append(f"{name}: {unreadable(len(skipped))} left out: {listed(skipped, 3)}.")
    return [*said, *(text for each in remarks for text in each.cautions)]


def _image_set(run: LoadedRun, name: str) -> dict[str, Any]:
    told, chosen = run.summary["image_sets"][name], run.chosen(name)
    labels = None if chosen is None else chosen.images.labels
    unlabelled = 0 if labels is None else int((labels < 0).sum())
    present = len(told["classes"]) if labels is None else len(set(labels[labels >= 0].tolist()))
    shapes = [SetFacts.read(told).shape] if chosen is None else list(chosen.images.shapes)
    return {
        "name": name,
        "entry": run.study.images[name],
        "images": told["images"],
        "population": told["population"],
        "size": size(shapes) if len(shapes) > 1 or told.get("shapes", 1) == 1 else f"up to {size(shapes)}",
        "classes": present,
        "unlabelled": "none has a label" if unlabelled == told["images"] else f"{unlabelled} without a label",
        "all_labelled": not unlabelled,
    }


def _nuisance(run: LoadedRun, images: str, nuisance: str) -> dict[str, Any]:
    """What a nuisance's prior means on an image set: as computed now, or as the run has noted it."""
    if images in run.job.images and nuisance in run.job.nuisances:
        prior = run.job.prior(images, nuisance)
    else:
        noted = (row for row in _rows(run.summary["measures"]) if row.get("nuisance") == nuisance)
        prior = next((row["prior"] for row in noted if row.get("image_set") == images and "prior" in row), "not loaded")
    return {"name": nuisance, "spec": run.study.nuisances.get(nuisance, nuisance), "images": images, "prior": prior}


def _rows(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every dictionary in the lists of a summary's entries."""
    for entry in value.values():
        for rows in entry.values():
            if isinstance(rows, list):
                yield from (row for row in rows if isinstance(row, dict))


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Nested values as a table of two columns."""
    if not isinstance(value, dict):
        return {prefix: "none" if value is None else str(value)}
    flat: dict[str, str] = {}
    for key, item in value.items():
        flat |= _flat(item, f"{prefix} {key}".strip())
    return flat
