"""The Jinja environment of the page and of every section: names are escaped, and a missing value is an error."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined

from brittle.report.page import words

FILTERS = (words.number, words.interval, words.listed, words.percent, words.counted, words.span)


@cache
def environment(*packages: str) -> Environment:
    """Templates come from the folders `templates` of some packages, as far as they have one, and from the page's."""
    loaders: list[BaseLoader] = []
    for package in packages:
        with suppress(ValueError):  # it has no templates
            loaders.append(PackageLoader(package))
    made = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader("brittle.report.page")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {each.__name__: each for each in FILTERS}
    return made
