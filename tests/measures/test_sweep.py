"""The sweep and the loop below it: where known paths cross, whatever the batch."""

import pytest
import torch

from brittle.measures.criteria import left_prediction, reached
from brittle.measures.lanes import final_states, in_turn
from brittle.measures.outcomes import outcome
from brittle.measures.sweep import Course, narrow_brackets, path_outcomes, sweep

LIMITS = torch.tensor([3.0, 0.5, 9.0, 100.0, 1.0, 7.2] * 40)  # the severity past which each path's answer changes


def said(severity, limits):
    """Class 0 up to the limit, class 1 beyond it; to be collected."""
    margin = limits - severity
    found = outcome(torch.stack((margin, -margin), 1).log_softmax(1), torch.zeros(len(margin), dtype=torch.int64))
    return lambda: found


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_first_crossings_are_found_whatever_the_batch_and_nothing_beyond_them_is_computed(size):
    severities, seen = torch.arange(1.0, 11.0), []

    def submit(path, state, place):
        seen.append(len(path))
        return said(severities[place], LIMITS[path])

    found = sweep(Course(len(LIMITS), size, lambda path: {}, submit), severities, left_prediction)
    expected = LIMITS.floor() + 1
    assert torch.equal(found.met, LIMITS < 10)
    assert torch.equal(found.severity, expected.clamp(max=10))
    assert torch.equal(found.outcome.predicted == 1, found.met)
    assert torch.equal(found.place + 1, expected.clamp(max=10).long())
    assert set(seen) == {size}
    assert sum(seen) <= int((found.place + 1).sum()) + 10 * size


def test_a_path_that_comes_back_counts_from_its_first_crossing():
    wrong_at = torch.tensor([False, True, False, False, True])

    def submit(path, state, place):
        return said(wrong_at[place].float() * 2, torch.ones(len(path)))

    found = sweep(Course(3, 2, lambda path: {}, submit), torch.arange(1.0, 6.0), left_prediction)
    assert found.severity.tolist() == [2.0, 2.0, 2.0]


def test_a_criterion_may_ask_for_a_share_of_a_target():
    log_probs = torch.tensor([[0.2, 0.8], [0.05, 0.95]]).log()
    assert reached(0.9)(outcome(log_probs, torch.tensor([1, 1]))).tolist() == [False, True]


def test_what_items_carry_along_stays_theirs_when_places_change_hands():
    steps = torch.randint(1, 30, (500,), generator=torch.Generator().manual_seed(0))

    def begin(item):
        return {"left": steps[item], "own": item.float()}

    def step(item, state):
        assert torch.equal(state["own"], item.float())
        return {"left": state["left"] - 1, "own": state["own"]}, state["left"] == 1

    found = final_states(500, 16, begin, in_turn(step), ("own", "left"))
    assert torch.equal(found["own"], torch.arange(500.0))
    assert torch.equal(found["left"], torch.zeros(500, dtype=torch.int64))


def test_all_lanes_are_submitted_before_any_is_collected():
    """With 20 paths in lanes of 4 that end at the first severity, five lanes are asked at once."""
    order = []

    def submit(path, state, place):
        order.append("submit")
        found = said(torch.ones(len(path)), torch.zeros(len(path)))()

        def collect():
            order.append("collect")
            return found

        return collect

    sweep(Course(20, 4, lambda path: {}, submit), torch.arange(1.0, 3.0), left_prediction)
    assert order == ["submit"] * 5 + ["collect"] * 5


WRONG_AT = torch.tensor(
    [[0, 0, 1, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 1, 1, 1, 1]] * 13, dtype=torch.bool
)


def known(path, state, place):
    """Whether a path is wrong at a place; what it carries must be its own."""
    assert torch.equal(state["own"], path)
    return said(WRONG_AT[path, place].float() * 2, torch.ones(len(path)))


def carried(path):
    return {"own": path}


@pytest.mark.parametrize("size", [1, 7, 65, 1000])
def test_trails_keep_every_answer_and_draw_what_paths_carry_once(size):
    begun = []

    def begin(path):
        begun.append(len(path))
        return carried(path)

    found = path_outcomes(Course(len(WRONG_AT), size, begin, known), 5)
    assert torch.equal(left_prediction(found.outcome), WRONG_AT)
    assert found.last.tolist() == [4] * len(WRONG_AT)
    assert sum(begun) == len(WRONG_AT)


@pytest.mark.parametrize("size", [1, 7, 65, 1000])
def test_trails_that_end_at_a_criterion_keep_what_came_before_it(size):
    found = path_outcomes(Course(len(WRONG_AT), size, carried, known), 5, left_prediction)
    assert found.last.tolist() == [2, 0, 4, 4, 1] * 13
    seen = torch.arange(5) <= found.last[:, None]
    assert torch.equal(left_prediction(found.outcome)[seen], WRONG_AT[seen])


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_brackets_are_narrowed_to_the_crossing(size):
    crossings = torch.linspace(0.01, 0.99, 50)

    def submit(path, state, severity):
        return said(severity, crossings[path])

    low, high = torch.zeros(50), torch.ones(50)
    found = narrow_brackets(Course(len(low), size, lambda path: {}, submit), low, high, 1e-3, left_prediction)
    assert (found.low <= crossings).all()
    assert (found.high >= crossings).all()
    assert float((found.high - found.low).max()) <= 1e-3
    assert found.calls.tolist() == [10] * 50
    assert found.finite.all()


def test_where_a_path_crosses_thrice_one_of_its_crossings_is_found():
    """Wrong on (0.1, 0.3) and beyond 0.6: the middle is right, so that bisection finds 0.6 and not 0.1."""

    def submit(path, state, severity):
        wrong = ((severity > 0.1) & (severity < 0.3)) | (severity > 0.6)
        return said(2 * wrong.float(), torch.ones(len(path)))

    found = narrow_brackets(Course(1, 4, lambda path: {}, submit), torch.zeros(1), torch.ones(1), 1e-4, left_prediction)
    assert float(found.high) == pytest.approx(0.6, abs=1e-4)
