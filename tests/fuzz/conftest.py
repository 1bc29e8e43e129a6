"""Counts the cases of every target and, where BRITTLE_FUZZ_RESULT names a file, writes what came of them there."""

import os
import platform
import re
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import made_up
import pytest

BEGUN = datetime.now(UTC)
PACKAGES = ("brittle", "hypothesis", "numpy", "torch", "pyarrow", "onnxruntime", "safetensors", "pillow")
found = {}  # target → what it failed with


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Writes bytes under a name and gives back the path."""
    folder = tmp_path_factory.mktemp("fuzz")

    def write(name, data):
        (folder / name).write_bytes(data)
        return folder / name

    return write


def target_of(nodeid):
    return nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")


def pytest_runtest_setup(item):
    made_up.now["target"] = target_of(item.nodeid)


def pytest_runtest_logreport(report):
    if "tests/fuzz/" in report.nodeid and report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        said = str(report.longrepr if crash is None else crash.message).strip().splitlines()
        telling = [line for line in said if re.search(r"\w", line)] or ["failed"]
        found[target_of(report.nodeid)] = short(telling[0 if crash is not None else -1])


def short(line):
    """A line fit for the table: where it happened without the folders of this machine."""
    return re.sub(r"\S*/(?=[\w.-]+\.py:\d)", "", line).replace("|", "/")[:200]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """What a worker of xdist counted."""
    for target, counts in getattr(node, "workeroutput", {}).get("cases", {}).items():
        made_up.TALLY[target].update(counts)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cases"] = {target: dict(counts) for target, counts in made_up.TALLY.items()}
    elif os.environ.get("BRITTLE_FUZZ_RESULT"):
        Path(os.environ["BRITTLE_FUZZ_RESULT"]).write_text(written(), encoding="utf-8")


def written():
    minutes = (datetime.now(UTC) - BEGUN).total_seconds() / 60
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    total = sum(sum(counts.values()) for counts in made_up.TALLY.values())
    lines = [
        "# The last `make fuzz`",
        "",
        f"{BEGUN:%Y-%m-%d}, {minutes:.0f} minutes with two processes: {total:,} cases, {len(found)} findings.",
        f"Python {platform.python_version()}, {versions}; {platform.machine()}.",
        "",
        "A case is taken, and what the target claims then holds, or it is refused in one line that says what is wrong.",
        "Anything else is a finding: another exception, other rows or numbers, code that was run.",
        "",
        "| target | cases | taken | refused | finding |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for target in sorted({*made_up.TALLY, *found}):
        counts = made_up.TALLY[target]
        cells = f"{sum(counts.values()):,} | {counts['taken']:,} | {counts['refused']:,}"
        lines.append(f"| {target} | {cells} | {found.get(target, 'none')} |")
    return "\n".join(lines) + "\n"
