"""Names, specs and entry points: what is wrong is answered with what would have been right."""

import os
from dataclasses import dataclass
from typing import Literal

import pytest

from brittle.classifiers import classifiers
from brittle.errors import BrittleError
from brittle.images import image_sets
from brittle.measures import measures
from brittle.nuisances import nuisances
from brittle.nuisances.geometry.affine import Affine
from brittle.registry import Registry, checked, option, options_of
from brittle.registry.options import is_required
from brittle.samplers import samplers
from brittle.training import trainable

SHAKE = '''
"""A user's own nuisance: the image shifted by whole pixels to and fro."""
from dataclasses import dataclass
from typing import ClassVar

import torch

from brittle.extend import GaussianNuisance, option


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
    monkeypatch.setattr(nuisances, "_kinds", dict(nuisances.loaded()))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_another_packages_nuisance_is_listed_and_measured(tmp_path, start, ended):
    install(tmp_path, "shaky", {"shake": "shaky:Shake", "broken": "shaky:Missing"}, shaky=SHAKE)
    path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    listing = start("list", "nuisances", "--json", PYTHONPATH=path)
    arguments = ("measure", "bundled:plain", "sample", "--nuisance", "shake:pixels=3", "--count", 20, "--samples", 4)
    measured = ended(start(*arguments, "--json", PYTHONPATH=path))
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
    assert "odd is not a class" in kinds["odd"]
    assert kinds["shake"].startswith("Shifts to the right")
    assert kinds["affine"]
    with pytest.raises(BrittleError, match=r"nuisance 'gone' of the package 'bad' can't be loaded.*Fix or uninstall"):
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
    size: int | None = option(None, "a size", least=1)
    ratio: float = option(0.5, "a ratio")
    mode: Literal["fast", "slow"] = option("fast", "a mode")
    dark: bool = option(False, "whether")
    mean: tuple[float, ...] = option((), "numbers")
    worst_of: int = option(10, "k")


@pytest.fixture
def registry():
    things = Registry("thing", "brittle.registry")
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
        ("zzz", "unknown thing 'zzz'. Known: thing."),
        ("thing:a,siez=3", "thing has no option 'siez'. Did you mean 'size'?"),
        ("thing:a,mode=fsat", "thing: mode is 'fsat', but must be fast or slow. Did you mean 'fast'?"),
        ("thing:a,size=0", "thing: size is 0, but must be at least 1"),
        ("thing:a,ratio=1/2", "thing: ratio is '1/2', but must be a number"),
        ("thing:a,size", "thing: 'size' is not option=value. Its options are: path, size, ratio, "),
        ("thing:a,size=3,size=4", "thing: size is given twice. Give it once."),
        ("thing:a,path=b", "thing: path is given twice"),
    ],
)
def test_a_wrong_spec_is_answered_with_what_would_have_been_right(registry, spec, words):
    with pytest.raises(BrittleError) as error:
        registry.build(spec)
    assert words in str(error.value)
    assert error.value.exit_status == 2


def test_a_kind_that_needs_something_says_so():
    for registry, kind in ((classifiers, "onnx"), (image_sets, "folder")):
        with pytest.raises(BrittleError, match=f"^{kind} needs 'path'"):
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
    assert registry.spec_of(Thing("my,photos")) == r"thing:my\,photos"


def test_a_spec_and_values_make_one_thing(registry):
    assert registry.build("thing:a,size=3", {"worst_of": 4, "mean": [1, 2]}) == Thing(
        "a", size=3, worst_of=4, mean=(1.0, 2.0)
    )
    with pytest.raises(BrittleError, match="size is given twice"):
        registry.build("thing:a,size=3", {"size": 3})
    with pytest.raises(BrittleError, match="size is 0, but must be at least 1"):
        registry.make("thing", {"size": 0})


def test_what_is_made_in_python_is_checked_as_a_spec_is(registry):
    assert Thing is registry.get("thing")
    with pytest.raises(BrittleError, match=r"^thing: size is 0, but must be at least 1$"):
        Thing(size=0)
    with pytest.raises(BrittleError, match=r"^affine: alpha is -1, but must be above 0$"):
        Affine(alpha=-1)


def test_every_default_is_allowed_by_its_own_declaration():
    for every in (classifiers, image_sets, nuisances, measures, samplers, trainable):
        for name in every.names():
            kind = every.get(name)
            defaults = {key: field.default for key, field in options_of(kind).items() if not is_required(field)}
            required = {key: "plain" for key, field in options_of(kind).items() if is_required(field)}
            again = checked(kind, defaults | required, name)
            for key, value in defaults.items():
                found = again[key.replace("-", "_")]
                assert found == value, (name, key)
                assert type(found) is type(value), (name, key)


def test_spaces_underscores_and_none_are_taken_as_meant(registry):
    assert (
        registry.build("thing: a , worst_of=3 , size=none")
        == registry.build("thing:a,worst-of=3")
        == Thing("a", worst_of=3)
    )
