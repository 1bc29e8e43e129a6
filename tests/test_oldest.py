"""The versions that `make test-oldest` installs are the oldest that pyproject.toml allows."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]


def bounds(requirements):
    """Name → the version after `>=`; what Brittle asks of itself is left out."""
    found = {}
    for each in map(Requirement, requirements):
        least = [part.version for part in each.specifier if part.operator == ">="]
        if least:
            found[each.name] = Version(least[0])
    return found


def test_the_oldest_versions_are_those_that_are_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = re.search(r"^OLDEST := (.*)$", makefile, re.MULTILINE)[1].split(",")
    wanted = bounds(project["dependencies"])
    for extra in extras:
        wanted |= bounds(project["optional-dependencies"][extra])
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    pins = {name: Version(version) for name, _, version in (line.partition("==") for line in lines if line[0] != "#")}
    assert {name.lower(): version for name, version in wanted.items()} == pins
