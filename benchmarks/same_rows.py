"""Whether two commits compute the same: rows and summaries of the same studies, carried out by both.

θ is compared bit for bit, whole numbers and words exactly, probabilities to 1e-6, other numbers to 1e-6 of themselves
or of 1. `python benchmarks/same_rows.py BEFORE [AFTER]` (the working tree by default) prints a table and ends with
status 1 where anything differs. `--cache` keeps what commits have computed, so that only a working tree is waited for
next time.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from former import spelled
from measure_scenarios import OF_MEASURES
from run_tables import Run, read
from safetensors.numpy import load_file
from scenarios import SCENARIOS, Scenario
from trees import WORKING_TREE, checked_out, environment, full_hash

TOLERANCE = 1e-6
ALL = SCENARIOS | OF_MEASURES
SHOWN = 8  # differences named below the table, of each scenario
# Sentences for people, and what says where or when a run was made: free to change.
PROSE = {"prior", "estimand_is", "already_wrong_are", "interval_method", "reference", "criterion", "warnings"}
CIRCUMSTANCES = {"seconds", "device", "weights", "classifier_spec", "report", "about.images"}


class CommandFailed(Exception):
    """A command that ended with another status than 0."""


class Held:
    """What has been held against what so far."""

    def __init__(self, draws: bool = True) -> None:
        self.rows = self.thetas = self.numbers = 0
        self.draws = draws
        self.largest = self.largest_number = 0.0
        self.differences: list[str] = []
        self.only_after: list[str] = []

    def differ(self, where: str, what: str) -> None:
        self.differences.append(f"{where}: {what}")

    def said(self, where: str, before: Any, after: Any) -> None:
        """Plain values, as JSON has them."""
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            for key, value in before.items():
                path = f"{where}.{key}"
                if key in PROSE or any(path.endswith(f".{each}") for each in CIRCUMSTANCES):
                    continue
                if key in after:
                    self.said(path, value, after[key])
                else:
                    self.differ(path, "missing after")
            self.only_after += [f"{where}.{key}" for key in after if key not in before]
        elif isinstance(before, list) and isinstance(after, list):
            if len(before) != len(after):
                self.differ(where, f"{len(before)} entries before, {len(after)} after")
            for place, (one, other) in enumerate(zip(before, after, strict=False)):
                self.said(f"{where}[{place}]", one, other)
        else:
            self._value(where, before, after)

    def _value(self, where: str, before: Any, after: Any) -> None:
        self.numbers += 1
        if isinstance(before, float) and math.isnan(before):
            before = None
        if isinstance(after, float) and math.isnan(after):
            after = None
        whole = (bool, int, str, type(None))
        if type(before) in whole and type(after) in whole:
            same = before == after
        elif isinstance(before, (int, float)) and isinstance(after, (int, float)):
            distance = abs(before - after) / max(1.0, abs(before)) if before != after else 0.0
            self.largest_number = max(self.largest_number, distance)
            same = distance <= TOLERANCE
        else:
            same = False
        if not same:
            self.differ(where, f"{before!r} before, {after!r} after")

    def tables(self, where: str, before: pa.Table, after: pa.Table) -> None:
        """Rows in the same order."""
        if before.num_rows != after.num_rows:
            self.differ(where, f"{before.num_rows} rows before, {after.num_rows} after")
            return
        self.rows += before.num_rows
        self.only_after += [f"{where}.{name}" for name in after.column_names if name not in before.column_names]
        for name in before.column_names:
            if name not in after.column_names:
                self.differ(f"{where}.{name}", "missing after")
            else:
                self._column(f"{where}.{name}", name, before[name], after[name])

    def _column(self, where: str, name: str, before: pa.ChunkedArray, after: pa.ChunkedArray) -> None:
        if pa.types.is_list(before.type) or pa.types.is_fixed_size_list(before.type):
            lengths = [each.combine_chunks().value_lengths().to_numpy(zero_copy_only=False) for each in (before, after)]
            one, other = (each.combine_chunks().flatten().to_numpy(zero_copy_only=False) for each in (before, after))
            same = np.array_equal(*lengths) and one.dtype == other.dtype and one.tobytes() == other.tobytes()
            self.thetas += len(before)
        elif pa.types.is_floating(before.type):
            one, other = (each.to_numpy().astype(np.float64) for each in (before, after))
            if name.startswith("log_p_"):
                one, other = np.exp(one), np.exp(other)
            with np.errstate(invalid="ignore"):  # ∞ − ∞
                distance = np.abs(one - other) / (1.0 if name.startswith("log_p_") else np.maximum(1.0, np.abs(one)))
            distance[(one == other) | (np.isnan(one) & np.isnan(other))] = 0.0
            self.largest = max(self.largest, float(np.nanmax(distance, initial=0.0)))
            same = bool((distance <= TOLERANCE).all())
        else:
            same = before.to_pylist() == after.to_pylist()
        if not same:
            self.differ(where, f"{_first_difference(before.to_pylist(), after.to_pylist())}")

    def runs(self, where: str, before: Run, after: Run) -> None:
        for cell, rows in before.rows.items():
            place = f"{where} rows {'/'.join(cell)}"
            if cell in after.rows:
                self.tables(place, rows, after.rows[cell])
            else:
                self.differ(place, "missing after")
        self.only_after += [f"{where} rows {'/'.join(cell)}" for cell in after.rows if cell not in before.rows]
        self.said(f"{where} summary", before.said, after.said)

    def weights(self, where: str, before: Path, after: Path) -> None:
        if not after.is_file():
            self.differ(where, "missing after")
            return
        one, other = load_file(before), load_file(after)
        for name in one.keys() | other.keys():
            a, b = one.get(name), other.get(name)
            if a is None or b is None or (a.dtype, a.shape, a.tobytes()) != (b.dtype, b.shape, b.tobytes()):
                self.differ(f"{where}.{name}", "other weights")
            else:
                self.numbers += a.size

    @property
    def verdict(self) -> str:
        if self.differences:
            return f"{len(self.differences)} differences"
        compared = self.rows and self.numbers and (self.thetas or not self.draws)
        return "same" if compared else "nothing compared"


def _first_difference(before: list[Any], after: list[Any]) -> str:
    place, pair = next(
        ((place, pair) for place, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]),
        (0, (before[:1], after[:1])),
    )
    return f"row {place} is {str(pair[0])[:60]} before, {str(pair[1])[:60]} after"


def compare(name: str, before: Path, after: Path) -> Held:
    """Every run folder of a scenario, as both have left it."""
    held = Held(ALL[name].draws)
    for run in ALL[name].commands:
        held.runs(run, read(before / run), read(after / run))
        thetas = [pq.read_table(folder / f"{run}.theta.parquet") for folder in (before, after)]
        held.tables(f"{run} θ", *thetas)
        for when, table in zip(("before", "after"), thetas, strict=True):
            if not all(table["applied"].to_pylist()):
                held.differ(f"{run} θ", f"{when}, images were not transformed by the θ that their draws stand for")
        if (before / run / "harden.json").is_file():
            said = [_hardening(folder / run) for folder in (before, after)]
            held.said(f"{run} harden.json", *said)
            for path in sorted((before / run).rglob("*.safetensors")):
                relative = path.relative_to(before)
                held.weights(str(relative), path, after / relative)
    return held


def _hardening(folder: Path) -> Any:
    """harden.json, without the spec of what came out, which names a file."""
    said = json.loads((folder / "harden.json").read_text(encoding="utf-8"))
    said["classifier_spec"] = said.pop("classifier", None)
    return said


def carried_out(name: str, commit: str, tree: Path, folder: Path) -> Path:
    """The folder of a scenario that a tree has carried out into `folder`, now or before."""
    scenario = ALL[name]
    done, doing = folder / f"{name}-{_definition(scenario)}", folder / f"{name}.doing"
    if done.is_dir():
        return done
    shutil.rmtree(doing, ignore_errors=True)
    doing.mkdir(parents=True)
    for file, text in scenario.files.items():
        spelled_there = spelled(tree, text) if file.endswith(".toml") else text
        (doing / file).write_text(spelled_there, encoding="utf-8")
    if scenario.prepare is not None:
        scenario.prepare(doing)
    begun = time.monotonic()
    for run, command in scenario.commands.items():
        said = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("spied.py")), run, *command],
            cwd=doing,
            env=environment(tree, threads=1),
            capture_output=True,
            text=True,
            check=False,
        )
        if not (tree / "src").is_dir():  # another installation of Brittle would be found in its place
            raise CommandFailed(f"the sources of {commit[:12]} in {tree} are gone")
        if said.returncode:
            raise CommandFailed(f"`brittle {' '.join(command)}` of {commit[:12]} failed: {said.stderr.strip()[-2000:]}")
    print(f"{name} of {commit[:12]}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return doing.rename(done)


def _definition(scenario: Scenario) -> str:
    """Tells what was carried out apart: the scenario, who carries it out, and the packages that compute."""
    texts = [
        repr((scenario.commands, scenario.files)),
        Path(__file__).with_name("spied.py").read_text(encoding="utf-8"),
    ]
    texts += [] if scenario.prepare is None else [inspect.getsource(scenario.prepare)]
    texts += [sys.version, np.__version__, pa.__version__]
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=6).hexdigest()


def about(sides: Sequence[Side]) -> str:
    """What was compared, and with which packages."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pyarrow", "torch"))
    before, after = (each.commit[:12] for each in sides)
    return f"Before {before}, after {after}; Python {platform.python_version()}, {packages}, {platform.machine()}.\n"


