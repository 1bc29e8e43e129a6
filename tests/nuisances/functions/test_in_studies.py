"""Functions in specs, studies and on the command line: named, refused where they can't serve, resumed, announced."""

import pytest
import torch

import brittle
from brittle.engine.live_objects import nuisance_text
from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.registry.source import code_hash

FILTERS = """
import torch

def noisy(x, sigma=0.2):
    return (x + sigma * torch.randn_like(x)).clamp(0, 1)

def mirrored(x):
    return x.flip(-1)

class Dimmer:
    def __init__(self, by=0.5):
        self.by = by

    def __call__(self, x):
        return x * self.by

NUMBER = 3
"""
ASKED = ("bundled:plain", "sample", "--count", 20, "--samples", 3)


@pytest.fixture
def filters(tmp_path, monkeypatch):
    """A module of the user's own in the current folder."""
    file = tmp_path / "my_filters.py"
    file.write_text(FILTERS)
    monkeypatch.chdir(tmp_path)
    return file


def noisy(x):
    return (x + 0.2 * torch.randn_like(x)).clamp(0, 1)


def test_a_spec_names_a_function_in_a_module_or_a_file(filters, cli):
    found = [
        cli("measure", *ASKED, "--json", "--nuisance", spec).json
        for spec in ("function:my_filters:noisy", f"function:{filters}:noisy", "function:my_filters:noisy", "noise")
    ]
    assert found[0]["rho"] == found[1]["rho"] == found[2]["rho"] != found[3]["rho"]
    assert found[0]["nuisance"] == "function:my_filters:noisy"
    assert found[0]["prior"] == (
        "what my_filters:noisy makes of the image, given as a tensor (C, H, W), with new random numbers at each draw"
    )


def test_python_and_the_command_line_measure_the_same(filters, cli):
    said = cli("measure", *ASKED, "--json", "--nuisance", "function:my_filters:noisy").json
    live = brittle.measure("bundled:plain", "sample", noisy, count=20, samples=3)
    assert live["rho"] == said["rho"]
    assert live["nuisance"] == "function:noisy"


def test_a_mirrored_function_measures_what_mirrored_images_give(filters):
    """ρ of a function that draws nothing is the mean probability of the right label on the changed images."""
    found = brittle.measure("bundled:plain", "sample", "function:my_filters:mirrored", samples=1)
    batch = brittle.image_set("sample").batch(range(1000))
    answers = brittle.classifier("bundled:plain").log_probs(batch.images.flip(-1)).exp()
    assert found["rho"] == pytest.approx(float(answers[torch.arange(1000), batch.labels].double().mean()), abs=1e-6)


def test_arguments_go_to_a_function_or_make_an_object_of_a_class(filters):
    given = brittle.image_set("sample").batch(range(3))
    seeds = torch.zeros(3, 2)
    assert torch.equal(nuisance("function:my_filters:noisy,arguments=sigma=0").apply(given, seeds), given.images)
    dimmed = nuisance("function:my_filters:Dimmer,arguments=by=0.25").apply(given, seeds)
    torch.testing.assert_close(dimmed, given.images / 4)
    joined = nuisance("brightness:sigma=0.1+function:my_filters:Dimmer")
    assert joined.parameters[-2:] == ["function seed 1", "function seed 2"]
    assert nuisances.spec_of(joined) == "brightness:sigma=0.1+function:my_filters:Dimmer"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("function", "function needs 'function'"),
        ("function:noisy", "'noisy' doesn't name anything in a module. Write package.module:name"),
        ("function:my_filters:nosy", "my_filters has no 'nosy'. Did you mean 'noisy'?"),
        ("function:my_fitlers:noisy", "there is no module 'my_fitlers'. Did you mean 'my_filters'?"),
        ("function:my_filters:NUMBER", "my_filters:NUMBER is an object of type int, not a function"),
        ("function:my_filters:noisy,takes=tensor", "takes is 'tensor', but must be auto, image, batch, array or pil"),
        ("function:my_filters:noisy,arguments=0.3", "'0.3' is not an argument. Write name=value"),
        ("function:my_filters:Dimmer,arguments=too=1", "the class my_filters:Dimmer raised TypeError"),
    ],
)
def test_what_is_wrong_with_a_spec_is_told_in_one_line(filters, spec, words):
    with pytest.raises(BrittleError) as error:
        nuisance(spec)
    assert words in str(error.value)


