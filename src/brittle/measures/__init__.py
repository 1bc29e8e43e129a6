"""Measures: what is computed for a classifier, an image set and a nuisance. Rows per image, and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brittle.registry import Registry

if TYPE_CHECKING:
    from brittle.measures.base import Measure

measures: Registry[Measure] = Registry("measure", __name__, own_code=True)
register = measures.register