def table(found: Mapping[str, Held]) -> Iterator[str]:
    yield "| scenario | rows | largest difference | θ | numbers | largest difference | verdict |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, held in found.items():
        yield (
            f"| {name} | {held.rows:,} | {held.largest:.1e} | {held.thetas:,} | {held.numbers:,} | "
            f"{held.largest_number:.1e} | {held.verdict} |"
        )
    for name, held in found.items():
        for line in held.differences[:SHOWN]:
            yield f"\n{name}: {line}"
        if len(held.differences) > SHOWN:
            yield f"\n{name}: … and {len(held.differences) - SHOWN} more"
        if held.only_after:
            shown = ", ".join(held.only_after[:SHOWN])
            yield f"\n{name}: only after, not compared ({len(held.only_after)}): {shown}"


def held_of(name: str, both: Sequence[Future[Path]]) -> Held:
    try:
        return compare(name, *(each.result() for each in both))
    except CommandFailed as error:
        held = Held()
        held.differ(name, str(error))
        return held


class Side(NamedTuple):
    commit: str
    tree: Path
    folder: Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", help="a commit")
    parser.add_argument("after", nargs="?", default=WORKING_TREE, help="another; the working tree by default")
    parser.add_argument("--only", nargs="+", choices=ALL, default=list(ALL), help="some scenarios")
    parser.add_argument("--cache", type=Path, help="a folder that keeps what commits have computed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="commands at once, one thread each")
    options = parser.parse_args()
    with ExitStack() as stack:
        sides = []
        for asked in (options.before, options.after):
            commit = asked if asked == WORKING_TREE else full_hash(asked)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            if options.cache is not None and Path(commit).name == commit != WORKING_TREE:
                folder = options.cache.resolve() / commit
            sides.append(Side(commit, stack.enter_context(checked_out(commit)), folder))
        with ThreadPoolExecutor(options.jobs) as pool:
            pending = {name: [pool.submit(carried_out, name, *side) for side in sides] for name in options.only}
            found = {name: held_of(name, both) for name, both in pending.items()}
        print(about(sides))
        print("\n".join(table(found)))
    sys.exit(any(held.verdict != "same" for held in found.values()))


if __name__ == "__main__":
    main()
