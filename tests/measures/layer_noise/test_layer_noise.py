"""Noise on layers against closed forms of linear classifiers, and what holds whatever the batch."""

import copy
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch
from scipy.stats import norm
from torch import nn

import brittle
from brittle.errors import BrittleError
from brittle.measures.answers import Answers
from brittle.measures.graphs import Graphs
from brittle.measures.layer_choice import chosen_layers
from brittle.measures.layer_noise.noise import NoisyLayers
from brittle.progress import Progress
from brittle.types import Batch

pytestmark = pytest.mark.warned("all are taken")

SIDE = 5
COUNT = 3000
KOLMOGOROV = 1.95  # quantile 0.999 of √n·sup|F̂ − F|
EXACT = ["image", "layer", "repeat", "broke", "place", "severity", "predicted"]


def linear():
    """Two classes of 25 numbers, z = Wx + b, and an image of class 1."""
    random = np.random.default_rng(4)
    module = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, 2))
    weight, bias = random.normal(size=(2, SIDE * SIDE)), random.normal(size=2)
    image = random.uniform(0.2, 1, (1, 1, SIDE, SIDE))
    bias[1] += 4 - (weight[1] - weight[0]) @ image.ravel() - (bias[1] - bias[0])  # a margin of 4
    with torch.no_grad():
        module[1].weight.copy_(torch.from_numpy(weight))
        module[1].bias.copy_(torch.from_numpy(bias))
    return module, torch.from_numpy(image).float(), weight, bias


def deviation(layer):
    """Of the margin, per σ: every number that noise multiplies adds what it contributes."""
    _, image, weight, bias = linear()
    x = image.double().numpy().ravel()
    if layer == "input":
        return np.linalg.norm((weight[1] - weight[0]) * x)
    if layer == "weights":
        return math.hypot(*(weight * x).ravel(), *bias)
    return math.hypot(*(weight @ x + bias))


IMAGES = torch.rand(23, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def network(seed=0):
    """Four classes, all of them predicted for some of the images."""
    torch.manual_seed(seed)
    made = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(96, 12), nn.ReLU(),
        nn.Linear(12, 4),
    )  # fmt: skip
    with torch.no_grad():
        made[6].bias.sub_(made(IMAGES).mean(0))
    return made


def pictures(count=23):
    with torch.no_grad():
        return IMAGES[:count], network()(IMAGES[:count]).argmax(1)


@pytest.mark.parametrize(
    ("layer", "count", "step", "batch"),
    [("input", COUNT, 0.25, 4096), ("[1]", COUNT, 0.25, 4096), ("weights", 300, 1.0, 1)],
)
def test_along_a_path_the_noise_has_the_distribution_of_a_linear_classifier(layer, count, step, batch):
    """P(σ* ≤ s) = Φ(−m / (sτ)) ≤ ½, so that half of the paths are never changed and the mean of σ* is infinite."""
    module, image, *_ = linear()
    found = brittle.layer_noise(
        module, (image, torch.ones(1).long()), layers=layer, step=step, limit=5, repeats=count, networks=count,
        batch=batch,
    )  # fmt: skip
    rows, sigma = found.rows, step * np.arange(1, round(5 / step) + 1)
    place, broke = rows["place"].to_numpy(), rows["broke"].to_numpy(zero_copy_only=False)
    seen = np.array([(broke & (place <= at)).mean() for at in range(len(sigma))])
    expected = norm.cdf(-4 / (sigma * deviation(layer)))
    assert expected[-1] > 0.1
    assert np.abs(seen - expected).max() < KOLMOGOROV / math.sqrt(count)
    (result,) = found["layers"]
    assert result["unbroken"] == pytest.approx(1 - seen[-1])
    assert result["unbroken"] > 0.5
    assert result["median"] is None
    assert result["mean"] == pytest.approx(np.where(broke, step * (place + 1), 5.0).mean())
    assert result["mean"] == pytest.approx(step * (1 + (1 - expected[:-1]).sum()), abs=0.25)


