"""Whether a received study is said to run code is what the kinds that it names say of themselves."""

import pytest

from brittle.classifiers import classifiers
from brittle.engine.check.study_code import code_run_by
from brittle.images import image_sets
from brittle.measures import measures
from brittle.mixing import mixes
from brittle.nuisances import nuisances
from brittle.samplers import samplers


def study(classifier="bundled:plain", images="sample", nuisance="affine", **measure):
    """As a run folder keeps it."""
    return {
        "seed": 0,
        "classifiers": {"c": {"spec": classifier}},
        "images": {"i": {"spec": images}},
        "nuisances": {"n": nuisance},
        "measures": {"m": {"kind": "robustness"} | measure},
    }


RUN = {
    "a torch module": study("torch:mine:make"),
    "a torch module whose options end like data": study("torch:mine:make,weights=a.skops"),
    "a function": study("python:mine.py:scores"),
    "an estimator": study("sklearn:mine:make"),
    "an estimator whose options end like data": study("sklearn:mine:make,labels=a.skops"),
    "a kind in spaces": study(" torch : mine:make"),
    "a nuisance of a file": study(nuisance="mine.py:Dim"),
    "a nuisance of a module": study(nuisance="my.module:Dim,sigma=3"),
    "a nuisance beside another": study(nuisance="affine + mine.py:Dim"),
    "a measure of a file": study(kind="mine.py:Count"),
    "a sampler of a file": study(kind="weak-points", sampler="mine.py:Walk"),
    "an augmentation of a file": study(kind="augmentation", of=["mixup", "mine.py:Dim"]),
    "an augmentation beside another": study(kind="augmentation", of=["affine+mine.py:Dim"]),
}


@pytest.mark.parametrize("what", RUN)
def test_what_names_code_is_told_and_not_run(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("open('ran', 'w')\n")
    assert len(code_run_by(RUN[what])) == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "entry",
    [
        study(),
        study("sklearn:a.skops"),
        study("onnx:a.onnx"),
        study("a.onnx"),
        study("timm:resnet18"),
        study("hf:google/vit"),
        study("live:net", "live:images", "live:thing#1"),
        study("nosuch:thing", "nosuch:thing", "nosuch:thing", kind="nosuch"),
        study(images="imagenet-c:folder,clean=folder:val\\,size=256"),
        study(nuisance="occlusion:texture=folder:x+affine:alpha=9"),
        study(kind="weak-points", sampler="crank-nicolson:step=0.3"),
        study(kind="augmentation", of=["mixup", "affine"]),
    ],
)
def test_what_names_data_alone_is_not(entry):
    assert code_run_by(entry) == []


def test_of_brittle_s_own_kinds_those_that_call_what_a_spec_names_say_so():
    said = {name for name, kind in classifiers.loaded().items() if hasattr(kind, "runs_code")}
    assert said == {"torch", "python", "sklearn"}
    said = {name for name, kind in measures.loaded().items() if hasattr(kind, "runs_code")}
    assert said == {"weak-points", "augmentation"}


KINDS = """
from dataclasses import dataclass
from brittle.registry import option
from brittle.images.variants import Subsample
from brittle.classifiers.torch_module import TorchLoader

@dataclass(frozen=True)
class Silent:
    of: str = option("", "anything", positional=True)

@dataclass(frozen=True)
class Data(Silent):
    runs_code = False

@dataclass(frozen=True)
class Code(Silent):
    runs_code = True

@dataclass(frozen=True)
class Either(Silent):
    @property
    def runs_code(self):
        return self.of.endswith(".py")

@dataclass(frozen=True)
class Odd(Silent):
    @property
    def runs_code(self):
        raise RuntimeError("odd")

@dataclass(frozen=True)
class Inner(Subsample):
    pass

@dataclass(frozen=True, kw_only=True)
class Torch(TorchLoader):
    pass
"""
SAID = {
    "their-silent": True,
    "their-data": False,
    "their-code": True,
    "their-either:a.py": True,
    "their-either:a.txt": False,
    "their-odd": True,
    "their-data:of=x,nosuch=3": False,
}


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A package of somebody else's with every sort of kind; what is registered from it is forgotten afterwards."""
    registries = (classifiers, image_sets, nuisances, samplers, measures, mixes)
    for registry in registries:
        registry.names()
        monkeypatch.setattr(registry, "_kinds", dict(registry.loaded()))
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (tmp_path / "theirs.py").write_text(KINDS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    names = ("Silent", "Data", "Code", "Either", "Odd", "Inner", "Torch")
    points = "".join(f"their-{name.lower()} = theirs:{name}\n" for name in names)
    (info / "entry_points.txt").write_text("".join(f"[{each.group}]\n{points}" for each in registries))
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("spec", SAID)
def test_other_packages_kinds_say_for_themselves_and_are_told_of_where_they_don_t(theirs, spec):
    kind, _, of = spec.partition(":")
    studies = [
        study(classifier=spec),
        study(images=spec),
        study(images=f"subsample:{spec}".replace(",", "\\,")),
        study(nuisance=spec),
        study(nuisance=f"affine+{spec}"),
        study(nuisance=f"occlusion:texture={spec}".replace(",", "\\,")),
        study(kind="weak-points", sampler=spec),
        study(kind="augmentation", of=["mixup", spec]),
    ]
    if "," not in spec:
        studies.append(study(kind=kind, of=of))
    assert [bool(code_run_by(each)) for each in studies] == [SAID[spec]] * len(studies)


def test_what_a_kind_of_theirs_inherits_counts(theirs):
    assert code_run_by(study("their-torch:mine:make"))
    assert code_run_by(study(images="their-inner:sample"))
