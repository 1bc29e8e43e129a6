"""What papers/marcu2022 trains and makes besides the package's own: sizes of networks, stimuli, runs put together."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import brittle

HERE = Path(__file__).parents[2] / "papers" / "marcu2022"
MODULES = tuple(file.stem for file in HERE.glob("*.py"))


@pytest.fixture
def modules(monkeypatch):
    """The page's own modules, whose names other pages use too."""
    monkeypatch.syspath_prepend(str(HERE))
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    yield importlib.import_module
    for name, module in before.items():
        sys.modules.pop(name, None)
        sys.modules.update({name: module} if module else {})


def test_architectures_have_the_sizes_that_their_papers_print(modules):
    """Zagoruyko & Komodakis (2016) print 36.5 M, Huang et al. (2017) 25.6 M, Han et al. (2017) 28.3 M, for CIFAR-10."""
    deep = modules("deep")
    for name, millions in zip(deep.NAMES, (36.5, 25.6, 28.3), strict=True):
        with torch.device("meta"):
            module = deep.MADE[name]()
            said = module(torch.zeros(2, 1, 28, 28))
        assert said.shape == (2, 10)
        assert sum(each.numel() for each in module.parameters()) / 1e6 == pytest.approx(millions, rel=0.01)


def test_a_stimulus_has_one_piece_s_silhouette_and_values_of_another_s_inside(modules):
    stimuli = modules("stimuli")
    whole = brittle.image_set("sample")
    batch = whole.batch(list(range(len(whole))))
    pieces = (batch.images[:, 0] * 255).round().byte().numpy()
    labels = batch.labels.numpy()
    chosen = stimuli.drawn(labels, 2)
    draw = np.random.default_rng(0)
    fields = [[stimuli.texture(pieces[place], draw) for place in each[2:]] for each in chosen]
    found = stimuli.crossed(pieces, chosen, fields)
    assert len(found["images"]) == 10 * 2 * 9
    assert not (found["shape"] == found["texture"]).any()
    for image, shape, texture in zip(found["images"], found["shape-image"], found["texture-image"], strict=True):
        (label, number), (other, lent) = (map(int, each.split("-")) for each in (shape, texture))
        within = stimuli.silhouette(pieces[chosen[label][number]])
        assert not image[~within].any()
        assert set(image[within].tolist()) <= set(pieces[chosen[other][2 + lent]].ravel().tolist())


def test_runs_measured_one_by_one_give_the_index_that_they_have_together(modules):
    gather, together = modules("gather"), modules("together")
    for row in gather.read(HERE, "main", "interference"):
        single = [
            row | {"group": f"{row['group']}-{run}", "increases": [[each[run]] for each in row["increases"]]}
            for run in range(row["runs"])
        ]
        found = together.joined(single, row["group"], row["nuisance"])
        assert found["di"] == pytest.approx(row["di"])
        assert (found["top"], found["agreeing"]) == (row["top_class"], row["agreeing_runs"])


def test_the_worst_case_that_is_kept_is_that_of_the_page(modules):
    gather, tables = modules("gather"), modules("tables")
    rows = [row for part in ("main", "architectures", "reduced") for row in gather.read(HERE, part, "interference")]
    assert rows
    for row in rows:
        assert tables.worst_case(row) == pytest.approx(row["worst_case"])


def test_gathered_tables_keep_the_rows_of_earlier_calls(modules, tmp_path):
    gather = modules("gather")
    for name, losses in (("basic-recipe-0", None), ("basic-recipe-1", [2.0, 1.0])):
        facts = {"name": name, "group": "basic-recipe", "losses": losses}
        gather.write("recipe", [facts], {}, {}, tmp_path)
    rows = gather.read(tmp_path, "recipe", "networks")
    assert [(row["name"], row["losses"]) for row in rows] == [("basic-recipe-0", None), ("basic-recipe-1", [2.0, 1.0])]


def test_memory_and_influence_are_differences_of_shares_with_and_without_an_image(modules):
    """Image 0 is right just where it was trained on, and decides test image 1; image 1 decides nothing."""
    memorisation = modules("memorisation")
    seen = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], bool)
    right_train = np.stack([seen[:, 0], np.ones(4, bool)], 1)
    right_test = np.stack([np.ones(4, bool), seen[:, 0], np.array([1, 0, 0, 0], bool)], 1)
    assert memorisation.memory(seen, right_train).tolist() == [1.0, 0.0]
    assert memorisation.influence(seen, right_test).tolist() == [[0.0, 1.0, 0.5], [0.0, 0.0, 0.5]]
