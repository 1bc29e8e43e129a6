"""A verdict as JUnit XML, which CI systems show as tests: one per number, condition and named case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from brittle.comparison.paired import NUMBERS
from brittle.gate.blocks import said_of
from brittle.gate.verdict import GateVerdict, State
from brittle.terminal import visible


class TestCase(NamedTuple):
    """One line of the XML."""

    group: str
    name: str
    state: State
    message: str


def junit_of(verdict: GateVerdict) -> str:
    """The XML text. What can't be told yet is an error, a failure, or skipped, as the option `unsure` has it."""
    cases = list(cases_of(verdict))
    unsure = {"stop": "error", "fail": "failure", "pass": "skipped"}[verdict.options.unsure]
    tags = {"failed": "failure", "unsure": unsure}
    shown = [tags.get(case.state, "") for case in cases]
    counts = {f"{tag}s" if tag != "skipped" else tag: str(shown.count(tag)) for tag in ("failure", "error", "skipped")}
    suite = ElementTree.Element("testsuite", {"name": "brittle", "tests": str(len(cases)), **counts})
    for case, tag in zip(cases, shown, strict=True):
        made = ElementTree.SubElement(
            suite, "testcase", {"classname": f"brittle.{case.group}", "name": _clean(case.name)}
        )
        if tag:
            ElementTree.SubElement(made, tag, {"message": _clean(case.message), "type": case.state})
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def cases_of(verdict: GateVerdict) -> Iterator[TestCase]:
    """Everything that was judged."""
    for change in verdict.changes:
        cell, state = change.cell, change.state(verdict.options.allow)
        where = (cell.classifier, cell.image_set, cell.nuisance or "untouched", NUMBERS[change.number])
        told = verdict.to_tell.get((cell, change.number))
        more = f"; about {told:,} images would tell" if state == "unsure" and told else ""
        allow, said = f"{verdict.options.allow:g}", said_of(change)
        words = {
            "failed": f"{said}, more than the {allow} allowed",
            "unsure": f"it can't be told yet whether it fell by more than {allow}: {said}{more}",
            "passed": "",
        }
        yield TestCase(cell.measure, " · ".join(where), state, words[state])
    for each in verdict.numbers:
        met: State = "passed" if each.holds else "failed"
        said = f"{each.name} is {each.value:.6g}, and {each.condition} was asked for"
        yield TestCase("require", f"{each.condition} · {each.name}", met, said)
    for case in verdict.cases:
        met = "passed" if case.right else "failed"
        said = f"{case.predicted} in place of {case.expected}, whose probability is {case.probability:.3f}"
        yield TestCase("case", f"{case.name} · {case.classifier}", met, said)


def _clean(text: str) -> str:
    """XML has no control characters, not even as references."""
    return " ".join(visible(text).split())
