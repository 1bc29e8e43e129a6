"""How often the gate is wrong, on simulated pairs of classifiers: benchmarks/gate.py with fewer studies."""

import pytest
from benchmarks.gate import COUNTS, KINDS, judged

STUDIES = 60
FELL_AS_ALLOWED = [kind for kind in KINDS if kind.by == -0.01]
DROPPED = [kind for kind in KINDS if kind.by <= -0.03]


@pytest.mark.parametrize("kind", FELL_AS_ALLOWED, ids=lambda kind: kind.name)
def test_a_drop_that_is_just_allowed_hardly_ever_fails(kind):
    """At most 2.5 % may: of 60, more than four would in one of fifty gates at that rate."""
    assert judged(kind, 1000, 1, STUDIES)["failed"] <= 4


@pytest.mark.parametrize("kind", DROPPED, ids=lambda kind: kind.name)
def test_a_planted_drop_is_caught_and_never_passes(kind):
    found = judged(kind, 5000, 1, 10)
    assert found == {"failed": 10}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_with_too_few_images_it_says_so_instead_of_passing(kind):
    assert judged(kind, COUNTS[0], 1, 20) == {"unsure": 20}
