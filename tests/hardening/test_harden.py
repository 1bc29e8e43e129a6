"""Hardening: what is trained on, how the round is chosen, what is kept, and that it helps."""

import copy
from pathlib import Path

import pytest
import torch
from quick_hardening import ALPHA, COMMAND, QUICK
from safetensors.torch import load_file
from torch import nn

import brittle
from brittle.classifiers.bundled import SmallNet
from brittle.errors import Failure
from brittle.hardening import rounds
from brittle.hardening.prepare import split_images


def test_parts_share_no_image_and_depend_on_ids_alone(sample: brittle.ImageSet) -> None:
    split = split_images(sample, None, 0.2, seed=3)
    backwards = split_images(sample.take(range(999, -1, -1)), None, 0.2, seed=3)
    assert [len(part) for part in split] == [600, 200, 200]
    assert len({int(id) for part in split for id in part.ids}) == 1000
    assert all(torch.equal(a.ids, b.ids) for a, b in zip(split[1:], backwards[1:], strict=True))
    assert not torch.equal(split.test.ids, split_images(sample, None, 0.2, seed=4).test.ids)


def test_a_test_set_of_its_own_leaves_every_image_to_training(sample: brittle.ImageSet) -> None:
    split = split_images(sample.take(range(900)), sample.take(range(900, 1000)), 0.2, seed=0)
    assert [len(part) for part in split] == [900, 50, 50]
    assert set(split.held_out.ids.tolist()).isdisjoint(split.test.ids.tolist())


def test_the_classifier_given_stays_as_it_is(sample: brittle.ImageSet, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = SmallNet()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    done = brittle.harden(net, sample.take(range(300)), ALPHA, tmp_path / "out", **QUICK, rate=0.01, cost=1.0)
    assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())
    assert [done.before["classifier"], done.after["classifier"]] == ["before", "after"]
    assert done.chosen > 0
    assert any(not torch.equal(value, before[key]) for key, value in done.classifier.module.state_dict().items())
    kept = load_file(tmp_path / "out" / "weights.safetensors")
    assert all(torch.equal(value, kept[key]) for key, value in done.classifier.module.state_dict().items())
    assert done.summary["classifier"] is None  # no spec makes this network again


@pytest.mark.slow
def test_the_bundled_sample_is_enough_to_raise_rho_by_more_than_the_interval_is_wide() -> None:
    """With the default recipe, and so many images held out that another candidate chosen would not matter."""
    done = brittle.harden("bundled:plain", "sample", ALPHA, held_out=0.3)
    low, high = done.difference["rho_interval"]
    assert done.chosen > 0
    assert low > 0
    assert done.difference["rho"] > high - low
    assert done.difference["accuracy_nuisance_interval"][0] > 0.02
    assert done.difference["accuracy_clean_interval"][1] > -0.01  # 300 images can't tell one point from none


class Wrapped(nn.Module):
    """With batch statistics, and weights whose names all begin as DataParallel's do."""

    def __init__(self) -> None:
        super().__init__()
        self.module = nn.Sequential(
            nn.Conv2d(1, 4, 5), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 24**2, 10)
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.module(images)
        return scores


