"""Connectedness as a measure: half-moons in one piece and in two, judged by a flood fill on a grid."""

import importlib.util
from collections import Counter

import numpy as np
import pytest
import torch
from engine_runs import run_study
from torch import nn

import brittle
from brittle.engine.execute import worker
from brittle.errors import BrittleError, MissingPackage
from brittle.images import image_set

from . import moons


def connected(module, points, labels, batch=None, **options):
    """The rows, the images and the summary of a run over points in the plane, or over images."""
    images = points if np.ndim(points) == 4 else moons.as_images(points)
    study = {
        "classifiers": {"it": module},
        "images": {"points": image_set((images, labels), name="points")},
        "connectedness": {key.replace("_", "-"): value for key, value in options.items()},
    }
    done = run_study(study, batch=batch)
    view = done.view("connectedness")
    cell = view.cell("it", "points")
    return (
        view.table(cell),
        view.table(cell, "images"),
        done.summary["measures"]["connectedness"],
        view.table(cell, "pictures"),
    )


def random_points(module, count, label=1, seed=0):
    """Points of the class, uniform over its region."""
    points = np.random.default_rng(seed).uniform(0, 1, (40 * count, 2))
    with torch.no_grad():
        given = module(torch.from_numpy(moons.as_images(points))).argmax(1).numpy() == label
    return points[given][:count]


@pytest.mark.parametrize("method", ["ida", "torch"])
@pytest.mark.parametrize(("centres", "pieces"), [(moons.ONE_PIECE, 1), (moons.TWO_PIECES, 2)])
def test_a_moon_in_one_piece_and_one_in_two_are_told_apart_as_a_flood_fill_does(method, centres, pieces):
    module = moons.Bumps(centres)
    points = random_points(module, 24)
    _, members, said, _ = connected(module, points, np.ones(len(points), dtype=int), method=method)
    filled = moons.flood_fill(module, points, 1)
    assert len(set(filled.tolist())) == pieces
    order = members["image"].to_numpy()
    assert moons.same_partition(members["component"].to_numpy(), filled[order])
    (row,) = said["classes"]
    assert row["bubbles"] == pieces
    assert row["candidate"] == (pieces == 1)


@pytest.mark.parametrize("method", ["ida", "torch"])
def test_the_two_ends_of_a_moon_are_connected_by_a_curved_path_alone(method):
    ends = moons.arc(0.05, 0.93, 2) + np.array([[0.01, 0.0], [0.0, 0.02]])
    one, _, said, _ = connected(moons.Bumps(moons.ONE_PIECE), ends, [1, 1], method=method)
    assert one["how"].to_pylist() == ["curved"]
    assert one["straight_least"].to_pylist()[0] < 0 < one["least"].to_pylist()[0]
    assert said["results"][0]["straight_share"] == 0
    two, _, said, _ = connected(moons.Bumps(moons.TWO_PIECES), ends, [1, 1], method=method)
    assert two["how"].to_pylist() == ["unknown"]
    assert said["classes"][0]["bubbles"] == 2
    assert said["classes"][0]["weakly_generalised"] == 0


def test_a_trained_network_is_judged_like_a_flood_fill_judges_it():
    moon = 0.7 * moons.arc(0, 1, 120)
    scatter = np.random.default_rng(0).normal(scale=0.02, size=(240, 2))
    points, labels = np.concatenate((moon, np.array([0.95, 0.7]) - moon)) + scatter, np.repeat([0, 1], 120)
    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
    optimiser = torch.optim.Adam(module.parameters(), 0.01)
    images = torch.from_numpy(moons.as_images(points))
    for _ in range(200):
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(images), torch.from_numpy(labels)).backward()
        optimiser.step()
    _, members, said, _ = connected(module, points, labels, per_class=16)
    for label, row in enumerate(said["classes"]):
        here = members.filter(members["label"].to_numpy() == label)
        known = here["component"].to_numpy() >= 0
        filled = moons.flood_fill(module, points[here["image"].to_numpy()], label)
        assert np.array_equal(filled > 0, known)
        assert moons.same_partition(here["component"].to_numpy()[known], filled[known])
        assert row["bubbles"] == len(set(filled[known].tolist()))


