"""The guard on a CPU: `python -m benchmarks.guard`, which is `make bench`. Writes benchmarks/results/cpu.json.

Rounds are processes of their own, since one may be lucky with its memory; within one, both sides of a case take turns.
What counts is the processor's time of one thread, which a busy machine disturbs least; the clock's stands beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from benchmarks.guard.surroundings import REPOSITORY, environment, load
from benchmarks.guard.turns import Measured, Seconds, Turn, entry, interval, measured, merged, rounded

RESULTS = REPOSITORY / "benchmarks" / "results"
FEWEST_ROUNDS = 6  # below, no two of their values are an interval of 95 % for the median


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only cases whose name holds a word")
    parser.add_argument("--rounds", type=int, default=FEWEST_ROUNDS, help="how often the processes are started")
    parser.add_argument("--turns", type=int, default=2, help="turns in a round")
    parser.add_argument("--threads", type=int, default=1, help="of every process, on both sides")
    parser.add_argument("--clock", choices=Seconds._fields, default="processor", help="whose time counts")
    parser.add_argument("--out", type=Path, default=RESULTS / "cpu.json")
    parser.add_argument("--work", type=json.loads, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work is not None:
        print(json.dumps(work(asked, **asked.work)))
        return
    with tempfile.TemporaryDirectory() as folder:
        rounds = [a_round(asked, number, Path(folder), {}) for number in range(1)]
        rounds += [a_round(asked, number, Path(folder), rounds[0]["settings"]) for number in range(1, asked.rounds)]
    found = result(rounds, asked)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table(found))
    print(f"\nwritten to {asked.out}")


def a_round(asked: argparse.Namespace, number: int, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """What a process of its own says of one round."""
    print(f"round {number + 1} of {asked.rounds}, load {load()}", file=sys.stderr, flush=True)
    told = json.dumps({"number": number, "folder": str(folder), "settings": settings})
    names = ["--only", *asked.only] if asked.only else []
    options = [*names, "--turns", str(asked.turns), "--threads", str(asked.threads), "--work", told]
    path = os.pathsep.join((str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")))
    surroundings = os.environ | {"OMP_NUM_THREADS": str(asked.threads), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.guard", *options],
        cwd=REPOSITORY,
        env=surroundings,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"round {number + 1} failed; its error stands above")
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said | {"load": load()}


def work(asked: argparse.Namespace, number: int, folder: str, settings: dict[str, Any]) -> dict[str, Any]:
    """One round: every case that is asked for."""
    import torch
    from benchmarks.guard import ceilings, profile, scripts, starts, studies
    from benchmarks.guard.material import Material

    from brittle.allocator import keep_mapped

    warnings.simplefilter("ignore")
    torch.set_num_threads(asked.threads)
    keep_mapped()  # for both sides: a bare loop without this is slower than what it is compared with
    material, skipped = Material(Path(folder), asked.threads, settings), dict[str, str]()

    def wanted(name: str) -> bool:
        return not asked.only or any(word in name for word in asked.only)

    waits = starts.waits(Path(folder)) if wanted("waits") else {}
    searches = studies.breaking_points(material, skipped)
    made = [*ceilings.cases(material), *scripts.cases(material, skipped), studies.eight_classifiers(material)]
    made += [each.case() for each in searches]
    found: dict[str, Measured] = {}
    for case in (case for case in made if wanted(case.name)):
        print(f"  {case.name}", file=sys.stderr, flush=True)
        found[case.name] = measured(case, asked.turns, number)
        if number == 0 and case.profile is not None:
            found[case.name].profile = profile.shares(case.profile)
    if number == 0 and wanted("evaluations"):
        found[f"evaluations for ±{studies.TOLERANCE:g}"] = studies.evaluations(material)
    if number == 0 and wanted("forward passes"):
        found |= {f"forward passes to {each.name}": each.passes() for each in searches}
    return {
        "cases": {name: vars(each) for name, each in found.items()},
        "waits": starts.as_json(waits),
        "skipped": skipped,
        "settings": material.settings,
    }


def result(rounds: list[dict[str, Any]], asked: argparse.Namespace) -> dict[str, Any]:
    """All rounds as they are kept."""
    parts = [{name: read(each) for name, each in one["cases"].items()} for one in rounds]
    waits: dict[str, Any] = {}
    for name, first in rounds[0]["waits"].items():
        taken = [Seconds(*turn) for one in rounds for turn in one["waits"][name]["taken"]]
        waits[name] = {"about": first["about"], "limit": first["limit"]} | {
            clock: {
                "median": rounded(sorted(values)[len(values) // 2]),
                "interval": [rounded(each) for each in interval(values)],
            }
            for clock, values in zip(Seconds._fields, zip(*taken, strict=True), strict=True)
        }
    return {
        "environment": environment(
            device="cpu",
            threads=asked.threads,
            rounds=asked.rounds,
            turns=asked.turns,
            load=[o["load"] for o in rounds],
        ),
        "cases": {name: entry(each, asked.clock) for name, each in merged(parts).items()},
        "waits": waits,
        "skipped": rounds[0]["skipped"],
    }


def read(said: dict[str, Any]) -> Measured:
    """A case as another process has written it."""
    rounds = [[Turn(*(Seconds(*side) for side in turn)) for turn in turns] for turns in said["rounds"]]
    return Measured(**{**said, "work": tuple(said["work"]), "rounds": rounds})


def table(found: dict[str, Any]) -> str:
    """What is printed at the end."""
    lines = ["| case | ratio [95 %] |", "| --- | --- |"]
    for name, each in found["cases"].items():
        low, high = each["interval"]
        lines.append(f"| {name} | {each['ratio']:.3g} [{low:.3g}, {high:.3g}] |")
    lines += ["", "| wait | processor, s | clock, s | limit, s |", "| --- | --- | --- | --- |"]
    for name, each in found["waits"].items():
        spent = [f"{each[clock]['median']:.2f}" for clock in ("processor", "wall")]
        lines.append(f"| {name} | {' | '.join(spent)} | {each['limit']:g} |")
    lines += ["", *(f"left out: {name}: {why}" for name, why in found["skipped"].items())]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
