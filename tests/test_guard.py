"""The guard against losses of speed: what it calls lost, on made-up results, and that its cases check themselves."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks.guard import compare, profile  # noqa: E402
from benchmarks.guard.kernels import idleness  # noqa: E402
from benchmarks.guard.turns import Case, Seconds, Turn, Unequal, interval, measured, ratios  # noqa: E402

MACHINE = {"device": "cpu", "processor": "made up", "cores": 2, "threads": 1}


def made_up(ratio, noise, seed, *, rounds=6, turns=2, machine=MACHINE, waits=0.2):
    """Results of one case whose ratios scatter by so much."""
    drawn = ratio * np.exp(noise * np.random.default_rng(seed).standard_normal((rounds, turns)))
    case = {
        "ratio": float(np.median(drawn)),
        "interval": [float(drawn.min()), float(drawn.max())],
        "ratios": drawn.tolist(),
    }
    wait = {"processor": {"median": waits, "interval": [waits, waits]}, "limit": 0.3}
    return {"environment": machine, "cases": {"a case": case}, "waits": {"a wait": wait}, "skipped": {}}


@pytest.fixture
def compared(tmp_path, monkeypatch, capsys):
    """The status and the table of a comparison."""

    def run(before, now):
        asked = ["compare"]
        for side, found in (("before", before), ("now", now)):
            folder = tmp_path / side
            folder.mkdir(exist_ok=True)
            (folder / "cpu.json").write_text(json.dumps(found))
            asked += [f"--{side}", str(folder)]
        monkeypatch.setattr(sys, "argv", asked)
        with pytest.raises(SystemExit) as ended:
            compare.main()
        return ended.value.code, capsys.readouterr().out

    return run


def test_a_loss_of_five_per_cent_ends_with_status_1(compared):
    status, said = compared(made_up(0.9, 0.005, 1), made_up(0.9 * 0.95, 0.005, 2))
    assert status == 1
    assert "a case" in said
    assert "LOST" in said


@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize(
    ("before", "now", "noise"), [(0.9, 0.9, 0.1), (0.9, 0.9, 0.01), (0.9, 0.89, 0.005), (0.5, 0.9, 0.01)]
)
def test_noise_a_loss_of_one_per_cent_and_a_gain_are_tolerated(compared, before, now, noise, seed):
    status, said = compared(made_up(before, noise, 1), made_up(now, noise, seed))
    assert status == 0, said
    assert "LOST" not in said


def test_a_loss_on_another_machine_is_shown_and_not_judged(compared):
    status, said = compared(made_up(0.9, 0.005, 1), made_up(0.5, 0.005, 2, machine=MACHINE | {"processor": "another"}))
    assert status == 0
    assert "0.55" in said
    assert "not judged" in said


def test_a_wait_above_its_limit_is_a_loss(compared):
    status, said = compared(made_up(0.9, 0.005, 1), made_up(0.9, 0.005, 2, waits=0.4))
    assert status == 1
    assert "at most 0.3 s" in said


def test_a_case_that_is_gone_says_why(compared):
    gone = made_up(0.9, 0.005, 2) | {"cases": {}, "skipped": {"a case": "kornia: not installed"}}
    status, said = compared(made_up(0.9, 0.005, 1), gone)
    assert status == 0
    assert "kornia: not installed" in said


def test_two_sides_that_do_not_do_the_same_are_no_case():
    def equal(one, other):
        if one != other:
            raise Unequal(f"{one} is not {other}")
        return "both"

    with pytest.raises(Unequal, match="1 is not 2"):
        measured(Case("a", "…", lambda: 1, lambda: 2, equal), 2)
    order = []
    found = measured(Case("a", "…", lambda: order.append("ours"), lambda: order.append("theirs"), equal), 2)
    assert order == ["ours", "theirs", "ours", "theirs", "theirs", "ours"]  # the first two without a clock
    assert found.equal == "both"


def test_a_ratio_is_that_of_rates():
    """100 images in 2 s against 50 images in 0.5 s: half the rate."""
    turns = [[Turn(Seconds(2.0, 4.0), Seconds(0.5, 0.5))]]
    assert ratios(turns, (100, 50), "wall") == [[pytest.approx(0.5)]]
    assert ratios(turns, (100, 50), "processor") == [[pytest.approx(0.25)]]


def test_the_interval_of_a_median_covers_it():
    """Of six values the least and the greatest: they miss the median with probability 2 / 2⁶."""
    generator = np.random.default_rng(0)
    missed = [not interval(values)[0] <= 0 <= interval(values)[1] for values in generator.standard_normal((20000, 6))]
    assert np.mean(missed) == pytest.approx(2 / 64, abs=0.004)


def test_the_profile_names_what_takes_the_time():
    """A classifier that computes for long, under a nuisance that doesn't."""
    import torch

    import brittle

    weights = torch.randn(784, 4000)

    def slow(images):
        return (images.flatten(1) @ weights @ weights.T)[:, :10]

    images = torch.rand(40, 1, 28, 28), torch.arange(40) % 10

    def measure():
        brittle.measure(slow, images, "brightness", samples=100, progress=False)

    measure()
    shares = profile.shares(measure)
    assert max(shares, key=shares.get) == "classify", shares
    assert sum(shares.values()) == pytest.approx(1)


def test_a_gpu_is_idle_before_between_and_after_its_kernels():
    """Two that overlap, and a pause of a second."""
    assert idleness([(1.0, 2.0), (4.0, 5.0), (1.5, 3.0)], 7.0) == {"at first": 1.0, "in between": 1.0, "at last": 2.0}
    assert idleness([], 3.0) == {"at all": 3.0}
