"""Tables 3, 4, 5 and 7 of CNS-Bench 2025, re-derived from what they print, and what does not agree with itself.

    python papers/cns2025/tables.py [--out tables.md]

The printed numbers are table3.csv, table4.csv, table5.csv, table7-accuracy.csv and table7-parameters.csv beside this
file; table 3's last column names the row of table 4 that it repeats. They are rounded: to 0.01 in table 5, to 0.001 in
tables 3 and 4, so that what is derived from them is known up to that.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from brittle.statistics.line import FittedLine, PartialCorrelation, line, partial

Array = NDArray[np.float64]
HERE = Path(__file__).parent
SCALES = ("0", "0.5", "1", "1.5", "2", "2.5")
DROPS = ("1", "1.5", "2", "2.5")
ROUNDED = 0.005  # at most, of a number printed with two decimals
SLACK = 1e-9
# The same model under two names.
ELSEWHERE = {
    "dinov1_ft_vit_base_patch16": ("dinov1_vit_base_patch16", "dino_v1vit_base_patch16"),
    "dino_l_vit_base_patch16": ("dino_vit_base_patch16", "dino_lpvit_base_patch16"),
    "vssm_base_v0": ("vssm_base.v0", ""),
}
DEIT3 = {
    "deit3_small": "deit3_small_patch16_224.fb.in1k",
    "deit3_medium": "deit3_medium_patch16_224.fb.in1k",
    "deit3_base": "deit3_base_patch16_224.fb.in1k",
    "deit3_large": "deit3_large_patch16_224.fb.in1k",
    "deit3_huge": "deit3_huge_patch14_224.fb.in1k",
}
PRINTED_PARTIAL = -0.358
SHIFTS = 14
REDRAWN = 20_000


class Model(NamedTuple):
    """What the paper prints of one classifier."""

    name: str  # as table 5 has it
    accuracy: Array  # (6,) at scales 0 to 2.5
    average: float
    drop: Array  # (4,) at scales 1 to 2.5
    ce: float  # table 4
    rce: float
    imagenet: float | None  # table 7, as a share


def _read(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def models() -> dict[str, Model]:
    errors = {row["model"]: row for row in _read("table4.csv")}
    imagenet = {row["model"]: float(row["imagenet"]) / 100 for row in _read("table7-accuracy.csv")}
    found = {}
    for row in _read("table5.csv"):
        in_4, in_7 = ELSEWHERE.get(row["model"], (row["model"], row["model"]))
        found[row["model"]] = Model(
            row["model"],
            np.array([float(row[f"accuracy_{scale}"]) for scale in SCALES]),
            float(row["average"]),
            np.array([float(row[f"drop_{scale}"]) for scale in DROPS]),
            float(errors[in_4]["ce"]),
            float(errors[in_4]["rce"]),
            imagenet.get(in_7),
        )
    return found


def differing_rce() -> list[tuple[str, float, float]]:
    """Entries of table 3 that table 4 has otherwise: name, rCE there, rCE here."""
    four = {row["model"]: float(row["rce"]) for row in _read("table4.csv")}
    pairs = [(row["name"], float(row["rce"]), four[row["table4"]]) for row in _read("table3.csv")]
    return [pair for pair in pairs if pair[1] != pair[2]]


def best_pretraining(table: int) -> str:
    """The pre-training of the lowest rCE, as table 3 or table 4 has it."""
    four = {row["model"]: float(row["rce"]) for row in _read("table4.csv")}
    rows = [row for row in _read("table3.csv") if row["axis"] == "pre-training"]
    return min(rows, key=lambda row: float(row["rce"]) if table == 3 else four[row["table4"]])["name"]


def wrong_averages() -> list[tuple[str, float, float]]:
    """Averages of table 5 that no accuracies rounding to the printed ones have: model, printed, of the printed ones."""
    return [
        (each.name, each.average, float(each.accuracy.mean()))
        for each in models().values()
        if abs(each.average - each.accuracy.mean()) > 2 * ROUNDED + SLACK
    ]


def wrong_drops() -> list[tuple[str, str, float, float]]:
    """Drops of table 5 that no such accuracies have: model, scale, printed, A₀ − Aₛ."""
    return [
        (each.name, scale, float(printed), float(each.accuracy[0] - each.accuracy[SCALES.index(scale)]))
        for each in models().values()
        for scale, printed in zip(DROPS, each.drop, strict=True)
        if abs(printed - each.accuracy[0] + each.accuracy[SCALES.index(scale)]) > 3 * ROUNDED + SLACK
    ]


def averaged_over() -> tuple[float, float]:
    """The mean distance of the printed averages from the mean over all six scales, and over the five above 0."""
    found = [
        (each.average - each.accuracy.mean(), each.average - each.accuracy[1:].mean()) for each in models().values()
    ]
    six, five = np.abs(np.array(found)).mean(0)
    return float(six), float(five)


def implied_alexnet() -> dict[str, tuple[float, float]]:
    """Per model, AlexNet's mean error and mean drop over the scales above 0, as CE and rCE imply them: about the same
    for all, were CE and rCE ratios of means rather than means of ratios over shifts."""
    return {
        name: (
            float((1 - each.accuracy[1:]).mean() / each.ce),
            float((each.accuracy[0] - each.accuracy[1:]).mean() / each.rce),
        )
        for name, each in models().items()
    }


def implied_last_accuracy(name: str) -> tuple[float, float, float]:
    """A model's accuracy at scale 2.5 as its average, its CE and its rCE imply it; AlexNet's part is the median of
    what the other models imply."""
    each, others = models()[name], [value for other, value in implied_alexnet().items() if other != name]
    error, drop = np.median(np.array(others), 0)
    five, first = len(SCALES) - 1, each.accuracy[1:-1].sum()
    return (
        float(len(SCALES) * each.average - each.accuracy[:-1].sum()),
        float(five * (1 - error * each.ce) - first),
        float(five * (each.accuracy[0] - drop * each.rce) - first),
    )


class Size(NamedTuple):
    """DeiT3: parameters in millions, ImageNet accuracy, and accuracy over the scales above 0; all (5,)."""

    parameters: Array
    identical: Array
    shifted: Array


def deit3() -> Size:
    there, counted = models(), {row["architecture"]: float(row["millions"]) for row in _read("table7-parameters.csv")}
    return Size(
        np.array([counted[name] for name in DEIT3]),
        np.array([there[model].imagenet for model in DEIT3.values()], np.float64),
        np.array([there[model].accuracy[1:].mean() for model in DEIT3.values()]),
    )


def size_effect(logarithm: bool = False) -> PartialCorrelation:
    """ρ(size, OOD · ID) of the five DeiT3 models, from the printed numbers."""
    found = deit3()
    size = np.log(found.parameters) if logarithm else found.parameters
    return partial(size, found.shifted, found.identical)


def size_effect_of_rounding(logarithm: bool = False, seed: int = 0) -> tuple[float, float]:
    """Between which values 95 % of these correlations lie if every printed accuracy is what any number that rounds to
    it may have been."""
    there, found, random = models(), deit3(), np.random.default_rng(seed)
    printed = np.stack([there[model].accuracy[1:] for model in DEIT3.values()])
    size = np.log(found.parameters) if logarithm else found.parameters
    drawn = []
    for _ in range(REDRAWN):
        shifted = (printed + random.uniform(-ROUNDED, ROUNDED, printed.shape)).mean(1)
        identical = found.identical + random.uniform(-ROUNDED / 100, ROUNDED / 100, len(found.identical))
        drawn.append(_partial_value(size, shifted, identical))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def _partial_value(a: Array, y: Array, x: Array) -> float:
    """From three correlations, without a p-value."""
    r = np.asarray(np.corrcoef(np.stack([a, y, x])))
    ay, ax, yx = r[0, 1], r[0, 2], r[1, 2]
    return float((ay - ax * yx) / np.sqrt((1 - ax**2) * (1 - yx**2)))


def p_of_printed(points: int = len(DEIT3)) -> float:
    """The p-value of the printed −0.358 over so many points, one variable given."""
    free = points - 3
    return float(2 * student.sf(abs(PRINTED_PARTIAL) * np.sqrt(free / (1 - PRINTED_PARTIAL**2)), free))


def supervised() -> list[str]:
    """The models that were trained on ImageNet with labels alone: as many as the paper's figures 20 to 23 have."""
    kinds = ("convnext_", "deit", "resnet", "vit_base_patch16_224.augreg.in1k")
    return [name for name, each in models().items() if name.startswith(kinds) and each.imagenet is not None]