def test_with_fresh_noise_the_chance_to_survive_is_a_product_over_the_steps():
    """P(σ* > σ_k) = Π_{j ≤ k} Φ(m / (σ_j τ)), which falls as the step shrinks."""
    module, image, *_ = linear()
    means = {}
    for step in (0.25, 1.0):
        found = brittle.layer_noise(
            module, (image, torch.ones(1).long()), layers="0", noise="fresh", step=step, limit=5, repeats=COUNT,
            batch=4096,
        )  # fmt: skip
        place, count = found.rows["place"].to_numpy(), int(5 / step)
        survive = np.cumprod(norm.cdf(4 / (step * np.arange(1, count + 1) * deviation("input"))))
        seen = np.array([(place > at).mean() for at in range(count - 1)])
        assert np.abs(seen - survive[:-1]).max() < KOLMOGOROV / math.sqrt(COUNT)
        means[step] = found["layers"][0]["mean"]
    assert means[0.25] < means[1.0]


def test_the_same_rows_come_of_any_batch_size():
    found = [
        brittle.layer_noise(network(), pictures(11), step=0.25, limit=1.5, repeats=2, networks=2, batch=batch).rows
        for batch in (1, 13, 512)
    ]
    for other in found[1:]:
        assert other.select(EXACT).equals(found[0].select(EXACT))
        for column in ("log_p_predicted", "log_p_label"):
            assert np.allclose(other[column], found[0][column], atol=1e-4)


@pytest.mark.parametrize("noise", ["path", "fresh"])
def test_noise_that_is_drawn_again_at_every_step_is_the_same_as_noise_that_is_carried_along(noise, monkeypatch):
    options = {"layers": "0-2", "noise": noise, "step": 0.25, "limit": 2, "batch": 64}
    carried = brittle.layer_noise(network(), pictures(), **options).rows
    monkeypatch.setattr("brittle.measures.layer_noise.noise.CARRIED", 0)
    assert brittle.layer_noise(network(), pictures(), **options).rows.equals(carried)


def test_an_image_has_the_same_rows_in_any_company():
    images, labels = pictures()
    ids = np.arange(100, 123)
    whole = brittle.layer_noise(
        network(), brittle.image_set((images, labels), ids=ids, name="all"), step=0.25, limit=2, repeats=2, networks=3
    )
    some = brittle.layer_noise(
        network(), brittle.image_set((images[[17, 4]], labels[[17, 4]]), ids=ids[[17, 4]], name="two"),
        step=0.25, limit=2, repeats=2, networks=3,
    )  # fmt: skip
    order = [("image", "ascending"), ("layer", "ascending"), ("repeat", "ascending")]
    here = whole.rows.filter(pc.is_in(whole.rows["image"], some.rows["image"].combine_chunks().unique()))
    assert some.rows.num_rows == 2 * (7 * 2 + 3)
    assert here.select(EXACT).sort_by(order).equals(some.rows.select(EXACT).sort_by(order))


def test_more_repeats_keep_the_first_ones():
    few, many = (
        brittle.layer_noise(network(), pictures(6), layers="0-2", step=0.5, limit=2, repeats=repeats).rows
        for repeats in (2, 3)
    )
    order = [("image", "ascending"), ("layer", "ascending"), ("repeat", "ascending")]
    kept = many.filter(pc.less(many["repeat"], 2))
    assert kept.select(EXACT).sort_by(order).equals(few.select(EXACT).sort_by(order))


@pytest.mark.parametrize("layer", ["input", "0", "4", "6", "weights"])
def test_no_noise_changes_nothing_and_nothing_is_left_behind(layer):
    images, labels = pictures()
    classifier = brittle.classifier(network())
    classifier.check(images)
    before = [each.clone() for each in classifier.module.parameters()]
    expected = classifier.log_probs(images).gather(1, labels[:, None])[:, 0]
    answers = Answers(Batch(images, labels, torch.arange(23)), {"it": classifier}, 8)
    noise = NoisyLayers(answers, "it", (layer,), labels, torch.tensor([0.0, 1e-6]), False, 0)
    with torch.inference_mode():
        found = noise.crossings(torch.arange(23), torch.zeros(23).long())
        still = noise.crossings(torch.arange(23), torch.arange(23) % 2)
    assert not bool(found.met.any() | still.met.any())
    assert torch.allclose(found.outcome.log_p_label, expected, atol=1e-4)
    assert all(map(torch.equal, before, classifier.module.parameters()))
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in classifier.module.modules())


