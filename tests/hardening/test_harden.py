"""Hardening: what is trained on, how the round is chosen, what is kept, and that it helps."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import nn

import brittle
from brittle.classifiers.bundled import SmallNet
from brittle.errors import BrittleError, Failure
from brittle.hardening import rounds
from brittle.hardening.fine_tune import PreprocessedModule, answers_of, fine_tune
from brittle.hardening.options import HardeningOptions
from brittle.hardening.pools import WeakPool, prior_pool, weak_pool
from brittle.hardening.prepare import hardenable, split_images
from brittle.hardening.rounds import between, choose_round
from brittle.nuisances import nuisance
from brittle.random import draw_keys
from brittle.training.data import TrainingImages
from brittle.training.options import Recipe

ALPHA = "affine:alpha=100"
QUICK = {"rounds": 2, "steps": 2, "calls": 1200, "samples": 2, "held_out": 0.05, "ways": (1.0,)}
COMMAND = (
    "harden",
    "bundled:plain",
    "sample",
    "--nuisance",
    ALPHA,
    "--rounds",
    1,
    "--steps",
    2,
    "--samples",
    2,
    "--calls",
    1200,
)


@pytest.fixture
def sample() -> brittle.ImageSet:
    return brittle.image_set("sample")


def moments(data: TrainingImages, rows: torch.Tensor, theta: torch.Tensor, weight: torch.Tensor) -> np.ndarray:
    """Weighted means of the shifts' squares, in units of the prior's variance, and of how often every image comes."""
    shifts = theta[:, -2:].double().square() * 175.0
    seen = torch.cat((shifts, len(data) * nn.functional.one_hot(rows, len(data))), 1)
    return ((weight[:, None] * seen).sum(0) / weight.sum()).numpy()


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_weak_points_are_drawn_from_the_joint_posterior_and_their_weights_undo_it(
    prior: float, sample: brittle.ImageSet
) -> None:
    data, space, classifier = TrainingImages(sample.take(range(0, 1000, 50))), nuisance(ALPHA), open_plain(sample)
    plain = prior_pool(space, data, 6_000, 1, "brute force").pool.at(slice(None))
    batch = data.batch(plain.rows)
    theta = plain.theta(batch)
    with torch.inference_mode():
        answers = classifier.log_probs(space.apply(batch, theta))
    failing = 1 - answers.gather(1, batch.labels[:, None])[:, 0].exp()
    drawn = weak_pool(
        classifier,
        space,
        data,
        6_000,
        images=20,
        sampler="importance",
        budget=300,
        prior=prior,
        seed=0,
        stream="weak",
    )
    picked = drawn.pool.at(slice(None))
    target = torch.ones_like(failing) if prior else failing  # corrected weights give the prior again
    found = moments(data, picked.rows, picked.theta(data.batch(picked.rows)), picked.weight)
    np.testing.assert_allclose(found, moments(data, plain.rows, theta, target), atol=0.2)
    assert drawn.failing == pytest.approx(float(failing.mean()), abs=0.01)
    untrue = moments(data, plain.rows, theta, torch.ones_like(failing))
    # The comparison can tell weak points from draws of the prior.
    assert (np.abs(found - untrue).max() > 0.5) == (prior == 0)
    assert float(picked.weight.max()) <= (2.0 if prior else 1.0)


def open_plain(sample: brittle.ImageSet) -> brittle.Classifier:
    found = brittle.classifier("bundled:plain")
    found.check(sample.batch([0, 1]).images)  # type: ignore[attr-defined]
    return found


def test_a_pool_of_the_prior_shows_every_image_equally_often(sample: brittle.ImageSet) -> None:
    data = TrainingImages(sample.take(range(30)))
    rows = prior_pool(nuisance(ALPHA), data, 90, 0, "stream").pool.at(slice(None)).rows
    assert torch.bincount(rows).tolist() == [3] * 30


@pytest.mark.parametrize("output", ["logits", "probabilities"])
def test_training_sees_what_the_classifier_sees(output: str, sample: brittle.ImageSet) -> None:
    """Preprocessing and the kind of outputs are the classifier's own."""
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(3 * 16 * 16, 10), nn.Softmax(1) if output != "logits" else nn.Identity()
    )
    classifier = brittle.classifier(net, size=16, channels="rgb", mean=(0.5, 0.4, 0.3), std=0.2, output=output)
    images = sample.batch(range(8)).images
    through = PreprocessedModule(classifier)(images)  # type: ignore[arg-type]
    torch.testing.assert_close(through.log_softmax(1), classifier.log_probs(images), atol=1e-5, rtol=1e-5)


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