def lines(names: Sequence[str]) -> list[FittedLine]:
    """Accuracy at each scale against ImageNet accuracy, of some models."""
    there = models()
    known = np.array([there[name].imagenet for name in names], np.float64)
    return [line(known, np.array([there[name].accuracy[at] for name in names])) for at in range(len(SCALES))]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(each)} |" for each in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def page() -> str:
    """What agrees and what does not, as Markdown."""
    head = f"`python papers/cns2025/tables.py` printed this from tables 3, 4, 5 and 7: {len(models())} models."
    parts = ["## The paper's tables, re-derived", head, _disagreeing(), _agreeing(), _on_the_line(), _size()]
    return "\n\n".join(parts) + "\n"


def _disagreeing() -> str:
    rows = [
        [f"rCE of {name}", f"{first:.3f} (table 3)", f"{second:.3f} (table 4)", _follows(name)]
        for name, first, second in differing_rce()
    ]
    for name, scale, printed, derived in wrong_drops():
        average, ce, rce = implied_last_accuracy(name)
        doubt = (
            f"its accuracy there is doubtful too: {models()[name].accuracy[-1]:.2f} is printed, the average implies "
            f"{average:.2f}, CE {ce:.2f} and rCE {rce:.2f}"
        )
        rows.append([f"drop of {name} at scale {scale}", f"{printed:.2f}", f"{derived:.2f} (A₀ − Aₛ, table 5)", doubt])
    for name, printed, derived in wrong_averages():
        rows.append([f"average of {name}", f"{printed:.2f}", f"{derived:.3f} (mean of its six)", "a misprint"])
    six, five = averaged_over()
    over = (
        f"Table 5's averages include scale 0: on average they lie {six:.4f} from the mean over six scales and "
        f"{five:.4f} from that over the five above 0."
    )
    table = _table(["where", "printed", "elsewhere", "what follows"], rows)
    return "\n\n".join(["### What does not agree", table, over])