@pytest.mark.parametrize("command", ["break", "fail"])
@pytest.mark.parametrize("spec", ["function:my_filters:noisy", "affine+function:my_filters:noisy"])
def test_what_follows_a_path_refuses_a_function_before_work_begins(filters, cli, command, spec):
    line = cli(command, "bundled:plain", "sample", "--count", 5, "--nuisance", spec, "--out", "run").complaint(2)
    assert (
        "the function my_filters:noisy has no severity, so no path leads from an image to what it makes of it" in line
    )
    assert not (filters.parent / "run" / "units").exists()


def test_samplers_that_need_a_density_refuse_a_function_and_others_take_it(filters, cli):
    asked = ("sample", "bundled:plain", "sample", "--count", 2, "--nuisance", "function:my_filters:noisy")
    line = cli(*asked, "--sampler", "metropolis").complaint(2)
    assert "metropolis needs a prior density, which this nuisance does not have. Use the sampler" in line
    found = brittle.sample(
        "bundled:plain", "sample", "function:my_filters:noisy,arguments=sigma=0.8", count=4, budget=200, keep=20
    )
    assert found["images"] == 4
    assert found["prior"].startswith("what my_filters:noisy makes")


@pytest.mark.parametrize(
    "spec", ["function:my_filters:noisy", "function:my_filters.py:noisy", "affine+function:my_filters:noisy"]
)
def test_a_run_is_not_resumed_with_another_function(filters, cli, spec):
    command = ("measure", *ASKED, "--nuisance", spec, "--out", "run")
    assert cli(*command).status == 0
    assert cli(*command).status == 0
    filters.write_text(FILTERS.replace("torch.randn_like", "torch.rand_like"))
    assert "was computed from other things than this study names" in cli(*command).complaint(2)


def test_code_is_hashed_wherever_a_spec_names_it(filters):
    nuisance("function:my_filters:noisy")
    here = code_hash("function:my_filters:noisy")
    assert here == code_hash("function:my_filters.py:noisy,clip=true") == code_hash("affine+function:my_filters:noisy")
    assert here == code_hash("my_filters.py:Dimmer") != ""
    assert code_hash("affine:alpha=50") == code_hash("function:torch.nn.functional:relu") == ""


def test_a_live_function_is_known_again_by_its_code(tmp_path):
    def with_sigma(sigma):
        return lambda x: (x + sigma * torch.randn_like(x)).clamp(0, 1)

    def measured(function):
        return brittle.measure("bundled:plain", "sample", {"mine": function}, count=10, samples=2, out=tmp_path / "run")

    first = measured(with_sigma(0.2))
    assert measured(with_sigma(0.2))["rho"] == first["rho"]
    with pytest.raises(BrittleError, match="mine"):
        measured(with_sigma(0.3))


def test_using_a_function_does_not_change_what_it_is_known_by():
    module = torch.nn.Sequential(torch.nn.AvgPool2d(3, 1, 1))
    space = nuisance(module)
    before = nuisance_text(space)
    space.apply(brittle.image_set("sample").batch(range(3)), torch.zeros(3, 2))
    assert nuisance_text(space) == before


def test_the_rows_are_the_same_whatever_the_batch(filters):
    found = [
        brittle.measure("bundled:plain", "sample", "function:my_filters:noisy", count=30, samples=4, batch=batch)
        for batch in (1, 7, 512)
    ]
    assert found[0]["rho"] == pytest.approx(found[1]["rho"], abs=1e-6)
    assert found[0]["rho"] == pytest.approx(found[2]["rho"], abs=1e-6)


def test_a_report_announces_functions_and_shows_their_pictures(filters, cli):
    cli("measure", *ASKED, "--nuisance", "function:my_filters:noisy", "--out", "run")
    told = cli("report", "run").err
    assert "code that the study in run names may be run: function:my_filters:noisy" in told
    filters.write_text("open('ran', 'w')\n" + FILTERS)
    assert cli("report", "run", "--no-load").status == 0
    assert not (filters.parent / "ran").exists()


def test_an_error_in_a_function_is_told_with_its_line(filters, cli):
    filters.write_text(
        "def picky(x):\n    if (x == 0).sum() > 99:\n        raise ValueError('too dark')\n    return x\n"
    )
    line = cli("measure", *ASKED, "--nuisance", "function:my_filters:picky").complaint(1)
    assert "the function my_filters:picky" in line
    assert "raised ValueError: too dark" in line
    assert "my_filters.py, line 3" in line
