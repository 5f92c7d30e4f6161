"""Generated networks: the same for ever, within their bounds, and what their parameters say."""

from __future__ import annotations

import hashlib
import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.errors import ProfileError
from netlab.traces.provenance import Provenance
from netlab.traces.schedule import Schedule
from netlab.traces.synthetic.catalogue import MODELS, generate
from netlab.traces.synthetic.chance import Chance
from netlab.traces.synthetic.handover import Handover
from netlab.traces.synthetic.jamming import Jamming
from netlab.traces.synthetic.markov_levels import MarkovLevels
from netlab.traces.synthetic.random_walk import RandomWalk
from netlab.traces.synthetic.timing import Timing
from netlab.traces.toml_profile import format_profile, parse_profile


def _digest(name: str, texts: dict[str, str]) -> str:
    pair = generate(name, texts, Timing(seed=7, duration_s=60.0))
    numbers = [
        (
            step.start_s,
            step.profile.delay_s,
            step.profile.jitter_s,
            step.profile.law,
            step.profile.loss_ratio_mean,
            step.profile.rate_bps,
        )
        for way in (pair.forward, pair.back)
        for step in way.steps  # type: ignore[union-attr]
    ]
    return hashlib.sha256(repr(numbers).encode()).hexdigest()[:16]


DIGESTS = {
    "random-walk": "bf12415ad6e2630d",
    "markov-levels": "188343c30d714177",
    "handover": "baa0dbea06c7f13e",
    "jamming": "07b29cacdc7665e4",
}
"""Of what seed 7 gives: whoever changes one has changed networks that people have published results for."""


RATED_DIGESTS = {
    "markov-levels": (
        {"forward_rates": "1mbit/2.5mbit/9mbit", "back_rates": "3mbit/4mbit/5mbit"},
        "fe09b12dad6ba63f",
    ),
    "handover": ({"forward_rate": "15mbit", "back_rate": "150mbit", "rate_sigma": "0.4"}, "5c249bdf050dd4f6"),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_a_seed_gives_the_same_schedule_for_ever(name: str) -> None:
    assert _digest(name, {}) == DIGESTS[name]


@pytest.mark.parametrize("name", list(RATED_DIGESTS))
def test_a_seed_gives_the_same_rates_for_ever(name: str) -> None:
    texts, digest = RATED_DIGESTS[name]
    forward = generate(name, texts, Timing(seed=7, duration_s=60.0)).forward
    assert isinstance(forward, Schedule)
    rates = {step.profile.rate_bps for step in forward.steps}
    assert len(rates) > 2 and None not in rates
    assert _digest(name, texts) == digest


def test_every_bit_of_a_seed_counts() -> None:
    first = [Chance(7 + more, "a").uniform() for more in (0, 2**32, 2**53, 2**63)]
    assert len(set(first)) == 4


def test_chance_is_pinned_and_apart_by_purpose() -> None:
    chance = Chance(7, "a")
    assert [round(chance.uniform(), 12) for _ in range(3)] == [0.88931508693, 0.852468345065, 0.709183391947]
    assert Chance(7, "a").uniform() != Chance(7, "b").uniform() != Chance(8, "b").uniform()


def test_chance_has_the_laws_it_says() -> None:
    # n = 20,000: means within 4 standard errors.
    chance, n = Chance(1, "laws"), 20_000
    error = 4.0 / math.sqrt(n)
    assert statistics.fmean(chance.uniform() for _ in range(n)) == pytest.approx(0.5, abs=error * 0.29)
    normals = [chance.normal() for _ in range(n)]
    assert statistics.fmean(normals) == pytest.approx(0.0, abs=error)
    assert statistics.pstdev(normals) == pytest.approx(1.0, abs=error)
    assert statistics.fmean(chance.exponential(3.0) for _ in range(n)) == pytest.approx(3.0, abs=error * 3.0)
    assert statistics.median(chance.lognormal(5.0, 0.5) for _ in range(n)) == pytest.approx(5.0, rel=error)
    chosen = [chance.choice([0.0, 3.0, 1.0]) for _ in range(n)]
    assert 0 not in chosen
    assert chosen.count(1) / n == pytest.approx(0.75, abs=error)


@pytest.mark.parametrize("name", list(MODELS))
def test_a_pair_reads_back_as_it_was_written(name: str) -> None:
    pair = generate(name, {}, Timing(seed=3, duration_s=30.0))
    assert parse_profile(format_profile(pair)) == pair
    assert pair.provenance is not None and pair.provenance.seed == 3
    assert generate(name, {}, Timing(seed=4, duration_s=30.0)).forward != pair.forward or name == "jamming"


@pytest.mark.parametrize("name", list(MODELS))
def test_a_longer_pass_begins_alike(name: str) -> None:
    short, long = (generate(name, {}, Timing(seed=3, duration_s=d)).forward for d in (20.0, 40.0))
    assert isinstance(short, Schedule) and isinstance(long, Schedule)
    assert long.steps[: len(short.steps)] == short.steps


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**64 - 1), st.sampled_from(list(MODELS)), st.floats(0.5, 40.0), st.floats(0.05, 1.0))
def test_any_seed_and_timing_gives_schedules(seed: int, name: str, duration_s: float, step_s: float) -> None:
    pair = generate(name, {}, Timing(seed=seed, duration_s=duration_s, step_s=step_s))
    for way in (pair.forward, pair.back):
        assert isinstance(way, Schedule)
        assert way.duration_s == duration_s and way.loop


