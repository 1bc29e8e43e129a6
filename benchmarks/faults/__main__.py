"""`make faults`: kills, power cuts, full disks, read-only mounts, errors of input and output, clocks that are set back,
and rivals, against `brittle run`, `harden`, `train`, `generate` and `report`; workers of a run that stop, and object
stores and services that fail. Whatever happens, the same command given again must end with status 0 and the rows,
weights and images of an undisturbed one, and nobody else's file may be touched.

    python -m benchmarks.faults [--times 100] [--kills 250] [--only run] [--scenario SIGKILL] [--out result.md]
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import multiprocessing
import os
import platform
import random
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.faults import shim

if TYPE_CHECKING:
    from benchmarks.faults.bench import Bench
    from benchmarks.faults.commands import Command
    from benchmarks.faults.scenarios import Tried

ROWS_PER_UNIT, FAN = 16, 3  # so that a small run has many units, and merges their files
SHOWN = 3  # findings
MEMORY = Path("/dev/shm")  # a kill leaves there what it leaves on a disk, and nothing waits for one


@dataclass
class Tally:
    """What came of one scenario of one command."""

    command: str
    scenario: str
    tried: int = 0
    findings: list[Tried] = field(default_factory=list)

    def add(self, tried: Tried) -> None:
        self.tried += 1
        if tried.wrong:
            self.findings.append(tried)

    @property
    def held(self) -> int:
        return self.tried - len(self.findings)

    def __str__(self) -> str:
        found = "".join(f"\n    {each.where}: {each.wrong}" for each in self.findings[:SHOWN])
        return f"{self.command}: {self.scenario}: {self.held} of {self.tried} held{found}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--times", type=int, default=100, help="of each scenario at most; with 50, every second event")
    parser.add_argument("--kills", type=int, help="of each command at random moments; as many as --times by default")
    parser.add_argument("--only", default="", help="run, harden, train, generate or report")
    parser.add_argument("--scenario", default="", help="only scenarios whose name holds this")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    parser.add_argument("--jobs", type=int, default=2, help="scenarios at a time")
    parser.add_argument("--out", type=Path, help="a Markdown file for the result")
    given = parser.parse_args()
    if shim.BUILT not in os.environ:
        shim.start_again(Path(tempfile.mkdtemp(prefix="brittle-faults-", dir=MEMORY if MEMORY.is_dir() else None)))
    work = Path(os.environ[shim.BUILT]).resolve().parent
    try:
        return campaign(work, given)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def campaign(work: Path, given: argparse.Namespace) -> int:
    begun, tallies, heard = time.monotonic(), list[Tally](), set[str]()
    warm_up(work / "warm")
    with ProcessPoolExecutor(given.jobs, multiprocessing.get_context("fork")) as workers:
        counts = given.times, given.times if given.kills is None else given.kills
        wanted = [(work, *each, *counts, given.seed) for each in scenarios(given.only, given.scenario)]
        for tally, said in workers.map(carried_out, *zip(*wanted, strict=True)):
            print(tally, flush=True)
            tallies.append(tally)
            heard |= said
            if given.out is not None:
                minutes = (time.monotonic() - begun) / 60
                given.out.write_text(page(tallies, given, minutes, sorted(heard)), encoding="utf-8")
    print("\n".join(sorted(heard)))
    return int(any(tally.findings for tally in tallies))


def scenarios(only: str, holding: str) -> Iterator[tuple[str, str]]:
    """Commands and what is done to them."""
    from benchmarks.faults.commands import COMMANDS
    from benchmarks.faults.scenarios import EVERY, REPORTS
    from benchmarks.faults.stores import STORES_TRIED
    from benchmarks.faults.workers import WORKERS_TRIED

    every = [(command.name, scenario) for scenario in EVERY for command in COMMANDS]
    every += [("report", scenario) for scenario in REPORTS]
    every += [("run", scenario) for scenario in WORKERS_TRIED | STORES_TRIED]
    for name, scenario in every:
        if only in ("", name) and holding in scenario:
            yield name, scenario


def carried_out(work: Path, name: str, scenario: str, times: int, kills: int, seed: int) -> tuple[Tally, set[str]]:
    """One scenario of one command, and every complaint that was heard."""
    from benchmarks.faults.scenarios import EVERY, NEED_MOUNTS, REPORTS, Trial, can_mount
    from benchmarks.faults.stores import STORES_TRIED
    from benchmarks.faults.workers import WORKERS_TRIED

    bench, commands = bench_of(work / f"{os.getpid()}")
    carry_out = (REPORTS if name == "report" else EVERY | WORKERS_TRIED | STORES_TRIED)[scenario]
    tally = Tally(name, scenario)
    bench.heard.clear()
    if carry_out in NEED_MOUNTS and not can_mount(bench):
        tally.scenario += ": not tried, since nothing may be mounted here"
        return tally, set()
    draw = random.Random(f"{seed} {name} {scenario}")
    for tried in carry_out(Trial(bench, commands["run" if name == "report" else name], draw, times, kills)):
        tally.add(tried)
    return tally, set(bench.heard)


@functools.cache
def bench_of(work: Path) -> tuple[Bench, dict[str, Command]]:
    """A worker's own, with what undisturbed commands leave there."""
    from benchmarks.faults.bench import Bench
    from benchmarks.faults.commands import COMMANDS, make_inputs

    bench = Bench(work)
    bench.inputs.mkdir(parents=True)
    make_inputs(bench.inputs)
    for command in COMMANDS:
        bench.settle(command)
    return bench, {command.name: command for command in COMMANDS}


