"""Names, specs and entry points: what is wrong is answered with what would have been right."""

from dataclasses import dataclass
from typing import Literal

import pytest

from brittle.classifiers import classifiers
from brittle.errors import BrittleError
from brittle.images import image_sets
from brittle.nuisances import nuisances
from brittle.registry import Registry, option, parse_spec

SHAKE = '''
"""A user's own nuisance: the image shifted by whole pixels to and fro."""
from dataclasses import dataclass
from typing import ClassVar

import torch

from brittle.nuisances.base.gaussian import GaussianNuisance
from brittle.registry import option


@dataclass(frozen=True)
class Shake(GaussianNuisance):
    """Shifts to the right by a whole number of pixels."""

    pixels: float = option(2.0, "standard deviation of the shift")
    parameters: ClassVar = ("shift",)

    def centre(self, batch):
        return torch.zeros(1, dtype=torch.float64)

    def deviations(self, batch):
        return torch.full((1,), self.pixels, dtype=torch.float64)

    def apply(self, batch, theta):
        moved = [image.roll(int(shift.round()), -1) for image, shift in zip(batch.images, theta[:, 0])]
        return torch.stack(moved)

    def describe(self, height, width):
        return f"shifts of {self.pixels:g} pixels"
'''


def install(folder, name, points, **modules):
    """A package as pip leaves it: modules, and a dist-info with entry points."""
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[brittle.nuisances]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()))


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder to install into; what is registered from it is forgotten afterwards."""
    nuisances.names()
    monkeypatch.setattr(nuisances, "_kinds", dict(nuisances._kinds))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_another_packages_nuisance_is_listed_and_measured(tmp_path, start, ended):
    install(tmp_path, "shaky", {"shake": "shaky:Shake", "broken": "shaky:Missing"}, shaky=SHAKE)
    listing = start("list", "nuisances", "--json", PYTHONPATH=str(tmp_path))
    arguments = ("measure", "bundled:plain", "sample", "--nuisance", "shake:pixels=3", "--images", 20, "--samples", 4)
    measured = ended(start(*arguments, "--json", PYTHONPATH=str(tmp_path)))
    kinds = {kind["name"]: kind for kind in ended(listing).json["nuisances"]}
    assert kinds["shake"]["options"]["pixels"]["help"] == "standard deviation of the shift"
    assert kinds["shake"]["parameters"] == ["shift"]
    assert measured.status == 0, measured
    assert measured.json["prior"] == "shifts of 3 pixels"
    assert 0 < measured.json["rho"] < 1


def test_a_broken_entry_point_breaks_nothing_but_itself(site, cli):
    install(site, "good", {"shake": "shaky_good:Shake"}, shaky_good=SHAKE)
    install(site, "bad", {"gone": "no_such_module:Gone", "odd": "bad_one:odd"}, bad_one="odd = 3\n")
    kinds = {kind["name"]: kind["about"] for kind in cli("list", "nuisances", "--json").json["nuisances"]}
    assert "can't be loaded" in kinds["gone"]
    assert "odd is no class" in kinds["odd"]
    assert kinds["shake"].startswith("Shifts to the right")
    assert kinds["affine"]
    with pytest.raises(BrittleError, match="nuisance 'gone' of the package 'bad' can't be loaded"):
        nuisances.build("gone")
    assert nuisances.build("shake:pixels=1").pixels == 1


def test_a_name_that_two_packages_claim_is_refused_and_the_others_work(site):
    install(site, "one", {"shake": "shaky_one:Shake"}, shaky_one=SHAKE)
    install(site, "two", {"shake": "shaky_two:Shake", "rattle": "shaky_two:Shake"}, shaky_two=SHAKE)
    install(site, "three", {"affine": "shaky_one:Shake"})
    for name in ("shake", "affine"):
        with pytest.raises(BrittleError, match=f"nuisance '{name}' is registered twice: by .* and by shaky_"):
            nuisances.get(name)
    assert nuisances.get("rattle").__module__ == "shaky_two"
    assert nuisances.get("rotation")
    assert {"shake", "rattle", "affine"} <= set(nuisances.names())


def test_a_class_that_an_entry_point_re_exports_is_one_class(site):
    install(
        site,
        "nested",
        {"shake": "front:Shake", "rattle": "front:Shake"},
        front="from hidden import Shake\n",
        hidden=SHAKE,
    )
    assert nuisances.get("shake") is nuisances.get("rattle") is nuisances.get("shake")
    assert "shake" in nuisances.names()


@dataclass(frozen=True)
class Thing:
    """Something."""

    path: str = option("", "a path", positional=True)
    size: int | None = option(None, "a size")
    ratio: float = option(0.5, "a ratio")
    mode: Literal["fast", "slow"] = option("fast", "a mode")
    dark: bool = option(False, "whether")
    mean: tuple[float, ...] = option((), "numbers")
    worst_of: int = option(10, "k")


@pytest.fixture
def registry():
    things = Registry("thing", "brittle.nuisances")
    things._loaded = True
    things.register("thing")(Thing)
    return things


def test_two_registrations_of_one_name_are_refused(registry):
    with pytest.raises(BrittleError, match=r"thing 'thing' is registered twice: by .* and by builtins"):
        registry.register("thing")(int)
    assert registry.get("thing") is Thing


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("thnig", "unknown thing 'thnig'. Did you mean 'thing'?"),
        ("thing:a,siez=3", "thing 'thing' has no option 'siez'. Did you mean 'size'?"),
        ("thing:a,mode=fsat", "'fsat' is not one of fast, slow. Did you mean 'fast'?"),
        ("thing:a,size=big", "option 'size': 'big' is not a whole number"),
        ("thing:a,ratio=1/2", "option 'ratio': '1/2' is not a number"),
        ("thing:a,dark=perhaps", "'perhaps' is not true or false"),
        ("thing:a,size", "'size' is not option=value"),
        ("thing:a,size=3,size=4", "option 'size' is given twice"),
        ("thing:a,path=b", "option 'path' is given twice"),
    ],
)
def test_a_wrong_spec_is_answered_with_what_would_have_been_right(registry, spec, words):
    with pytest.raises(BrittleError) as error:
        registry.build(spec)
    assert words in str(error.value)
    assert error.value.exit_status == 2


def test_a_kind_that_needs_something_says_so():
    for registry, kind in ((classifiers, "onnx"), (image_sets, "folder")):
        with pytest.raises(BrittleError, match=f"'{kind}' needs 'path'"):
            registry.build(kind)


@pytest.mark.parametrize(
    "thing",
    [
        Thing(),
        Thing("a,b/c=d.onnx"),
        Thing("x", size=3, ratio=1e-05, mode="slow", dark=True, mean=(0.5, 1.0, 2.25), worst_of=3),
        Thing("https://host:8000/model", ratio=2.0),
    ],
)
def test_a_spec_of_a_thing_builds_it_again(registry, thing):
    assert registry.build(registry.spec_of(thing)) == thing


@pytest.mark.parametrize("name", ["translation", "rotation", "scaling", "similarity", "affine"])
def test_a_nuisance_is_built_again_from_its_spec(name):
    kind = nuisances.get(name)
    assert nuisances.spec_of(kind()) == name
    changed = kind(fill="edge")
    assert nuisances.build(nuisances.spec_of(changed)) == changed


def test_a_comma_in_a_path_is_escaped(registry):
    assert registry.build(r"thing:my\,photos,size=3") == Thing("my,photos", size=3)
    assert parse_spec(r"folder:a\,b,size=3").parts == ("a,b", "size=3")
    assert registry.spec_of(Thing("my,photos")) == r"thing:my\,photos"


def test_spaces_underscores_and_none_are_taken_as_meant(registry):
    assert (
        registry.build("thing: a , worst_of=3 , size=none")
        == registry.build("thing:a,worst-of=3")
        == Thing("a", worst_of=3)
    )
