"""The numbers of papers/cns2025/README.md, worked out again from its committed data by other means than its page.py."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

pd = pytest.importorskip("pandas")

HERE = Path(__file__).parents[2] / "papers" / "cns2025"
BLURS = ("gaussian-blur", "defocus-blur", "glass-blur", "motion-blur", "zoom-blur")
LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0)


@cache
def page() -> str:
    return " ".join((HERE / "README.md").read_text(encoding="utf-8").split())


@cache
def read(name: str, run: str) -> Any:
    found = pq.read_table(HERE / f"{name}.parquet").to_pandas()
    return found[found.run == run]


def said(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def test_pairs_change_places_as_often_as_the_page_says() -> None:
    rows = read("fashion-places", "kinds")
    accuracy, drop = (rows[rows.by == by].set_index("nuisance") for by in ("accuracy", "drop"))
    assert (
        f"Of {accuracy.pairs.sum():,} pairs ({accuracy.pairs.max()} under each of {len(accuracy)} corruptions) "
        f"{accuracy.changing_places.sum():,} change places by accuracy somewhere, and in "
        f"{accuracy.more_than_noise.sum():,} this is more than noise"
    ) in page()
    assert f"by drop {drop.changing_places.sum():,} and {drop.more_than_noise.sum()}." in page()
    few, many = (accuracy.more_than_noise[name] for name in ("gaussian-blur", "noise"))
    assert f"Under noise {many} of 190 do, under Gaussian blur {few}." in page()
    lite = pd.concat([read("lite-places", run) for run in ("corruptions", "contrast")])
    assert not lite.more_than_noise.any()
    assert (lite[lite.by == "accuracy"].changing_places >= 1).all()


def test_contrast_has_the_accuracies_of_the_page() -> None:
    at = read("lite-severities", "contrast").pivot(index="value", columns="classifier", values="accuracy")
    first, fifth = (", ".join(said(value, 3) for value in at.loc[level]) for level in (1.0, 5.0))
    first, fifth = (" and ".join(each.rsplit(", ", 1)) for each in (first, fifth))
    assert f"{first.replace(' and', ',')} at level 1 and {fifth.replace(' and', ',')} at level 5" in page()
    assert f"at levels 6 and 7 nobody is above {100 * at.loc[[6.0, 7.0]].max().max():.1f} %" in page()


def fit(x: Any, y: Any) -> tuple[float, float, float, float]:
    """Slope with its ends, and p."""
    found = stats.linregress(x, y)
    reach = stats.t.ppf(0.975, len(x) - 2) * found.stderr
    return found.slope, found.slope - reach, found.slope + reach, found.pvalue


def test_the_line_with_and_without_bagnets_is_that_of_the_networks() -> None:
    nets = read("fashion-gains", "kinds")
    others = nets[~nets.model.str.startswith("bagnet")]
    assert len(nets) - len(others) == 2
    (slope, low, high, p), (without, lower, higher, q) = (
        fit(own.accuracy, own.accuracy_shifted) for own in (nets, others)
    )
    assert f"the slope is {said(slope)} [{said(low)}, {said(high)}], p = {p:.2f}; without" in page()
    assert f"from the others, {said(without)} [{said(lower)}, {said(higher)}], p = {q:.2f}." in page()


@cache
def correlations(bagnets: bool) -> Any:
    """By corruption and level, of accuracy under it with accuracy without."""
    rows = read("fashion-severities", "kinds")
    rows = rows if bagnets else rows[~rows.classifier.str.startswith("bagnet")]
    at = rows.pivot_table(index=["nuisance", "classifier"], columns="value", values="accuracy")
    return at.groupby(level=0).apply(lambda own: own[list(LEVELS)].corrwith(own[0.0]))


def test_blurs_keep_the_line_at_mild_levels_and_less_without_bagnets() -> None:
    all_, others = (correlations(bagnets).loc[list(BLURS)] for bagnets in (True, False))
    mild, mild_others = (found[[1.0, 2.0]].to_numpy() for found in (all_, others))
    assert (
        f"the correlation at levels 1 and 2 is {mild.min():.2f} to {mild.max():.2f} (without the BagNets "
        f"{mild_others.min():.2f} to {mild_others.max():.2f}); at level 3 it is {all_[3.0].min():.2f} to "
        f"{all_[3.0].max():.2f}, but without them"
    ) in page()
    gaussian, defocus, *three = (f"{others[3.0][name]:.2f}" for name in BLURS)
    assert (
        f"{gaussian} and {defocus} under Gaussian and defocus blur and {', '.join(three[:2])} and {three[2]}" in page()
    )


def test_noise_and_weather_have_no_line() -> None:
    names = ["noise", "brightness", "fog", "frost", "snow"]
    all_, others = (correlations(bagnets).loc[names].to_numpy() for bagnets in (True, False))
    assert np.abs(all_).max() < 0.2
    assert (
        f"within ±0.2 at any level with them, and between {said(others.max())} and {said(others.min())} without"
        in page()
    )


def test_slopes_fall_from_the_first_level_to_the_last_just_where_the_page_says_so() -> None:
    rows = read("fashion-severities", "kinds")
    at = rows.pivot_table(index=["nuisance", "classifier"], columns="value", values="accuracy")
    slopes = at.groupby(level=0).apply(lambda own: own[list(LEVELS)].apply(lambda y: np.polyfit(own[0.0], y, 1)[0]))
    for name in (*BLURS, "jpeg", "pixelate"):
        assert slopes[5.0][name] < slopes[1.0][name]
    for name in ("noise", "shot", "speckle"):
        assert (np.diff(slopes.loc[name]) > 0).any()


def test_what_is_said_of_size_is_what_was_found() -> None:
    sizes = read("fashion-partial", "sizes").iloc[0]
    ends = ", ".join(said(each) for each in sizes.interval)
    assert f"= {said(sizes.correlation)} [{ends}], p = {sizes.p_value:.2f} over five widths" in page()
    assert f"with log parameters {said(sizes.log_correlation)}" in page()
    kinds = read("fashion-partial", "kinds")
    whole = kinds[kinds.family == ""].iloc[0]
    assert f"Over all {whole.models} kinds it is {said(whole.correlation)} (p = {whole.p_value:.2f})" in page()


def test_mixup_is_ahead_by_one_mean_and_far_behind_by_the_other() -> None:
    means = read("fashion-means", "kinds").set_index("classifier")
    errors = read("fashion-errors", "kinds")
    most = errors[errors.classifier == "mixup-0"].sort_values("rce").tail(2)
    assert most.nuisance.tolist() == ["glass-blur", "jpeg"]
    assert f"mCE puts MixUp ({means.mce['mixup-0']:.2f}) before `cnn-1` ({means.mce['cnn-1-0']:.2f})" in page()
    assert f"behind it ({means.mean_rce['mixup-0']:.2f})" in page()
    assert f"({most.rce.iloc[1]:.2f} and {most.rce.iloc[0]:.2f})" in page()


def test_so_many_networks_take_clothes_for_bags() -> None:
    points = read("fashion-points", "kinds")
    own = points[points.nuisance.isin(["contrast", "fog", "dust", "snow"]) & (points.fall == "8")]
    counts = [int((own.nuisance == name).sum()) for name in ("contrast", "fog", "dust", "snow")]
    assert "for {}, {}, {} and {} of 20 networks".format(*counts) in page()
    assert f"with up to {100 * own.fall_share.max():.0f} % of first failures" in page()


def test_drops_of_efficientnet_lite_are_worked_out_from_every_photograph(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the classes they are what the run kept; in the planned order, and only there, they are shown."""
    monkeypatch.syspath_prepend(str(HERE))
    sys.modules.pop("drops", None)
    drops = importlib.import_module("drops")
    rows = [row for row in pq.read_table(HERE / "lite-classes.parquet").to_pylist() if row["run"] == "corruptions"]
    kept = read("lite-means", "corruptions").set_index("classifier")
    shown = []
    for name, each in drops.estimates(rows).items():
        assert each.value == pytest.approx(kept.drop_over_images[name])
        shown.append(f"{each.value:.3f} [{each.low:.3f}, {each.high:.3f}]")
    assert f"{shown[0]}, {shown[1]} and {shown[2]}" in page()
    assert all(each.low < 0 < each.high for each in drops.differences(rows).values())
    monkeypatch.setattr(drops, "planned", np.arange)
    for name, each in drops.estimates(rows).items():
        assert each.interval == pytest.approx(kept.drop_over_images_interval[name].tolist())


def test_few_classes_are_told_as_in_the_tables() -> None:
    """Random subsets: results.md, which its own test makes again from the data."""
    tables = (HERE / "results.md").read_text(encoding="utf-8")
    fashion, lite = tables.split("### Few classes against all")[1:]
    five = next(line for line in fashion.splitlines() if line.startswith("| 5 |")).strip("| ").split(" | ")
    hundred, whole = (
        next(line for line in lite.splitlines() if line.startswith(start)).strip("| ").split(" | ")
        for start in ("| 100 |", "| all |")
    )
    low, high = hundred[2].split(" to ")
    assert f"mean drop lies between {low} and {high} (all: {whole[2]})" in page()
    assert f"keep the order of 20 networks with τ {five[3]}" in page()
