"""Shape and texture on stimuli and classifiers made so that the answer is known."""

import csv
import itertools

import numpy as np
import pyarrow.csv
import pytest
import torch
from PIL import Image
from sklearn.metrics import cohen_kappa_score
from torch import nn

import brittle
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.measures.draws import draw_theta
from brittle.measures.shape.decisions import matched, read_decisions
from brittle.measures.shape.measure import Shape
from brittle.random import stream_root

pytestmark = pytest.mark.warned("cover less often than they say")

CLASSES = ("bear", "cat", "dog", "elephant")
SHAPES, TEXTURES = 3, 2  # images of each class that shapes and textures are from


@pytest.fixture(scope="module")
def stimuli(tmp_path_factory):
    """Red tells the shape, green the texture, blue the number of the shape image: every combination of 12 shapes and 8
    textures, 96 stimuli of which 72 are in conflict."""
    folder = tmp_path_factory.mktemp("stimuli")
    for shape, texture in itertools.product(range(4), range(4)):
        (folder / CLASSES[shape]).mkdir(exist_ok=True)
        for first, second in itertools.product(range(1, SHAPES + 1), range(1, TEXTURES + 1)):
            name = f"{CLASSES[shape]}/{CLASSES[shape]}{first}-{CLASSES[texture]}{second}.png"
            Image.new("RGB", (4, 4), (60 * shape, 60 * texture, 60 * first)).save(folder / name)
    return image_set(f"cue-conflict:{folder}")


class Reads(nn.Module):
    """Says the shape of images whose number is among `numbers`, otherwise the texture."""

    def __init__(self, *numbers):
        super().__init__()
        self.numbers = torch.tensor(numbers)

    def forward(self, images):
        shape, texture, number = (255 * images.mean((2, 3)) / 60).round().long().T
        said = torch.where(torch.isin(number, self.numbers), shape, texture)
        return 9.0 * nn.functional.one_hot(said, 4).float()


def reader(*numbers):
    return brittle.classifier(Reads(*numbers), labels=CLASSES)


def test_one_that_reads_only_shape_has_a_shape_bias_of_one(stimuli):
    """It says the texture only where that is the shape too: 24 of 96."""
    found = brittle.shape(reader(1, 2, 3), stimuli, resamples=200)
    told = found["cue_conflict"]
    assert (told["stimuli"], told["in_conflict"]) == (96, 72)
    assert (told["shape_accuracy"], told["texture_accuracy"]) == (1, 24 / 96)
    assert found.shape_bias == 1
    assert told["shape_bias_interval"][1] == 1
    assert [each["shape_bias"] for each in told["per_class"]] == [1] * 4


def test_shape_bias_counts_answers_over_stimuli_in_conflict(stimuli):
    """It reads the shape of a third of the shape images: of 72 conflicts 24 by shape and 48 by texture."""
    found = brittle.shape({"a": reader(2), "texture": reader()}, stimuli, resamples=500)
    a, texture = (each["cue_conflict"] for each in found["results"])
    assert (a["shape_answers"], a["texture_answers"], a["shape_bias"]) == (24, 48, pytest.approx(1 / 3))
    assert (a["shape_accuracy"], a["texture_accuracy"]) == pytest.approx(((24 + 24) / 96, (48 + 24) / 96))
    assert a["shape_bias_interval"][0] < 1 / 3 < a["shape_bias_interval"][1]
    assert texture["shape_bias"] == 0
    (difference,) = found["comparisons"]
    assert difference["difference"] == pytest.approx(1 / 3)
    assert difference["what"] == "shape bias"


@pytest.mark.parametrize("numbers", [(), (1, 2, 3)], ids=["texture alone", "shape alone"])
def test_where_answers_are_all_of_one_kind_a_difference_of_shape_bias_has_room(stimuli, numbers):
    found = brittle.shape({"a": reader(*numbers), "b": reader(*numbers), "c": reader(2)}, stimuli, resamples=200)
    alike, *others = found["comparisons"]
    low, high = alike["interval"]
    assert alike["difference"] == 0
    assert low < -0.3
    assert high > 0.3
    assert all(other["interval"][1] - other["interval"][0] > 0.3 for other in others)


