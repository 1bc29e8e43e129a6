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

from brittle.engine.view import ImageSetSummary
from brittle.errors import BrittleError
from brittle.measures.class_order import ORDER
from brittle.nuisances import nuisances
from brittle.report.blocks import Block, Cell, Group, Sentence, Weighted
from brittle.report.blocks.figure import Figure as BlockFigure
from brittle.report.blocks.text import Text
from brittle.report.blocks.wording import plain
from brittle.report.page.colours import ClassifierLook, looks
from brittle.report.page.jinja import environment
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.section import MeasureRun, Section
from brittle.report.page.words import in_words, listed, number, sentence, size, unreadable
from brittle.report.renderers.console import GATHERED
from brittle.report.renderers.figures import as_drawn, figures_in
from brittle.report.renderers.html import GroupPlace, HtmlRenderer, Places, anchors, groups_in, in_contents
from brittle.report.renderers.json import Document, MeasureBlocks
from brittle.types import InScales

MOST_CAUTIONS = 8  # at the head of the page; what is left can be opened
MOST_FINDINGS = 10  # on top; what is left can be opened
OWN_IDS = ("measured", "limits", "redo")

SectionOf = Callable[[str], Section]  # by kind of measure; "" for the one that shows any summary


class ShownMeasure(NamedTuple):
    """A measure of the study with its section."""

    run: MeasureRun
    section: Section
    title: str
    key: str  # unique on the page: begins the ids of everything in the section


class MeasureContents(NamedTuple):
    """What a measure says: its own blocks, and the sentences that the page gathers from all measures, by role."""

    shown: ShownMeasure
    blocks: Sequence[Block]
    gathered: Mapping[str, Sequence[Text]]


class MeasureBody(NamedTuple):
    """A measure's part of the page, and what the table of contents says of it."""

    key: str
    title: str
    markup: Markup
    parts: Sequence[tuple[str, str]]  # id and heading


class RenderedPage(NamedTuple):
    """The report as text, and what it says on top; the same run gives the same page."""

    text: str
    findings: Sequence[str]


def render(run: LoadedRun, section_of: SectionOf) -> RenderedPage:
    shown = list(_shown(run, section_of))
    missing = list(run.missing)
    every = [_contents(each, section_of, missing) for each in shown]
    appearance = looks(list(run.study.classifiers))
    findings = [*_class_orders(run), *map(plain_block, _top(shown))]
    cautions = _cautions(run, every)
    page = environment().get_template("page.html.j2")
    text = page.render(
        run=run,
        title=_title(run, shown),
        looks=appearance,
        cautions=[*cautions[:MOST_CAUTIONS], *missing],
        more_cautions=cautions[MOST_CAUTIONS:],
        missing=bool(missing),
        findings=findings[:MOST_FINDINGS],
        more_findings=findings[MOST_FINDINGS:],
        explanations=_all(every, "definition"),
        limits=_all(every, "limit"),
        citing=_all(every, "citation"),
        references=list(dict.fromkeys(_all(every, "reference"))),
        bodies=_bodies(run, every, appearance),
        image_sets=[_image_set(run, name) for name in run.summary["image_sets"]],
        nuisances=[_nuisance(run, *cell) for cell in _cells(run)],
        command=f"brittle run study.toml --out {'run' if run.path is None else _again(run.path)}",
        live=listed(run.live, 6),
        study_text=run.study_text,
        environment=_flat(run.environment),
    )
    return RenderedPage(text, findings)


def document(run: LoadedRun, section_of: SectionOf) -> Document:
    """The same as blocks."""
    shown = list(_shown(run, section_of))
    missing = list(run.missing)
    every = [_blocks(each, section_of, missing) for each in shown]
    return Document(
        _title(run, shown),
        tuple(_top(shown)),
        (*_warnings(run), *missing),
        tuple(
            MeasureBlocks(each.run.name, each.run.summary["kind"], each.title, tuple(blocks))
            for each, blocks in zip(shown, every, strict=True)
        ),
    )


def outline(run: LoadedRun, section_of: SectionOf) -> list[Block]:
    """The findings, and every measure in brief: what can be told without loading anything."""
    shown = list(_shown(run, section_of))
    warnings = (Sentence(text, "warning") for text in _warnings(run))
    briefs = (Group(each.run.name, tuple(each.section.brief(each.run.summary))) for each in shown)
    return [Group(_title(run, shown), (*warnings, *_top(shown), *briefs))]


def figures_of(run: LoadedRun, section_of: SectionOf, measure: str) -> list[Figure]:
    """What the report draws of one measure."""
    shown = next(each for each in _shown(run, section_of) if each.run.name == measure)
    appearance = looks(list(run.study.classifiers))
    return [as_drawn(each, appearance) for each in figures_in(shown.section.blocks(shown.run))]


def _again(path: Path) -> str:
    return shlex.quote(f"{path.resolve().name}-again")


def _shown(run: LoadedRun, section_of: SectionOf) -> Iterator[ShownMeasure]:
    """Every measure, those that are read before their readers."""
    entries = run.summary["measures"]
    kinds = [entry["kind"] for entry in entries.values()]
    taken = set(OWN_IDS)
    for name, entry in entries.items():
        section = section_of(entry["kind"])
        title = section.title or in_words(entry["kind"])
        title = f"{title}: {name}" if kinds.count(entry["kind"]) > 1 else title
        yield ShownMeasure(MeasureRun(name, entry, run), section, title, _key(name, taken))


