"""The numbers of papers/marcu2022/README.md, worked out again from its data by other means than its page.py."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

pd = pytest.importorskip("pandas")

HERE = Path(__file__).parents[2] / "papers" / "marcu2022"
MODELS = ("basic", "mixup", "fmix", "cutmix")


@cache
def page() -> str:
    return " ".join((HERE / "README.md").read_text(encoding="utf-8").split())


@cache
def read(name: str) -> Any:
    return pq.read_table(HERE / f"{name}.parquet").to_pandas()


def index(rows: Any) -> float:
    """Equation of section 2 over the runs of some rows: mean share of the top class times its mean increase."""
    changes = np.concatenate([np.stack(each).T for each in rows.increases]) / 100  # (runs, K)
    c = changes.shape[1] * np.maximum(changes, 0)
    top = c.mean(0).argmax()
    return float((c[:, top] / c.sum(1)).mean() * c[:, top].mean())


def indices(part: str, nuisance: str, models: tuple[str, ...] = MODELS) -> list[str]:
    rows = read(f"{part}-interference")
    rows = rows[rows.nuisance == nuisance]
    of = rows.group.str.replace(r"-recipe-\d+$", "", regex=True)
    return [f"{index(rows[of == model]):.2f}" for model in models]


def test_the_index_is_what_the_page_says_after_15_epochs_and_by_the_paper_s_recipe() -> None:
    basic, mixup, fmix, cutmix = indices("recipe", "shuffle-2")
    assert f"{basic}, {mixup}, {fmix} and {cutmix} over two runs each" in page()
    for nuisance, words in (
        ("patch-mnist", "{} against 3.40, 3.06, 1.81, 2.61"),
        ("fourier", "Here as there CutMix is highest and FMix lowest: {} ("),
        ("patch-inside", "**Yes**: {} against 1.32, 2.23, 1.14, 1.36"),
    ):
        assert words.format(", ".join(indices("main", nuisance))) in page()
    assert f"they are smaller: {', '.join(indices('recipe', 'patch-mnist'))}." in page()
    assert f"by the paper's recipe {', '.join(indices('recipe', 'fourier'))} over two runs" in page()
    inside, across = (", ".join(indices("recipe", name)) for name in ("patch-inside", "patch"))
    assert f"by the paper's recipe {inside} against {across} over two runs" in page()
    basic, mixup, fmix, cutmix = indices("recipe", "patch")
    assert f"there is one: {basic} (basic), {mixup} (MixUp), {fmix} (FMix), {cutmix} (CutMix)" in page()
    masked = indices("recipe", "fourier-mnist", ("basic", "fmix"))
    assert f"**By the paper's recipe yes**: {masked[0]} against {masked[1]} over two runs" in page()
    basic, fmix, cutmix = indices("recipe", "noise", ("basic", "fmix", "cutmix"))
    assert f"basic {basic}, FMix {fmix}, CutMix {cutmix} over two runs" in page()


def test_finer_grids_have_the_indices_of_the_page() -> None:
    basic = [indices("main", f"shuffle-{grid}", ("basic",))[0] for grid in (2, 4, 7, 14)]
    assert f"{', '.join(basic[:3])} and then {basic[3]} (14×14, basic)" in page()
    later = [indices("recipe", f"shuffle-{grid}", ("basic",))[0] for grid in (2, 4, 7, 14)]
    assert f"({', '.join(later)} over two runs)" in page()
    at_4, at_7 = (indices("main", f"shuffle-{grid}", ("mixup", "fmix")) for grid in (4, 7))
    assert f"at 4×4 (MixUp {at_4[0]}, FMix {at_4[1]}) and narrower at 7×7 ({at_7[0]} and {at_7[1]})" in page()


def test_the_classes_that_shuffled_images_are_taken_for_are_those_of_the_page() -> None:
    rows = read("recipe-interference")
    of = rows[rows.nuisance == "shuffle-2"].set_index("group").top_class
    for model in ("basic", "mixup", "rm"):
        assert {of[f"{model}-recipe-{run}"] for run in (0, 1)} == {"Bag", "Sandal"}
    for model in ("fmix", "cutmix"):
        assert {of[f"{model}-recipe-{run}"] for run in (0, 1)} == {"Sandal"}
    rows = read("main-interference")
    rows = rows[rows.nuisance.str.startswith("shuffle-")]
    parted = rows[rows.top_class != "Sandal"]
    assert parted[["group", "nuisance", "top_class", "agreeing_runs"]].to_numpy().tolist() == [
        ["basic", "shuffle-14", "Bag", 3]
    ]


@pytest.mark.parametrize(("part", "words"), [("main", "Test accuracies are {}"), ("long", "{}, with gaps of")])
def test_test_accuracies_are_those_of_the_trainings(part: str, words: str) -> None:
    nets = read(f"{part}-networks")
    of = nets.groupby(nets.group.str.replace("-long", "")).test_error.mean()
    basic, *others = (f"{100 * (1 - of[name]):.1f}" for name in (*MODELS, "rm"))
    names = ("MixUp", "FMix", "CutMix", "RM")
    told = ", ".join([f"{basic} % (basic)", *(f"{value} ({name})" for value, name in zip(others, names, strict=True))])
    told = " and ".join(told.rsplit(", ", 1)) if part == "main" else told
    assert words.format(told) in page()


def occluded(part: str, **which: Any) -> Any:
    rows = read(f"{part}-occlusion")
    for key, value in which.items():
        rows = rows[rows[key] == value]
    return rows


def test_table_5_after_45_epochs_is_what_was_measured() -> None:
    rows = occluded("long", sort="group", share=0.3).set_index(["nuisance", "name"])
    order = ("basic", "mixup", "rm", "fmix", "cutmix")
    cut = [f"{100 * rows.accuracy['rectangle-mnist', f'{name}-long']:.1f}" for name in order]
    assert "CutOcclusion {} basic, {} MixUp, {} RM, {} FMix, {} CutMix".format(*cut) in page()
    for mask in ("cam-mnist", "rectangle-mnist"):
        ratios = [f"{rows.iocclusion[mask, f'{name}-long']:.2f}" for name in order]
        assert ", ".join(ratios) in page()
        ends = [rows.iocclusion_interval[mask, f"{name}-long"] for name in order]
        assert max(low for low, _ in ends) < min(high for _, high in ends)  # all overlap


def test_iocclusion_under_two_fillings_is_what_was_measured() -> None:
    rows = occluded("long", sort="group", share=0.5).set_index(["nuisance", "name"])
    for name, words in (
        ("cutmix", "CutMix has {} (black) and {} (MNIST) where CutOcclusion has {} and {} %"),
        ("fmix", "FMix {} and {} where it has {} and {} %"),
    ):
        keys = [(mask, f"{name}-long") for mask in ("rectangle", "rectangle-mnist")]
        ratios = [f"{rows.iocclusion[key]:.2f}" for key in keys]
        assert words.format(*ratios, *(f"{100 * rows.accuracy[key]:.1f}" for key in keys)) in page()
    ends = [rows.iocclusion_interval[mask, "cutmix-long"] for mask in ("rectangle", "rectangle-mnist")]
    told = " and ".join(f"[{low:.2f}, {high:.2f}]" for low, high in ends).replace("-", "−")
    assert f"they are wide: {told} for CutMix" in page()


def test_iocclusion_by_the_paper_s_recipe_puts_basic_alone() -> None:
    rows = occluded("recipe", sort="classifier", share=0.3, image_set="test")
    for mask, words in (
        ("cam-mnist", "between {} and {} for the other eight"),
        ("rectangle-mnist", "between {} and {}."),
    ):
        own = rows[rows.nuisance == mask]
        basic = own.name.str.startswith("basic")
        assert len(own[~basic]) == 8
        assert own[basic].iocclusion.max() < own[~basic].iocclusion.min()
        low, high = (f"{value:.2f}" for value in (own[~basic].iocclusion.min(), own[~basic].iocclusion.max()))
        assert words.format(low, high) in page()


def test_random_labels_are_learnt_to_different_degrees() -> None:
    rows = occluded("random", sort="classifier", share=0.5)
    model = rows.name.str.rpartition("-")[0]
    assert f"basic reaches {100 * rows[model == 'basic-random'].train_accuracy_clean.mean():.2f} %" in page()
    assert f"FMix {100 * rows[model == 'fmix-random'].train_accuracy_clean.mean():.1f} %)" in page()
    for mask, words in (("cam", "{} (basic) against {} (FMix)"), ("rectangle", "under rectangles {} against {};")):
        own = [
            100 * rows[(model == f"{name}-random") & (rows.nuisance == mask)].iocclusion for name in ("basic", "fmix")
        ]
        assert words.format(*(f"{each.mean():.1f} ± {each.std():.1f}" for each in own)) in page()


def test_affinity_and_diversity_are_those_of_both_trainings() -> None:
    told = []
    for part in ("long", "recipe"):
        affinity = read(f"{part}-affinity").groupby("augmentation").affinity
        nets = read(f"{part}-networks").groupby("group")
        fmix, mixup = (f"−{-affinity.mean()[name]:.1f} ± {affinity.std()[name]:.1f}" for name in ("fmix", "mixup"))
        plain, mixed = (
            [f"{nets[column].mean()[f'{name}-{part}']:.2f}" for name in ("fmix", "mixup")]
            for column in ("diversity", "mix_diversity")
        )
        told.append((fmix, mixup, plain, mixed))
    (fmix, mixup, plain, mixed), (later, later_mixup, later_plain, later_mixed) = told
    assert f"affinity {fmix} against {mixup} points" in page()
    assert f"diversity {plain[0]} against {plain[1]} (0.34" in page()
    assert f"MixDiversity {mixed[0]} against {mixed[1]} (0.65" in page()
    assert (
        f"it is the same: {later} against {later_mixup}, {later_plain[0]} against {later_plain[1]}, {later_mixed[0]} "
        f"against {later_mixed[1]}."
    ) in page()


def test_mixing_with_another_set_has_the_accuracies_of_its_runs() -> None:
    nets = read("across-networks").groupby("group").test_error
    at = {name: f"{100 * (1 - nets.mean()[name]):.1f} ± {100 * nets.std()[name]:.1f}" for name in nets.groups}
    first, spread = at["mixup-mnist"].split(" ± ")
    assert f"{first} ± {spread} % with MNIST against {at['mixup-own']} with FashionMNIST" in page()
    assert f"CutMix ({at['cutmix-mnist']} against {at['cutmix-own']})" in page()
    assert f"FMix ({at['fmix-mnist']} against {at['fmix-own']})" in page()


def test_bagnets_have_not_converged() -> None:
    nets = read("architectures-networks").groupby("group").test_error.mean()
    low, high = (100 * (1 - nets[name]) for name in ("bagnet-9", "bagnet-17"))
    assert f"({low:.0f} to {high:.0f} %)" in page()


def test_easy_and_hard_images_keep_the_shares_of_the_page() -> None:
    rows = occluded("main", sort="group", run="typical", nuisance="rectangle").set_index(["name", "image_set", "share"])
    for share, words in (
        (0.1, "{} and {} at 10 % hidden"),
        (0.3, "{} and {} at 30 %"),
        (0.5, "{} and {} at 50 %; of FMix"),
    ):
        assert words.format(*(f"{rows.relative['basic', kind, share]:.2f}" for kind in ("typical", "tail"))) in page()
    assert (
        f"of FMix {rows.relative['fmix', 'typical', 0.5]:.2f} and {rows.relative['fmix', 'tail', 0.5]:.2f} at 50 %"
        in page()
    )


def spec(name: str) -> Any:
    """What the folder's paper.py transcribes."""
    found: dict[str, Any] = {}
    exec((HERE / "paper.py").read_text(encoding="utf-8"), found)
    return found[name]


