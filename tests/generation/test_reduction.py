"""The staged reduction beside the paper's table 8, and the linear probe beside scikit-learn."""

import numpy as np
import pytest
from cns_folder import SCALES, SEEDS, SHIFTS

from brittle.errors import BrittleError
from brittle.generation.linear_probe import fit_probe
from brittle.generation.reduction import Evidence, quantile_threshold, reduced, stage_counts, write_to_label
from brittle.generation.stored import stored_images

TABLE_8 = {  # scale → after stages (i) to (iv)
    0.0: (4000, 2966, 2966, 2966),
    0.5: (4000, 2966, 2929, 2955),
    1.0: (4000, 2966, 2813, 2906),
    1.5: (4000, 2966, 2479, 2740),
    2.0: (4000, 2966, 2143, 2498),
    2.5: (4000, 2966, 1729, 2110),
}


def paper():
    """4,000 paths at six scales, of which so many are easy and so many called in class as table 8 says."""
    scale = np.tile(list(TABLE_8), 4000)
    path = np.repeat(np.arange(4000), len(TABLE_8))
    easy = np.array([path[place] < TABLE_8[scale[place]][2] for place in range(len(scale))])
    in_class = np.array([path[place] < TABLE_8[scale[place]][3] for place in range(len(scale))])
    return scale, path, easy, in_class


def test_table_8_is_told_and_leaves_as_many_to_label_as_the_paper_says():
    scale, path, easy, in_class = paper()
    text = np.full(len(scale), 30.0)
    found = reduced(Evidence(easy, easy[:, None], text), scale, path, 24.0)
    verdict = np.where(in_class, "in class", "out of class")
    lines = stage_counts(scale, found, np.where(found.to_label, verdict, ""))
    assert {each.scale: each[1:5] for each in lines} == TABLE_8
    assert round(found.to_label.sum(), -2) == 2700  # "2.7k images remain for labeling"
    assert round(found.kept.sum(), -3) == 18_000  # "around 18k images"
    assert sum(each.unlabelled for each in lines) == 0


def test_an_image_is_easy_only_with_the_probe_one_classifier_and_the_text_together():
    scale, path = np.tile([0.0, 1.0], 5), np.repeat(np.arange(5), 2)
    probe, classifiers, text = np.ones(10, bool), np.zeros((10, 3), bool), np.full(10, 25.0)
    classifiers[:, 1] = True
    probe[3], classifiers[5], text[7] = False, False, 23.0  # of paths 1, 2 and 3, at scale 1
    text[8] = 23.0  # path 4 at scale 0: the seed goes
    found = reduced(Evidence(probe, classifiers, text), scale, path, 24.0)
    assert found.kept.tolist() == [True] * 8 + [False] * 2
    assert np.flatnonzero(found.to_label).tolist() == [3, 5, 7]


def test_what_is_unlabelled_is_counted_and_not_taken_for_in_class():
    scale, path = np.array([0.0, 1.0]), np.zeros(2, int)
    found = reduced(Evidence(np.array([True, False]), np.ones((2, 1), bool), np.ones(2)), scale, path, 0.0)
    (_, last) = stage_counts(scale, found, ["", ""])
    assert (last.easy, last.in_class, last.unlabelled) == (0, 0, 1)
    assert stage_counts(scale, found)[1].in_class is None


def test_paths_without_scale_0_are_refused():
    with pytest.raises(BrittleError, match="no image at scale 0"):
        reduced(Evidence(np.ones(1, bool), np.ones((1, 1), bool), np.ones(1)), np.ones(1), np.zeros(1, int), 0.0)


def test_what_is_left_to_label_is_read_back_by_the_labelling_page(benchmark, tmp_path):
    images = stored_images(str(benchmark))
    scale = np.array([each.scale for each in images.files])
    hard = np.array([each.scale == max(SCALES) and each.seed == SEEDS[0] for each in images.files])
    found = reduced(Evidence(~hard, np.ones((len(images), 1), bool), np.ones(len(images))), scale, images.path, 0.0)
    count = write_to_label(tmp_path / "label.json", images, found)
    again = stored_images(str(benchmark), str(tmp_path / "label.json"))
    assert count == len(again) == hard.sum()
    assert again.shifts == sorted(SHIFTS)


def test_the_threshold_lets_nine_tenths_of_real_images_through():
    text = np.arange(1000.0)
    assert (text > quantile_threshold(text)).mean() == pytest.approx(0.9)


def test_the_probe_is_scikit_learns_logistic_regression():
    linear = pytest.importorskip("sklearn.linear_model")
    generator = np.random.default_rng(0)
    features, labels = generator.normal(size=(120, 5)), generator.integers(3, size=120)
    features[:, 0] += labels
    penalty = 0.02
    found = fit_probe(features, labels, 3, penalty)
    other = linear.LogisticRegression(C=1 / (penalty * len(features)), tol=1e-10, max_iter=5000).fit(features, labels)
    scores = features @ other.coef_.T + other.intercept_
    mine = found.scores(features)
    assert np.allclose(mine - mine.mean(1, keepdims=True), scores - scores.mean(1, keepdims=True), atol=1e-4)
    assert (found.predicted(features) == other.predict(features)).all()
    with pytest.raises(BrittleError, match="one label each"):
        fit_probe(features, labels[:3], 3)
