"""The Jinja environment of the page: names are escaped, and a missing value is an error."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from brittle.report.page import words

_UNITS = re.compile(r"(?<=\d) (?=%)|(?<=\b[α-ω]) (?=\d)")


def unbroken(text: str) -> str:
    """No line of a page ends within "17 %" or "σ 15°"."""
    return _UNITS.sub("\xa0", text)


@cache
def environment() -> Environment:
    """Templates come from the page's folder and the renderer's."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(f"brittle.report.{name}") for name in ("page", "renderers")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"counted": words.counted, "number": words.number, "unbroken": unbroken}
    return made
