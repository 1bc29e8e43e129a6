"""What `train` and `harden` do with their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from brittle.api.shown import shown, unseen, warn
from brittle.engine.open import classifier_at, images_at

if TYPE_CHECKING:
    from brittle.results import Hardened


def train_network(given: Mapping[str, Any]) -> dict[str, Any]:
    """Trains a network; returns what `brittle train --json` prints."""
    from brittle.training import train  # what trains is imported when something is trained

    with shown(given["progress"]) as seen:
        found = train(**{**given, "progress": seen})
    warn(unseen(seen))
    return found


def harden_classifier(given: Mapping[str, Any]) -> Hardened:
    """Hardens a classifier; a folder gets its report."""
    from brittle.hardening.harden import harden_classifier as harden
    from brittle.results import Hardened

    opened = {"classifier": classifier_at, **dict.fromkeys(("images", "test"), images_at)}
    with shown(given["progress"]) as seen:
        found = harden(
            **{key: opened.get(key, lambda what: what)(value) for key, value in given.items()} | {"progress": seen}
        )
    hardened = Hardened(**vars(found))
    if given["out"] is not None:
        hardened.report()
    warn([*unseen(seen), *found.summary["warnings"]])
    return hardened
