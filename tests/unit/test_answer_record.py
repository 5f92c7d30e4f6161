"""AnswerRecord: against one that remembers everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netlab.control.answers import ANSWERABLE_TICKS, AnswerRecord
from netlab.messages import HISTORY_TICKS


class Remembers:
    """All that was sent and answered."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.answered: set[int] = set()

    @property
    def loss_ratio(self) -> float:
        if not self.answered:
            return 0.0
        newest = max(self.answered)
        sent = [tick for tick in self.sent if newest - HISTORY_TICKS < tick <= newest]
        return 1.0 - len(self.answered.intersection(sent)) / len(sent)


# How far the next tick is, and the ages of the observations that are then answered.
_STEPS = st.lists(
    st.tuples(
        st.sampled_from([1, 1, 1, 2, 40, 961, 1000, 1023, 1024, 1025, 5000]),
        st.lists(st.integers(0, ANSWERABLE_TICKS + 70), max_size=4),
    ),
    max_size=60,
)


@given(_STEPS)
def test_what_is_told_is_right_however_long_nothing_came(steps: list[tuple[int, list[int]]]) -> None:
    record, everything, tick = AnswerRecord(), Remembers(), -1
    for ahead, ages in steps:
        tick += ahead
        record.send(tick)
        everything.sent.append(tick)
        assert record.loss_ratio == everything.loss_ratio
        for age in ages:
            may_be_answered = tick - age in everything.sent and age < ANSWERABLE_TICKS
            assert record.was_sent(tick - age) == may_be_answered
            if may_be_answered:
                assert record.is_answered(tick - age) == (tick - age in everything.answered)
                record.answer(tick - age)
                everything.answered.add(tick - age)
        newest = max(everything.answered, default=None)
        assert record.newest_age_ticks == (-1 if newest is None else tick - newest)
        assert record.loss_ratio == everything.loss_ratio


def test_silence_changes_no_loss() -> None:
    record = AnswerRecord()
    for tick in range(3000):
        record.send(tick)
        if tick < 200 and tick % 4:
            record.answer(tick)
        if tick >= 199:
            assert record.loss_ratio == 0.25, tick
