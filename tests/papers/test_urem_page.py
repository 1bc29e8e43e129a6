"""The numbers of papers/urem/README.md, worked out again from its committed data by other means than its page.py."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

pd = pytest.importorskip("pandas")

HERE = Path(__file__).parents[2] / "papers" / "urem"
NETWORK = ["depth", "budget", "variant", "seed"]
END, WHITE = 255.0, 255.0


@cache
def page() -> str:
    return " ".join((HERE / "README.md").read_text(encoding="utf-8").split())


@cache
def read(name: str) -> Any:
    return pq.read_table(HERE / f"{name}.parquet").to_pandas()


def signed(*values: float, digits: int = 2) -> str:
    """+0.48 [−0.07, +1.02]"""
    first, low, high = (f"{value:+.{digits}f}".replace("-", "−") for value in values)
    return f"{first} [{low}, {high}]"


@cache
def outcomes() -> Any:
    """A row per network of the grid, over the images that all of them get right."""
    clean, breaking, targeted = (read(f"grid-{name}") for name in ("clean", "breaking", "targeted"))
    common = set.intersection(*(set(own.image) for _, own in clean[clean.right].groupby(NETWORK)))
    assert f"the {len(common)} of 1000 test images that all get right" in page()
    breaking = breaking[breaking.image.isin(common)].assign(size=lambda own: own.sigma.where(own.broke, END))
    targeted = targeted[targeted.image.isin(common)]
    nets = read("grid-networks").set_index(NETWORK)
    found = nets.assign(accuracy=100 * nets.accuracy, size=np.log(nets.parameters) / np.log(5))
    for noise, own in breaking.groupby("noise"):
        found[noise] = own.groupby(NETWORK)["size"].mean()
    for rate, own in targeted.groupby("rate"):
        found[f"{rate:g}"] = WHITE * own.groupby(NETWORK).linf.mean()
        assert f"over {own.groupby(NETWORK).size().unique().item()} pairs" in page()
    return found.reset_index()


NAMES = {
    "accuracy": "accuracy, %",
    "path": "σ*, path",
    "fresh": "σ*, fresh",
    "0.005": "targeted, rate 0.005",
    "0.001": "targeted, rate 0.001",
}


def slope(own: Any, outcome: str) -> tuple[float, float, float]:
    fit = stats.linregress(own["size"], own[outcome])
    reach = stats.t.ppf(0.975, len(own) - 2) * fit.stderr
    return fit.slope, fit.slope - reach, fit.slope + reach


def step(one: Any, other: Any) -> tuple[float, float, float]:
    ends = stats.ttest_ind(other, one, equal_var=False).confidence_interval()
    return float(other.mean() - one.mean()), ends.low, ends.high


@pytest.mark.parametrize("outcome", NAMES)
def test_the_slopes_of_each_depth_and_the_steps_of_depth_are_those_of_the_networks(outcome: str) -> None:
    of = dict(iter(outcomes().groupby("depth")))
    cells = [signed(*slope(own, outcome)) for own in of.values()]
    cells += [signed(*step(of[low][outcome], of[high][outcome])) for low, high in ((2, 4), (4, 8))]
    assert f"| {NAMES[outcome]} | {' | '.join(cells)} |" in page()


@pytest.mark.parametrize("outcome", NAMES)
def test_the_slopes_over_the_grid_are_those_of_the_networks(outcome: str) -> None:
    nets = outcomes()
    x = np.column_stack([np.ones(len(nets)), np.log2(nets.depth), nets["size"]])
    y = nets[outcome].to_numpy()
    inverse = np.linalg.inv(x.T @ x)
    fitted = inverse @ x.T @ y
    left = y - x @ fitted
    reach = stats.t.ppf(0.975, len(y) - 3) * np.sqrt(left @ left / (len(y) - 3) * np.diag(inverse))
    cells = [signed(fitted[place], fitted[place] - reach[place], fitted[place] + reach[place]) for place in (1, 2)]
    explained = 1 - left @ left / ((y - y.mean()) @ (y - y.mean()))
    more = np.column_stack([x, x[:, 1] * x[:, 2]])
    inverse = np.linalg.inv(more.T @ more)
    both = inverse @ more.T @ y
    left = y - more @ both
    t = both[3] / np.sqrt(left @ left / (len(y) - 4) * inverse[3, 3])
    p = 2 * stats.t.sf(abs(t), len(y) - 4)
    told = f"{p:.4f}" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
    assert f"| {NAMES[outcome]} | {' | '.join(cells)} | {explained:.2f} | {told} |" in page()


def test_the_table_of_the_grid_has_its_means_and_spreads() -> None:
    for (depth, budget), own in outcomes().groupby(["depth", "budget"]):
        cells = [f"{own[name].mean():.1f} ± {own[name].std():.1f}" for name in NAMES]
        assert f"| {depth} | {budget // 1000}k | {' | '.join(cells)} |" in page()


def test_accuracy_goes_with_neither_kind_of_robustness() -> None:
    r = outcomes()[list(NAMES)].corr().accuracy
    said = f"accuracy and σ* correlate by {r.path:.2f} (path) and {r.fresh:.2f} (fresh), accuracy and targeted size by "
    assert (said + f"{r['0.005']:.2f}").replace("-", "−") in page()


def test_all_searches_reached_their_target() -> None:
    searches = pd.concat([read(f"{part}-targeted") for part in ("grid", "variants", "lite")])
    assert f"all {len(searches):,} searches reached p ≥ 0.9" in page()
    assert searches.reached.all()


def test_the_table_of_parts_has_the_means_of_its_networks() -> None:
    """Each network on its own correct images; the page rounds more than its tables do."""
    nets = pd.concat([read("grid-networks"), read("variants-networks")])
    nets = nets[nets.budget == 100_000]
    assert f"[{len(nets)} small networks]" in page()
    clean, breaking, targeted = (
        pd.concat([read(f"grid-{name}"), read(f"variants-{name}")]).query("budget == 100000")
        for name in ("clean", "breaking", "targeted")
    )
    right = clean[clean.right][[*NETWORK, "image"]]
    breaking = breaking.merge(right).assign(size=lambda own: own.sigma.where(own.broke, END))
    targeted = targeted[targeted.rate == targeted.rate.max()].merge(right)
    words = {"five": "five classes", "three": "three classes"}
    for part in ("full", "half", "half-short", "tenth", "five", "three"):
        line = page().split(f"| {words.get(part, part)} | ")[1]
        for depth, cell in zip((2, 4, 8), line.split(" | "), strict=False):
            own = nets[(nets.variant == part) & (nets.depth == depth)]
            sizes = [each[(each.variant == part) & (each.depth == depth)] for each in (breaking, targeted)]
            noise = sizes[0].groupby(["noise", "seed"])["size"].mean().groupby("noise").mean()
            moved = WHITE * sizes[1].groupby("seed").linf.mean().mean()
            told = f"{100 * own.accuracy.mean():.1f}; {noise.path:.0f}; {noise.fresh:.0f}; {moved:.1f}"
            assert cell.removesuffix(" |") == told
    short = [f"{100 * own.accuracy.mean():.1f}" for part in ("full", "half", "tenth", "five", "three")
             for own in [nets[(nets.variant == part) & (nets.depth == 4)]]]  # fmt: skip
    assert "{} % on all, {} on half, {} on a tenth, {} with five classes, {} with three".format(*short) in page()


@pytest.mark.parametrize("name", ["lite0", "lite1", "lite2"])
def test_the_table_of_efficientnet_lite_has_its_means(name: str) -> None:
    net, clean, breaking, targeted = (
        own[own.network == name]
        for own in (read(f"lite-{each}") for each in ("networks", "clean", "breaking", "targeted"))
    )
    right = set(clean[clean.right].image)
    line = page().split(f"| {name.replace('lite', 'Lite ')} | ")[1].split(" |")
    assert line[0] == f"{100 * net.accuracy.item():.1f} %"
    assert line[1].strip() == f"{net.parameters.item() / 1e6:.2f} M"
    breaking = breaking[breaking.image.isin(right)]
    for place, noise in ((3, "path"), (4, "fresh")):
        own = breaking[breaking.noise == noise]
        mean = own.sigma.where(own.broke, END).mean()
        assert line[place].strip().startswith(f"{mean:.1f} [")
        assert line[place].strip().endswith(f"= {100 * mean / WHITE:.1f} %")
    for place, rate in ((5, 0.002), (6, 0.0005)):
        own = targeted[(targeted.rate == rate) & targeted.image.isin(right)]
        mean = WHITE * own.groupby("image").linf.mean().mean()
        assert line[place].strip() == f"{mean:.2f} = {100 * mean / WHITE:.2f} %"


def test_noise_on_layers_rises_towards_the_output_beyond_chance_in_one_network_of_six() -> None:
    layers = pd.concat(
        [
            read("grid-layers").assign(net=lambda own: own.depth.astype(str)),
            read("lite-layers").assign(net=lambda own: own.network),
        ]
    )
    sigma, p = [], []
    for _, own in layers[layers.layer != "weights"].groupby("net"):
        assert len(own) == 11
        sigma.append(stats.spearmanr(own.number, own["mean"]).statistic)
        p.append(stats.spearmanr(own.number, own.p_star).statistic)
    assert f"rank correlations are {min(sigma):+.2f} to {max(sigma):+.2f} over 11 layers" in page()
    assert (sum(each > 0.62 for each in sigma), sum(abs(each) > 0.62 for each in p)) == (1, 2)
    # ±0.62: the 5 % point of Spearman's rank correlation of eleven pairs
    assert 2 * stats.t.sf(0.62 * np.sqrt(9 / (1 - 0.62**2)), 9) == pytest.approx(0.05, abs=0.01)
