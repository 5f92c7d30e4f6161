"""Loss chains: their long-run loss and bursts, checked by running the chain itself."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_strategies import chains, positive_ratios, refused

from netlab.traces.loss import FourState, GilbertElliott, ratio_to_u32
from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState

N = 200_000


def run_gilbert_elliott(state: GilbertElliottState, n: int, seed: int) -> list[bool]:
    """Walk the chain as docs/netem.md describes it: transition first, loss by the old state."""
    draw = random.Random(seed).getrandbits
    bad, losses = False, []
    for _ in range(n):
        was_bad = bad
        change = draw(32)
        bad = change >= state.r if was_bad else change < state.p
        test = draw(32)
        losses.append(test > state.h if was_bad else test < state.k1)
    return losses


def run_four_state(state: FourStateState, n: int, seed: int) -> list[bool]:
    """Walk the four states; each packet's fate is that of the state it leads to."""
    draw = random.Random(seed).getrandbits
    at, losses = 1, []
    for _ in range(n):
        u = draw(32)
        if at == 1:
            at = 4 if u < state.p14 else 3 if u < state.p14 + state.p13 else 1
        elif at == 2:
            at = 3 if u < state.p23 else 2
        elif at == 3:
            at = 2 if u < state.p32 else 1 if u < state.p32 + state.p31 else 3
        else:
            at = 1
        losses.append(at in (3, 4))
    return losses


@pytest.mark.parametrize(
    "chain",
    [
        GilbertElliott(p=0.02, r=0.25),
        GilbertElliott(p=0.1, r=0.4, loss_in_bad=0.7, loss_in_good=0.05),
        GilbertElliott.from_mean(0.1, 5.0),
    ],
)
def test_gilbert_elliott_loses_its_mean(chain):
    share = sum(run_gilbert_elliott(chain.to_kernel(), N, seed=1)) / N
    # Losses of a burst come together: the deviation is that of N / (2 x burst) independent ones; 5 sigma.
    bound = 5 * (chain.loss_ratio_mean * 2 * chain.burst_packets / N) ** 0.5
    assert share == pytest.approx(chain.loss_ratio_mean, abs=bound)


@pytest.mark.parametrize(
    "chain",
    [
        FourState(p13=0.02, p31=0.2),
        FourState(p13=0.02, p31=0.2, p32=0.3, p23=0.5, p14=0.01),
        FourState(p13=0.02, p31=0.2, p32=0.6, p23=0.1),
        FourState(p13=0.0, p31=0.0, p14=0.05),
    ],
)
def test_four_state_loses_its_mean(chain):
    share = sum(run_four_state(chain.to_kernel(), N, seed=2)) / N
    bound = 5 * (chain.loss_ratio_mean * 2 * chain.burst_packets / N) ** 0.5
    assert share == pytest.approx(chain.loss_ratio_mean, abs=bound)


def test_mean_burst_of_the_simple_chain_is_losses_in_a_row():
    losses = run_gilbert_elliott(GilbertElliott.from_mean(0.1, 5.0).to_kernel(), N, seed=3)
    bursts = sum(now and not before for before, now in zip([False, *losses], losses, strict=False))
    # About 4000 geometric bursts of mean and deviation 5: 5 sigma is 0.4.
    assert sum(losses) / bursts == pytest.approx(5.0, abs=0.4)


def test_the_kernel_gets_survival_in_bad_and_loss_in_good():
    state = GilbertElliott(p=0.25, r=0.5, loss_in_bad=0.75, loss_in_good=0.125).to_kernel()
    assert state == GilbertElliottState(
        p=1 << 30, r=1 << 31, h=U32_MAX - ratio_to_u32(0.75), k1=ratio_to_u32(0.125)
    )
    assert GilbertElliott(p=0.1, r=1.0).to_kernel().h == 0


@settings(deadline=None)
@given(st.floats(0.001, 0.999), st.floats(1.0, 1e6))
def test_from_mean_has_the_mean_and_the_burst(loss, burst):
    try:
        chain = GilbertElliott.from_mean(loss, burst)
    except Exception as error:
        assert "too short" in str(error)
        assert loss / (1 - loss) > burst * 0.999
        return
    assert chain.loss_ratio_mean == pytest.approx(loss, rel=1e-9)
    assert chain.burst_packets == pytest.approx(burst, rel=1e-9)


@settings(deadline=None)
@given(chains)
def test_kernel_numbers_are_u32_and_sums_do_not_overflow(chain):
    state = chain.to_kernel()
    for field in state.__struct_fields__:
        assert 0 <= getattr(state, field) <= U32_MAX
    assert FourState(p13=0.5, p31=0.5, p32=0.5, p14=0.5).to_kernel().p13 == U32_MAX - (1 << 31)
    if isinstance(state, FourStateState):
        assert state.p13 + state.p14 <= U32_MAX
        assert state.p31 + state.p32 <= U32_MAX
    assert 0.0 < chain.loss_ratio_mean <= 1.0
    assert chain.burst_packets >= 1.0


@settings(deadline=None)
@given(positive_ratios)
def test_a_ratio_above_zero_stays_above_zero(ratio):
    assert 1 <= ratio_to_u32(ratio) <= U32_MAX
    assert ratio_to_u32(1e-300) == 1
    assert (ratio_to_u32(0.0), ratio_to_u32(1.0)) == (0, U32_MAX)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"p": 1.5, "r": 0.1}, "loss.p = 1.5"),
        ({"p": 0.0, "r": 0.1}, "never leave GOOD"),
        ({"p": 0.1, "r": 0.0}, "never leave BAD"),
        ({"p": 0.1, "r": 0.1, "loss_in_bad": 0.1, "loss_in_good": 0.2}, "loss_in_bad = 0.1 is below"),
        ({"p": float("nan"), "r": 0.1}, "loss.p = nan"),
        ({"p": "1%", "r": 0.1}, "loss.p = '1%'"),
    ],
)
def test_bad_gilbert_elliott_is_refused(fields, words):
    assert words in str(refused(GilbertElliott, **fields))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"p13": 0.6, "p31": 0.1, "p14": 0.6}, "loss.p13 + loss.p14 = 1.2"),
        ({"p13": 0.1, "p31": 0.6, "p32": 0.6}, "loss.p31 + loss.p32"),
        ({"p13": 0.0, "p31": 0.1}, "nothing would ever be lost"),
        ({"p13": 0.1, "p31": 0.0}, "never end"),
        ({"p13": 0.1, "p31": 0.1, "p32": 0.1, "p23": 0.0}, "p23 = 0"),
    ],
)
def test_bad_four_state_is_refused(fields, words):
    assert words in str(refused(FourState, **fields))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((0.99, 1.0), "too short"), ((0.1, 0.5), "loss.burst = 0.5"), ((0.0, 5.0), "loss.mean = 0.0")],
)
def test_impossible_means_are_refused(arguments, words):
    assert words in str(refused(GilbertElliott.from_mean, *arguments))