def _agreeing() -> str:
    implied = np.array(list(implied_alexnet().values()))
    (low, low_drop), (error, drop), (high, high_drop) = np.quantile(implied, [0.1, 0.5, 0.9], axis=0)
    return (
        "### What agrees\n\n"
        "All other averages and drops of table 5 follow from its accuracies within rounding. CE and rCE can't be "
        "derived from it: they are means over shifts of ratios to AlexNet, which table 5 leaves out. Were they ratios "
        f"of means, AlexNet's mean error would be {error:.3f} (80 % of models: {low:.3f} to {high:.3f}) and its mean "
        f"drop {drop:.3f} ({low_drop:.3f} to {high_drop:.3f})."
    )


def _on_the_line() -> str:
    rows = []
    chosen = supervised()
    every = [name for name, each in models().items() if each.imagenet is not None]
    for words, names in ((f"{len(chosen)} supervised on ImageNet", chosen), (f"all {len(every)}", every)):
        cells = [
            f"{each.slope.value:.2f} ({each.correlation.value:.2f}, "
            + ("p < 0.001)" if each.p_value < 0.001 else f"p = {each.p_value:.3f})")
            for each in lines(names)
        ]
        rows.append([words, *cells])
    table = _table(["models", *(f"scale {scale}" for scale in SCALES)], rows)
    return (
        "### Accuracy on the line (A.6)\n\nTable 5's mean accuracy over all shifts at each scale, against table 7's "
        "accuracy on ImageNet: slope (correlation, p). The printed tables have sixteen models that were trained on "
        f"ImageNet with labels alone, as many as figures 20 to 23.\n\n{table}\n\nSo the printed numbers bear the paper "
        "out where shifts are averaged: each slope of its sixteen is significant by itself, and they grow with scale. "
        "Over all models, whose pre-training differs, they hardly grow. By shift it can't be redone: table 5 has means."
    )


def _power(value: float) -> str:
    first, exponent = f"{value:.0e}".split("e")
    return f"{first}·10{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _size() -> str:
    rows = []
    for name, logarithm in (("parameters", False), ("log parameters", True)):
        found, (low, high) = size_effect(logarithm), size_effect_of_rounding(logarithm)
        rows.append([name, f"{found.correlation.value:+.2f}", f"{found.p_value:.2f}", f"{low:+.2f} to {high:+.2f}"])
    fitted = line(deit3().identical, deit3().shifted)
    before = (
        f"The paper gives ρ(size, OOD · ID) = −{abs(PRINTED_PARTIAL)} for the DeiT3 family, “significantly negative”. "
        "If that is over the five models, as a size of a model suggests, one given variable leaves two degrees of "
        f"freedom: p = {p_of_printed():.2f}. Over fourteen shifts of each as {5 * SHIFTS} points it would be "
        f"{p_of_printed(5 * SHIFTS):.4f}, over five scales too {_power(p_of_printed(25 * SHIFTS))}; such points "
        "are not independent, since they are of five models. From the printed tables, with ImageNet accuracy as ID and "
        "mean accuracy at the scales above 0 as OOD:"
    )
    after = (
        "So the printed numbers point the other way, and prove as little: no claim about size can rest on five models "
        f"of one training each. ID and OOD accuracy of the five correlate with {fitted.correlation.value:.2f}."
    )
    table = _table(["size as", "ρ(size, OOD · ID)", "p", "95 % of what rounding allows"], rows)
    return "\n\n".join(["### Does size explain robustness? (A.6)", before, table, after])


def _follows(name: str) -> str:
    if not name.startswith("DINOv1"):
        return "rounding"
    return f"§5.3's best pre-training is {best_pretraining(3)} by table 3 and {best_pretraining(4)} by table 4"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="write it there instead of printing it")
    out = parser.parse_args().out
    if out is None:
        print(page(), end="")
    else:
        out.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
