"""Mixes: each image is mixed with another one, by a mask that a mix draws. Training and measures use the same ones."""

from __future__ import annotations

from brittle.mixing.base import Mix
from brittle.registry import Registry

mixes: Registry[Mix] = Registry("mix", __name__)
register = mixes.register