@pytest.mark.parametrize(
    ("rounds", "chosen"),
    [
        ([(0.7, 0.90), (0.8, 0.895), (0.75, 0.90)], 1),
        ([(0.7, 0.90), (0.8, 0.85), (0.75, 0.89)], 2),
        ([(0.7, 0.90), (0.8, 0.88), (0.65, 0.95)], 0),
        ([(0.7, 0.90), (0.8, 0.90), (0.80, 0.90)], 1),
    ],
    ids=["greatest rho", "too dear", "nothing better", "first of equals"],
)
def test_the_round_chosen_has_the_greatest_rho_among_those_that_cost_little(
    rounds: list[tuple[float, float]], chosen: int
) -> None:
    records = [{"rho": rho, "accuracy_clean": clean} for rho, clean in rounds]
    assert choose_round(records, 0.01) == chosen


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


def test_another_network_or_other_test_images_are_not_gone_on_with(sample: brittle.ImageSet, tmp_path: Path) -> None:
    def of(seed: int, test: brittle.ImageSet) -> object:
        torch.manual_seed(seed)
        return brittle.harden(SmallNet(), sample.take(range(300)), ALPHA, tmp_path, test=test, **QUICK)

    first, second = sample.take(range(300, 600)), sample.take(range(400, 700))
    of(0, first)
    of(0, first)
    with pytest.raises(BrittleError, match=r"another hardening: weights.*another --out"):
        of(1, first)
    with pytest.raises(BrittleError, match=r"another hardening: images\.held_out"):
        of(0, second)


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


@pytest.mark.parametrize("sampler", ["importance", "smc", "adaptive", "auto"])
def test_no_sampler_spends_much_more_than_its_calls(sampler: str, sample: brittle.ImageSet) -> None:
    settings = QUICK | {"rounds": 1, "calls": 4000, "sampler": sampler}
    done = brittle.harden("bundled:plain", sample, ALPHA, **settings)
    assert 0.5 * 4000 <= done.summary["calls"]["sampling"] <= 1.2 * 4000
    assert done.rounds[-1]["images_sampled"] == (900 if sampler == "importance" else 20)


def test_long_parameters_are_kept_once_and_of_fewer_images(
    sample: brittle.ImageSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brittle.hardening.pools.KEPT_NUMBERS", 50 * 784)
    data = TrainingImages(sample)
    drawn = weak_pool(
        open_plain(sample), nuisance("noise:sigma=0.5"), data, 640,
        images=200, sampler="importance", budget=4, prior=0.5, seed=0, stream="long",
    )  # fmt: skip
    assert drawn.images == 50
    assert drawn.pool.theta.shape == (50, 784)  # type: ignore[attr-defined]
    picked = drawn.pool.at(slice(64, 128))
    assert picked.theta(data.batch(picked.rows)).shape == (64, 784)


def test_an_interrupted_hardening_goes_on_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brittle.harden("bundled:plain", "sample", ALPHA, tmp_path / "whole", **QUICK)
    with monkeypatch.context() as patched:
        work, trained = rounds.Work._trained, []

        def once(self: rounds.Work, number: int, progress: rounds.Phases) -> dict[str, object]:
            if number == 2:
                raise Failure("the lights went out")
            trained.append(number)
            return work(self, number, progress)

        patched.setattr(rounds.Work, "_trained", once)
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


def test_what_is_no_torch_module_is_refused(sample: brittle.ImageSet) -> None:
    with pytest.raises(BrittleError, match=r"can't be hardened, since it is no torch module.*torch:package"):
        brittle.harden(lambda images: images.flatten(1)[:, :10], sample, ALPHA)


def test_a_network_that_is_new_each_time_is_refused_where_specs_are_kept(tmp_path: Path) -> None:
    spec = "torch:brittle.classifiers.bundled:SmallNet"
    with pytest.raises(BrittleError, match="makes other weights each time"):
        brittle.harden(spec, "sample", ALPHA, tmp_path / "out", **QUICK)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"share": 0.0}, "share is 0"),
        ({"held_out": 0.5}, "held-out is 0.5"),
        ({"on": "posterior"}, "on"),
        ({"sampler": "crank-nicolson"}, "walks in chains"),
    ],
)
def test_wrong_values_are_named(options: dict[str, object], wrong: str, sample: brittle.ImageSet) -> None:
    with pytest.raises(BrittleError, match=wrong):
        brittle.harden("bundled:plain", sample, ALPHA, **options)


