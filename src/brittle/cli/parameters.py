"""Parameters that only commands have: what Python says by other means."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.registry.options import option


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """Which other classifiers, and which of them belong together."""

    against: tuple[str, ...] = option((), "compare with this classifier, paired; may be repeated")
    groups: tuple[str, ...] = option(
        (),
        "NAME=GROUP: a classifier's group, which several trainings of one model share; may be repeated",
        flag="group",
    )


@dataclass(frozen=True, kw_only=True)
class DetailOptions:
    """How much of a run that is kept is printed."""

    full: bool = option(False, "print all tables, however long; with --out, a screenful by default")


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How results are shown."""

    as_json: bool = option(False, "print one JSON object and nothing else", flag="json")
