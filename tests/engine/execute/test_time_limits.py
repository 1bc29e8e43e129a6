"""How long workers may be silent, by a clock that the tests hold."""

from brittle.engine.execute.time_limits import FIRST_NOTE, LOADING, ResponseTimes


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_silence_is_mentioned_at_growing_intervals():
    clock = Clock()
    times = ResponseTimes(None, clock)
    times.begin("worker")
    mentioned = []
    for clock.now in range(601):
        if times.is_worth_a_note("worker"):
            mentioned.append(clock.now)
    assert mentioned == [FIRST_NOTE, 2 * FIRST_NOTE, 4 * FIRST_NOTE, 8 * FIRST_NOTE]
    times.begin("worker")
    assert not times.is_worth_a_note("worker"), "it has answered"


def test_a_limit_is_for_each_unit():
    clock = Clock()
    times = ResponseTimes(5, clock)
    times.begin("worker")
    clock.now = 14
    assert times.has_run_out("worker", units=2)
    assert not times.has_run_out("worker", units=3)
    times.begin("worker")
    assert not times.has_run_out("worker", units=1)


def test_without_a_limit_a_unit_takes_as_long_as_it_likes():
    clock = Clock()
    times = ResponseTimes(None, clock)
    times.begin("worker")
    clock.now = 1e9
    assert not times.has_run_out("worker", units=1)
    assert not times.has_run_out_loading("worker")


def test_loading_is_given_more_time_than_a_short_limit():
    clock = Clock()
    times = ResponseTimes(5, clock)
    times.begin("worker")
    clock.now = 20 * 5 - 1
    assert not times.has_run_out_loading("worker")
    clock.now = 20 * 5 + 1
    assert times.has_run_out_loading("worker")
    times.limit, clock.now = 0.1, LOADING - 1
    assert not times.has_run_out_loading("worker")


def test_who_owes_nothing_is_not_waited_for():
    clock = Clock()
    times = ResponseTimes(5, clock)
    times.begin("worker")
    times.end("worker")
    clock.now = 1e9
    assert not times.has_run_out("worker", units=1)
    assert not times.is_worth_a_note("worker")