def test_the_worst_case_stands_beside_the_paper_s() -> None:
    rows = read("main-interference")
    own = rows[rows.nuisance == "shuffle-2"].set_index("group").worst_case
    printed = spec("WORST")["shuffle-2"]
    here, there = (
        ", ".join(f"{value:.2f}" for value in each)
        for each in (own[list(MODELS)], [printed[name][0] for name in MODELS])
    )
    assert f"**Yes**: {here} (basic, MixUp, FMix, CutMix) against {there}." in page()


def test_the_paper_s_indices_are_those_that_were_transcribed() -> None:
    first = spec("DI")["shuffle-2"]
    assert f"(paper {first['basic'][0]:.2f})" in page()
    for name in ("mixup", "fmix", "cutmix"):
        assert f"({first[name][0]:.2f})" in page()
    printed = spec("TABLE5")
    order = ("basic", "mixup", "rm", "fmix", "cutmix")
    assert f"(paper {', '.join(f'{printed[name][2]:.2f}' for name in order)})" in page()


def test_cutocclusion_by_the_paper_s_recipe_is_what_was_measured() -> None:
    rows = occluded("recipe", sort="classifier", share=0.3, image_set="test", nuisance="rectangle-mnist")
    at = rows.set_index("name").accuracy
    pairs = [
        [f"{100 * at[f'{name}-recipe-{run}']:.1f}" for run in (0, 1)]
        for name in ("basic", "mixup", "rm", "fmix", "cutmix")
    ]
    assert ", ".join(" and ".join(pair) for pair in pairs) in page()
    basic = occluded("recipe", sort="classifier", share=0.3, image_set="test").set_index(["nuisance", "name"])
    for run in (0, 1):
        key = ("cam-mnist", f"basic-recipe-{run}")
        low, high = basic.iocclusion_interval[key]
        assert f"{basic.iocclusion[key]:.2f} [{low:.2f}, {high:.2f}]".replace("-", "−") in page()
    first, second = (basic.iocclusion["rectangle-mnist", f"basic-recipe-{run}"] for run in (0, 1))
    assert f"with rectangles {first:.2f} and {second:.2f}, and" in page()


