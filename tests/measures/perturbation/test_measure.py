"""The measure: which pairs it searches, what its rows and summary say, and that nothing depends on the batch."""

import numpy as np
import pytest
import torch
from engine_runs import run_study
from torch import nn

from brittle.errors import BrittleError
from brittle.images.arrays import from_arrays

pytestmark = pytest.mark.warned("did not reach p")

CLASSES = ("a", "b", "c", "d")


def network(seed=0, scale=6.0):
    torch.manual_seed(seed)
    made = nn.Sequential(nn.Flatten(), nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 4))
    with torch.no_grad():
        made[1].weight.mul_(4)
        made[-1].weight.mul_(scale)
    return made


def images(count=24, seed=0):
    pixels = np.random.default_rng(seed).random((count, 1, 4, 5)).astype(np.float32)
    with torch.no_grad():
        labels = network()(torch.from_numpy(pixels)).argmax(1).numpy()
    labels = np.where(np.arange(count) % 5 == 4, (labels + 1) % 4, labels)  # every fifth is wrong
    return from_arrays(pixels, labels, name="set", classes=CLASSES)


def done(classifiers=None, batch=None, subset=None, ids=(), **options):
    things = classifiers or {"net": network()}
    options = {"rate": 0.02, "steps": 300} | options
    study = {"classifiers": things, "images": {"set": {"spec": subset or images(), "ids": tuple(ids)}}}
    return run_study(study | {"perturbation": options}, device="cpu", batch=batch)


def rows(found, name="net", table="rows"):
    view = found.view("perturbation")
    return view.table(view.cell(name, "set"), table).to_pandas()


def planned(found):
    return found.view("perturbation").images["set"]


def result(found, place=0):
    return found.summary["measures"]["perturbation"]["results"][place]


@pytest.fixture(scope="module")
def whole():
    return done()


def test_every_class_but_the_predicted_one_is_a_target(whole):
    table = rows(whole)
    with torch.no_grad():
        predicted = network()(images().batch(range(24)).images).argmax(1).numpy()
    assert len(table) == 24 * 3
    assert table.groupby("image")["target"].apply(list).map(len).eq(3).all()
    assert (table["target"] != table["origin"]).all()
    assert (table.groupby("image")["origin"].first().to_numpy() == predicted).all()


def test_a_found_change_is_at_the_share_and_has_the_targets_label(whole):
    table = rows(whole)
    found = table[table["reached"] & (table["linf"] > 0)]
    assert len(found) > 50
    np.testing.assert_allclose(np.exp(found["log_p"]), 0.9, atol=0.01)
    assert (np.exp(found["log_p"]) >= 0.9 - 1e-6).all()
    assert (found["predicted"] == found["target"]).all()
    assert (found["left"] <= found["linf"] + 1e-6).all()


def test_kept_changes_make_the_classifier_say_the_target(whole):
    """The stored change, added to the image, is classified again."""
    table, shown = rows(whole), rows(whole, table="pictures")
    source = images()
    assert 16 <= len(shown) <= 32
    assert set(shown["image"]) <= set(planned(whole).ids[:16].tolist())
    for _, each in shown.iterrows():
        change = torch.from_numpy(np.frombuffer(each["change"], np.float16).astype(np.float32).reshape(1, 4, 5))
        image = source.batch([source.ids.tolist().index(each["image"])]).images[0] + change
        p = network()(image[None]).softmax(1)[0, each["target"]].item()
        assert p == pytest.approx(0.9, abs=0.02)
        assert image.min() >= -1e-3
        assert image.max() <= 1 + 1e-3
        same = table[(table["image"] == each["image"]) & (table["target"] == each["target"])]
        assert each["linf"] == same["linf"].item() == pytest.approx(change.abs().max().item(), rel=1e-3)