def test_three_quarters_of_a_ring_are_connected_through_images_on_the_way():
    """Between its ends the distance first grows along the ring, so that the path is stuck; images between help."""
    ring = np.array([0.5, 0.5]) + 0.3 * np.stack([f(np.linspace(0, 1.6 * np.pi, 60)) for f in (np.cos, np.sin)], 1)
    module = moons.Bumps(ring)
    ends = ring[[0, -1]]
    rows, _, _, _ = connected(module, ends, [1, 1])
    assert rows["how"].to_pylist() == ["unknown"]
    assert len(set(moons.flood_fill(module, ends, 1).tolist())) == 1
    _, _, said, _ = connected(module, ring[[0, 20, 40, -1]], [1] * 4)
    assert said["classes"][0]["sizes"] == [4]


def test_misclassified_images_have_no_bubble_and_a_class_with_one_is_no_candidate():
    module = moons.Bumps(moons.ONE_PIECE)
    points = np.concatenate((random_points(module, 8), [[0.02, 0.02]]))
    _, members, said, _ = connected(module, points, [1] * 9)
    components = dict(zip(members["image"].to_pylist(), members["component"].to_pylist(), strict=True))
    assert components[8] == -1
    assert -1 not in [components[id] for id in range(8)]
    (row,) = said["classes"]
    assert (row["images"], row["right"], row["misclassified"], row["bubbles"]) == (9, 8, 1, 1)
    assert not row["candidate"]


def test_rows_depend_on_neither_the_batch_size_nor_the_other_classes():
    module = moons.Bumps(moons.TWO_PIECES)
    points = random_points(module, 8)
    away = np.array([[0.5, 0.4], [0.45, 0.35], [0.9, 0.9]])
    both, labels = np.concatenate((points, away)), np.repeat([1, 0], [8, 3])
    names, options = ("image", "other", "round", "how", "straight_least", "least"), {"method": "torch", "tries": 2}
    found = [connected(module, both, labels, batch=batch, **options)[0].select(names) for batch in (32, 512)]
    alone = connected(module, points, labels[:8], **options)[0].select(names)
    for other in found[1:]:
        assert other.drop_columns(["straight_least", "least"]) == found[0].drop_columns(["straight_least", "least"])
        for name in ("straight_least", "least"):
            assert np.allclose(other[name].to_numpy(), found[0][name].to_numpy(), atol=1e-4, equal_nan=True)
    of_class = found[-1].filter(np.isin(found[-1]["image"].to_numpy(), np.arange(8)))
    assert set(zip(of_class["image"].to_pylist(), of_class["other"].to_pylist(), strict=True)) == set(
        zip(alone["image"].to_pylist(), alone["other"].to_pylist(), strict=True)
    )


def test_a_class_stays_together_where_few_images_fit_on_the_device(monkeypatch):
    module = moons.Bumps(moons.ONE_PIECE)
    points = random_points(module, 12)
    labels = np.tile([1, 0], 6)
    _, whole, _, _ = connected(module, points, labels, method="torch")
    monkeypatch.setattr(worker, "IMAGES_AT_ONCE", 4 * 2 * 3)
    _, parted, said, _ = connected(module, points, labels, method="torch")
    assert parted == whole
    assert [row["images"] for row in said["classes"]] == [6, 6]
    assert said["classes"][1]["sizes"] == [6]


def test_the_straight_share_is_that_of_disjoint_pairs():
    module = moons.Bumps(moons.ONE_PIECE)
    points = random_points(module, 40)
    rows, _, said, _ = connected(module, points, [1] * 40, method="torch")
    fair = rows.filter(rows["round"].to_numpy() == 0)
    ids = fair["image"].to_pylist() + fair["other"].to_pylist()
    assert sorted(ids) == list(range(40))
    (result,) = said["results"]
    stays = [_stays(module, points[a], points[b]) for a, b in zip(ids[:20], ids[20:], strict=True)]
    assert result["straight_share"] == np.mean(stays)
    low, high = result["straight_share_interval"]
    assert 0 <= low < np.mean(stays) < high <= 1
    assert Counter(rows["how"].to_pylist())["straight"] == result["straight"]


def _stays(module, start, end):
    with torch.no_grad():
        between = start + np.linspace(0, 1, 2001)[:, None] * (end - start)
        return bool((module(torch.from_numpy(moons.as_images(between))).argmax(1) == 1).all())


