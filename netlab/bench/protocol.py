"""CartPole over ``wifi-degraded``: what the tick protocol is worth against answering the newest observation."""

from __future__ import annotations

from collections.abc import Callable

from netlab.bench.figure import Figure
from netlab.experiment import Cell, Experiment, run_experiment
from netlab.report import CellResult

__all__ = ["protocol"]

TARGET = 490.0
NETWORK = "wifi-degraded@rtt"
# Known from before, of other (trained) policies over the same network in simulation: the scale, not a target.
REFERENCE_HOLD = "a policy trained without a network, holding for ever: 38 +- 3"
REFERENCE_NEUTRAL = "the paper's method, stack of 4, neutral: 246 +- 16"
# One lab plays its episodes one after another, and a good one lasts 10 s: three a lab, seven labs.
LABS, EPISODES = 7, 21


def protocol(say: Callable[[str], None]) -> Figure:
    """Play at least 20 episodes of each of three ways, all labs at once, over real netem."""
    experiment = Experiment(
        name="protocol",
        cells=(
            Cell(network=NETWORK, policy="linear-predict", actuator="scheduled", fallback="neutral", labs=LABS),
            Cell(network=NETWORK, policy="linear", actuator="newest", fallback="hold"),
            Cell(network=NETWORK, policy="linear", actuator="newest", fallback="neutral", labs=3),
        ),
        episodes=EPISODES,
        labs_at_once=LABS + 4,
    )
    scheduled, hold, neutral = run_experiment(experiment, "for the protocol bench").cells
    value = scheduled.return_mean or 0.0
    return Figure(
        name="protocol",
        value=value,
        unit="mean return, scheduled with prediction",
        target=f"above {TARGET:g}",
        holds=value > TARGET and len(scheduled.returns) >= 20,
        n=len(scheduled.returns),
        spread=f"{_text(scheduled)}, range {min(scheduled.returns):g}..{max(scheduled.returns):g}",
        note=f"newest observation: hold {_text(hold)} ({REFERENCE_HOLD}), neutral {_text(neutral)} "
        f"({REFERENCE_NEUTRAL}); "
        f"D = {scheduled.horizon_ticks}, {100 * scheduled.action_miss_ratio:.1f} % action misses, "
        + _late_text(scheduled),
    )


def _late_text(cell: CellResult) -> str:
    ratio = cell.deadline_miss_ratio
    return "late ticks not claimable in virtual time" if ratio is None else f"{100 * ratio:.2f} % late ticks"


def _text(cell: CellResult) -> str:
    if cell.return_mean is None or cell.return_se is None:
        return "no episode"
    return f"{cell.return_mean:.0f} +- {cell.return_se:.0f}"