def test_a_word_that_is_no_option_is_refused(sample: brittle.ImageSet) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        brittle.harden("bundled:plain", sample, ALPHA, epoch=3)


def coloured(folder: Path, names: str) -> str:
    """Twenty grey squares a class, of a shade that its name fixes."""
    random = np.random.default_rng(0)
    for name in names.split():
        (folder / name).mkdir(parents=True)
        for number in range(20):
            pixels = np.clip(random.normal(60 + 60 * ["cat", "dog", "owl"].index(name), 5, (8, 8)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{number}.png")
    return f"folder:{folder}"


def test_a_class_that_is_counted_differently_in_test_images_is_refused(tmp_path: Path) -> None:
    few, all_three = coloured(tmp_path / "few", "dog owl"), coloured(tmp_path / "all", "cat dog owl")
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    with pytest.raises(
        BrittleError, match=r"'dog' is class 0 of the training images and 1 of the test images.*labels="
    ):
        brittle.harden(net, few, "brightness", test=all_three, **QUICK)
    named = brittle.classifier(net, labels=("cat", "dog", "owl"))
    brittle.harden(named, few, "brightness", test=all_three, **QUICK)


class Untrainable(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.net = how, nn.Sequential(nn.Flatten(), nn.Linear(784, 10))

    def forward(self, images: torch.Tensor) -> object:
        if self.how == "tuple" and self.training:
            return self.net(images), None
        with torch.set_grad_enabled(self.how != "no gradients"):
            return self.net(images)


@pytest.mark.parametrize("how", ["tuple", "no gradients", "half"])
def test_what_cannot_be_trained_is_refused_before_anything_is_sampled(how: str, sample: brittle.ImageSet) -> None:
    net = Untrainable(how)
    with pytest.raises(
        BrittleError, match=r"float16.*module\.float\(\)" if how == "half" else "can't be trained.*gradients"
    ):
        brittle.harden(net.half() if how == "half" else net, sample, ALPHA, **QUICK)


def test_a_folder_of_something_else_is_refused_before_training(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "run"
    cli("measure", "bundled:plain", "sample", "--nuisance", ALPHA, "--count", 10, "--samples", 2, "--out", out)
    said = cli(*COMMAND, "--out", out)
    assert said.status == 2
    assert "the study has changed" in said.err
    assert len(said.err) < 1000
    assert not (out / "rounds").exists()
    assert not (out / "weights.safetensors").exists()


def test_an_option_changed_while_before_is_measured_is_refused_at_once(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    cli(*COMMAND, "--out", tmp_path)
    for left in ("harden.json", "weights.safetensors", "summary.json", "rounds/0.safetensors", "rounds/1.safetensors"):
        (tmp_path / left).unlink()
    said = cli(*COMMAND, "--samples", 3, "--out", tmp_path)
    assert "robustness.samples: 2 → 3" in said.err
    assert not list((tmp_path / "rounds").iterdir())


def test_a_second_look_at_a_finished_folder_keeps_what_it_took(cli, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    first, again = (cli(*COMMAND, "--test", "sample", "--out", tmp_path, "--json") for _ in range(2))
    assert first.json == again.json
    assert "the test images are the training images" in first.err


def test_few_training_images_are_trained_on_more_gently() -> None:
    settings = HardeningOptions()
    assert settings.recipe(4999).rate < settings.recipe(5000).rate == 0.001
    assert HardeningOptions(rate=0.01).recipe(10).rate == HardeningOptions(rate=0.01).recipe(60_000).rate == 0.01
    assert settings.recipe(10).batch == settings.batch_size


def test_one_step_is_trained_to_labels_and_answers_each_as_much_as_it_counts(sample: brittle.ImageSet) -> None:
    """The loss before the first update, written out."""
    classifier, data, space = open_plain(sample), TrainingImages(sample.take(range(40))), nuisance(ALPHA)
    answers = answers_of(classifier, data)  # type: ignore[arg-type]
    batch = data.batch(torch.arange(6))
    theta = space.sample(batch, draw_keys(5, "test", batch.ids, torch.arange(1)))[:, 0]
    weight = torch.tensor([0.0, 0.5, 1.0, 1.0, 2.0, 3.0])
    pool = WeakPool(torch.arange(6), theta, torch.tensor([5, 3, 1, 0, 2, 4]), weight)
    warped = classifier.log_probs(space.apply(batch, theta))
    wanted = 0.7 * nn.functional.one_hot(batch.labels, 10) + 0.3 * answers[:6]
    transformed = (weight * -(wanted * warped).sum(1)[pool.picked]).sum()
    clean = -(answers * answers.log()).sum(1)  # in some order: forty clean images are one pass over all
    found = fine_tune(
        copy.deepcopy(classifier), data, space, pool, Recipe(batch=46, rate=0.1),  # type: ignore[arg-type]
        steps=1, transformed=6, answers=answers, anchor=0.3, seed=0, stream="test",
    )  # fmt: skip
    assert found == pytest.approx(float((transformed + clean.sum()).detach()) / 46, rel=1e-4)


def test_candidates_lie_between_the_untouched_weights_and_a_rounds_own(tmp_path: Path) -> None:
    start, end = {"w": torch.zeros(2), "n": torch.tensor(3)}, {"w": torch.tensor([4.0, -8.0]), "n": torch.tensor(5)}
    half = between(start, end, 0.25)
    assert half["w"].tolist() == [1.0, -2.0]
    assert int(half["n"]) == 5
    settings = QUICK | {"rounds": 1, "ways": (0.25,), "cost": 1.0, "rate": 0.001, "steps": 60, "calls": 6000}
    done = brittle.harden("bundled:plain", "sample", ALPHA, tmp_path, **settings)
    assert done.rounds[done.chosen]["way"] == 0.25
    own = load_file(tmp_path / "rounds" / "1.safetensors")
    untouched = brittle.classifier("bundled:plain").module.state_dict()  # type: ignore[attr-defined]
    for key, value in load_file(tmp_path / "weights.safetensors").items():
        torch.testing.assert_close(value, untouched[key] + 0.25 * (own[key] - untouched[key]))


@pytest.mark.parametrize(("loss", "prior"), [("corrected", 0.5), ("equal", 0.0)])
def test_the_loss_asked_for_is_the_one_that_weak_points_are_drawn_for(
    loss: str, prior: float, sample: brittle.ImageSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def spy(*things: object, **options: object) -> object:
        asked.append(options["prior"])
        return weak_pool(*things, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(rounds, "weak_pool", spy)
    brittle.harden("bundled:plain", sample, ALPHA, loss=loss, **QUICK | {"rounds": 1})
    assert asked == [prior]


def test_a_classifier_whose_classes_are_mapped_is_refused():
    with pytest.raises(BrittleError, match="while its classes are mapped"):
        hardenable(brittle.classifier("bundled:plain", classes={"bag": ["Bag"], "coat": ["Coat"]}), "cpu")


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
    report = (tmp_path / "live" / "report.html").read_text()
    assert "hardened against" in report
    assert "data:image/" in report
    again = brittle.harden(module, images, ALPHA, tmp_path / "live", **QUICK)
    assert again.summary == live.summary
