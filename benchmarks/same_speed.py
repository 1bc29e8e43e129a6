"""Whether two commits are as fast as one another: `python benchmarks/same_speed.py BEFORE [AFTER]`.

Both do the same work in processes of their own, turn by turn on one machine, and what counts is the ratio of the two
times of a turn. Who goes first changes from turn to turn, and the processes are started anew from round to round, since
one may be lucky with its memory. A commit is used through `brittle.measure` and the command line alone. AFTER is the
working tree by default.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from scipy.stats import binom
from trees import WORKING_TREE, checked_out, environment, full_hash

DRAWS = 20  # of 1,000 images: a second or two, in which a machine stays much as it is
MEASURED = ("LeNet-5", "bundled:plain")
COMMANDS = {
    "brittle measure": (
        *("measure", "bundled:plain", "sample", "--against", "bundled:augmented"),
        *("--nuisance", "affine:alpha=50", "--samples", "10", "--json"),
    ),
    "brittle sample": (
        *("sample", "bundled:plain", "sample", "--nuisance", "affine:alpha=100"),
        *("--images", "8", "--budget", "1000", "--json"),
    ),
}
MAIN = "from brittle.cli import main; main()"


def work() -> None:
    """A process that measures once for each line it is sent, and answers with the seconds."""
    import torch
    from lenet import LeNet5

    import brittle

    torch.manual_seed(0)
    classifiers: dict[str, Any] = {"LeNet-5": LeNet5().eval(), "bundled:plain": "bundled:plain"}
    opened = {name: brittle.classifier(what, device="cpu") for name, what in classifiers.items()}
    sample = brittle.image_set("sample")
    print(brittle.__file__, flush=True)
    for line in sys.stdin:
        begun = time.perf_counter()
        brittle.measure(opened[line.strip()], sample, "affine:alpha=50", samples=DRAWS, device="cpu")
        print(time.perf_counter() - begun, flush=True)


class Worker:
    """Such a process of one tree."""

    def __init__(self, tree: Path, threads: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            env=environment(tree, threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if not Path(self._line()).is_relative_to(tree):
            raise SystemExit(f"the process meant for {tree} has imported another brittle")

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise SystemExit("a process that measures has ended; its error stands above")
        return line

    def turn(self, case: str) -> float:
        assert self.process.stdin is not None
        print(case, file=self.process.stdin, flush=True)
        return float(self._line())

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def command(tree: Path, threads: int, case: str) -> float:
    """Seconds of a whole command, from its start to its end."""
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", MAIN, *COMMANDS[case]],
        env=environment(tree, threads),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - begun


def alternate(turns: int, both: Sequence[Callable[[], float]]) -> list[tuple[float, float]]:
    """(before, after) of every turn."""
    found = []
    for number in range(turns):
        first = number % 2
        times = {side: both[side]() for side in (first, 1 - first)}
        found.append((times[0], times[1]))
    return found


def measured(trees: Sequence[Path], options: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    times: dict[str, list[tuple[float, float]]] = {case: [] for case in options.only}
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        workers: list[Worker] = []
        try:
            workers += [Worker(tree, options.threads) for tree in trees]
            for case in (case for case in options.only if case in MEASURED):
                alternate(1, [lambda worker=worker, case=case: worker.turn(case) for worker in workers])  # warm-up
                times[case] += alternate(
                    options.turns, [lambda worker=worker, case=case: worker.turn(case) for worker in workers]
                )
        finally:
            for worker in workers:
                worker.end()
        for case in (case for case in options.only if case in COMMANDS):
            times[case] += alternate(
                options.turns, [lambda tree=tree, case=case: command(tree, options.threads, case) for tree in trees]
            )
    return times


def interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """For the median, whatever the distribution: between two values as many places from the ends."""
    ordered = sorted(values)
    outside = max(0, int(binom.ppf((1 - confidence) / 2, len(ordered), 0.5)) - 1)
    return ordered[outside], ordered[-1 - outside]


def row(case: str, times: Sequence[tuple[float, float]]) -> str:
    before, after = zip(*times, strict=True)
    ratios = [late / early for early, late in times]
    low, high = interval(ratios)
    return (
        f"| {case} | {statistics.median(before):.2f} | {statistics.median(after):.2f} | "
        f"{statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}] | {min(ratios):.2f} to {max(ratios):.2f} |"
    )


def main() -> None:
    cases = [*MEASURED, *COMMANDS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", help="a commit")
    parser.add_argument("after", nargs="?", default=WORKING_TREE, help="another; the working tree by default")
    parser.add_argument("--only", nargs="+", choices=cases, default=cases, help="some kinds of work")
    parser.add_argument("--rounds", type=int, default=5, help="how often the processes are started")
    parser.add_argument("--turns", type=int, default=6, help="turns in a round")
    parser.add_argument(
        "--threads", type=int, default=1, help="of every process; two wait for each other on a busy machine"
    )
    options = parser.parse_args()
    commits = [each if each == WORKING_TREE else full_hash(each) for each in (options.before, options.after)]
    with ExitStack() as stack:
        trees = [stack.enter_context(checked_out(commit)) for commit in commits]
        times = measured(trees, options)
    print(
        f"{commits[0][:12]} and {commits[1][:12]}, {options.threads} threads; {options.rounds * options.turns} turns\n"
    )
    print("| work | before, s | after, s | after ÷ before, median [95 %] | range |\n| --- | --- | --- | --- | --- |")
    for case, found in times.items():
        print(row(case, found))


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--work"] else main()