@pytest.mark.parametrize("layer", ["0", "weights"])
def test_a_compiled_classifier_is_disturbed_all_the_same(layer, monkeypatch):
    """Its graph knows of no disturbance, and would never change its mind."""
    monkeypatch.setattr("brittle.measures.graphs.BACKEND", "eager")
    images, labels = pictures()
    classifier, every = brittle.classifier(network()), torch.arange(23)
    classifier.check(images)
    broke = []
    for graphs in (Graphs(), Graphs({"it": copy.deepcopy(classifier).graph(images)})):
        answers = Answers(Batch(images, labels, every), {"it": classifier}, 8, graphs=graphs)
        with torch.inference_mode():
            noise = NoisyLayers(answers, "it", (layer,), labels, torch.arange(0.5, 5, 0.5), False, 0)
            broke.append(noise.crossings(every, torch.zeros_like(every)).place)
    assert len(broke[0].unique()) > 1
    assert torch.equal(*broke)


@pytest.mark.parametrize("layer", ["input", "[4]", "weights"])
def test_an_interruption_leaves_the_network_as_it_was(layer):
    module, (images, labels) = network(), pictures()
    before, calls = [each.clone() for each in module.parameters()], []

    def watched(*_):
        calls.append(1)
        if len(calls) == 40:
            raise KeyboardInterrupt

    module.register_forward_pre_hook(watched)
    with pytest.raises(KeyboardInterrupt):
        brittle.layer_noise(module, (images, labels), layers=layer, step=0.01, limit=4, networks=2)
    assert all(map(torch.equal, before, module.parameters()))
    assert sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules()) == 1


def test_means_are_over_correct_images_and_over_those_that_all_get_right():
    images, labels = pictures()
    wrong = torch.where(torch.arange(23) < 5, (labels + 1) % 4, labels)
    found = brittle.layer_noise({"a": network(), "b": network(3)}, (images, wrong), layers="input", step=0.25, limit=2)
    rows = found.rows
    with torch.no_grad():
        right = {name: (network(seed)(images).argmax(1) == wrong).numpy() for name, seed in (("a", 0), ("b", 3))}
    both = right["a"] & right["b"]
    assert 0 < both.sum() < right["a"].sum() == 18
    apart = []
    for name in "ab":
        result = found.of(name).layer("input")
        own = rows.filter(pc.equal(rows["classifier"], name))
        # Rows come in the order drawn by the seed; images of arrays are numbered as they were given.
        sigma = {id: [] for id in range(23)}
        for id, place in zip(own["image"].to_pylist(), own["place"].to_pylist(), strict=True):
            sigma[id].append(0.25 * (place + 1))
        mean = np.array([np.mean(sigma[id]) for id in range(23)])
        assert result["mean"] == pytest.approx(mean[right[name]].mean())
        assert result["common"]["mean"] == pytest.approx(mean[both].mean())
        assert (result["averaged"], result["common"]["averaged"]) == (right[name].sum(), both.sum())
        apart.append(mean[both])
    (pair,) = found["comparisons"]
    assert pair["difference"] == pytest.approx((apart[0] - apart[1]).mean())
    assert pair["interval"][0] <= pair["difference"] <= pair["interval"][1]


def test_draws_of_the_weights_are_the_clusters_of_their_interval():
    """The interval is for means of whole networks: the same with one image as with many that are copies of it."""
    images, labels = pictures(1)
    one = brittle.layer_noise(network(), (images, labels), layers="weights", step=0.1, limit=4, networks=12)
    many = brittle.layer_noise(
        network(), (images.repeat(30, 1, 1, 1), labels.repeat(30)), layers="weights", step=0.1, limit=4, networks=12
    )
    assert many["layers"][0]["interval"] == pytest.approx(one["layers"][0]["interval"])
    assert many["layers"][0]["repeats"] == 12
    for repeat in range(12):
        here = many.rows.filter(pc.equal(many.rows["repeat"], repeat))
        assert len(here["place"].unique()) == 1


