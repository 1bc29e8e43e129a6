"""How long workers may be silent, by a clock that the tests hold."""

from brittle.engine.patience import FIRST_WORD, LOADING, Patience


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_silence_is_mentioned_at_growing_intervals():
    clock = Clock()
    patience = Patience(None, clock)
    patience.begin("worker")
    mentioned = []
    for clock.now in range(601):
        if patience.worth_a_word("worker"):
            mentioned.append(clock.now)
    assert mentioned == [FIRST_WORD, 2 * FIRST_WORD, 4 * FIRST_WORD, 8 * FIRST_WORD]
    patience.begin("worker")
    assert not patience.worth_a_word("worker"), "it has answered"


def test_a_limit_is_for_each_unit():
    clock = Clock()
    patience = Patience(5, clock)
    patience.begin("worker")
    clock.now = 14
    assert patience.is_over("worker", units=2)
    assert not patience.is_over("worker", units=3)
    patience.begin("worker")
    assert not patience.is_over("worker", units=1)


def test_without_a_limit_a_unit_takes_as_long_as_it_likes():
    clock = Clock()
    patience = Patience(None, clock)
    patience.begin("worker")
    clock.now = 1e9
    assert not patience.is_over("worker", units=1)
    assert not patience.is_over_loading("worker")


def test_loading_is_given_more_time_than_a_short_limit():
    clock = Clock()
    patience = Patience(5, clock)
    patience.begin("worker")
    clock.now = 20 * 5 - 1
    assert not patience.is_over_loading("worker")
    clock.now = 20 * 5 + 1
    assert patience.is_over_loading("worker")
    patience.limit, clock.now = 0.1, LOADING - 1
    assert not patience.is_over_loading("worker")


def test_who_owes_nothing_is_not_waited_for():
    clock = Clock()
    patience = Patience(5, clock)
    patience.begin("worker")
    patience.end("worker")
    clock.now = 1e9
    assert not patience.is_over("worker", units=1)
    assert not patience.worth_a_word("worker")
