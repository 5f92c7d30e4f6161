"""Markov levels: a link that stays in one of several states for a while, then changes to another.

::

    good   ~~~~~~~~.            .~~~~~      a stay lasts exponentially long and has a delay of its own,
    fair           '~~~~~~.     |           lognormal around that of its state
    dead                  '~~~~~'           the next state is drawn by weight among the others

Both directions are in one state at a time, since what makes it (radio, cell, a crowd) is common to both.

Source: the idea of Markov-modulated channels: Gilbert 1960; Wang and Moayeri 1995, IEEE Trans. Veh. Technol.
44, "Finite-state Markov channel".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_duration_s, bounded_number, bounded_ratio
from netlab.traces.distribution import Law
from netlab.traces.profile import MAX_RATE_BPS, LinkProfile
from netlab.traces.schedule import Schedule
from netlab.traces.synthetic.spread import require_room
from netlab.traces.synthetic.timing import Timing, rounded_s

__all__ = ["MarkovLevels"]

MAX_STATES = 32
_LISTS = ("delays_s", "jitters_s", "loss_ratios", "dwells_s", "weights")
_RATES = ("forward_rates_bps", "back_rates_bps")


class _Stay(NamedTuple):
    """A stay in a state: from when, in which, and its delay as a multiple of the state's."""

    start_s: float
    state: int
    factor: float


class MarkovLevels(Struct, frozen=True, kw_only=True):
    """States, each with its delay, spread, loss, rate and mean stay. Lists have one entry a state."""

    delays_s: Annotated[tuple[float, ...], Meta(description="median delay of each state, each way")] = (
        0.02, 0.04, 0.1,
    )  # fmt: skip
    jitters_s: Annotated[tuple[float, ...], Meta(description="deviation within a stay")] = (0.002, 0.006, 0.02)
    loss_ratios: Annotated[tuple[float, ...], Meta(description="share lost")] = (0.0, 0.01, 0.05)
    dwells_s: Annotated[tuple[float, ...], Meta(description="mean stay in each state")] = (8.0, 4.0, 2.0)
    weights: Annotated[tuple[float, ...], Meta(description="how likely each state comes next")] = (1.0, 1.0, 1.0)
    forward_rates_bps: Annotated[tuple[float, ...], Meta(description="rate forward; none for no limit")] = ()
    back_rates_bps: Annotated[tuple[float, ...], Meta(description="rate back; none for no limit")] = ()
    sigma: Annotated[float, Meta(description="deviation of the logarithm of a stay's delay")] = 0.0
    law: Annotated[Law, Meta(description="law within a stay")] = "normal"

    def __post_init__(self) -> None:
        for name in (*_LISTS, *_RATES):
            if isinstance(getattr(self, name), list):
                msgspec.structs.force_setattr(self, name, tuple(getattr(self, name)))
        self._check_lengths()
        for delay_s, jitter_s, loss_ratio, dwell_s, weight in zip(
            *(getattr(self, name) for name in _LISTS), strict=True
        ):
            bounded_duration_s("delays", delay_s)
            bounded_duration_s("jitters", jitter_s)
            bounded_ratio("losses", loss_ratio)
            bounded_number("dwells", dwell_s, 1e-3, 1e6)
            bounded_number("weights", weight, 0.0, 1e6)
            if self.sigma:  # else there are as many laws as states
                require_room(jitter_s, delay_s, self.law, ("jitters", "delays"))
        for rate_bps in (*self.forward_rates_bps, *self.back_rates_bps):
            bounded_number("rates", rate_bps, 8.0, MAX_RATE_BPS)
        bounded_number("sigma", self.sigma, 0.0, 3.0)
        if len(self.weights) > 1 and sum(weight > 0.0 for weight in self.weights) < 2:
            raise ProfileError("weights: at least two must be above 0: each state needs another one after it")

    def _check_lengths(self) -> None:
        states = len(self.delays_s)
        if not 1 <= states <= MAX_STATES:
            raise ProfileError(f"delays: {states} states: must be 1 .. {MAX_STATES}")
        for name in (*_LISTS, *_RATES):
            given = len(getattr(self, name))
            if given != states and not (name in _RATES and given == 0):
                key = name.rpartition("_")[0] or name
                raise ProfileError(
                    f"{key}: {given} values for {states} states",
                    hint="give delays, jitters, losses, dwells and weights one value a state each",
                )

    def schedules(self, timing: Timing) -> tuple[Schedule, Schedule]:
        """Return both directions, which are in the same state at the same time."""
        stays = list(self._stays(timing))
        forward, back = (
            timing.schedule((stay.start_s, self._profile(stay, rates_bps)) for stay in stays)
            for rates_bps in (self.forward_rates_bps, self.back_rates_bps)
        )
        return forward, back

    def _stays(self, timing: Timing) -> Iterator[_Stay]:
        chance = timing.chance("markov-levels")
        now_s, state = 0.0, 0
        while now_s < timing.duration_s:
            yield _Stay(now_s, state, chance.lognormal(1.0, self.sigma))
            now_s += max(chance.exponential(self.dwells_s[state]), timing.step_s)
            if len(self.weights) > 1:
                weights = [0.0 if other == state else weight for other, weight in enumerate(self.weights)]
                state = chance.choice(weights)

    def _profile(self, stay: _Stay, rates_bps: tuple[float, ...]) -> LinkProfile:
        delay_s = rounded_s(self.delays_s[stay.state] * stay.factor)
        return LinkProfile(
            delay_s=delay_s,
            jitter_s=min(rounded_s(self.jitters_s[stay.state] * stay.factor), delay_s),
            law=self.law,
            loss=self.loss_ratios[stay.state],
            rate_bps=rates_bps[stay.state] if rates_bps else None,
        )
