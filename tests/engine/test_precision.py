"""In which numbers a GPU multiplies while a run goes on; what torch is set to elsewhere comes back afterwards."""

import pytest
import torch

from brittle.device import products_in

LIBRARIES = (torch.backends.cuda.matmul, torch.backends.cudnn)


@pytest.fixture
def settings():
    before = [each.allow_tf32 for each in LIBRARIES]
    yield
    for each, allowed in zip(LIBRARIES, before, strict=True):
        each.allow_tf32 = allowed


@pytest.mark.parametrize(("precision", "rounded"), [("float32", False), ("tf32", True)])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_products_and_convolutions_are_rounded_to_tf32_only_where_that_is_asked_for(
    settings, precision, rounded, elsewhere
):
    for each in LIBRARIES:
        each.allow_tf32 = elsewhere
    with products_in(precision):
        assert [each.allow_tf32 for each in LIBRARIES] == [rounded, rounded]
    assert [each.allow_tf32 for each in LIBRARIES] == [elsewhere, elsewhere]