def test_draws_grow_with_the_number_of_differences(stimuli):
    """Of three, at 0.95, one in 120 draws lies in each tail: 100 draws would hold none."""
    some, more = (
        brittle.shape({"a": reader(1), "b": reader(2), "c": reader(3)}, stimuli, resamples=count)
        for count in (100, 1200)
    )
    assert [pair["interval"] for pair in some["comparisons"]] == [pair["interval"] for pair in more["comparisons"]]
    assert some["results"][0]["resamples"] == 100


def test_few_texture_images_are_said(stimuli):
    with pytest.warns(brittle.BrittleWarning, match="share only 8 texture images: intervals of shape bias"):
        found = brittle.shape(reader(2), stimuli, resamples=100)
    assert not any("shape images" in warning for warning in found["warnings"])  # of which there are 12


def test_answers_that_are_neither_do_not_count_towards_shape_bias(stimuli):
    class Stubborn(Reads):
        def forward(self, images):
            said = super().forward(images)
            said[:, 0] += 99  # always the bear
            return said

    told = brittle.shape(brittle.classifier(Stubborn(1), labels=CLASSES), stimuli, resamples=200)["cue_conflict"]
    assert (told["shape_accuracy"], told["texture_accuracy"]) == (24 / 96, 24 / 96)
    assert (told["shape_answers"], told["texture_answers"], told["shape_bias"]) == (18, 18, 0.5)
    assert [each["shape_bias"] for each in told["per_class"]] == [1, 0, 0, 0]


def test_classes_may_stand_in_another_order_or_have_no_names(stimuli):
    class Turned(Reads):
        def forward(self, images):
            return super().forward(images).flip(1)

    named = brittle.classifier(Turned(2), labels=CLASSES[::-1])
    unnamed = brittle.classifier(Reads(2))
    for each in (named, unnamed):
        assert brittle.shape(each, stimuli, resamples=100).shape_bias == pytest.approx(1 / 3)


@pytest.mark.parametrize("labels", [CLASSES, CLASSES[::-1], None])
def test_textures_count_that_are_no_shape_of_the_chosen_stimuli(stimuli, labels):
    """Of 24 cats, 18 are in conflict: those of shape image 2 are said by shape, and the other 12 by texture."""

    class Ordered(Reads):
        def forward(self, images):
            said = super().forward(images)
            return said.flip(1) if labels == CLASSES[::-1] else said

    found = brittle.shape(brittle.classifier(Ordered(2), labels=labels), stimuli, where="shape=cat", resamples=100)
    told = found["cue_conflict"]
    assert (told["in_conflict"], told["shape_answers"], told["texture_answers"]) == (18, 6, 12)
    assert told["texture_accuracy"] == pytest.approx((12 + 6) / 24)
    assert set(found.decisions["object_response"].to_pylist()) == set(CLASSES)


def test_errors_are_compared_with_cohens_kappa(stimuli):
    """The shape is right: where textures differ, one errs on shape images 1 and 3, the other on 1 and 2."""
    found = brittle.shape({"a": reader(2), "b": reader(3), "c": reader(2)}, stimuli, resamples=300)
    number = [int(name.partition("-")[0][-1]) for name in stimuli.columns["shape-image"]]
    same = np.array(stimuli.columns["shape"]) == np.array(stimuli.columns["texture"])
    a, b = (same | (np.array(number) == each) for each in (2, 3))
    assert found.kappa("a", "b") == pytest.approx(cohen_kappa_score(a, b))
    assert found.kappa("c", "a") == 1
    with pytest.raises(BrittleError, match="no pair"):
        found.kappa("a", "d")


def written(path, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [("subj", "session", "trial", "rt", "object_response", "category", "condition", "imagename"), *rows]
        )
    return str(path)