@pytest.mark.warned("has a mean confidence of")
def test_batch_statistics_stay_as_they_were_and_a_finished_folder_is_read_again(
    sample: brittle.ImageSet, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    net = Wrapped()
    net(sample.batch(range(200)).images)
    before = {key: value.clone() for key, value in net.state_dict().items()}
    for _ in range(2):
        done = brittle.harden(net, sample.take(range(300)), ALPHA, tmp_path, **QUICK, rate=0.01, cost=1.0)
    after = done.classifier.module.state_dict()
    assert {key for key, value in after.items() if torch.equal(value, before[key])} >= {
        f"module.1.{name}" for name in ("running_mean", "running_var", "num_batches_tracked")
    }
    assert not torch.equal(after["module.4.weight"], before["module.4.weight"])


def test_an_interrupted_hardening_goes_on_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brittle.harden("bundled:plain", "sample", ALPHA, tmp_path / "whole", **QUICK)
    with monkeypatch.context() as patched:
        work, trained = rounds.HardeningWork._trained, []

        def once(self: rounds.HardeningWork, number: int, progress: rounds.PhasedProgress) -> dict[str, object]:
            if number == 2:
                raise Failure("the lights went out")
            trained.append(number)
            return work(self, number, progress)

        patched.setattr(rounds.HardeningWork, "_trained", once)
        with pytest.raises(Failure):
            brittle.harden("bundled:plain", "sample", ALPHA, tmp_path / "broken", **QUICK)
        assert trained == [1]
    brittle.harden("bundled:plain", "sample", ALPHA, tmp_path / "broken", **QUICK)
    for number in ("1", "2"):
        weights = [load_file(tmp_path / name / "rounds" / f"{number}.safetensors") for name in ("whole", "broken")]
        assert all(torch.equal(value, weights[1][key]) for key, value in weights[0].items())


def test_the_command_leaves_weights_a_report_and_a_spec_that_loads(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "hard, er"
    said = cli(*COMMAND, "--out", out, "--lr", 0.003, "--json")
    assert said.status == 0, said.err
    found = said.json
    assert {"weights.safetensors", "harden.json", "report.html", "study.toml", "rounds"} <= {
        path.name for path in out.iterdir()
    }
    assert [row["round"] for row in found["rounds"]] == [0, 1, 1, 1]
    assert found["parts"] == {"training": 600, "held_out": 200, "test": 200}
    assert len(found["difference"]["classes"]) == 10
    assert found["after"]["rho"] - found["before"]["rho"] == pytest.approx(found["difference"]["rho"])
    # The spec gives the classifier that was measured as `after`, on the very test images.
    ids = split_images(brittle.image_set("sample"), None, 0.2, seed=0).test.ids.tolist()
    again = brittle.measure(found["classifier"], "sample", ALPHA, ids=ids, samples=2)
    assert again["rho"] == pytest.approx(found["after"]["rho"], abs=1e-6)
    assert cli("report", out).status == 0
    assert "before" in (out / "report.html").read_text()
    shown = cli(*COMMAND, "--out", out, "--lr", 0.003)
    assert shown.status == 0, shown.err
    assert "to be chosen: the greatest ρ̂" in shown.out
    assert "after − before on 200 images" in shown.out
    assert "rate: 0.003 → 0.002" in cli(*COMMAND, "--out", out, "--lr", 0.002).err


def test_a_second_look_at_a_finished_folder_keeps_what_it_took(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    first, again = (cli(*COMMAND, "--test", "sample", "--out", tmp_path, "--json") for _ in range(2))
    assert first.json == again.json
    assert "the test images are the training images" in first.err


def test_live_objects_are_hardened_as_their_specs_are_and_kept(sample: brittle.ImageSet, tmp_path: Path) -> None:
    """A module in training mode and a list of pairs; the folder holds the run of before and after, with its report."""
    module = copy.deepcopy(brittle.classifier("bundled:plain").module).train()
    batch = sample.batch(range(len(sample)))
    pairs = list(zip(batch.images, batch.labels.tolist(), strict=True))
    images = brittle.image_set(pairs, ids=sample.ids, classes=sample.classes)
    live = brittle.harden(module, images, ALPHA, tmp_path / "live", **QUICK)
    named = brittle.harden("bundled:plain", "sample", ALPHA, tmp_path / "named", **QUICK)
    assert module.training
    assert live.after["rho"] == pytest.approx(named.after["rho"], abs=1e-6)
    assert live.difference["rho"] == pytest.approx(named.difference["rho"], abs=1e-6)
    assert live.table("robustness")["classifier"].to_pylist() == ["before", "after"]
    assert "chosen" in repr(live)
    assert "chosen" in live._repr_html_()
    assert 'src="data:image/svg+xml;base64,' in live._repr_html_()
    report = (tmp_path / "live" / "report.html").read_text()
    assert "hardened against" in report
    assert "data:image/" in report
    again = brittle.harden(module, images, ALPHA, tmp_path / "live", **QUICK)
    assert again.summary == live.summary