def _key(name: str, taken: set[str]) -> str:
    """An id made of the measure's name."""
    base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "measure"
    key = next(key for count in itertools.count() if (key := f"{base}-{count}" if count else base) not in taken)
    taken.add(key)
    return key


def _blocks(each: ShownMeasure, section_of: SectionOf, missing: list[str]) -> Sequence[Block]:
    """What the section shows; its summary alone where there is no more."""
    try:
        return each.section.blocks(each.run)
    except (BrittleError, OSError) as error:
        reason = str(error).rstrip(".")
        missing.append(f"Of {each.run.name} only the summary is shown: {reason}.")
        return section_of("").blocks(each.run)


def _contents(each: ShownMeasure, section_of: SectionOf, missing: list[str]) -> MeasureContents:
    own: list[Block] = []
    gathered: dict[str, list[Text]] = {role: [] for role in GATHERED}
    for block in _blocks(each, section_of, missing):
        if isinstance(block, Sentence) and block.role in gathered:
            gathered[block.role].append(block.text)
        else:
            own.append(block)
    return MeasureContents(each, own, gathered)


def _all(every: Sequence[MeasureContents], role: str) -> list[str]:
    return [plain(text) for each in every for text in each.gathered[role]]


def _bodies(
    run: LoadedRun, every: Sequence[MeasureContents], appearance: Mapping[str, ClassifierLook]
) -> list[MeasureBody]:
    places: dict[Cell, list[GroupPlace]] = {}
    ids = {each.shown.key: anchors(each.blocks, each.shown.key) for each in every}
    for each in every:
        key = each.shown.key
        for group in groups_in(each.blocks):
            if group.about is not None:
                title = f"{each.shown.title}: {plain(group.title)}"
                places.setdefault(group.about, []).append(GroupPlace(ids[key][id(group)], title, key))
    return [_body(run, each, appearance, places, ids[each.shown.key]) for each in every]


def _body(
    run: LoadedRun,
    each: MeasureContents,
    appearance: Mapping[str, ClassifierLook],
    places: Places,
    ids: Mapping[int, str],
) -> MeasureBody:
    key = each.shown.key
    markup = HtmlRenderer(run, appearance, key, places, ids).render(each.blocks)
    parts = [(ids[id(group)], plain(group.title)) for group in in_contents(each.blocks)]
    return MeasureBody(key, each.shown.title, markup, parts)


def _top(shown: Iterable[ShownMeasure]) -> list[Block]:
    return ranked(itertools.chain.from_iterable(each.section.top(each.run) for each in shown))


def ranked(every: Iterable[Weighted]) -> list[Block]:
    """The weightiest first; of what is about the same thing only the weightiest."""
    kept: dict[Hashable, Block] = {}
    for each in sorted(every, key=lambda weighted: -weighted.weight):
        kept.setdefault(each.about or id(each), each.block)
    return list(kept.values())


def plain_block(block: Block) -> str:
    """What a finding says, where there is room for words alone."""
    return plain(block.text) if isinstance(block, Sentence) else block.alt if isinstance(block, BlockFigure) else ""


def _class_orders(run: LoadedRun) -> list[str]:
    """Classes that seem to be matched in the wrong order come before all else."""
    return [
        f"{each['classifier']} seems to count its classes in another order than {each['image_set']}: clean accuracy is "
        f"{number(each['accuracy_clean'])} as they are matched and {number(each['accuracy_reordered'])} in the order "
        "that fits best. Until that is settled, nothing below that rests on labels means anything."
        for each in run.summary.get(ORDER, ())
    ]


def _warnings(run: LoadedRun) -> list[str]:
    return [*_class_orders(run), *(sentence(text) for text in run.summary["warnings"] if text)]


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


def _cautions(run: LoadedRun, every: Sequence[MeasureContents]) -> list[str]:
    """What a reader must see before the numbers."""
    said = [sentence(text) for text in run.summary["warnings"] if text]
    for name, skipped in run.summary["skipped"].items():
        if skipped:
            said.append(f"{name}: {unreadable(len(skipped))} left out: {listed(skipped, 3)}.")
    return [*said, *_all(every, "warning")]


def _image_set(run: LoadedRun, name: str) -> dict[str, Any]:
    told, chosen = run.summary["image_sets"][name], run.chosen(name)
    labels = None if chosen is None else chosen.images.labels
    unlabelled = 0 if labels is None else int((labels < 0).sum())
    present = len(told["classes"]) if labels is None else len(set(labels[labels >= 0].tolist()))
    shapes = [ImageSetSummary.read(told).shape] if chosen is None else list(chosen.images.shapes)
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
    space = run.job.nuisances.get(nuisance)
    made = nuisance if space is None or isinstance(space, InScales) else nuisances.spec_of(space)
    spec = run.study.nuisances.get(nuisance, made)
    return {"name": nuisance, "spec": spec, "images": images, "prior": prior}


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