def test_decisions_of_people_join(stimuli, tmp_path):
    """One person says the shape except once, where she says nothing; another was shown only cats, and says the texture.
    Files from the laboratory put session and trial before the image's name. Of the 96 stimuli the classifier gets 48
    right, all of which the first person has too, and one that both have wrong is the one she did not answer."""
    names = [name.rpartition("/")[2] for name in stimuli.names]
    shapes, textures = stimuli.columns["shape"], stimuli.columns["texture"]
    first = [
        ("subject-01", 1, k, 0.5, "na" if name == "dog1-cat1.png" else shape, shape, 0, f"0001_cue_s01_{name}")
        for k, (name, shape) in enumerate(zip(names, shapes, strict=True))
    ]
    second = [
        ("subject-02", 1, k, 0.5, texture, shape, 0, name)
        for k, (name, shape, texture) in enumerate(zip(names, shapes, textures, strict=True))
        if shape == "cat"
    ]
    files = [written(tmp_path / "one.csv", first), written(tmp_path / "two.csv", second)]
    found = brittle.shape({"a": reader(2)}, stimuli, decisions=files, resamples=200)
    one, two = found["deciders"]
    assert (one["name"], one["sort"], one["images"], two["images"]) == ("subject-01", "person", 96, 24)
    assert (one["cue_conflict"]["shape_answers"], one["cue_conflict"]["shape_bias"]) == (71, 1)
    assert (two["cue_conflict"]["texture_answers"], two["cue_conflict"]["shape_bias"]) == (18, 0)
    pairs = {(each["first"], each["second"]): each for each in found["consistency"]}
    assert pairs["subject-01", "subject-02"]["images"] == 24
    assert pairs["a", "subject-01"]["observed"] == pytest.approx(49 / 96)
    mean = np.mean([found.kappa("a", "subject-01"), found.kappa("a", "subject-02")])
    assert found["people"][0]["kappa"] == pytest.approx(mean)


def test_people_and_networks_have_other_names_for_the_same_image():
    """Names as model-vs-human has them: of a trial, of a stimulus for networks, of the image that it was made from."""
    said = {
        "0001_cl_s01_cr_oven_40_n04111531_14126": "oven",
        "0002_cl_s01_cr_bear_40_n02134084_5274": "cat",
        "0003_cl_s01_bw_bear_40_n02134084_5274": "bear",
        "0011_cl_s01_bw_elephant_40_n02504458_3485": "elephant",
        "0048_cl_s01_cr_elephant_40_n02504013_3485": "car",
        "0001_ske_s01_0_boat_00_boat-0068-sketch-23": "boat",
    }
    names = {
        "oven/0009_cl_dnn_cr_oven_40_n04111531_14126.png": "oven",
        "bear/0010_cl_dnn_bw_bear_40_n02134084_5274.png": "bear",
        "n04111531_14126.JPEG": "oven",
        "n02134084_5274.JPEG": None,  # shown in two conditions, with two answers
        "n02504458_3485.JPEG": "elephant",
        "n02504013_3485.JPEG": "car",
        "3485.png": None,
        "boat-0068-sketch-23.png": "boat",
        "0001_cl_dnn_bw_oven_40_n04111531_14126.png": None,  # in colour only
    }
    assert matched(said, list(names)) == list(names.values())
    assert matched({"cat7-elephant1": "cat"}, ["0001_cc_dnn_0_cat_00_cat7-elephant1.png"]) == ["cat"]


def test_columns_may_be_capitalised_as_in_the_files_of_people(tmp_path):
    (tmp_path / "one.csv").write_text("Subj,Session,Object_response,Imagename\nsubject-01,1,cat,cat1-dog1.png\n")
    assert read_decisions(str(tmp_path / "one.csv")) == {"subject-01": {"cat1-dog1": "cat"}}


def test_the_mean_over_people_has_an_interval_also_where_one_pair_is_undefined(stimuli, tmp_path):
    """The classifier and the first person are always right, so that their κ is undefined; the second errs at times."""
    names = [name.rpartition("/")[2] for name in stimuli.names]
    rows = [
        (who, 1, 1, 0.5, "na" if who == "subject-02" and place % 5 == 0 else shape, shape, 0, name)
        for who in ("subject-01", "subject-02")
        for place, (name, shape) in enumerate(zip(names, stimuli.columns["shape"], strict=True))
    ]
    found = brittle.shape({"a": reader(1, 2, 3)}, stimuli, decisions=written(tmp_path / "two.csv", rows), resamples=200)
    assert found.kappa("a", "subject-01") is None
    assert found.kappa("a", "subject-02") == 0
    (people,) = [row for row in found["people"] if row["decider"] == "a"]
    assert people["kappa"] == 0
    low, high = people["interval"]
    assert low < 0 < high


