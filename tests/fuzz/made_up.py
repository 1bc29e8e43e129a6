"""What all targets share: how cases are made up, what may come of one, and how many there were."""

import os
import warnings
from collections import Counter, defaultdict
from contextlib import contextmanager

from hypothesis import HealthCheck, settings
from hypothesis import strategies as some

from brittle.errors import BrittleError

ALL = os.environ.get("BRITTLE_FUZZ")  # how many cases of each target; those of `make test` are few and always the same
FEW = 200
settings.register_profile(
    "brittle",
    max_examples=int(ALL or FEW),
    derandomize=ALL is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("brittle")

TALLY: defaultdict[str, Counter[str]] = defaultdict(Counter)  # target → taken, refused
now = {"target": ""}  # which target is being tried


def costly(share):
    """A target whose cases take long: it gets this share of what the others get."""
    return settings(max_examples=max(10, round(share * int(ALL or FEW))))


@contextmanager
def taken_or_refused():
    """A case may be taken, and what the target asserts then holds; or refused, in one line. Nothing else happens."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # decoders warn of what they forgive
            yield
    except BrittleError as error:
        TALLY[now["target"]]["refused"] += 1
        said = str(error)
        assert said.strip(), "an error says something"
        assert len(said) < 2000, said
        assert len(said.splitlines()) == 1, said
    else:
        TALLY[now["target"]]["taken"] += 1


BYTES = some.sampled_from([0, 1, 2, 127, 128, 254, 255]) | some.integers(0, 255)


def mutated(seeds):
    """A sound file that is cut, has bytes replaced or is followed by others; or any bytes at all."""

    def change(drawn):
        data, cut, changes, tail = drawn
        data = bytearray(data[: int(len(data) * cut)])
        for place, value in changes:
            if data:
                data[place % len(data)] = value
        return bytes(data) + tail

    change_of = some.tuples(some.integers(0, 2**16), BYTES)
    changes = some.lists(change_of, max_size=1) | some.lists(change_of, max_size=1) | some.lists(change_of, max_size=6)
    whole = some.sampled_from([1.0, 1.0, 1.0, 1.0, 0.9, 0.5]) | some.floats(0, 1)
    tail = some.sampled_from([b"", b"", b"", b"\0"]) | some.binary(max_size=8)
    cases = some.tuples(some.sampled_from(seeds), some.sampled_from([1.0]) | whole, changes, tail).map(change)
    return cases | cases | cases | some.binary(max_size=200)


SCALARS = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(-(2**70), 2**70),
    some.floats(),
    some.text(max_size=8),
    some.sampled_from(["", "nan", "../..", "\x1b[2J", "[/x]", "a" * 300]),
)
PLAIN = some.recursive(
    SCALARS,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@some.composite
def altered(draw, sound, other=PLAIN):
    """A sound tree of plain values in which something, somewhere, is replaced, left out or added."""
    tree = _copied(sound)
    for _ in range(draw(some.integers(1, 3))):
        node = tree
        while isinstance(node, (dict, list)) and node:
            key = draw(some.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
            inner = node[key]
            if not isinstance(inner, (dict, list)) or not inner or draw(some.integers(0, 2)) == 0:
                _alter(draw, node, key, other)
                break
            node = inner
    return tree


def _alter(draw, node, key, other):
    how = draw(some.sampled_from(["replace", "remove", "add"]))
    if how == "remove":
        del node[key]
    elif how == "replace":
        node[key] = draw(other)
    elif isinstance(node, dict):
        node[draw(some.text(max_size=6))] = draw(other)
    else:
        node.insert(key, draw(other))


def _copied(tree):
    if isinstance(tree, dict):
        return {key: _copied(each) for key, each in tree.items()}
    return list(map(_copied, tree)) if isinstance(tree, list) else tree
