"""The protocol of a measure is small, and stays so."""

from brittle.measures import measures
from brittle.measures.base import Derived, Measure

MEMBERS = {
    *("over", "reads", "needs", "check", "nuisances", "image_sets"),
    *("plan", "calls", "evaluate", "fold", "summarise"),
}


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_a_measure_has_eleven_members():
    assert public(Measure) == MEMBERS
    assert len(MEMBERS) == 11


def test_a_derived_measure_adds_none():
    assert public(Derived) <= MEMBERS


def test_what_plans_nothing_is_derived():
    own = {name: kind for name, kind in measures.loaded().items() if kind.__module__.startswith("brittle.")}
    derived = {name for name, kind in own.items() if issubclass(kind, Derived)}
    assert derived == {name for name, kind in own.items() if kind.plan is Derived.plan}
    assert {"ranking", "line", "interference", "cue-conflict", "error-consistency"} <= derived