def test_decisions_that_were_written_are_read_again(stimuli, tmp_path):
    """Its own decisions, as a file, agree with the classifier in everything."""
    own = brittle.shape({"a": reader(2)}, stimuli, resamples=100)
    pyarrow.csv.write_csv(own.decisions, tmp_path / "own.csv")
    found = brittle.shape({"a": reader(2)}, stimuli, decisions=str(tmp_path / "own.csv"), resamples=100)
    (again,) = found["deciders"]
    assert (again["name"], again["sort"]) == ("a (decisions)", "model")
    assert again["cue_conflict"] == own["cue_conflict"]
    assert found.kappa("a", "a (decisions)") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2\n", "lack the columns subj, object_response, imagename"),
        ("subj,object_response,imagename\n", "hold no trial"),
        ("subj,object_response,imagename\n,cat,x.png\n", "line 2"),
        ("subj,object_response,imagename\ns,cat,mouse1-rat1.png\n", "is in the study"),
    ],
)
def test_decisions_that_can_not_be_used_are_refused(stimuli, tmp_path, content, said):
    (tmp_path / "odd.csv").write_text(content)
    with pytest.raises(BrittleError, match=said):
        brittle.shape(reader(1), stimuli, decisions=[str(tmp_path / "odd.csv")], resamples=100)


def quarters(count=400):
    """One bright quarter; which one is the label."""
    images, labels = torch.zeros(count, 1, 8, 8), torch.arange(count) % 4
    for place, label in enumerate(labels.tolist()):
        y, x = divmod(label, 2)
        images[place, :, 4 * y : 4 * y + 4, 4 * x : 4 * x + 4] = 0.9
    return images, labels


class Where(nn.Module):
    """Which quarter is bright."""

    def forward(self, images):
        return 20 * nn.functional.avg_pool2d(images.mean(1, keepdim=True), 4).flatten(1)


class HowBright(nn.Module):
    def forward(self, images):
        mean = images.mean((1, 2, 3))
        return torch.stack([mean, 0.4 - mean], 1) * 20


def test_a_permutation_leaves_a_patch_where_it_is_once_in_four():
    """P(a patch stays) is 1/4 for a uniform permutation of four, and 0 in a cycle."""
    found = brittle.shape(Where(), quarters(), grids=(2,), samples=10)
    (two,) = found["shuffled"]
    assert two["accuracy"] == pytest.approx(0.25, abs=0.03)
    assert two["points_lost"] == pytest.approx(100 * (1 - two["accuracy"]))
    assert two["identity"] == pytest.approx(1 / 24)
    (cycle,) = brittle.shape(Where(), quarters(40), grids=(2,), samples=5, moves="cycle")["shuffled"]
    assert (cycle["accuracy"], cycle["identity"]) == (0, 0)


def test_shuffling_takes_nothing_from_one_that_reads_only_brightness():
    images = torch.cat([torch.rand(30, 1, 8, 8) * 0.3, 0.5 + torch.rand(30, 1, 8, 8) * 0.3])
    found = brittle.shape(HowBright(), (images, torch.tensor([1] * 30 + [0] * 30)), grids=(2, 4, 8), samples=3)
    assert [(each["grid"], each["accuracy"], each["points_lost"]) for each in found["shuffled"]] == [
        (2, 1, 0),
        (4, 1, 0),
        (8, 1, 0),
    ]


class Sharp(nn.Module):
    """Says 0 of every image with an edge in the middle."""

    def forward(self, images):
        edge = (images[..., 3] - images[..., 4]).abs().amax((1, 2))
        right = 20 * nn.functional.one_hot((images.mean((1, 2, 3)) * 10).long(), 3).float()
        return torch.where(edge[:, None] > 0.5, torch.tensor([50.0, 0, 0]), right)