@pytest.mark.warned("have no label", "made outputs infinite or NaN")
def test_outputs_that_overflow_count_as_changed_and_are_told():
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 4), nn.ReLU(), nn.Linear(4, 3))
    with torch.no_grad():
        module[1].bias.add_(1e19)
        module[3].weight.copy_(torch.tensor([[3.0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]) * 1e19)
    images = torch.rand(6, 1, 8, 8)
    found = brittle.layer_noise(module, images, layers="[1]", step=1, limit=60, repeats=4)
    rows = found.rows.filter(pc.equal(found.rows["predicted"], -1))
    assert rows.num_rows > 0
    assert pc.all(rows["broke"]).as_py()
    assert rows["predicted_class"].null_count == rows.num_rows
    assert f"made outputs infinite or NaN on {rows.num_rows} of 24 paths" in "".join(found["warnings"])


def test_a_network_that_ends_in_a_softmax_is_measured_at_its_output_too():
    module = nn.Sequential(network(), nn.Softmax(1))
    found = brittle.layer_noise(module, pictures(), layers="[1]", step=0.1, limit=3)
    assert found["layers"][0]["unbroken"] < 1
    assert not any("infinite" in each for each in found["warnings"])
    assert pc.min(found.rows["predicted"]).as_py() >= 0


def test_noise_on_two_layers_at_once_breaks_as_often_as_by_hand():
    """z = Wx + b with noise on x and on z at once, drawn a second time by numpy."""
    module, image, weight, bias = linear()
    found = brittle.layer_noise(
        module, (image, torch.ones(1).long()), layers="input+[1]", step=1, limit=1, repeats=COUNT, batch=4096
    )
    random = np.random.default_rng(7)
    x = image.double().numpy().ravel() * (1 + random.normal(size=(100_000, SIDE * SIDE)))
    outputs = (x @ weight.T + bias) * (1 + random.normal(size=(100_000, 2)))
    expected = (outputs[:, 0] > outputs[:, 1]).mean()
    alone = norm.cdf(-4 / deviation("input"))
    assert expected > alone + 0.03
    assert pc.mean(found.rows["broke"]).as_py() == pytest.approx(expected, abs=KOLMOGOROV / math.sqrt(COUNT))
    (layer,) = found["layers"]
    assert (layer["layer"], layer["number"], layer["members"]) == ("input+1", None, [0, 1])
    assert found.layer("0+1") == found.layer("input+1") == layer


@pytest.mark.warned("have no label")
@pytest.mark.parametrize("layer", ["[1]", "weights"])
def test_a_layer_keeps_its_noise_in_the_company_of_one_that_takes_none(layer):
    """Noise multiplies: on black images that on the input is nothing."""
    torch.manual_seed(3)
    module, black = nn.Sequential(nn.Flatten(), nn.Linear(64, 4)), torch.zeros(3, 1, 8, 8)
    options = {"step": 0.25, "limit": 3, "repeats": 4, "networks": 6, "batch": 8}
    for noise in ("path", "fresh"):
        alone, both = (
            brittle.layer_noise(module, black, layers=layers, noise=noise, **options).rows
            for layers in (layer, f"input+{layer}")
        )
        assert pc.any(alone["broke"]).as_py()
        assert both["layer"].to_pylist()[0] < 0
        for column in EXACT:
            assert column == "layer" or both[column].equals(alone[column]), column


def test_sets_have_the_same_rows_at_any_batch_size_and_when_layers_are_added():
    options = {"step": 0.25, "limit": 1.5, "repeats": 2, "networks": 3}
    whole = brittle.layer_noise(network(), pictures(7), layers="4,0+4+6,weights,1+weights", **options, batch=512).rows
    for layers, batch in (("0+4+6,1+weights", 1), ("6+4+0,0,1+weights", 13)):
        some = brittle.layer_noise(network(), pictures(7), layers=layers, **options, batch=batch).rows
        order = [(name, "ascending") for name in ("layer", "image", "repeat")]
        here, there = (each.filter(pc.less(each["layer"], 0)).select(EXACT).sort_by(order) for each in (some, whole))
        assert here.num_rows == 7 * (2 + 3)
        assert here.equals(there)


LAYERS = ("input", "stem.conv", "stem.act", "head.conv", "head.act", "fc", "weights")


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ((), (0, 1, 2, 3, 4, 5, 6)),
        (("fc",), (5,)),
        (("*.conv", "weights"), (1, 3, 6)),
        (("0-2,6",), (0, 1, 2, 6)),
        (("4", "stem.*"), (1, 2, 4)),
        (("[if]*",), (0, 5)),
    ],
)
def test_layers_are_chosen_by_name_pattern_and_number(asked, numbers):
    assert tuple(each.number for each in chosen_layers(asked, LAYERS)) == numbers


