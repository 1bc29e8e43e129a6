"""The Jinja environment of the page: names are escaped, and a missing value is an error."""

from __future__ import annotations

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from brittle.report.page import words


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
    made.filters |= {"counted": words.counted, "number": words.number}
    return made
