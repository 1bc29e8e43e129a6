"""Names become folders that stay apart."""

import pytest
from engine_runs import run
from small_store import results

from brittle.engine.store.folder_names import refuse_same_folders, safe_name
from brittle.errors import BrittleError


def test_names_become_file_names_that_stay_apart():
    names = [
        "affine",
        "affine:alpha=50",
        "affine:alpha=5.0",
        "../up",
        "a/b",
        "a:b",
        "",
        ".",
        "..",
        "x" * 300,
        "x" * 301,
    ]
    safe = [safe_name(name) for name in names]
    assert len(set(safe)) == len(names)
    assert safe[0] == "affine"
    assert not any("=" in name for name in safe)  # pandas takes such a folder for a column
    assert all(name and len(name) < 100 and "/" not in name and name not in (".", "..") for name in safe)


def test_classifiers_whose_names_look_alike_keep_their_rows_apart(things, own):
    specs = things.study("first", "second")["classifiers"]
    study = things.study(classifiers={"a/b": specs["first"], "a:b": specs["second"]})
    together = results(study, things.out)
    for name, spec in study["classifiers"].items():
        alone = results(things.study(classifiers={name: spec}), None)
        assert [own(row) for row in together if row["classifier"] == name] == list(map(own, alone))


SAME = {
    "a hash": ("a/b", safe_name("a/b")),
    "case": ("ResNet", "resnet"),
    "case of what is hashed": ("a/b", safe_name("a/b").upper()),
}


@pytest.mark.parametrize(("first", "second"), SAME.values(), ids=SAME)
@pytest.mark.parametrize("sort", ["classifiers", "images", "nuisances", "measures"])
def test_names_that_would_share_a_folder_are_refused(things, first, second, sort):
    study = things.study()
    entry = next(iter(entries_of(study)[sort].values()))
    changed = {sort: {first: entry, second: entry}}
    if sort == "measures":
        del study["robustness"]
    with pytest.raises(BrittleError, match="would share a folder on some disks") as refusal:
        run(study | changed, out=things.out)
    assert "\n" not in str(refusal.value)
    assert not (things.out / "units").exists()
    refuse_same_folders([first, "other"], sort)


def entries_of(study):
    return {
        "classifiers": study["classifiers"],
        "images": study["images"],
        "nuisances": dict(zip(study["nuisances"], study["nuisances"], strict=True)),
        "measures": {"robustness": {"kind": "robustness", "samples": 2}},
    }
