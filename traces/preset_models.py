"""Presets that a model makes: cellular, satellite and Wi-Fi networks from published figures, by a fixed seed.

::

    published figures --here, each with its source--> model's parameters --seed--> two schedules

Which figure comes from where, and what is an assumption for want of one, is in docs/presets.md and in each
preset's provenance. Each is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from netlab.traces.pair import ProfilePair
from netlab.traces.provenance import Provenance
from netlab.traces.schedule import Schedule
from netlab.traces.synthetic.handover import Handover
from netlab.traces.synthetic.jamming import Jamming
from netlab.traces.synthetic.markov_levels import MarkovLevels
from netlab.traces.synthetic.timing import Timing

__all__ = ["PRESET_MODELS", "PresetModel", "modelled_preset"]

Both = tuple[Schedule, Schedule]


class PresetModel(NamedTuple):
    """A preset made by a model.

    Attributes:
        schedules: Makes both directions.
        timing: How long one pass is, and the seed.
        description: For a person.
        source: Where the figures come from.
        assumptions: What no source says.
    """

    schedules: Callable[[Timing], Both]
    timing: Timing
    description: str
    source: str
    assumptions: tuple[str, ...]


_LTE = MarkovLevels(
    # Good, medium and bad signal, and a stall of the radio link. Forward is the uplink.
    delays_s=(0.041, 0.042, 0.044, 1.0),
    jitters_s=(0.004, 0.006, 0.010, 0.100),
    loss_ratios=(0.0, 0.001, 0.005, 0.0),
    dwells_s=(6.0, 4.0, 2.0, 0.4),
    weights=(10.0, 10.0, 5.0, 0.4),
    forward_rates_bps=(14.4e6, 3.2e6, 1.1e6, 1.1e6),
    back_rates_bps=(31.0e6, 18.8e6, 12.6e6, 12.6e6),
    sigma=0.5,
)

_LEO = Handover(
    slot_s=15.0,
    least_s=0.012,
    most_s=0.025,
    jitter_s=0.0042,
    loss_ratio=0.005,
    outage_s=0.1,
    peak_s=0.020,
    settle_s=0.4,
    forward_rate_bps=15e6,
    back_rate_bps=150e6,
    rate_sigma=0.4,
)

_WIFI = MarkovLevels(
    # Calm, busy, crowded, stalled.
    delays_s=(0.0013, 0.006, 0.030, 0.125),
    jitters_s=(0.0004, 0.0025, 0.012, 0.030),
    loss_ratios=(0.0, 0.005, 0.03, 0.15),
    dwells_s=(4.0, 1.2, 0.5, 0.25),
    weights=(10.0, 5.0, 2.0, 1.0),
    sigma=0.3,
    law="pareto",
)

_JAMMER = Jamming(window_s=1.0, pause_s=4.0, random=True)
_JAMMER_SEED = 209
"""Of the first 300 the one whose pass has 24 windows and of those comes nearest to a fifth of the time."""


def _jammed(timing: Timing) -> Both:
    forward, back = _WIFI.schedules(timing)
    jammer = msgspec.structs.replace(timing, seed=_JAMMER_SEED)
    return _JAMMER.laid_over(forward.steps, jammer), _JAMMER.laid_over(back.steps, jammer)


PRESET_MODELS: dict[str, PresetModel] = {
    "cellular-lte": PresetModel(
        _LTE.schedules,
        Timing(seed=133, duration_s=300.0),
        "4G: round trips lognormal around 82 .. 88 ms, rates by signal, a stall now and then (ERRANT's figures)",
        "4G means of ERRANT's profiles.csv (Computer Networks, 2020); stalls: Larson et al., PAM 2015",
        (
            "how long a signal quality lasts, the spread within it, the losses, length and depth of stalls",
            "half of a round trip each way; forward is the uplink",
        ),
    ),
    "satellite-leo": PresetModel(
        _LEO.schedules,
        Timing(seed=15, duration_s=300.0),
        "LEO satellite: a new delay every 15 s, 24 .. 50 ms a round trip, a gap and a peak in between (Starlink)",
        "G. Huston, APNIC, 17 May 2024; rates within the range of WetLinks, arXiv 2402.16448",
        (
            "length of the gap and of the peak at a handover, rates and their spread",
            "losses: 0.5 % each way beside the gaps, so 2.3 % of round trips; the source counts 1 to 2 % of them",
            "half of a round trip each way; forward is the uplink",
        ),
    ),
    "wifi-home": PresetModel(
        _WIFI.schedules,
        Timing(seed=76, duration_s=120.0, step_s=0.05),
        "Wi-Fi hop: round trips of 3 ms in the median, 90 % within 20, 99 % within 250 (WiFiSeer); lossy at times",
        "quantiles of Sui et al., MobiSys 2016, doi 10.1145/2906388.2906393",
        (
            "how long states last, their losses; a campus's quantiles stand for a home's",
            "half of a round trip each way",
        ),
    ),
    "wifi-jammed": PresetModel(
        _jammed,
        Timing(seed=76, duration_s=120.0, step_s=0.05),
        "wifi-home with a random jammer over it: nothing gets through for a second or so, a fifth of the time",
        "as wifi-home; the random jammer of Xu et al., MobiHoc 2005",
        (
            "windows of 1 s and pauses of 4 s on average, which a controller notices; all is lost within them",
            f"the jammer has a seed of its own, {_JAMMER_SEED}",
            "half of a round trip each way",
        ),
    ),
}


def modelled_preset(name: str) -> ProfilePair:
    """Return the pair of a preset that a model makes.

    Args:
        name: One of ``PRESET_MODELS``.
    """
    model = PRESET_MODELS[name]
    forward, back = model.schedules(model.timing)
    return ProfilePair(
        name,
        forward,
        back,
        "rtt",
        model.description,
        Provenance(
            method=f"model from published figures: {model.source}",
            assumptions=model.assumptions,
            seed=model.timing.seed,
        ),
    )