def test_the_pictures_show_the_way_from_one_image_to_the_other():
    ends = moons.arc(0.05, 0.9, 2) + np.array([[0.01, 0.0], [0.0, 0.02]])
    _, _, _, pictures = connected(moons.Bumps(moons.ONE_PIECE), ends, [1, 1])
    frames = np.stack(pictures["pixels"].to_pylist())
    first, second = pictures["image"][0].as_py(), pictures["other"][0].as_py()
    assert np.allclose(frames[0], ends[first], atol=1e-6)
    assert np.allclose(frames[-1], ends[second], atol=1e-6)
    assert min(pictures["margin"].to_pylist()) > 0
    assert pictures["shape"][0].as_py() == [1, 1, 2]
    none = connected(moons.Bumps(moons.ONE_PIECE), ends, [1, 1], pictures=0)[3]
    assert none.num_rows == 0


def test_what_can_not_be_measured_is_refused_in_one_line(monkeypatch):
    module, points = moons.Bumps(moons.ONE_PIECE), random_points(moons.Bumps(moons.ONE_PIECE), 4)
    with pytest.raises(BrittleError, match="the images of 'points' have no labels, and connectedness is about classes"):
        connected(module, points, None)
    with pytest.raises(BrittleError, match="needs a differentiable classifier, and 'it' is not one: it has no logits"):
        connected(lambda images: np.full((len(images), 2), 0.5), points, [1] * 4)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None)
    with pytest.raises(MissingPackage, match=r"method=torch does without.*pip install .*\[ode\]'"):
        connected(module, points, [1] * 4)


def test_outputs_that_are_not_finite_name_the_image():
    class Spoilt(moons.Bumps):
        def forward(self, images):
            return torch.where(images.flatten(1)[:, :1] > 0.99, torch.nan, super().forward(images))

    points = random_points(moons.Bumps(moons.ONE_PIECE), 13)
    late = int(
        image_set((moons.as_images(points), [1] * 13)).choose(None, 0).ids[-1]
    )  # not among those tried beforehand
    points[late] = 0.995, 0.5  # which is not among those that are tried beforehand
    with pytest.raises(BrittleError, match=f"gave NaN or infinite outputs for the image index {late} "):
        connected(Spoilt(moons.ONE_PIECE), points, [1] * 13)


def test_images_of_several_classes_on_a_convolutional_network():
    study = {"classifiers": {"plain": "bundled:plain"}, "images": ["sample"], "connectedness": {"per-class": 6}}
    done = run_study(study)
    said = done.summary["measures"]["connectedness"]
    assert [row["class"] for row in said["classes"]] == list(brittle.image_set("sample").classes)
    assert all(row["images"] == 6 for row in said["classes"])
    (result,) = said["results"]
    assert result["misclassified"] == 60 - result["right"]
    assert result["straight"] + result["curved"] == result["right"] - result["bubbles"] + _cycles(done)
    assert done.summary["calls"]["plain"] >= 60


def _cycles(done):
    """Connections beyond those of a tree: pairs of one round may close a ring."""
    view = done.view("connectedness")
    rows = view.table(view.cell("plain", "sample"))
    root, extra = {}, 0

    def find(id):
        while root.setdefault(id, id) != id:
            id = root[id]
        return id

    for image, other, how in zip(*(rows[name].to_pylist() for name in ("image", "other", "how")), strict=True):
        joins = how in ("straight", "curved")
        first, second = find(image), find(other)
        extra += joins and first == second
        root[max(first, second) if joins else first] = min(first, second) if joins else first
    return extra


@pytest.mark.parametrize("right", [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
def test_two_right_images_among_wrong_ones_are_tried_wherever_they_stand(right):
    """A half-plane: all that lies in it is one piece, and the segment between two images shows it."""

    class HalfPlane(nn.Module):
        def forward(self, images):
            across = 20 * (images.flatten(1)[:, 0] - 0.5)
            return torch.stack((-across, across), 1)

    points = np.array([[0.9 if place in right else 0.1, 0.2 * place] for place in range(4)])
    rows, members, _, _ = connected(HalfPlane(), points, np.ones(4, dtype=int))
    assert rows["how"].to_pylist() == ["straight"]
    assert len(set(members["component"].to_pylist()) - {-1}) == 1
