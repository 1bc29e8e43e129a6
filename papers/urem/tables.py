"""The tables of results.md, and the numbers behind them.

Random breaking points are σ of 255; an image that never changed counts as 255, so that means are restricted ones. Sizes
of targeted changes are L∞ in 255ths, of searches that reached p ≥ 0.9; the share that did not stands beside them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from depths import by_depth, signed
from found import WHITE, Array, Columns, Key, Network, networks, read
from networks import BUDGETS, DEPTHS
from scipy import stats

from brittle.classifiers.bundled import FASHION_LABELS as LABELS
from brittle.statistics.intervals import betting_bounds, simultaneous

SIGMA_END = 255.0
UNTOUCHED = Path(__file__).parents[1] / "fawzi2016" / "table2-untouched.parquet"


def interval(values: Array, end: float) -> tuple[float, float]:
    """95 %, for the population that images were drawn from."""
    low, high = betting_bounds(np.asarray(values, float), 0.95, planned=len(values), support=(0.0, end)).pair()
    return low, high


def lite(found: Path) -> str:
    """Table 1 in kind."""
    nets = {key[0]: net for key, net in networks(found, "lite", ("network",)).items()}
    common = frozenset.intersection(*(net.right for net in nets.values()))
    rates = sorted(next(iter(nets.values())).linf, reverse=True)
    heads = [f"targeted, rate {rate:g}" for rate in rates]
    lines = [
        "## EfficientNet-Lite on photographs (Table 1 in kind)",
        "",
        f"Means over each network's own correct images [95 % interval for the population], then over the {len(common)} "
        "that all three get right. σ is of 255, step 1; depth counts layers with weights.",
        "",
        "| network | accuracy | parameters | depth | σ*, path | never | σ*, fresh | all right: path, fresh "
        f"| {' | '.join(heads)} | failed |",
        f"| --- | --- | --- | --- | --- | --- | --- | --- | {' | '.join('---' for _ in heads)} | --- |",
    ]
    for name, net in nets.items():
        cells = [f"{net.facts['accuracy']:.1%}", f"{net.facts['parameters'] / 1e6:.2f} M", str(net.facts["depth"])]
        for noise in ("path", "fresh"):
            values = np.asarray([net.sigma[noise][image] for image in net.right])
            low, high = interval(values, SIGMA_END)
            cells.append(f"{values.mean():.1f} [{low:.1f}, {high:.1f}] = {100 * values.mean() / WHITE:.1f} %")
            if noise == "path":
                cells.append(f"{np.mean([not net.broke[noise][image] for image in net.right]):.1%}")
        cells.append(", ".join(f"{net.random(noise, common):.1f}" for noise in ("path", "fresh")))
        failed = []
        for rate in rates:
            sizes = net.sizes(rate, net.right)
            mean = net.targeted(rate, net.right)
            cells.append(f"{mean:.2f} = {100 * mean / WHITE:.2f} %")
            failed.append(f"{np.mean(~np.isfinite(sizes)):.1%} of {len(sizes)}")
        lines.append(f"| {name} | {' | '.join(cells)} | {', '.join(failed)} |")
    if len(nets) > 1:
        lines += [
            "",
            "Paired differences on the images that all get right, with 95 % intervals for all nine at once; for "
            "targeted sizes they are Student's, over images:",
        ]
        lines += paired(nets, common)
    return "\n".join([*lines, "", agreement(found), ""])


def agreement(found: Path) -> str:
    """Whether weights in float16 predict as those in float32, with which the photographs were once classified."""
    before = read(UNTOUCHED)
    known = dict(zip(zip(before["network"], before["image"], strict=True), before["predicted"], strict=True))
    now = read(found / "lite-clean.parquet")
    pairs = list(zip(zip(now["network"], now["image"], strict=True), now["predicted"], strict=True))
    same = sum(known[which] == predicted for which, predicted in pairs)
    return f"{same} of {len(pairs)} predictions are those of fawzi2016/table2-untouched.parquet (float32, on a CPU)."


def paired(nets: dict[str, Network], common: frozenset[int]) -> list[str]:
    """Differences between networks on the images that all get right; intervals hold for all of them at once."""
    pairs = list(itertools.combinations(nets, 2))
    lines = ["", "| networks | σ*, path | σ*, fresh | targeted |", "| --- | --- | --- | --- |"]
    confidence = simultaneous(0.95, 3 * len(pairs))
    for first, second in pairs:
        one, other = nets[first], nets[second]
        rate = max(one.linf)
        both = [pair for pair in one.linf[rate] if pair[0] in common and pair in other.linf[rate]]
        sizes: dict[int, list[float]] = {}
        for pair in both:
            apart = one.linf[rate][pair] - other.linf[rate][pair]
            if np.isfinite(apart):
                sizes.setdefault(pair[0], []).append(apart)
        cells = []
        for noise in ("path", "fresh"):
            told = np.asarray([one.sigma[noise][image] - other.sigma[noise][image] for image in common])
            bounds = betting_bounds(told, confidence, planned=len(told), support=(-SIGMA_END, SIGMA_END)).pair()
            cells.append(signed((float(told.mean()), *bounds)))
        cells.append(signed(student(np.asarray([np.mean(each) for each in sizes.values()]), confidence)))
        lines.append(f"| {first} − {second} | {' | '.join(cells)} |")
    return lines


class Slope(NamedTuple):
    """One outcome regressed on log₂ depth and log₅ parameters."""

    depth: tuple[float, float, float]  # per doubling: estimate and 95 % interval
    size: tuple[float, float, float]  # per fivefold parameters
    explained: float  # R²
    interaction: float  # p of the product of the two, added as a third
    mean: float


def regression(depth: Array, size: Array, outcome: Array) -> Slope:
    """Least squares over networks; intervals are Student's, with one residual per network."""
    a, b = np.log2(depth) - np.log2(depth).mean(), np.log(size) / np.log(5)
    b = b - b.mean()
    design = np.stack([np.ones_like(a), a, b], 1)
    beta, error, residual = _fitted(design, outcome)
    away = stats.t.ppf(0.975, len(outcome) - 3)
    rows = [(float(beta[k]), float(beta[k] - away * error[k]), float(beta[k] + away * error[k])) for k in (1, 2)]
    more, spread, _ = _fitted(np.column_stack([design, a * b]), outcome)
    p = 2 * stats.t.sf(abs(more[3] / spread[3]), len(outcome) - 4)
    explained = 1 - float(residual @ residual) / float(((outcome - outcome.mean()) ** 2).sum())
    return Slope(rows[0], rows[1], explained, float(p), float(outcome.mean()))


