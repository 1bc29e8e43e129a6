"""A change says whether it may become part of a compiled graph: torch itself is asked whether that is so."""

import pytest
import torch

from brittle.measures.changes import AlongPath, DrawnTheta
from brittle.measures.graphs import change_in_numbers
from brittle.nuisances import nuisance, nuisances
from brittle.random import stream_root
from brittle.types import Batch

pytestmark = pytest.mark.filterwarnings("ignore:Dynamo detected")

COUNT, SIDE = 3, 32
QUICK = ("affine", "noise", "patch", "patch:law=beta", "glass-blur", "affine+fog")
OTHERS = ("function",)  # needs a function


def traced(change, batch, at):
    """Whether the change becomes one graph, without anything of it being carried out."""
    torch._dynamo.reset()
    try:
        with torch.no_grad():
            torch.compile(change_in_numbers, backend="eager", fullgraph=True)(change, batch, at)
    except Exception as error:
        if not any(word in f"{type(error).__mro__} {error}" for word in ("ynamo", "fake", "symbol")):
            raise
        return False
    return True


def asked(space, device):
    """A batch with all that a nuisance reads, on a device without numbers, where nothing can be looked at."""
    extras = {need: torch.zeros(COUNT, SIDE, SIDE, device=device) for need in space.needs}
    zeros = torch.zeros(COUNT, dtype=torch.int64, device=device)
    images = torch.zeros(COUNT, 3, SIDE, SIDE, dtype=torch.uint8, device=device)
    return Batch(images, zeros, torch.arange(COUNT, device=device), extras), {"draw": zeros}


def check(spec, device="meta"):
    space = nuisance(spec)
    batch, at = asked(space, device)
    drawn = DrawnTheta(space, stream_root(0, spec, device))
    assert traced(drawn, batch, at) == drawn.traceable, spec


@pytest.mark.parametrize("spec", QUICK)
def test_a_draw_is_traceable_where_it_says_so(spec):
    check(spec)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [name for name in nuisances.names() if name not in (*QUICK, *OTHERS, "jpeg")])
def test_every_nuisance_says_whether_it_is_traceable(spec):
    check(spec)


@pytest.mark.slow
def test_jpeg_is_traceable():
    """Its tables, which are made on the CPU, can't meet others that hold no numbers."""
    space = nuisance("jpeg")
    batch, at = asked(space, "cpu")
    assert traced(DrawnTheta(space, stream_root(0, "jpeg")), batch._replace(images=batch.images.float()), at)


def test_a_path_is_as_traceable_as_its_nuisance():
    space = nuisance("rotation")
    batch, _ = asked(space, "meta")
    at = {"theta": torch.zeros(COUNT, 1, device="meta"), "severity": torch.zeros(COUNT, device="meta")}
    assert traced(AlongPath(space), batch, at)
    assert AlongPath(space).traceable


def test_what_others_wrote_is_not_traceable_unless_it_says_so():
    assert not DrawnTheta(nuisance(lambda image, rng: image), stream_root(0, "function")).traceable