def warm_up(work: Path) -> None:
    """Makes units small, and imports whatever the commands import, so that a child starts at once."""
    import matplotlib.figure
    import torch
    from benchmarks.faults.commands import make_inputs
    from benchmarks.faults.pipelines import import_diffusers

    import brittle.api
    import brittle.api.generating
    import brittle.engine.plan.missing
    import brittle.engine.store.merges
    import brittle.generation.cost
    import brittle.hardening.harden
    import brittle.hardening.rounds
    import brittle.measures.clean.measure
    import brittle.measures.robustness.measure
    import brittle.report.harden_console
    import brittle.report.sections.generated
    import brittle.training.train_network
    from brittle.classifiers.bundled import SmallNet
    from brittle.report.html import write_report

    import_diffusers()
    for measure in (brittle.measures.clean.measure, brittle.measures.robustness.measure):
        measure.rows_per_unit = lambda _: ROWS_PER_UNIT  # type: ignore[assignment]
    brittle.engine.plan.missing.BATCHES_PER_SPAN = 1e-9  # type: ignore[assignment]
    brittle.engine.store.merges.FAN = FAN
    brittle.hardening.rounds.DRAWS_TO_CHOOSE = 1
    # Half of the time would go into figures, for which no file is touched.
    matplotlib.figure.Figure.savefig = lambda _, to, **__: to.write("<svg></svg>")  # type: ignore[method-assign]
    for kind in (torch.optim.SGD, torch.optim.AdamW):
        kind(SmallNet().parameters())
    work.mkdir()
    make_inputs(work)
    brittle.api.run(work / "study.toml", out=work / "run")
    write_report(work / "run")
    threads = {Path(task, "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
    # A forked process has only the thread that forked it; an allocator knows how to live with that.
    assert len(threads - {"jemalloc_bg_thd"}) == 1, threads


def page(tallies: list[Tally], given: argparse.Namespace, minutes: float, heard: list[str]) -> str:
    """The result as Markdown."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "pyarrow", "safetensors"))
    lines = [
        "# Faults",
        "",
        f"`python -m benchmarks.faults {shlex.join(sys.argv[1:])}`, Python "
        f"{platform.python_version()}, {versions}, {platform.system()}; {minutes:.0f} minutes. It printed:",
        "",
        "| command | what was done to it | tried | held |",
        "| --- | --- | ---: | ---: |",
        *(f"| {each.command} | {each.scenario} | {each.tried:,} | {each.held:,} |" for each in tallies),
        f"| all | | {sum(each.tried for each in tallies):,} | {sum(each.held for each in tallies):,} |",
        "",
        "Findings: " + ("none." if not any(each.findings for each in tallies) else ""),
        *(f"- {each.command}: {each.scenario}: {one.where}: {one.wrong}" for each in tallies for one in each.findings),
        "",
        "What was said, each in one line with status 1 (2 for a folder that is in use or can't be written):",
        *(f"- {said}" for said in heard),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
