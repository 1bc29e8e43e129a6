"""Severity is counted on one scale per nuisance, which the nuisance declares."""

import numpy as np
import pytest

import brittle
from brittle.images.scales.shift import StoredShift
from brittle.measures.severities import fine_grid, scale_of, severities_of
from brittle.nuisances import nuisance, nuisances
from brittle.types import Scaled, SeverityScale


@pytest.mark.parametrize(
    ("spec", "unit", "per_severity", "step", "limit"),
    [
        ("noise:sigma=0.2", "σ of 255", 51, 1, 255),
        ("noise:level=2", "level", 2, 0.2, 20),
        ("fog:spread=0", "level", 3, 0.3, 30),
        ("fog", "median level", 3, 0.3, 30),
        ("contrast:level=2", "level", 2, 0.2, 20),
        ("contrast", "severity", 1, 0.1, 10),
        ("affine", "severity", 1, 0.1, 10),
    ],
)
def test_both_grids_are_in_the_unit_of_the_scale(spec, unit, per_severity, step, limit):
    fine, coarse = fine_grid(nuisance(spec)), severities_of(nuisance(spec))
    assert fine.unit == coarse.unit == unit
    assert fine.per_severity == coarse.per_severity == pytest.approx(per_severity)
    assert (fine.step, fine.end) == pytest.approx((step, limit))


@pytest.mark.parametrize("level", [1, 2, 2.5, 3, 4, 5])
def test_the_fine_grid_of_a_level_takes_tenths_of_severity(level):
    taken = fine_grid(nuisance(f"fog:spread=0,level={level}")).tensor().numpy()
    assert np.array_equal(taken, (np.arange(1, 101) * 0.1).astype(np.float32))


class Undeclared:
    """A third party's nuisance that says nothing of severity."""


class Halved(Undeclared):
    """One that counts severity in halves of its own."""

    severity_scale = SeverityScale("half", 2.0, (1.0, 2.0, 4.0), 1.0, 6.0)


STORED = StoredShift("snow", (1.0, 2.0, 3.0), np.arange(4), np.arange(12).reshape(4, 3), reader=None, files=())
EVERYWHERE = [*(name for name in nuisances.names() if name not in ("function", "salient")), "affine+noise"]


@pytest.mark.parametrize(
    "of", [*EVERYWHERE, Undeclared(), Halved(), STORED], ids=lambda of: of if isinstance(of, str) else type(of).__name__
)
def test_every_nuisance_is_walked_in_one_unit(of):
    """Breaking points on the fine grid and failure points on the coarse values, both told in the scale's unit: a value
    that is on both is the same severity to the nuisance."""
    space = nuisance(of) if isinstance(of, str) else of
    scale, fine, coarse = scale_of(space), fine_grid(space), severities_of(space)
    assert fine.unit == coarse.unit == scale.unit
    assert coarse.values == scale.coarse
    assert fine.values == pytest.approx(np.arange(1, round(scale.limit / scale.step) + 1) * scale.step)
    for grid in (fine, coarse):
        told = np.array(grid.values) / scale.per_severity
        np.testing.assert_allclose(grid.tensor().numpy(), told, rtol=1e-6)
    assert fine.end >= coarse.end


def test_a_nuisance_that_declares_no_scale_is_counted_in_severity():
    assert not isinstance(nuisance("affine"), Scaled)
    assert scale_of(nuisance("affine")) == SeverityScale("severity", 1.0, (0.5, 1.0, 1.5, 2.0, 2.5), 0.1, 10.0)


def test_breaking_and_failure_points_are_told_in_one_unit():
    """The severity at which a prediction breaks is a level for both: before that one it was right."""
    broken = brittle.breaking_points("bundled:plain", "sample", "fog:spread=0", count=4)
    failed = brittle.failure_points("bundled:plain", "sample", "fog:spread=0", count=4, step=0.3, limit=30)
    assert broken["unit"] == failed["unit"] == "level"
    assert (broken["limit"], failed["limit"]) == pytest.approx((30, 30))
    assert broken["mean"] == pytest.approx(failed["mean"])