@pytest.mark.parametrize("method", ["adam", "i-fgsm"])
def test_rows_do_not_depend_on_batch_or_neighbours(method):
    options = {"method": method, "steps": 60, "rate": 0.03, "iterations": 3, "subset": images(12)}
    several = rows(done(batch=64, **options))
    alone = rows(done(batch=64, ids=images(12).ids[5:9].tolist(), **options))
    other = rows(done(batch=32, **options))
    assert len(several) == len(other) == 3 * len(set(several["image"])) == 36
    columns = ["image", "target", "origin", "reached", "calls", "predicted"]
    for table in (other, alone):
        both = several[several["image"].isin(table["image"])].sort_values(["image", "target"]).reset_index(drop=True)
        table = table.sort_values(["image", "target"]).reset_index(drop=True)
        assert (both[columns] == table[columns]).all(axis=None)
        np.testing.assert_allclose(both["linf"], table["linf"], atol=1e-5)


def test_targets_may_be_named_numbered_or_drawn():
    named = rows(done(targets=("b", "3")))
    assert set(named["target"]) == {1, 3}
    assert len(named) == 48 - ((named.groupby("image")["origin"].first()).isin([1, 3])).sum()
    drawn = rows(done(draw=1))
    assert len(drawn) == 24
    assert (drawn["target"] != drawn["origin"]).all()
    assert len(set(drawn["target"])) == 4
    again = rows(done(draw=1, ids=images().ids[3:9].tolist())).set_index("image")["target"]
    assert (drawn.set_index("image")["target"].loc[again.index] == again).all()
    two = rows(done(draw=2))
    assert two.groupby("image")["target"].nunique().eq(2).all()
    assert drawn.merge(two, on=["image", "target"]).shape[0] == 24


def test_one_image_of_each_class_for_a_matrix():
    found = done(per_class=1)
    table, labels, ids = rows(found), planned(found).labels.tolist(), planned(found).ids.tolist()
    assert sorted(set(table["image"])) == sorted(ids[labels.index(label)] for label in set(labels))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"targets": ("e",)}, "no single class called 'e'"),
        ({"targets": ()}, "no targets"),
        ({"method": "fgsm", "targets": ("a",)}, "fgsm has no targets"),
        ({"targets": ("none",)}, "adam needs targets"),
    ],
)
def test_wrong_targets_are_refused_before_work_begins(options, said):
    with pytest.raises(BrittleError, match=said):
        done(**options)


def test_untargeted_methods_have_one_row_per_image():
    for options in ({"method": "fgsm"}, {"method": "i-fgsm", "targets": ("none",)}):
        table = rows(done(**options))
        assert (table["target"] == -1).all()
        assert len(table) == 24
        found = table[table["reached"]]
        assert (found["predicted"] != found["origin"]).all()
        assert (np.exp(found["log_p"]) >= 0.9 - 1e-6).all()


def test_the_summary_is_what_the_rows_say(whole):
    table, said = rows(whole), result(whole)
    wrong = np.arange(24) % 5 == 4
    right_ids = images().ids.numpy()[~wrong]
    told = table[table["image"].isin(right_ids)]
    assert (said["images"], said["right"], said["pairs"]) == (24, 20, 60)
    restricted = told.assign(size=told["linf"].where(told["reached"], 0.5).clip(upper=0.5))
    assert said["mean"] == pytest.approx(restricted.groupby("image")["size"].mean().mean(), rel=1e-6)
    low, high = said["mean_interval"]
    assert 0 <= low < said["mean"] < high <= 0.5
    assert said["failure_share"] == pytest.approx((~told["reached"]).mean())
    assert said["median"] == pytest.approx(np.median(told["linf"].where(told["reached"], np.inf)), rel=1e-6)
    least = told["linf"].where(told["reached"], np.inf).groupby(told["image"]).min()
    assert said["smallest"]["mean"] == pytest.approx(least.clip(upper=0.5).mean(), rel=1e-6)
    assert said["survival"]["rounded"]["label"] > 0.95
    assert said["calls"] == table["calls"].sum()


