"""The figures about netem and its model: what they rest on, and that they can miss."""

from __future__ import annotations

import pytest

from netlab.bench import property_states
from netlab.bench.engines_agree import PACKETS, TARGET_NS, _check_whole, _figure, _Row
from netlab.bench.impairment_cases import CASES
from netlab.bench.random_states import RandomStates
from netlab.errors import LabError
from netlab.namespaces.netem_codec import decode_netem, encode_netem
from netlab.namespaces.netem_compare import compare_netem
from netlab.traces.model.link_model import LinkModel
from netlab.traces.qdisc_state import QdiscState


def row(differing: int = 0, worst_ns: int = 300, case: str = "loss", packets: int = 2000) -> _Row:
    return _Row(
        case=case,
        packets=packets,
        copies=1800,
        differing=["packet 3: x"] * differing,
        worst_ns=worst_ns,
        guest="7.2",
    )


def test_one_packet_or_one_nanosecond_too_many_misses() -> None:
    assert _figure([row(), row(worst_ns=TARGET_NS)]).holds
    missed = _figure([row(), row(differing=2)])
    assert (missed.holds, missed.value, missed.n) == (False, 2.0, 4000)
    assert "packet 3: x" in missed.spread
    assert not _figure([row(worst_ns=TARGET_NS + 1)]).holds


def test_what_is_reported_is_what_was_played() -> None:
    for name, case in CASES.items():
        counting = CountingDuet()
        case.play(counting, PACKETS, 0.001)  # type: ignore[arg-type]
        assert counting.sent == PACKETS, name
    rows = [row(case=name, packets=PACKETS) for name in CASES]
    _check_whole(rows)
    assert _figure(rows).n == PACKETS * len(CASES)
    assert _figure([*rows[:-1], row(packets=7)]).n == PACKETS * (len(CASES) - 1) + 7
    with pytest.raises(LabError, match=f"compared 1999 of {PACKETS} packets of {rows[-1].case}"):
        _check_whole([*rows[:-1], row(case=rows[-1].case, packets=1999)])
    with pytest.raises(LabError, match=f"compared {len(CASES) - 1} of {len(CASES)} impairments"):
        _check_whole(rows[:-1])


class CountingDuet:
    """Counts what a case sends."""

    def __init__(self) -> None:
        self.sent = 0

    def send(self, count: int, **_: object) -> None:
        self.sent += count

    def apply(self, state: QdiscState, *, fast: bool = False) -> None:
        """Change nothing."""


def test_each_field_that_reads_back_otherwise_is_reported() -> None:
    figure = property_states._figure([[], []] * 3, "6.1")
    assert (figure.holds, figure.value, figure.n) == (True, 0.0, 3)
    missed = property_states._figure([[], ["loss: asked 1, the kernel shows 0"], [], []], "6.1")
    assert (missed.holds, missed.value, missed.n) == (False, 1.0, 2)
    assert missed.spread == "loss: asked 1, the kernel shows 0"


class Qdisc:
    """Takes what it is asked and shows something else.

    Args:
        lies: Fields it shows otherwise.
        forgets: Fields it sends otherwise.
    """

    def __init__(self, lies: dict[str, int], forgets: dict[str, int]) -> None:
        self._lies, self._forgets = lies, forgets
        self.asked = QdiscState()

    def apply(self, state: QdiscState) -> None:
        self.asked = state.replace(**self._forgets)

    def read(self) -> QdiscState:
        return self.asked.replace(**self._lies)


@pytest.mark.parametrize(
    ("lies", "forgets", "words"),
    [({}, {}, []), ({"loss": 5}, {}, ["loss: "]), ({}, {"gap": 7}, ["gap: asked 0, sent 7"])],
)
def test_a_qdisc_that_shows_or_sends_something_else_is_found_out(
    monkeypatch: pytest.MonkeyPatch, lies: dict[str, int], forgets: dict[str, int], words: list[str]
) -> None:
    monkeypatch.setattr(property_states, "kernel_features", lambda: None)  # of a kernel that can do it all
    qdisc = Qdisc(lies, forgets)
    found = property_states._change_and_read(qdisc, qdisc.apply, QdiscState(latency_ns=9))  # type: ignore[arg-type]
    assert len(found) == len(words)
    for difference, begin in zip(found, words, strict=True):
        assert difference.startswith(begin)


def test_each_case_does_something() -> None:
    """2,000 packets a millisecond apart, by the model: each impairment shows, so agreement says something."""
    for name, case in CASES.items():
        model = LinkModel(case.state)
        fates = [model.enqueue(number * 1_000_000, case.length_bytes, ect=case.ect) for number in range(2000)]
        delays_ns = {
            copy.leave_ns - number * 1_000_000 for number, fate in enumerate(fates) for copy in fate.copies
        }
        copies = [copy for fate in fates for copy in fate.copies]
        touched = any(copy.corrupted or copy.marked for copy in copies)
        plain = len(delays_ns) == 1 and {len(fate.copies) for fate in fates} == {1} and not touched
        assert plain is (name == "delay"), name
        full = any(fate.over_limit for fate in fates)
        assert full is case.needs_clock, name


def test_random_states_go_through_the_codec_and_repeat() -> None:
    source, again = RandomStates(5), RandomStates(5)
    states = [source.draw() for _ in range(300)]
    assert states == [again.draw() for _ in range(300)]
    for state in states:
        assert compare_netem(state, decode_netem(encode_netem(state))) == []
    for field in states[0].__struct_fields__:
        assert len({repr(getattr(state, field)) for state in states}) > 1, field
    assert {state.seed is None for state in states} == {True, False}
