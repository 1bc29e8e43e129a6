"""Options that hold names: a misspelt one is refused before work begins, with what was probably meant."""

import typing

import pytest

import brittle
from brittle.engine.execute.worker import Worker
from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.registry import options_of
from brittle.registry.options import hint_of

CLASSIFIERS = {
    name: {"spec": "bundled:plain", "size": place, "group": f"group {name}"} for place, name in enumerate("vwxyz")
}
STUDY = {
    "classifiers": CLASSIFIERS,
    "images": {"some": {"spec": "sample", "count": 8}},
    "nuisances": {"turned": "rotation"},
}
RIGHT = {  # that a wrong value of another option is to be found at all
    "before-after": {"before": "v", "after": "w"},
    "augmentation": {"of": ["mixup"]},
}
# By measure and option: a misspelt value, and what the refusal says.
WRONG = {
    ("augmentation", "of"): (["mixp"], "no augmentation 'mixp'.* Did you mean 'mixup'"),
    ("augmentation", "reference"): ("group u", "'group u', the reference. Did you mean 'group"),
    ("before-after", "before"): ("vv", "no classifier 'vv'.* Did you mean 'v'"),
    ("before-after", "after"): ("ww", "no classifier 'ww'.* Did you mean 'w'"),
    ("corruption-error", "reference"): ("vv", "the reference 'vv' is not .* Did you mean 'v'"),
    ("cue-conflict", "decisions"): (["lost.csv"], "there is no file lost.csv"),
    ("error-consistency", "decisions"): (["lost.csv"], "there is no file lost.csv"),
    ("layer-changes", "layers"): (["inpt"], "has no layer 'inpt'. Did you mean 'input'"),
    ("layer-noise", "layers"): (["wieghts"], "has no layer 'wieghts'. Did you mean 'weights'"),
    ("line", "id"): ("sme", "no image set 'sme'.* Did you mean 'some'"),
    ("line", "baseline"): (["group t", "v"], "names 'group t'.* Did you mean 'group"),
    ("line", "covariates"): (["sise"], "attribute 'sise' as a number. Did you mean 'size'"),
    ("line", "family"): ("sise", "attribute 'sise', the family. Did you mean 'size'"),
    ("perturbation", "targets"): (["Bga"], "called 'Bga' to change images to. Did you mean 'Bag'"),
    ("weak-points", "sampler"): ("metropolitan", "'metropolitan'.* Did you mean 'metropolis'"),
}


def holds_names(hint):
    """Whether a value may be any text, alone or in a list."""
    return hint is str or any(holds_names(inner) for inner in typing.get_args(hint) if not isinstance(inner, str))


GENERATING = {"generate", "train-sliders", "train-tokens"}  # tests/generation tries their names, of files and classes


def named():
    own = {name: kind for name, kind in measures.loaded().items() if kind.__module__.startswith("brittle.")}
    kinds = {name: kind for name, kind in own.items() if name not in GENERATING}
    return {
        (name, key)
        for name, kind in kinds.items()
        for key, field in options_of(kind).items()
        if holds_names(hint_of(kind, field))
    }


def test_every_option_that_holds_names_is_tried():
    assert named() == WRONG.keys()


@pytest.mark.parametrize(("measure", "option"), WRONG)
def test_a_misspelt_name_is_refused_before_work_begins(measure, option, monkeypatch):
    monkeypatch.setattr(Worker, "compute", lambda *_: pytest.fail("work has begun"))
    value, said = WRONG[measure, option]
    with pytest.raises(BrittleError, match=said):
        brittle.run(STUDY | {measure: RIGHT.get(measure, {}) | {option: value}}, out=None)


def test_decisions_about_other_images_are_refused_before_work_begins(tmp_path, monkeypatch):
    monkeypatch.setattr(Worker, "compute", lambda *_: pytest.fail("work has begun"))
    file = tmp_path / "people.csv"
    file.write_text("subj,object_response,imagename\nsubject-01,cat,cat1-dog1.png\n")
    with pytest.raises(BrittleError, match="none of the 1 images that subject-01 decided about"):
        brittle.run(STUDY | {"error-consistency": {"decisions": [str(file)]}}, out=None)
