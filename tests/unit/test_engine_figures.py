"""The figures about netem and its model: what they rest on, and that they can miss."""

from __future__ import annotations

from netlab.bench.engines_agree import TARGET_NS, _figure, _Row
from netlab.bench.impairment_cases import CASES
from netlab.bench.random_states import RandomStates
from netlab.namespaces.netem_codec import decode_netem, encode_netem
from netlab.namespaces.netem_compare import compare_netem
from netlab.traces.model.link_model import LinkModel


def row(differing: int = 0, worst_ns: int = 300) -> _Row:
    return _Row(
        case="loss",
        packets=2000,
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
