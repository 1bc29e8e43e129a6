"""What `train` and `harden` do with their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from brittle.api.notices import progress_shown, unshown_notes, warn
from brittle.engine.open import classifier_at, images_at

if TYPE_CHECKING:
    from brittle.results import HardenResult


def train_network(given: Mapping[str, Any]) -> dict[str, Any]:
    """Trains a network; returns what `brittle train --json` prints."""
    from brittle.training import train  # what trains is imported when something is trained

    with progress_shown(given["progress"]) as seen:
        found = train(**{**given, "progress": seen})
    warn(unshown_notes(seen))
    return found


def harden_classifier(given: Mapping[str, Any]) -> HardenResult:
    """Hardens a classifier; a folder gets its report."""
    from brittle.hardening.harden import harden_classifier as harden
    from brittle.results import HardenResult

    opened = {"classifier": classifier_at, **dict.fromkeys(("images", "test"), images_at)}
    with progress_shown(given["progress"]) as seen:
        found = harden(
            **{key: opened.get(key, lambda what: what)(value) for key, value in given.items()} | {"progress": seen}
        )
    hardened = HardenResult(**vars(found))
    if given["out"] is not None:
        hardened.report()
    warn([*unshown_notes(seen), *found.summary["warnings"]])
    return hardened