def test_accuracy_falls_with_epsilon_from_clean_accuracy(whole):
    table, said = rows(whole), result(whole)["accuracy"]
    wrong = set(images().ids.numpy()[np.arange(24) % 5 == 4].tolist())
    least = table.groupby("image")["left"].min()
    for row in said:
        expected = np.mean([image not in wrong and size > row["epsilon"] for image, size in least.items()])
        assert row["accuracy"] == pytest.approx(expected)
    assert said[0]["accuracy"] == pytest.approx(20 / 24)
    assert said[-1]["accuracy"] < said[0]["accuracy"]


def attacked(pixels, labels, epsilon, steps=40):
    """By brute force: which images are right after every step of projected gradient ascent (PGD) within ε."""
    net, at = network(), pixels.clone()
    right = torch.ones(len(pixels), dtype=torch.bool)
    for _ in range(steps + 1):
        at.requires_grad_()
        logits = net(at)
        right &= logits.argmax(1) == labels
        (slope,) = torch.autograd.grad(nn.functional.cross_entropy(logits, labels, reduction="sum"), at)
        at = (at.detach() + epsilon / 10 * slope.sign()).clamp(pixels - epsilon, pixels + epsilon).clamp(0, 1)
    return right


def test_accuracy_at_changes_below_a_step_of_adam_is_that_of_other_attacks():
    """A step of 5/255 is larger than the first three levels: what lies below it must not be called robust."""
    subset = images(120)
    found = done(subset=subset, rate=5 / 255, count=120)
    adam, signs = (
        {round(255 * row["epsilon"]): row["accuracy"] for row in result(each)["accuracy"]}
        for each in (found, done(subset=subset, method="i-fgsm", count=120))
    )
    batch = subset.batch(range(120))
    for level in (1, 2, 4, 8, 16):
        expected = float(attacked(batch.images, batch.labels, level / 255).double().mean())
        assert adam[level] == pytest.approx(expected, abs=0.03)
        assert adam[level] == pytest.approx(signs[level], abs=0.03)
    assert adam[0] > adam[1] > adam[2] > adam[4]


def test_failures_are_kept_and_count_as_the_cap():
    found = done(steps=1, rate=1e-4, cap=0.1)
    table, said = rows(found), result(found)
    assert not table["reached"].any()
    assert (said["failures"], said["failure_share"], said["mean"]) == (60, 1.0, pytest.approx(0.1))
    assert said["median"] is said["mean_found"] is said["smallest"]["median"] is None
    assert any("60 of 60 searches did not reach p = 0.9" in each for each in found.summary["warnings"])


def test_changes_transfer_to_the_same_network_under_another_name_and_differences_are_none():
    said = done({"net": network(), "twin": network(), "other": network(7)}).summary["measures"]["perturbation"]
    rates = {(row["from"], row["to"]): row for row in said["transfers"]}
    assert len(rates) == 6
    assert rates["net", "twin"]["target_share"] == rates["twin", "net"]["left_share"] == 1
    assert rates["net", "other"]["target_share"] < 1
    twin = next(row for row in said["comparisons"] if (row["first"], row["second"]) == ("net", "twin"))
    assert (twin["mean_difference"], twin["mean_larger"], twin["images"]) == (0, "tie", 20)
    assert said["results"][0]["common"] == said["results"][2]["common"]


def test_a_flatter_network_needs_larger_changes():
    """Logits divided by 3 need a margin three times as large."""
    steep, flat = network(scale=12.0), network(scale=4.0)
    said = done({"steep": steep, "flat": flat}, clip=False, cap=1.0, subset=images(120)).summary["measures"][
        "perturbation"
    ]
    (pair,) = said["comparisons"]
    assert pair["mean_difference"] < 0
    assert pair["mean_larger"] == "second"


@pytest.mark.warned("have no label")
def test_unlabelled_images_have_sizes_and_no_accuracy():
    plain = from_arrays(images().batch(range(24)).images.numpy(), None, name="set")
    said = result(done(subset=plain))
    assert said["right"] == 24
    assert "accuracy" not in said
    assert "errors" not in said
