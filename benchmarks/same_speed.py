"""Whether two commits are as fast as one another: `python benchmarks/same_speed.py BEFORE [AFTER]`.

Both do the same work in processes of their own, turn by turn on one machine, and what counts is the ratio of the two
times of a turn. Who goes first changes from turn to turn, and the processes are started anew from round to round, since
one may be lucky with its memory: the interval is for the median over rounds. Beside the time on the clock stands the
processor's, which a busy machine disturbs less and which does not see what is waited for. A commit is used through
`brittle.measure` and the command line alone. AFTER is the working tree by default.

On a machine with a GPU and torchvision, `--only ResNet-50` measures that network in bfloat16 under 100 affine draws of
1,000 images of 224×224. Where there is no repository, both may be folders that hold a commit's `src`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from scipy.stats import binom
from trees import WORKING_TREE, checked_out, environment, full_hash

DRAWS = 20  # of 1,000 images: a second or two, in which a machine stays much as it is
MEASURED = ("LeNet-5", "bundled:plain")
ON_A_GPU = "ResNet-50"
COMMANDS = {
    "brittle measure": (
        *("measure", "bundled:plain", "sample", "--against", "bundled:augmented"),
        *("--nuisance", "affine:alpha=50", "--samples", "10", "--json"),
    ),
    "brittle sample": (
        *("sample", "bundled:plain", "sample", "--nuisance", "affine:alpha=100"),
        *("--count", "8", "--budget", "1000", "--json"),
    ),
}
MAIN = "from brittle.cli import main; main()"
# What the command line asks of glibc. Otherwise luck decides whether activations are mapped anew for every batch, which
# is a third of a process's time.
KEEP_MAPPED = {"MALLOC_MMAP_THRESHOLD_": f"{1 << 30}", "MALLOC_TRIM_THRESHOLD_": f"{(1 << 31) - 1}"}


def work() -> None:
    """A process that measures once for each line it is sent, and answers with the seconds on the clock and of the
    processor."""
    import brittle

    opened: dict[str, Callable[[], object]] = {}
    print(brittle.__file__, flush=True)
    for line in sys.stdin:
        case = line.strip()
        if case not in opened:
            opened[case] = on_a_gpu() if case == ON_A_GPU else on_a_cpu(case)
        begun = time.perf_counter(), time.process_time()
        opened[case]()
        print(time.perf_counter() - begun[0], time.process_time() - begun[1], flush=True)


def on_a_cpu(case: str) -> Callable[[], object]:
    import torch
    from lenet import LeNet5

    import brittle

    torch.manual_seed(0)
    classifier = brittle.classifier(LeNet5().eval() if case == "LeNet-5" else case, device="cpu")
    sample = brittle.image_set("sample")
    return partial(brittle.measure, classifier, sample, "affine:alpha=50", samples=DRAWS, device="cpu")


def on_a_gpu() -> Callable[[], object]:
    import torch
    from torchvision.models import resnet50

    import brittle

    torch.manual_seed(0)
    network = resnet50().eval().to("cuda", torch.bfloat16)
    images = torch.randint(0, 256, (1000, 3, 224, 224), dtype=torch.uint8).numpy()
    labels = torch.arange(1000).numpy()
    return partial(brittle.measure, network, (images, labels), "affine:alpha=50", samples=100, batch=512, device="cuda")


class Seconds(NamedTuple):
    clock: float
    processor: float


class Turn(NamedTuple):
    before: Seconds
    after: Seconds


class Worker:
    """Such a process of one tree."""

    def __init__(self, tree: Path, threads: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            env=environment(tree, threads) | KEEP_MAPPED,
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

    def turn(self, case: str) -> Seconds:
        assert self.process.stdin is not None
        print(case, file=self.process.stdin, flush=True)
        return Seconds(*map(float, self._line().split()))

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def command(tree: Path, threads: int, case: str) -> Seconds:
    """Of a whole command, from its start to its end."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *COMMANDS[case]], env=environment(tree, threads), stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"`brittle {' '.join(COMMANDS[case])}` in {tree} failed; its error stands above")
    return Seconds(time.perf_counter() - begun, used.ru_utime + used.ru_stime)


