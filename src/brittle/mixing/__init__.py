"""Mixes: each image is mixed with another one, by a mask that a mix draws. Training and measures use the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brittle.registry import Registry

if TYPE_CHECKING:
    from brittle.mixing.base import Mix

mixes: Registry[Mix] = Registry("mix", __name__)
register = mixes.register