def ramps(count=60):
    """A smooth ramp has an edge only once it is shuffled."""
    return torch.linspace(0, 0.55, 8).expand(count, 1, 8, 8).clone(), torch.full((count,), 2)


def test_what_errors_go_to_is_told_and_read_against_chance():
    """One that always says 0 of shuffled images sends every error there. At random they would go to 0 and 1 alike."""
    (found,) = brittle.shape(Sharp(), ramps(), grids=(2,), samples=4)["shuffled"]
    assert found["top_class"] == "0"
    assert found["points_to_top"] == pytest.approx(found["points_lost"])
    assert 0.5 < found["points_by_chance"] / found["points_lost"] < 0.6
    assert found["di"] > found["chance_spread"]["high"]


def test_over_runs_of_a_model_it_is_told_too():
    nets, groups = {"a": Sharp(), "b": Sharp(), "c": Where()}, {"a": "sharp", "b": "sharp"}
    found = brittle.shape(nets, ramps(), grids=(2,), samples=4, groups=groups, resamples=100)
    (row,) = found["interference"]
    assert (row["group"], row["runs"], row["agreeing_runs"], row["nuisance"]) == ("sharp", 2, 2, "2×2 patches")
    assert row["points_to_top"] == pytest.approx(found["shuffled"][0]["points_to_top"])


def test_rows_are_what_the_classifier_says_of_that_shuffle():
    """Each row made again by itself: θ of (seed, grid, image, draw)."""
    images, plain = image_set("sample").take(range(6)), brittle.classifier("bundled:plain")
    found = brittle.shape(plain, images, grids=(4, 2), samples=3, seed=11, resamples=100)
    measure, place = Shape(grids=(4, 2), samples=3), {id: at for at, id in enumerate(images.ids.tolist())}
    assert found.rows.num_rows == 6 * 2 * 3
    for row in found.rows.to_pylist():
        one, space = images.batch([place[row["image"]]]), measure.shuffle(row["grid"])
        root = stream_root(11, measure.stream(row["grid"]))
        again = space.apply(one, draw_theta(space, one, torch.tensor([row["draw"]]), root))
        said = plain.log_probs(again)[0].detach()
        assert int(said.argmax()) == row["predicted"]
        assert float(said.max()) == pytest.approx(row["log_p_predicted"], abs=1e-4)


@pytest.mark.parametrize("batch", [7, 512])
def test_batch_size_and_order_of_images_change_nothing(batch):
    whole = image_set("sample")
    forwards, backwards = whole.take(range(40)), whole.take(range(39, -1, -1))
    one = brittle.shape("bundled:plain", forwards, batch=64, resamples=100)
    other = brittle.shape("bundled:plain", backwards, batch=batch, resamples=100)
    keys = [("image", "ascending"), ("grid", "ascending"), ("draw", "ascending")]
    exact = ["image", "grid", "draw", "predicted", "rank"]
    assert one.rows.select(exact).sort_by(keys) == other.rows.select(exact).sort_by(keys)
    for mine, theirs in zip(one["shuffled"], other["shuffled"], strict=True):
        assert mine["accuracy"] == pytest.approx(theirs["accuracy"])


@pytest.mark.warned("have no label", "whose errors are alike")
def test_images_without_labels_are_measured_against_clean_predictions():
    images, _ = quarters(40)
    found = brittle.shape({"a": Where(), "b": Where()}, images, grids=(2,), samples=6)
    assert found["reference"] == "clean prediction"
    assert found["accuracy_clean"] == 1
    assert found["shuffled"][0]["accuracy"] == pytest.approx(0.25, abs=0.1)
    assert found["consistency"] == []
    assert any("needs labels" in warning for warning in found["warnings"])


@pytest.mark.parametrize(("grids", "said"), [((2, 2), "names 2 twice"), ((16,), "does not fit"), ((), "1 or more")])
def test_grids_that_make_no_sense_are_refused(grids, said):
    with pytest.raises(BrittleError, match=said):
        brittle.shape(Where(), quarters(4), grids=grids)
