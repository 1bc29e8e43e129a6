"""The page: the first screen, all findings, what was measured, each section in turn, and how to redo it."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from brittle.engine.store.place import Place
from brittle.errors import BrittleError
from brittle.measures.class_order import ORDER
from brittle.registry.spec import in_words
from brittle.report.blocks import Block, Cell, Pictures, Sentence, Weighted
from brittle.report.blocks.figure import Figure as BlockFigure
from brittle.report.blocks.text import Text
from brittle.report.blocks.wording import plain
from brittle.report.page.cautions import MergedCaution, PlacedCautions, placed
from brittle.report.page.colours import ClassifierLook, looks
from brittle.report.page.first_screen import FirstScreen, first_screen
from brittle.report.page.jinja import environment
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.measured import cells_asked, flat, image_set, nuisance_of, spoken_names
from brittle.report.page.names import SpokenNames
from brittle.report.page.section import MeasureRun, Section
from brittle.report.page.telling import telling_failures
from brittle.report.page.words import counted, listed, number, sentence
from brittle.report.renderers.console import GATHERED
from brittle.report.renderers.figures import as_drawn, figures_in
from brittle.report.renderers.html import GroupPlace, HtmlRenderer, Places, anchors, groups_in, in_contents
from brittle.report.renderers.json import Document, MeasureBlocks

MOST_FINDINGS = 6  # below the first screen; what is left can be opened
MOST_PARTS = 7  # of a measure that the contents name
OWN_IDS = ("overview", "findings", "cautions", "measured", "limits", "redo", "first")

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
    cautions: Sequence[MergedCaution]
    markup: Markup
    parts: Sequence[tuple[str, str]]  # id and heading
    limits: Sequence[str]


class RenderedPage(NamedTuple):
    """The report as text, and what it says on top; the same run gives the same page."""

    text: str
    findings: Sequence[str]


class PageContents(NamedTuple):
    """All that a report says, before anything is rendered."""

    title: str
    names: SpokenNames
    first: FirstScreen
    cautions: PlacedCautions
    measures: Sequence[MeasureContents]


def contents(run: LoadedRun, section_of: SectionOf) -> PageContents:
    """What a report says, with everything called as people call it."""
    shown, names = list(_shown(run, section_of)), spoken_names(run)
    missing = list(run.missing)
    every = [_contents(each, section_of, missing, names) for each in shown]
    top = names.blocks([*(Sentence(text, "finding") for text in _class_orders(run)), *_top(shown)])
    briefs = names.blocks(block for each in shown for block in each.section.brief(each.run.summary))
    failures = telling_failures(run, (block for each in every for block in each.blocks))
    first = first_screen(top, briefs, tuple(map(names.strip, failures)))
    own = {each.shown.run.name: list(map(plain, each.gathered["warning"])) for each in every}
    keys = {"": "cautions"} | {each.shown.run.name: f"{each.shown.key}-cautions" for each in every}
    cautions = placed(run, [*run.notes, *missing], own, keys)
    return PageContents(names.plain(_title(run, shown, names)), names, first, cautions, every)


def render(run: LoadedRun, section_of: SectionOf) -> RenderedPage:
    said = contents(run, section_of)
    appearance = looks(list(run.study.classifiers))
    on_first = HtmlRenderer(run, appearance, "first", confirms=False)
    findings = [plain(text) for text in (said.first.verdict, *said.first.findings) if text]
    page = environment().get_template("page.html.j2")
    text = page.render(
        run=run,
        title=said.title,
        looks=appearance,
        said=said,
        plain=said.names.plain,
        verdict=on_first.inline(said.first.verdict),
        shown=on_first.render((said.first.shown,)) if said.first.shown is not None else "",
        others=on_first.render(said.first.others),
        failures=on_first.render((Pictures(said.first.failures, "pairs"),)) if said.first.failures else "",
        findings=[on_first.inline(each) for each in said.first.findings],
        most_findings=MOST_FINDINGS,
        bodies=_bodies(run, said, appearance),
        explanations=_all(said.measures, "definition"),
        citing=_all(said.measures, "citation"),
        references=list(dict.fromkeys(_all(said.measures, "reference"))),
        image_sets=[image_set(run, name) for name in run.summary["image_sets"]],
        nuisances=[nuisance_of(run, *cell) for cell in cells_asked(run)],
        command=f"brittle run study.toml --out {'run' if run.path is None else _again(run.path)}",
        live=listed(run.live, 6),
        study_text=run.study_text,
        environment=flat(run.environment),
    )
    return RenderedPage(text, findings)


def document(run: LoadedRun, section_of: SectionOf) -> Document:
    """The same as blocks."""
    shown = list(_shown(run, section_of))
    missing = list(run.missing)
    every = [_blocks(each, section_of, missing) for each in shown]
    return Document(
        _title(run, shown, spoken_names(run)),
        tuple(_top(shown)),
        (*_warnings(run), *missing),
        tuple(
            MeasureBlocks(each.run.name, each.run.summary["kind"], each.title, tuple(blocks))
            for each, blocks in zip(shown, every, strict=True)
        ),
    )


def figures_of(run: LoadedRun, section_of: SectionOf, measure: str) -> list[Figure]:
    """What the report draws of one measure."""
    shown = next(each for each in _shown(run, section_of) if each.run.name == measure)
    appearance = looks(list(run.study.classifiers))
    return [as_drawn(each, appearance) for each in figures_in(shown.section.blocks(shown.run))]


def _again(path: Place) -> str:
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


def _contents(each: ShownMeasure, section_of: SectionOf, missing: list[str], names: SpokenNames) -> MeasureContents:
    own: list[Block] = []
    gathered: dict[str, list[Text]] = {role: [] for role in GATHERED}
    for block in names.blocks(_blocks(each, section_of, missing)):
        if isinstance(block, Sentence) and block.role in gathered:
            gathered[block.role].append(block.text)
        else:
            own.append(block)
    return MeasureContents(each, own, gathered)


def _all(every: Sequence[MeasureContents], role: str) -> list[str]:
    return [plain(text) for each in every for text in each.gathered[role]]


def _bodies(run: LoadedRun, said: PageContents, appearance: Mapping[str, ClassifierLook]) -> list[MeasureBody]:
    places: dict[Cell, list[GroupPlace]] = {}
    ids = {each.shown.key: anchors(each.blocks, each.shown.key) for each in said.measures}
    for each in said.measures:
        key = each.shown.key
        for group in groups_in(each.blocks):
            if group.about is not None:
                title = f"{each.shown.title}: {plain(group.title)}"
                places.setdefault(group.about, []).append(GroupPlace(ids[key][id(group)], title, key))
    return [_body(run, each, said, appearance, places, ids[each.shown.key]) for each in said.measures]


def _body(
    run: LoadedRun,
    each: MeasureContents,
    said: PageContents,
    appearance: Mapping[str, ClassifierLook],
    places: Places,
    ids: Mapping[int, str],
) -> MeasureBody:
    key, limits = each.shown.key, list(map(plain, each.gathered["limit"]))
    markup = HtmlRenderer(run, appearance, key, places, ids, bool(limits)).render(each.blocks)
    parts = [(ids[id(group)], plain(group.title)) for group in in_contents(each.blocks)]
    if len(parts) > MOST_PARTS:
        parts = [*parts[: MOST_PARTS - 1], (key, f"and {len(parts) - MOST_PARTS + 1} more")]
    return MeasureBody(key, each.shown.title, said.cautions.of[each.shown.run.name], markup, parts, limits)


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


def _title(run: LoadedRun, shown: Sequence[ShownMeasure], names: SpokenNames) -> str:
    """The study's own, or what was measured of which classifiers under which nuisances."""
    if run.study.title:
        return run.study.title
    first, *others = dict.fromkeys(each.title for each in shown)
    what = listed([first, *(text[:1].lower() + text[1:] for text in others)], 3)
    nuisances = list(dict.fromkeys(names.titles.get(nuisance, nuisance) for _, nuisance in cells_asked(run)))
    if len(nuisances) > 2:
        under = f" under {counted(len(nuisances), 'nuisance')}"
    else:
        under = (
            f" under {' and '.join(nuisances)}" if nuisances else f" on {listed(list(run.summary['image_sets']), 3)}"
        )
    of = f" of {listed(list(run.study.classifiers), 3)}" if run.study.classifiers else ""
    return f"{what}{of}{under if nuisances or run.summary['image_sets'] else ''}"