def test_test_accuracies_by_the_paper_s_recipe_are_those_of_its_runs() -> None:
    nets = read("recipe-networks")
    of = 100 * (1 - nets.groupby("group").test_error.mean())
    assert len(nets) == 10
    for name, told in zip((*MODELS, "rm"), ("95.2", "95.7", "95.6", "95.7", "95.5"), strict=True):
        assert abs(of[f"{name}-recipe"] - float(told)) <= 0.0501
    assert "95.2, 95.7, 95.6, 95.7 and 95.5 %" in page()


def test_small_objects_are_told_as_they_were_measured() -> None:
    rows = occluded("small", sort="group").set_index(["nuisance", "name"])
    cam = [("cam", f"{name}-small") for name in ("basic", "fmix", "cutmix")]
    told = [f"{100 * rows.accuracy[key]:.1f} ± {100 * rows.accuracy_spread[key]:.1f}" for key in cam]
    assert "{} (basic), {} (FMix), {} (CutMix);".format(*told) in page()
    rectangles = [f"{100 * rows.accuracy['rectangle', name]:.1f}" for _, name in cam]
    assert f"with rectangles {', '.join(rectangles)}." in page()


def test_errors_go_elsewhere_without_the_dominant_class() -> None:
    rows = read("reduced-interference")
    rows = rows[rows.nuisance == "patch-mnist"].set_index("group")
    assert set(rows.top_class[["basic-without", "mixup-without", "cutmix-without"]]) == {"Bag"}
    here = [f"{index(rows.loc[[f'{name}-without']]):.2f}" for name in ("basic", "mixup", "cutmix")]
    before = indices("main", "patch-mnist", ("basic", "mixup", "cutmix"))
    assert "patched with MNIST {}, {} and {}, against {}, {} and {} before".format(*here, *before) in page()
    fmix = index(rows.loc[["fmix-without"]])
    assert f"FMix's spread ({fmix:.2f}, {rows.top_class['fmix-without']})" in page()


