"""Results beside the committed ones: `python -m benchmarks.guard.compare`, which is `make bench-compare`.

A ratio is lost where it has fallen by more than 3 % and noise does not explain it: 97.5 % of bootstrap samples over the
rounds of both runs show a greater loss than that. Waits are held to their limits. Ends with status 1 where anything is
lost. Ratios of another machine, or of another number of threads, are shown and not judged.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.guard.surroundings import REPOSITORY, same_machine
from benchmarks.guard.turns import by_round

RESULTS = "benchmarks/results"
ALLOWED = 0.03  # the share of a ratio that may be lost
SAMPLES, TAIL = 4000, 0.025


class Verdict(NamedTuple):
    name: str
    before: str
    now: str
    change: str
    lost: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--now", type=Path, default=REPOSITORY / RESULTS, help="a folder with fresh results")
    parser.add_argument("--before", default="HEAD", help="a folder with earlier ones, or a commit")
    asked = parser.parse_args()
    lost = False
    for path in sorted(asked.now.glob("*.json")):
        now, before = json.loads(path.read_text(encoding="utf-8")), committed(asked.before, path.name)
        print(f"\n## {path.name}\n")
        if before is None:
            print(f"{asked.before} has no such results yet")
        elif before == now:
            print(f"these are the results of {asked.before} themselves: renew them first (make bench, make bench-gpu)")
        else:
            lost |= shown(before, now)
    sys.exit(int(lost))


def committed(where: str, name: str) -> dict[str, Any] | None:
    """Results of a folder, or of a commit; None where there are none."""
    if Path(where).is_dir():
        path = Path(where) / name
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    told = ["git", "show", f"{where}:{RESULTS}/{name}"]
    done = subprocess.run(told, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def shown(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Prints a table; whether anything is lost."""
    one, other = before["environment"], now["environment"]
    judged = same_machine(one, other)
    found = list(verdicts(before, now))
    print("| | before | now | now ÷ before [95 %] | |\n| --- | --- | --- | --- | --- |")
    for each in found:
        print(f"| {each.name} | {each.before} | {each.now} | {each.change} | {'LOST' * (each.lost and judged)} |")
    for what, said in (("before", one), ("now", other)):
        print(f"\n{what}: {described(said)}", end="")
    print()
    if not judged:
        print("\nThese are two machines, or two numbers of threads: shown, and not judged.")
    return judged and any(each.lost for each in found)


def described(environment: Mapping[str, Any]) -> str:
    keys = ("commit", "device", "processor", "cores", "threads", "load")
    return ", ".join(f"{key} {environment[key]}" for key in keys if key in environment)


def verdicts(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Verdict]:
    for name, old in before["cases"].items():
        new = now["cases"].get(name)
        if new is None:
            why = now.get("skipped", {}).get(name, "not measured")
            yield Verdict(name, number(old), f"– ({why})", "", False)
            continue
        low, high = change(old["ratios"], new["ratios"])
        said = f"{new['ratio'] / old['ratio']:.3f} [{low:.3f}, {high:.3f}]"
        yield Verdict(name, number(old), number(new), said, high < 1 - ALLOWED)
    yield from (Verdict(name, "–", number(new), "", False) for name, new in now["cases"].items()
                if name not in before["cases"])  # fmt: skip
    for name, new in now.get("waits", {}).items():
        old = before.get("waits", {}).get(name)
        seconds = [f"{each['processor']['median']:.2f} s" if each else "–" for each in (old, new)]
        over = new["processor"]["interval"][0] > new["limit"]
        yield Verdict(name, seconds[0], seconds[1], f"at most {new['limit']:g} s", over)


def number(case: Mapping[str, Any]) -> str:
    low, high = case["interval"]
    return f"{case['ratio']:.3f} [{low:.3f}, {high:.3f}]"


def change(before: Sequence[Sequence[float]], now: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The interval of now ÷ before, of medians over rounds: both resampled, with the same seed every time."""
    generator = np.random.default_rng(0)
    medians = []
    for each in (before, now):
        values = np.asarray(by_round(each))
        drawn = generator.integers(0, len(values), (SAMPLES, len(values)))
        medians.append(np.median(values[drawn], 1))
    low, high = np.quantile(medians[1] / medians[0], [TAIL, 1 - TAIL])
    return float(low), float(high)


if __name__ == "__main__":
    main()
