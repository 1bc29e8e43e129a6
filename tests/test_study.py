"""Study files: lists or tables, subsets, and one line for everything that is wrong with one."""

import pytest
from engine_runs import run

from brittle.classifiers.bundled import FASHION_LABELS
from brittle.differences import differences
from brittle.engine.assemble import assemble
from brittle.engine.inputs import Inputs
from brittle.engine.open import open_inputs
from brittle.errors import BrittleError
from brittle.study import Study


def results(*arguments, **options):
    return run(*arguments, **options)["measures"]["robustness"]["results"]


GOOD = {"classifiers": ["bundled:plain"], "images": ["sample"], "nuisances": ["affine:alpha=50"]}


def test_lists_and_tables_say_the_same():
    tables = {
        "classifiers": {"bundled:plain": "bundled:plain"},
        "images": {"sample": {"spec": "sample"}},
        "nuisances": {"affine:alpha=50": "affine:alpha=50"},
    }
    words = {key: value[0] for key, value in GOOD.items()}
    listed = GOOD | {"images": [{"spec": "sample"}]}
    assert Study.of(GOOD) == Study.of(tables) == Study.of(words) == Study.of(listed)


def test_specs_in_lists_may_be_named():
    named = {
        "classifiers": ["mine=bundled:plain", {"spec": "other=bundled:augmented", "group": "g"}],
        "images": ["shirts=sample"],
        "nuisances": ["strong=affine:alpha=10", "affine:alpha=50"],
    }
    tables = {
        "classifiers": {"mine": "bundled:plain", "other": {"spec": "bundled:augmented", "group": "g"}},
        "images": {"shirts": "sample"},
        "nuisances": {"strong": "affine:alpha=10", "affine:alpha=50": "affine:alpha=50"},
    }
    assert Study.of(named) == Study.of(tables)
    with pytest.raises(BrittleError, match=r"'mine' stands in the list twice; give one of them a name: other=mine"):
        Study.of(GOOD | {"classifiers": ["mine=bundled:plain", "mine=bundled:augmented"]})