def alternate(turns: int, both: Sequence[Callable[[], Seconds]], first: int) -> list[Turn]:
    """Turns of both, the one at place `first` first, then the other, and so on."""
    found = []
    for number in range(turns):
        leads = (first + number) % 2
        times = {side: both[side]() for side in (leads, 1 - leads)}
        found.append(Turn(times[0], times[1]))
    return found


def measured(trees: Sequence[Path], options: argparse.Namespace) -> dict[str, list[list[Turn]]]:
    """By kind of work: the turns of every round."""
    times: dict[str, list[list[Turn]]] = {case: [] for case in options.only}
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        first = number % 2
        workers: dict[int, Worker] = {}
        try:
            for side in (first, 1 - first):
                workers[side] = Worker(trees[side], options.threads)
            for case in (case for case in options.only if case not in COMMANDS):
                both = [partial(workers[side].turn, case) for side in (0, 1)]
                alternate(1, both, first)  # warm-up
                times[case].append(alternate(options.turns, both, first))
        finally:
            for worker in workers.values():
                worker.end()
        for case in (case for case in options.only if case in COMMANDS):
            both = [partial(command, tree, options.threads, case) for tree in trees]
            times[case].append(alternate(max(1, options.turns // 4), both, first))
    return times


def interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """For the median, whatever the distribution: between two values as many places from the ends."""
    ordered = sorted(values)
    outside = max(0, int(binom.ppf((1 - confidence) / 2, len(ordered), 0.5)) - 1)
    return ordered[outside], ordered[-1 - outside]


def row(case: str, rounds: Sequence[Sequence[Turn]]) -> str:
    """Turns of one round share their processes' luck: the interval is over rounds."""
    columns = [case, f"{len(rounds)} × {len(rounds[0])}"]
    for kind in Seconds._fields:
        pairs = [[(getattr(turn.before, kind), getattr(turn.after, kind)) for turn in turns] for turns in rounds]
        ratios = [statistics.median(after / before for before, after in turns) for turns in pairs]
        medians = (statistics.median(times) for times in zip(*chain(*pairs), strict=True))
        low, high = interval(ratios)
        columns.append(" / ".join(f"{median:.2f}" for median in medians))
        columns.append(
            f"{statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}], {min(ratios):.2f} to {max(ratios):.2f}"
        )
    return f"| {' | '.join(columns)} |"


def main() -> None:
    cases = [*MEASURED, *COMMANDS]
    known = [*cases, ON_A_GPU]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", help="a commit")
    parser.add_argument("after", nargs="?", default=WORKING_TREE, help="another; the working tree by default")
    parser.add_argument("--only", nargs="+", choices=known, default=cases, help="some kinds of work")
    parser.add_argument("--rounds", type=int, default=10, help="how often the processes are started")
    parser.add_argument("--turns", type=int, default=4, help="turns in a round; of commands a quarter")
    parser.add_argument(
        "--threads", type=int, default=1, help="of every process; two wait for each other on a busy machine"
    )
    options = parser.parse_args()
    commits = [each if each == WORKING_TREE else full_hash(each) for each in (options.before, options.after)]
    with ExitStack() as stack:
        trees = [stack.enter_context(checked_out(commit)) for commit in commits]
        times = measured(trees, options)
    print(f"before {commits[0][:12]}, after {commits[1][:12]}; {options.threads} threads\n")
    ratio = "after ÷ before: median [95 %], range"
    print(f"| work | rounds × turns | clock, s | {ratio} | processor, s | {ratio} |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case, found in times.items():
        print(row(case, found))


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--work"] else main()
