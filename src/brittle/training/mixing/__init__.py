"""Mixed-sample training: each image is mixed with another one, by a mask that a mix draws."""

from __future__ import annotations

from brittle.registry import Registry
from brittle.training.mixing.base import Mix

mixes: Registry[Mix] = Registry("mix", __name__)
register = mixes.register