def test_other_architectures_have_the_indices_of_the_page() -> None:
    rows = read("architectures-interference")

    def at(group: str, nuisance: str) -> str:
        return f"{index(rows[(rows.group == group) & (rows.nuisance == nuisance)]):.2f}"

    nets = [at(name, "shuffle-2") for name in ("bagnet-9", "vgg", "bagnet-17")]
    resnet = indices("main", "shuffle-2", ("basic",))[0]
    assert "BagNet-9 {}, PreAct-ResNet-18 {}, VGG {}, BagNet-17 {}.".format(nets[0], resnet, *nets[1:]) in page()
    assert f"MixUp makes VGG worse ({at('vgg-mixup', 'shuffle-2')})" in page()
    assert f"here {at('vgg', 'patch')} to {at('vgg-mixup', 'patch')})" in page()


def test_accuracy_on_shuffled_patches_is_that_of_the_networks() -> None:
    rows = read("main-accuracy")
    rows = rows[rows.nuisance == "shuffle-2"]
    of = 100 * rows.groupby(rows.classifier.str.rpartition("-")[0]).accuracy_nuisance.mean()
    assert "{:.1f} % (basic), {:.1f} (MixUp), {:.1f} (FMix) and {:.1f} (CutMix)".format(*of[list(MODELS)]) in page()


def test_efficientnet_lite_answers_with_shape_and_texture_as_often_as_the_page_says() -> None:
    rows = read("cue-conflict")
    shape, texture, bias = [], [], []
    for _, own in rows.groupby("subj"):
        by_shape = own.object_response == own.category
        other = own.imagename.str.extract(r"-([a-z]+)\d*\.")[0] == own.object_response
        told = own.imagename.str.extract(r"-([a-z]+)\d*\.")[0] != own.category
        shape.append(f"{100 * by_shape.mean():.1f}")
        texture.append(f"{100 * other.mean():.1f}")
        bias.append(f"{100 * by_shape[told].sum() / (by_shape[told].sum() + other[told].sum()):.1f}")
    assert len(rows) == 3 * 1280
    assert (
        f"by shape {', '.join(shape)} % of 1,280, by texture {', '.join(texture)} %, shape bias {', '.join(bias)} %"
        in page()
    )