def test_the_resolved_study_is_a_study_with_the_same_meaning():
    study = Study.of(GOOD | {"robustness": {"worst-of": 3}, "title": "x", "seed": 3})
    assert Study.of(study.resolved()).resolved() == study.resolved()
    assert study.resolved()["measures"]["robustness"]["confidence"] == 0.95


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("classifiers = [", "is not TOML"),
        ("\xff", "is not TOML"),
        ("[x", "is not TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_told_with_the_place(tmp_path, text, words):
    file = tmp_path / "study.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(BrittleError, match=words) as error:
        open_inputs(file)
    assert str(file) in str(error.value)


WRONG = {
    "unknown key": ({"classifier": {}}, "unknown key 'classifier'. Did you mean 'classifiers'?"),
    "unknown key of images": (
        {"images": {"s": {"spec": "sample", "cuont": 3}}},
        "'images.s.cuont'. Did you mean 'count'?",
    ),
    "missing spec": ({"images": {"s": {"count": 3}}}, "'images.s.spec' is missing"),
    "unknown option": ({"robustness": {"sample": 3}}, "no option 'sample'. Did you mean 'samples'?"),
    "seed": ({"seed": "three"}, "seed: Input should be a valid integer"),
    "classifiers": ({"classifiers": 3}, "classifiers: Input should be a valid dictionary"),
    "a classifier": ({"classifiers": {"a": 3}}, "classifiers.a: Input should be a valid dictionary"),
    "a classifier's group": ({"classifiers": {"a": {"spec": "x", "group": 3}}}, "classifiers.a.group: Input should be"),
    "an entry": ({"classifiers": ["bundled:plain", 3]}, "classifiers: every entry of the list must be a spec"),
    "an images entry": ({"images": [3]}, "images: every entry of the list must be a spec"),
    "a nameless entry": ({"images": [{"count": 3}]}, "images: every entry of the list must be a spec"),
    "none": ({"classifiers": []}, "classifiers: at least one is needed"),
    "twice": ({"nuisances": ["affine", "affine"]}, "'affine' stands in the list twice"),
    "count": (
        {"images": {"s": {"spec": "sample", "count": 0}}},
        "images.s.count: Input should be greater than or equal to 1",
    ),
    "ids": ({"images": {"s": {"spec": "sample", "ids": ["a"]}}}, "images.s.ids.0: Input should be a valid integer"),
    "samples": ({"robustness": {"samples": "many"}}, "robustness: samples is 'many', but must be a whole number"),
    "no samples": ({"robustness": {"samples": 0}}, "samples is 0"),
    "estimand": ({"robustness": {"estimand": "all"}}, "estimand is 'all', but must be population, set or drawn"),
    "extra": ({"robustness": {"extra": ["brier"]}}, "extra is ['brier'], but each must be nll, ece or top5"),
}


@pytest.mark.parametrize(("change", "words"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_study_is_told_in_one_line(change, words):
    with pytest.raises(BrittleError) as error:
        Study.of(GOOD | change)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_status == 2


@pytest.mark.parametrize("key", ["classifiers", "images"])
def test_what_a_study_cannot_do_without_is_asked_for(key):
    with pytest.raises(BrittleError, match=f"'{key}' is missing"):
        Study.of({name: value for name, value in GOOD.items() if name != key})


@pytest.mark.warned("all are taken")
@pytest.mark.parametrize(
    ("entry", "count", "classes"),
    [
        ({"where": ["class=Bag/Coat"], "count": 30}, 30, {"Bag", "Coat"}),
        ({"where": ["label=8"]}, 100, {"Bag"}),
        ({"ids": [0, 1, 2]}, 3, {"Ankle boot", "Pullover", "Trouser"}),
        ({"count": 5000}, 1000, set(FASHION_LABELS)),
    ],
)
def test_subsets_hold_what_was_asked_for(entry, count, classes):
    study = GOOD | {"images": {"some": {"spec": "sample"} | entry}, "robustness": {"samples": 1}}
    found = results(study, None)[0]
    assert found["images"] == count
    assert {row["class"] for row in found["classes"]} == classes


def test_the_same_seed_chooses_the_same_images_and_another_one_others():
    def ids(seed):
        study = Study.of(GOOD | {"seed": seed, "images": {"some": {"spec": "sample", "count": 30}}})
        return assemble(Inputs(study)).images["some"].images.ids.tolist()

    assert ids(1) == ids(1)
    assert set(ids(1)) != set(ids(2))


def test_one_set_may_appear_under_two_names_with_two_subsets():
    entries = {name: {"spec": "sample", "where": [f"class={name}"]} for name in ("Bag", "Coat")}
    found = results(GOOD | {"images": entries, "robustness": {"samples": 1}}, None)
    assert [(row["image_set"], row["classes"][0]["class"]) for row in found] == [("Bag", "Bag"), ("Coat", "Coat")]


def test_differences_name_what_changed_from_what_to_what():
    old = {"seed": 0, "robustness": {"samples": 5}, "classifiers": {"a": "x"}}
    new = {"seed": 1, "robustness": {"samples": 5, "tolerance": 0.1}, "classifiers": {}}
    assert differences(old, new) == [
        "classifiers.a: 'x' → nothing",
        "robustness.tolerance: nothing → 0.1",
        "seed: 0 → 1",
    ]
    assert differences(old, old) == []


@pytest.mark.parametrize("value", [[None], {"deep": [1, {"er": None}]}])
def test_an_attribute_that_no_study_file_can_hold_is_refused(value):
    study = {"classifiers": {"a": {"spec": "bundled:plain", "width": value}}, "images": ["sample"]}
    with pytest.raises(BrittleError, match="the attribute 'width' holds None") as refused:
        Study.of(study)
    assert len(str(refused.value).splitlines()) == 1