def _fitted(design: Array, outcome: Array) -> tuple[Array, Array, Array]:
    beta, *_ = np.linalg.lstsq(design, outcome, rcond=None)
    residual = outcome - design @ beta
    variance = residual @ residual / (len(outcome) - design.shape[1])
    return beta, np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design))), residual


def outcomes(nets: dict[Key, Network]) -> dict[str, Array]:
    """What the grid's networks are compared by, over images that all of them get right."""
    common = frozenset.intersection(*(net.right for net in nets.values()))
    rates = sorted(set.intersection(*(set(net.linf) for net in nets.values())), reverse=True)
    made = {"accuracy, %": np.asarray([100 * net.facts["accuracy"] for net in nets.values()])}
    for noise in ("path", "fresh"):
        made[f"σ*, {noise}"] = np.asarray([net.random(noise, common) for net in nets.values()])
    for rate in rates:
        made[f"targeted, rate {rate:g}"] = np.asarray([net.targeted(rate, common) for net in nets.values()])
    return made


def grid(found: Path) -> str:
    """Depth and parameters apart."""
    nets = networks(found, "grid")
    common = frozenset.intersection(*(net.right for net in nets.values()))
    told = outcomes(nets)
    depth = np.asarray([key[0] for key in nets])
    budget = np.asarray([key[1] for key in nets])
    size = np.asarray([net.facts["parameters"] for net in nets.values()])
    pairs = sum(image in common for image, _ in next(iter(next(iter(nets.values())).linf.values())))
    lines = [
        "## Depth × parameters on FashionMNIST",
        "",
        f"{len(nets)} networks. Mean over seeds ± their standard deviation; breaking points over the {len(common)} of "
        f"{len(next(iter(nets.values())).label)} test images that all networks get right, targeted sizes over {pairs} "
        "pairs of such an image and a target.",
        "",
        f"| convolutions | parameters | width | {' | '.join(told)} | failed |",
        f"| --- | --- | --- | {' | '.join('---' for _ in told)} | --- |",
    ]
    for d, b in sorted(set(zip(depth.tolist(), budget.tolist(), strict=True))):
        here = (depth == d) & (budget == b)
        of = [net for net, wanted in zip(nets.values(), here, strict=True) if wanted]
        cells = [f"{values[here].mean():.1f} ± {_spread(values[here]):.1f}" for values in told.values()]
        failed = [np.mean(~np.isfinite(net.sizes(rate, common))) for net in of for rate in net.linf]
        facts = of[0].facts
        lines.append(
            f"| {d} | {facts['parameters']:,} | {facts['width']} | {' | '.join(cells)} | {np.mean(failed):.2%} |"
        )
    if len(nets) < len(BUDGETS) * len(DEPTHS):
        return "\n".join([*lines, ""])
    lines += [
        "",
        "Regression of each on log₂ depth and log₅ parameters, one row per network; 95 % intervals over trainings:",
        "",
        "| | mean | per doubling of depth | per fivefold parameters | R² | p of an interaction | r with accuracy |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, values in told.items():
        slope = regression(depth, size, values)
        alike = float(np.corrcoef(values, told["accuracy, %"])[0, 1])
        lines.append(
            f"| {name} | {slope.mean:.1f} | {signed(slope.depth)} | {signed(slope.size)} | {slope.explained:.2f} "
            f"| {slope.interaction:.2g} | {alike:+.2f} |"
        )
    return "\n".join([*lines, *by_depth(depth, size, told), ""])


def _spread(values: Array) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def variants(found: Path) -> str:
    """Tables 2 and 3 in kind: trained on parts of the data."""
    whole, parts = networks(found, "grid"), networks(found, "variants")
    used = {(depth, budget) for depth, budget, _, _ in parts}
    nets = {key: net for key, net in whole.items() if key[:2] in used} | parts
    names = list(dict.fromkeys(key[2] for key in nets))
    depths = sorted({key[0] for key in nets})
    lines = [
        "## Trained on parts of the data (Tables 2 and 3 in kind)",
        "",
        "Every network on its own correct images of its own classes, mean over seeds ± their standard deviation: "
        "accuracy in %; σ*, path; σ*, fresh; targeted size.",
        "",
        f"| data | {' | '.join(f'{depth} convolutions' for depth in depths)} |",
        f"| --- | {' | '.join('---' for _ in depths)} |",
    ]
    for name in names:
        cells = []
        for depth in depths:
            of = [net for key, net in nets.items() if key[0] == depth and key[2] == name]
            cells.append(
                "; ".join(f"{np.mean(v):.1f} ± {_spread(np.asarray(v)):.1f}" for v in zip(*map(_own, of), strict=True))
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        "The part minus the whole, on the same images that both get right and, for targeted sizes, the same targets: "
        "the mean over depths of each seed, which share a part, and over the seeds Student's 95 % interval:",
        "",
        "| data | σ*, path | σ*, fresh | targeted | of each seed: path | fresh | targeted |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in names[1:]:
        of = {seed: [key for key in nets if key[2:] == (name, seed)] for seed in sorted({key[3] for key in nets})}
        apart = np.asarray(
            [
                np.mean([difference(nets[key], nets[(*key[:2], "full", seed)]) for key in keys], 0)
                for seed, keys in of.items()
                if keys and all((*key[:2], "full", seed) in nets for key in keys)
            ]
        )
        if len(apart) > 1:
            cells = [signed(student(values)) for values in apart.T]
            cells += [", ".join(f"{value:+.1f}" for value in values) for values in apart.T]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _own(net: Network) -> tuple[float, ...]:
    rate = max(net.linf)
    return (
        100 * net.facts["accuracy"],
        *(net.random(noise, net.right) for noise in ("path", "fresh")),
        net.targeted(rate, net.right),
    )


def difference(part: Network, whole: Network) -> tuple[float, ...]:
    """Of random breaking points, path and fresh, and of targeted sizes."""
    both, targets, rate = part.right & whole.right, frozenset(part.facts["classes"]), max(part.linf)
    random = (part.random(noise, both) - whole.random(noise, both) for noise in ("path", "fresh"))
    shared = [
        (size, whole.linf[rate][pair])
        for pair, size in part.linf[rate].items()
        if pair[0] in both and pair[1] in targets and pair in whole.linf[rate]
    ]
    sizes = np.asarray([each for each in shared if np.isfinite(each).all()])
    return (*random, float((sizes[:, 0] - sizes[:, 1]).mean()))


def student(values: Array, confidence: float = 0.95) -> tuple[float, float, float]:
    """The mean and its interval."""
    times = stats.t.ppf((1 + confidence) / 2, len(values) - 1)
    mean, away = values.mean(), times * values.std(ddof=1) / np.sqrt(len(values))
    return float(mean), float(mean - away), float(mean + away)


def matrix(nets: Iterable[Network], classes: Sequence[int]) -> Array:
    """Mean size (class of the image, target) over networks and images that they get right; NaN where there is none."""
    made = np.full((len(classes), len(classes)), np.nan)
    sizes: dict[tuple[int, int], list[float]] = {}
    for net in nets:
        for (image, target), size in net.linf[max(net.linf)].items():
            if image in net.right and np.isfinite(size):
                sizes.setdefault((net.label[image], target), []).append(size)
    for (row, source), (column, target) in itertools.product(enumerate(classes), enumerate(classes)):
        if (source, target) in sizes:
            made[row, column] = np.mean(sizes[source, target])
    return made


def searches(found: Path) -> str:
    """How many targeted searches there were, and how many reached their target."""
    reached = [read(file)["reached"] for file in sorted(found.glob("*-targeted.parquet"))]
    whole = np.concatenate(reached) if reached else np.zeros(0)
    return f"Of {len(whole):,} targeted searches in all, {int(whole.sum()):,} reached p ≥ 0.9.\n"


def matrices(found: Path) -> str:
    """What figures 8 to 10 are read for: whether some classes are harder to leave, or to reach, than others."""
    nets = networks(found, "grid") | (
        networks(found, "variants") if (found / "variants-networks.parquet").exists() else {}
    )
    lines = [
        "## Perturbation matrices (figures 8 to 10 in kind)",
        "",
        "Of networks that tell all ten classes apart: mean L∞ in 255ths, and how much of the variance between the 90 "
        "cells of the mean matrix lies between the classes that images come from, and between targets.",
        "",
        "| network | data | mean | least – greatest cell | source | target | hardest to leave | hardest to reach |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for depth, budget, part in dict.fromkeys(key[:3] for key in nets):
        values = matrix([net for key, net in nets.items() if key[:3] == (depth, budget, part)], range(len(LABELS)))
        if np.isnan(values).sum() > len(LABELS):
            continue
        source, target = shares(values)
        out, into = np.nanmean(values, 1), np.nanmean(values, 0)
        lines.append(
            f"| {depth} convolutions, {budget // 1000}k | {part} | {np.nanmean(values):.1f} "
            f"| {np.nanmin(values):.1f} – {np.nanmax(values):.1f} | {source:.0%} | {target:.0%} "
            f"| {LABELS[int(out.argmax())]} ({out.max():.1f}) "
            f"| {LABELS[int(into.argmax())]} ({into.max():.1f}) |"
        )
    return "\n".join([*lines, ""])


def shares(values: Array) -> tuple[float, float]:
    """Shares of the variance of the cells off the diagonal that source and target explain in a model of both: the
    loss of R² when either is left out."""
    rows, columns = np.nonzero(~np.isnan(values))
    cells = values[rows, columns]
    source, target = (np.eye(len(values))[places] for places in (rows, columns))
    both, without_source, without_target = (
        _explained(design, cells) for design in (np.hstack([source, target]), target, source)
    )
    return both - without_source, both - without_target


def _explained(design: Array, outcome: Array) -> float:
    beta, *_ = np.linalg.lstsq(design, outcome, rcond=None)
    residual = outcome - design @ beta
    return 1 - float(residual @ residual) / float(((outcome - outcome.mean()) ** 2).sum())


def layers(tables: dict[str, Columns]) -> str:
    """Figure 7 in kind: do σ* and P* go with the place of a layer?"""
    lines = [
        "## Noise on layers (figure 7 in kind)",
        "",
        "Multiplicative noise N(1, σ²) on one layer at a time, one field per image and repeat, σ up to 5 in steps "
        "of 0.1; a prediction that never changed counts as 5. Rank correlations with the number of the layer are over "
        "the layers, without the weights.",
        "",
        "| network | layers | σ* of the input | of the middle | of the output | never, input | P* input | P* output "
        "| rank correlation of σ* | of P* | σ* of the weights |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, columns in tables.items():
        sigma, p = columns["mean"][:-1], columns["p_star"][:-1]
        number = columns["number"][:-1]
        known = np.isfinite(p)
        middle = len(sigma) // 2
        rank, rank_p = stats.spearmanr(number, sigma)[0], stats.spearmanr(number[known], p[known])[0]
        lines.append(
            f"| {name} | {len(sigma)} | {sigma[0]:.2f} | {sigma[middle]:.2f} | {sigma[-1]:.2f} "
            f"| {columns['unbroken'][0]:.0%} | {p[0]:.2f} | {p[-1]:.2f} | {rank:+.2f} | {rank_p:+.2f} "
            f"| {columns['mean'][-1]:.2f} |"
        )
    return "\n".join([*lines, ""])