def test_a_walk_keeps_within_its_walls_and_returns() -> None:
    walk = RandomWalk(delay_s=0.05, stride_s=0.02, return_s=1.0, least_s=0.03, most_s=0.08)
    forward, back = walk.schedules(Timing(duration_s=600.0))
    delays_s = [step.profile.delay_s for step in forward.steps]
    assert min(delays_s) >= 0.03 and max(delays_s) <= 0.08
    assert forward != back
    # sd in the long run 0.02 sqrt(1/2) = 14 ms, about 300 independent values: the mean within 4 errors.
    assert statistics.fmean(delays_s) == pytest.approx(0.05, abs=4 * 0.0141 / math.sqrt(300) + 0.002)


def test_a_walk_that_returns_has_the_correlation_it_says() -> None:
    walk = RandomWalk(delay_s=0.5, stride_s=0.02, return_s=2.0, least_s=0.0, most_s=1.0)
    forward, _ = walk.schedules(Timing(duration_s=2000.0))
    delays_s = [step.profile.delay_s for step in forward.steps]
    assert len(delays_s) == 20_000
    lag1 = statistics.correlation(delays_s[:-1], delays_s[1:])
    assert lag1 == pytest.approx(math.exp(-0.1 / 2.0), abs=0.01)
    assert statistics.pstdev(delays_s) == pytest.approx(0.02, rel=0.15)  # stride sqrt(return / 2)


def test_a_walk_without_return_wanders_with_the_root_of_time() -> None:
    walk = RandomWalk(delay_s=1.0, stride_s=0.001, return_s=0.0, least_s=0.0, most_s=2.0)
    forward, _ = walk.schedules(Timing(duration_s=500.0))
    delays_s = [step.profile.delay_s for step in forward.steps]
    strides_s = [later - earlier for earlier, later in zip(delays_s[::10], delays_s[10::10], strict=False)]
    assert statistics.pstdev(strides_s) == pytest.approx(0.001, rel=0.15)  # n = 499: 4 errors are 13 %


def test_levels_last_as_long_as_they_say() -> None:
    model = MarkovLevels(
        delays_s=(0.01, 0.05),
        jitters_s=(0.0, 0.0),
        loss_ratios=(0.0, 0.1),
        dwells_s=(3.0, 1.0),
        weights=(1.0, 1.0),
    )
    forward, back = model.schedules(Timing(duration_s=8000.0))
    assert forward == back
    in_bad_s = sum(segment.length_s for segment in forward.segments() if segment.profile.delay_s == 0.05)
    # 2,000 turns of 3 + 1 s; the share's standard error is about 0.75 x 0.25 x sqrt(2 / 2000).
    assert in_bad_s / 8000.0 == pytest.approx(0.25, abs=4 * 0.75 * 0.25 * math.sqrt(2 / 2000) + 0.005)
    assert forward.loss_ratio_mean == pytest.approx(0.1 * in_bad_s / 8000.0)


def test_levels_have_rates_and_a_spread_of_their_own() -> None:
    model = MarkovLevels(sigma=0.5, forward_rates_bps=(1e6, 2e6, 3e6))
    forward, back = model.schedules(Timing(duration_s=100.0))
    assert {step.profile.rate_bps for step in forward.steps} <= {1e6, 2e6, 3e6}
    assert {step.profile.rate_bps for step in back.steps} == {None}
    assert len({step.profile.delay_s for step in forward.steps}) == len(forward.steps)


def test_a_handover_is_where_the_slots_are() -> None:
    model = Handover(slot_s=15.0, outage_s=0.1, settle_s=0.3, peak_s=0.02, least_s=0.01, most_s=0.03)
    forward, _ = model.schedules(Timing(duration_s=60.0))
    starts_s = [step.start_s for step in forward.steps]
    assert starts_s == [t for slot in (0.0, 15.0, 30.0, 45.0) for t in (slot, slot + 0.1, round(slot + 0.4, 6))]
    dead, peak, steady = (step.profile for step in forward.steps[3:6])
    assert dead.loss == 1.0
    assert peak.delay_s == pytest.approx(steady.delay_s + 0.02)
    assert 0.01 <= steady.delay_s <= 0.03