def test_sets_come_after_single_layers_and_what_the_weights_are_part_of_comes_last():
    found = chosen_layers(("weights", "fc+stem.*", "3-5", "6+0", "1+1"), LAYERS)
    assert [each.members for each in found] == [(1,), (3,), (4,), (5,), (1, 2, 5), (6,), (0, 6)]
    assert [each.number for each in found if not each.together] == [1, 3, 4, 5, 6]
    assert all(each.number < 0 for each in found if each.together)


def test_a_set_has_the_same_number_in_any_order_and_another_than_other_sets():
    (one,), (same,), (other,) = (chosen_layers([asked], LAYERS) for asked in ("1+4", "head.act + stem.conv", "1+3"))
    assert one == same
    assert one.number != other.number


def test_of_many_layers_twelve_are_chosen_with_input_output_and_weights():
    many = ("input", *(f"block{number}" for number in range(99)), "weights")
    numbers = [each.number for each in chosen_layers((), many)]
    assert (len(numbers), numbers[0], numbers[-2:]) == (12, 0, [99, 100])
    assert set(np.diff(numbers[:-1])) <= {9, 10}


@pytest.mark.parametrize(
    ("asked", "said"),
    [("fcc", r"has no layer 'fcc'.*fc"), ("7", "no layer number 7.*to 6, 'weights'"), ("3-1", "no layers 3-1")],
)
def test_layers_that_are_not_there_are_refused(asked, said):
    with pytest.raises(BrittleError, match=said):
        chosen_layers([asked], LAYERS, "mine")


def test_layers_that_are_not_there_are_refused_before_work_begins():
    with pytest.raises(BrittleError, match="has no layer 'conv'"):
        brittle.layer_noise(network(), pictures(), layers=["input", "conv"])


def test_a_step_past_the_limit_is_refused():
    with pytest.raises(BrittleError, match=r"can't rise to 0\.1 in steps of 0\.5"):
        brittle.layer_noise(network(), pictures(), step=0.5, limit=0.1)


def test_a_black_box_is_refused_with_what_it_can_be_measured_by():
    with pytest.raises(BrittleError, match=r"needs a layered classifier.*robustness"):
        brittle.layer_noise(lambda images: images.flatten(1)[:, :4], pictures())


def test_a_resumed_run_has_the_rows_of_an_uninterrupted_one(tmp_path):
    """What was stored of some units is kept, and the others are the same as in one go."""
    study = {
        "classifiers": {"plain": "bundled:plain"},
        "images": {"sample": {"spec": "sample", "count": 30}},
        "measures": {
            "noisy": {
                "kind": "layer-noise",
                "layers": ["0", "8-10"],
                "step": 0.5,
                "limit": 2,
                "repeats": 3,
                "networks": 7,
            }
        },
    }
    brittle.run(study, out=tmp_path / "whole")
    stop = Stop()
    with pytest.raises(KeyboardInterrupt):
        brittle.run(study, out=tmp_path / "cut", batch=64, progress=stop)
    half = stored(tmp_path / "cut")
    resumed = brittle.run(study, out=tmp_path / "cut")
    whole = stored(tmp_path / "whole")
    assert 0 < half.num_rows < whole.num_rows == 30 * (3 * 3 + 7)
    assert stored(tmp_path / "cut").select(EXACT).equals(whole.select(EXACT))
    assert resumed["measures"]["noisy"]["results"][0]["correct"] > 0


class Stop(Progress):
    """Interrupts in the middle of the work."""

    done = 0

    def advance(self, calls):
        self.done += calls
        if self.done > 1200:
            raise KeyboardInterrupt


def stored(folder):
    files = [path for path in (folder / "units").rglob("*.parquet") if "clean" not in str(path.relative_to(folder))]
    rows = pa.concat_tables([pq.read_table(path) for path in files])
    return rows.sort_by([(name, "ascending") for name in ("unit", "image", "layer", "repeat")])
