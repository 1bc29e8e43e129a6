"""What every image set promises, whatever it was read from."""

import math
import pickle

import numpy as np
import pytest
import torch

from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import ImageSet
from brittle.types import UNLABELLED


def numbered(ids, labels=None, **options):
    """One 2×2 image an id, its pixels all equal to the last digit / 10."""
    pixels = np.stack([np.full((2, 2), (each % 10) / 10, dtype=np.float32) for each in ids])
    return image_set((pixels, labels), ids=torch.tensor(ids), **options)


def test_a_batch_holds_the_images_labels_and_ids_of_its_positions():
    batch = numbered([30, 31, 32], [0, 1, 2]).batch([2, 0])
    assert batch.ids.tolist() == [32, 30]
    assert batch.labels.tolist() == [2, 0]
    assert batch.images.shape == (2, 1, 2, 2)
    assert batch.images.dtype == torch.float32
    assert torch.allclose(batch.images[:, 0, 0, 0], torch.tensor([0.2, 0.0]))


def test_a_subset_of_a_subset_reads_the_right_images():
    subset = numbered(list(range(40, 50))).take([9, 3, 5, 1]).take(torch.tensor([2, 0]))
    assert subset.ids.tolist() == [45, 49]
    assert list(subset.names) == ["index 45", "index 49"]
    assert torch.allclose(subset.batch([0, 1]).images[:, 0, 0, 0], torch.tensor([0.5, 0.9]))


def test_positions_outside_the_set_are_refused():
    with pytest.raises(IndexError):
        numbered([1, 2]).batch([2])
    with pytest.raises(IndexError):
        numbered([1, 2]).batch([-1])


def test_choose_draws_without_replacement_and_does_not_see_the_order_of_the_set():
    ids = list(range(100, 200))
    there, back = numbered(ids).choose(30, seed=7), numbered(ids[::-1]).choose(30, seed=7)
    assert there.ids.tolist() == back.ids.tolist()
    assert len(set(there.ids.tolist())) == 30
    assert torch.equal(there.batch(range(30)).images, back.batch(range(30)).images)


def test_choosing_fewer_gives_the_beginning_of_choosing_more():
    whole = numbered(list(range(50)))
    assert whole.choose(10, 3).ids.tolist() == whole.choose(None, 3).ids.tolist()[:10]
    assert sorted(whole.choose(None, 3).ids.tolist()) == list(range(50))
    assert len(whole.choose(5000, 3)) == 50


def test_the_draw_does_not_depend_on_which_other_images_are_there():
    order = numbered(list(range(50))).choose(None, 3).ids.tolist()
    without = numbered([each for each in range(50) if each % 3]).choose(None, 3).ids.tolist()
    assert without == [each for each in order if each % 3]


def test_choose_is_uniform_over_seeds():
    whole, seeds = numbered(list(range(12))), 3000
    chosen, leading = torch.zeros(12), torch.zeros(12)
    for seed in range(seeds):
        ids = whole.choose(4, seed).ids
        chosen[ids] += 1
        leading[ids[0]] += 1
    for counts, share in ((chosen, 4 / 12), (leading, 1 / 12)):
        spread = math.sqrt(seeds * share * (1 - share))
        assert ((counts - seeds * share).abs() < 4.5 * spread).all()


def test_where_keeps_images_by_column_and_by_several_values():
    whole = numbered(
        [1, 2, 3, 4], [0, 1, 2, 0], classes=("bag", "T-shirt/top", "coat"), columns={"scale": [0.5, 1.0, 0.5, 1.0]}
    )
    assert whole.where("class=bag").ids.tolist() == [1, 4]
    assert whole.where("class=bag/coat").ids.tolist() == [1, 3, 4]
    assert whole.where("class=T-shirt/top/coat").ids.tolist() == [2, 3]
    assert whole.where("label=0", "scale=1.0").ids.tolist() == [4]
    assert whole.where("class=bag").where("scale=0.5").ids.tolist() == [1]


def test_classes_that_are_wordnet_ids_are_also_chosen_by_their_words():
    whole = numbered([1, 2, 3], [0, 1, 2], classes=("n01440764", "n02123045", "n02012849"))
    for name in ("tench", "Tinca tinca", "tench (n01440764)", "n01440764"):
        assert whole.where(f"class={name}").ids.tolist() == [1]
    assert whole.where("class=tabby/tench").ids.tolist() == [1, 2]
    with pytest.raises(BrittleError, match=r"Known: crane \(n02012849\), tabby \(n02123045\), tench \(n01440764\)\."):
        whole.where("class=zebra")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("clas=bag", "no column 'clas'. Did you mean 'class'?"),
        ("class=bags", "never has the value 'bags'. Did you mean 'bag'?"),
        ("class=bag/cat", "never has the value 'cat'. Did you mean 'coat'?"),
        ("class", "Write column=value"),
    ],
)
def test_a_wrong_condition_is_answered_with_the_right_one(condition, message):
    with pytest.raises(BrittleError) as caught:
        numbered([1, 2], [0, 1], classes=("bag", "coat")).where(condition)
    assert message in str(caught.value)


def test_conditions_that_no_image_meets_are_an_error():
    with pytest.raises(BrittleError, match="no image of 'arrays' meets class=bag and label=1"):
        numbered([1, 2], [0, 1], classes=("bag", "coat")).where("class=bag", "label=1")


def test_only_takes_ids_in_the_order_given_and_names_unknown_ones():
    whole = numbered([10, 20, 30])
    assert whole.only([30, 10]).ids.tolist() == [30, 10]
    with pytest.raises(BrittleError, match="no image with the id 11, 12 "):
        whole.only([10, 11, 12])


def test_duplicate_ids_are_named():
    with pytest.raises(BrittleError, match="id 5 occurs twice"):
        numbered([4, 5, 5])
    with pytest.raises(BrittleError, match="id 4 occurs twice"):
        numbered([4, 5]).take([0, 0])


def test_labels_outside_the_classes_are_refused():
    with pytest.raises(BrittleError, match="has the label 2, but there are 2 class names"):
        numbered([1, 2, 3], [0, 1, 2], classes=("a", "b"))
    with pytest.raises(BrittleError, match="has the label -2"):
        numbered([1, 2], [0, -2])


def test_an_unlabelled_image_has_no_class():
    partly = numbered([1, 2], [UNLABELLED, 1], classes=("a", "b"))
    assert list(partly.columns["class"]) == ["", "b"]


def test_an_empty_set_is_an_error():
    with pytest.raises(BrittleError, match="is empty"):
        image_set((np.zeros((0, 2, 2), dtype=np.uint8), []))
    with pytest.raises(BrittleError, match="is empty"):
        image_set([])
    with pytest.raises(BrittleError, match="is empty"):
        numbered([1, 2]).take([])


def test_batches_of_another_shape_are_refused_even_when_each_is_of_one_shape():
    def reader(positions):
        return torch.zeros(len(positions), 1, 4 + positions[0], 4)

    odd = ImageSet("odd", torch.arange(2), torch.zeros(2), (), ["a.png", "b.png"], {}, reader)
    with pytest.raises(BrittleError, match=r"a.png is 4×4 and b.png is 4×5 .*size=…,crop=…"):
        odd.batch([1])


def test_an_image_set_survives_pickling():
    copy = pickle.loads(pickle.dumps(image_set("sample").where("class=Bag").choose(5, 0)))
    assert torch.equal(copy.batch([3]).images, image_set("sample").where("class=Bag").choose(5, 0).batch([3]).images)
