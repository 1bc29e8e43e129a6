"""Writes docs/speed.md from benchmarks/results: what `make bench` and `make bench-gpu` found, losses included."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results"
SMALLEST = 0.005  # share of the time that is still named

INTRODUCTION = """[Documentation](README.md) › understand

# Speed

Made by `make docs` from [what the guard measured](../benchmarks/README.md#the-guard): `make bench` on a CPU,
`make bench-gpu` on a GPU. Every ratio is taken in one run, the two sides turn by turn; above 1 Brittle is the faster
one. Each comparison checks that both sides did the same, and says what was found equal. Losses are here too. Seconds
and images per second belong to the machine named below the tables.
"""
ON_A_CPU = """
## On a CPU

A round is a process of its own; intervals are for the median over {rounds} rounds, by order statistics. What counts
is the processor's time, of {threads} thread{s}: other processes were running (load {load} on {cores} cores), and it
shows them least. The last column has the ratio by the clock, which differs where Brittle waits, or works in another
thread.
"""
ON_A_GPU = """
## On a GPU

{device}; time by the clock. A measurement is everything from arrays in memory to the summary with its intervals; beside
it stands the bare forward pass of the same network, compiled, which transforms nothing. Ranges are those of the turns.
"""
BARE = "A bare forward pass does less than a measurement: its ratio says what is left to gain, and cannot pass 1."


def page(results: Path = RESULTS) -> str:
    """The page as Markdown."""
    lines = [INTRODUCTION.rstrip()]
    cpu, gpu = (_read(results / f"{name}.json") for name in ("cpu", "gpu"))
    if cpu is not None:
        around = cpu["environment"]
        said = {**around, "s": "s" * (around["threads"] != 1), "load": _range(around["load"])}
        lines += [ON_A_CPU.format(**said).rstrip(), "", *cases(cpu), "", *losses(cpu), "", *waits(cpu)]
        lines += ["", *profiles(cpu), "", *left_out(cpu), "", machine(around)]
    if gpu is not None:
        lines += [ON_A_GPU.format(**gpu["environment"]).rstrip(), "", *cases(gpu), "", *bare(gpu), "", *profiles(gpu)]
        lines += ["", *left_out(gpu), "", machine(gpu["environment"])]
    else:
        lines += ["", "## On a GPU", "", "No results are committed yet: `make bench-gpu` writes them."]
    return "\n".join(lines) + "\n"


def _read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def cases(found: Mapping[str, Any]) -> Iterator[str]:
    yield "| case | ratio | Brittle | the other side | equal on both sides | by the clock |"
    yield "| --- | --- | ---: | ---: | --- | ---: |"
    for name, each in found["cases"].items():
        numbers = each.get("numbers") or each["rates"]
        unit = each["piece"] if "numbers" in each else f"{each['piece']}/s"
        sides = [f"{_number(numbers[side])} {unit}" for side in ("ours", "theirs")]
        clock = "" if "numbers" in each else f"{each['wall']:.2f}"
        yield f"| {name} | {_ratio(each)} | {sides[0]} | {sides[1]} | {each['equal']} | {clock} |"
    yield ""
    yield from (f"- *{name}*: {each['about']}." for name, each in found["cases"].items())


def losses(found: Mapping[str, Any]) -> Iterator[str]:
    """Where the other side is surely the faster one."""
    lost = {name: each for name, each in found["cases"].items() if each["interval"][1] < 1}
    if lost:
        named = ", ".join(f"{name} ({each['ratio']:.2f})" for name, each in lost.items())
        yield f"**Losses.** The other side is faster, or needs less, in: {named}."
        yield BARE
    goals = {name: each for name, each in found["cases"].items() if each["goal"]}
    for name, each in goals.items():
        yield f"The goal of *{name}* is: {each['goal']}."


def waits(found: Mapping[str, Any]) -> Iterator[str]:
    yield "### Waiting"
    yield ""
    yield "| until | processor, s | by the clock, s | limit, s | |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for name, each in found["waits"].items():
        held = "held" if each["processor"]["median"] <= each["limit"] else "missed"
        times = [f"{each[clock]['median']:.2f}" for clock in ("processor", "wall")]
        yield f"| {name} | {times[0]} | {times[1]} | {each['limit']:g} | {held}: {each['about']} |"
    yield ""
    yield "The limits are for an idle machine, and are held against the processor's time."


def profiles(found: Mapping[str, Any]) -> Iterator[str]:
    looked_into = {name: each["profile"] for name, each in found["cases"].items() if each["profile"]}
    if not looked_into:
        return
    yield "### What the time is spent on"
    yield ""
    yield "| case | share of Brittle's time |"
    yield "| --- | --- |"
    for name, parts in looked_into.items():
        shown = ", ".join(f"{part} {share:.0%}" if share >= 0.01 else f"{part} {share:.1%}"
                          for part, share in parts.items() if share >= SMALLEST)  # fmt: skip
        yield f"| {name} | {shown} |"


def bare(found: Mapping[str, Any]) -> Iterator[str]:
    yield "| bare forward pass | batch | images/s |"
    yield "| --- | ---: | ---: |"
    for name, ways in found["bare"].items():
        for way, each in ways.items():
            yield f"| {name}, {way} | {each['batch']:,} | {_number(each['rate'])} |"


def left_out(found: Mapping[str, Any]) -> Iterator[str]:
    if found["skipped"]:
        yield "Left out there: " + "; ".join(f"{name} ({why})" for name, why in found["skipped"].items()) + "."


def machine(around: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in around["packages"].items())
    where = around["processor"] if around["device"] == "cpu" else f"{around['device']}, {around['processor']}"
    return f"{where}, {around['cores']} cores; Python {around['python']}, {versions}; commit {around['commit']}."


def _ratio(case: Mapping[str, Any]) -> str:
    low, high = case["interval"]
    return f"{case['ratio']:.2f}" if low == high else f"{case['ratio']:.2f} [{low:.2f}, {high:.2f}]"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _range(values: Any) -> str:
    several = values if isinstance(values, list) else [values]
    return f"{min(several):g} to {max(several):g}" if len(several) > 1 else f"{several[0]:g}"


if __name__ == "__main__":
    target = HERE / "speed.md"
    if "--check" in sys.argv:
        if target.read_text(encoding="utf-8") != page():
            sys.exit("docs/speed.md is not what benchmarks/results says: run `make docs`")
    else:
        target.write_text(page(), encoding="utf-8")