def test_jamming_windows_periodic_and_random() -> None:
    forward, back = Jamming(window_s=1.0, pause_s=4.0).schedules(Timing(duration_s=60.0))
    assert forward == back
    assert [step.start_s for step in forward.steps[:4]] == [0.0, 4.0, 5.0, 9.0]
    assert [step.profile.loss for step in forward.steps[:4]] == [0.0, 1.0, 0.0, 1.0]
    assert forward.loss_ratio_mean == pytest.approx(0.2)
    random, _ = Jamming(window_s=1.0, pause_s=4.0, random=True).schedules(Timing(duration_s=9_000.0))
    assert random.loss_ratio_mean == pytest.approx(0.2, abs=0.022)  # 1,800 turns: 4 errors are 0.021


@pytest.mark.parametrize(
    ("name", "texts", "words"),
    [
        ("starlink", {}, "'starlink': no such model"),
        ("handover", {"slots": "15s"}, "'slots': the model has no such parameter"),
        ("handover", {"slot": "15"}, "slot: '15' has no unit"),
        ("handover", {"slot": "100ms"}, "outage and settle last 0.4 s"),
        ("handover", {"least": "40ms"}, "least = 0.04 s: must not be above most"),
        ("random-walk", {"delay": "1s"}, "must lie within least .. most"),
        ("random-walk", {"least": "300ms"}, "must be below most"),
        ("random-walk", {"jitter": "2ms"}, "jitter = 0.002 s: reaches below zero from least = 0.005 s"),
        ("markov-levels", {"jitters": "2ms/6ms/30ms", "sigma": "0.1"}, "reaches below zero from delays = 0.1 s"),
        ("markov-levels", {"delays": "1ms/2ms"}, "3 values for 2 states"),
        ("markov-levels", {"weights": "1/0/0"}, "at least two must be above 0"),
        ("markov-levels", {"forward_rates": "1mbit"}, "1 values for 3 states"),
        ("markov-levels", {"losses": "1/2/3"}, "could mean percent"),
        ("jamming", {"jammed_loss": "1%", "loss": "2%"}, "is below loss"),
        ("jamming", {"random": "maybe"}, "neither true nor false"),
        ("jamming", {"window": "0s"}, "window = 0.0"),
    ],
)
def test_what_no_model_can_do_is_refused(name: str, texts: dict[str, str], words: str) -> None:
    with pytest.raises(ProfileError) as caught:
        generate(name, texts, Timing())
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "given",
    [{"duration_s": 1e6, "step_s": 0.001}, {"duration_s": 0.0}, {"step_s": math.nan}, {"seed": -1}, {"seed": 1.5}],
)
def test_timings_out_of_range_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(ProfileError):
        Timing(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(MODELS))
def test_every_parameter_can_be_written_as_its_default_and_is_explained(name: str) -> None:
    for parameter in MODELS[name].parameters.values():
        assert parameter.about
        assert parameter.read(parameter.default_text) == parameter.default


def _parameters(provenance: Provenance) -> tuple[str, dict[str, str]]:
    """Return model and parameters as a provenance has them; lines that were cut within a list are joined."""
    name, _, text = provenance.method.removeprefix("generator ").partition(": ")
    for line in provenance.assumptions:
        if line.startswith("parameters, continued: "):
            text += ("" if text.endswith("/") else " ") + line.removeprefix("parameters, continued: ")
    return name, dict(part.split("=") for part in text.split())


MANY = {
    key: "/".join([value] * 32)
    for key, value in {
        "delays": "123.456789ms", "jitters": "1.234567ms", "losses": "1.2345678%", "dwells": "12.345678s",
        "weights": "1.2345", "forward_rates": "1.234567mbit",
    }.items()
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        *((name, {}) for name in MODELS),
        ("markov-levels", MANY),
        ("handover", {"peak": "12.3456789ms", "rate_sigma": "0.3", "forward_rate": "1.23mbit"}),
    ],
)
def test_a_schedule_can_be_made_again_from_its_provenance(name: str, texts: dict[str, str]) -> None:
    pair = generate(name, texts, Timing(seed=11, duration_s=33.3, step_s=0.05, loop=False))
    assert pair.provenance is not None
    assert parse_profile(format_profile(pair)).provenance == pair.provenance
    model, parameters = _parameters(pair.provenance)
    timing = {key: parameters.pop(key) for key in ("duration", "step", "loop")}
    assert timing == {"duration": "33.3s", "step": "50ms", "loop": "false"}
    assert pair.provenance.seed is not None
    again = generate(
        model, parameters, Timing(seed=pair.provenance.seed, duration_s=33.3, step_s=0.05, loop=False)
    )
    assert again == pair


def test_a_walk_that_would_be_cut_is_refused_however_short_it_is() -> None:
    with pytest.raises(ProfileError, match="a table of its own") as caught:
        RandomWalk(jitter_s=0.002, least_s=0.005)
    assert caught.value.hint == "at most 1.36ms"
    walk = RandomWalk(jitter_s=0.00136, least_s=0.005)
    assert all(not step.profile.delay_law.clipped_ratio for step in walk.schedules(Timing())[0].steps)
