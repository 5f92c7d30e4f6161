"""How the shipped policies do on the networks of the CALF paper, in the model; all training seeds there are.

::

    Part: policy, network, limit --every training seed--> score() --> points [seeds, episodes] --> Figure

Nothing is trained and nothing chosen here. Episodes have the seeds of tables, none that anything was chosen on.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

from netlab.agents.shipped_policies import training_seeds
from netlab.bench.figure import Figure
from netlab.bench.paired_ratio import PairedRatio
from netlab.errors import NetlabError
from netlab.scoring.score import gap
from netlab.scoring.scorer import Overrides, score
from netlab.tables.calf_cell import FIRST_SEED
from netlab.tables.calf_result import CalfResult
from netlab.tables.calf_rows import CLEAN, DEGRADED, NETWORKS, PAPER, PAPER_GAP_RATIO
from netlab.tables.calf_table import gap_ratio, paper_gap_ratio

__all__ = ["cartpole_best", "cartpole_modelfree", "doorkey_learned", "doorkey_protocol", "paper_method"]

EPISODES = 100
RTT, ONE_WAY = DEGRADED
CARTPOLE = "CartPole-v1"

Say = Callable[[str], None]


class Part(NamedTuple):
    """One of the values of a figure.

    Attributes:
        policy: Name without a training seed.
        network: In words.
        target: The least that is asked; None where it is reported alone.
        limit_ticks: Of DoorKey; 0 for none.
        overrides: How it is played other than its file says.
    """

    policy: str
    network: str
    target: float | None = None
    limit_ticks: int = 0
    overrides: Overrides = Overrides()

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self.network + (f", limit {self.limit_ticks}" if self.limit_ticks else "")


class Scores(NamedTuple):
    """What came of a part.

    Attributes:
        part: Of a figure.
        points: ``[training seeds][episodes]``: return, or success in percent; of the same episodes for each.
    """

    part: Part
    points: tuple[tuple[float, ...], ...]

    @property
    def means(self) -> tuple[float, ...]:
        """Over episodes, of each training seed."""
        return tuple(map(statistics.fmean, self.points))

    @property
    def least(self) -> float:
        """The worst episode of all."""
        return min(map(min, self.points))

    @property
    def median(self) -> float:
        """Over training seeds."""
        return statistics.median(self.means)

    @property
    def mean(self) -> float:
        """Over training seeds."""
        return statistics.fmean(self.means)

    @property
    def holds(self) -> bool:
        """Whether the target is met; what has none is."""
        return self.part.target is None or self.median >= self.part.target


def cartpole_best(say: Say) -> Figure:
    """Score the policy with a learned model on Wi-Fi-Degraded, both readings."""
    parts = [Part("cartpole-predictor", RTT, 500.0), Part("cartpole-predictor", ONE_WAY, 495.0)]
    paper = PAPER[CARTPOLE]["network-aware"]["wifi-degraded"]
    return _figure("cartpole-best", "return", _play(parts, say), note=f"the paper's: {paper:g}")


def cartpole_modelfree(say: Say) -> Figure:
    """Score the scheduled policy without a model on Wi-Fi-Degraded, both readings, and without a network."""
    targets = {RTT: 495.0, ONE_WAY: 480.0, CLEAN: 495.0}
    parts = [Part("cartpole-scheduled", network, target) for network, target in targets.items()]
    return _figure("cartpole-modelfree", "return", _play(parts, say))


def doorkey_learned(say: Say) -> Figure:
    """Score the network-aware LSTM alone on Wi-Fi-Degraded, both readings, and without a network."""
    parts = [
        Part("doorkey-aware", RTT, 99.0, limit_ticks=640),
        Part("doorkey-aware", ONE_WAY, 95.0, limit_ticks=160),
        Part("doorkey-aware", CLEAN, 99.0, limit_ticks=640),
    ]
    paper = PAPER["MiniGrid-DoorKey-8x8-v0"]["network-aware"]["wifi-degraded"]
    return _figure("doorkey-learned", "% success", _play(parts, say), note=f"the paper's: {paper:g} %")


def doorkey_protocol(say: Say) -> Figure:
    """Score the baseline with stop-and-wait against what it does without a network."""
    wait = Overrides(actuator="stop-and-wait")
    parts = [
        Part("doorkey-baseline", network, None, limit_ticks, wait)
        for limit_ticks in (640, 160)
        for network in (*DEGRADED, CLEAN)
    ]
    rtt, one_way, clean, *short = _play(parts, say)
    if not clean.mean:
        raise NetlabError(f"{clean.part.policy} never succeeds without a network: nothing to compare with")
    ratios = {there.part.network: PairedRatio.of(there.points, clean.points) for there in (rtt, one_way)}
    worst = min(ratio.value for ratio in ratios.values())
    medians = [100.0 * there.median / clean.median if clean.median else 0.0 for there in (rtt, one_way)]
    return Figure(
        name="doorkey-protocol",
        value=100.0 * worst,
        unit="% of its mean success without a network, the worse reading, limit 640",
        target="at least 100 %",
        holds=worst >= 1.0,
        n=len(clean.means) * EPISODES,
        spread=_spread([rtt, one_way, clean]),
        note="; ".join(f"{network}: {ratio.words(1.0, 100.0)}" for network, ratio in ratios.items())
        + f"; paired by training seed and episode; of medians over training seeds {min(medians):.4g} %; "
        f"limit 160, reported: {_values(short)}; {_seeds_text()}",
    )


def paper_method(say: Say) -> Figure:
    """Score the paper's method on all networks, and its gap against the baseline's."""
    ours = _play([Part("cartpole-paper", network) for network in NETWORKS], say)
    neutral, hold = (Overrides(actuator="newest", fallback=fallback) for fallback in ("neutral", "hold"))
    by_network = {scores.part.network: scores for scores in ours}
    texts = []
    for name, overrides in (("neutral", neutral), ("hold", hold)):
        theirs = _play(
            [Part("cartpole-baseline", network, overrides=overrides) for network in (CLEAN, *DEGRADED)], say
        )
        clean = theirs[0]
        for there in theirs[1:]:
            own = gap(by_network[there.part.network].mean, by_network[CLEAN].mean)
            baseline = gap(there.mean, clean.mean)
            texts.append(f"{there.part.network} against {name} {_ratio_text(baseline, own)}")
    stated, computed = PAPER_GAP_RATIO[CARTPOLE], paper_gap_ratio(CARTPOLE)
    return Figure(
        name="paper-method",
        value=by_network[RTT].median,
        unit=f"return on {RTT}, median",
        target="none: reported as it is",
        holds=True,
        n=len(ours[0].means) * EPISODES,
        spread=_spread(ours),
        note=f"the paper's: {_paper_text()}; baseline's gap / its gap: {'; '.join(texts)} "
        f"(the paper's {stated}, by its figures {computed:.2f}); {_seeds_text()}",
    )


def _paper_text() -> str:
    figures = PAPER[CARTPOLE]["network-aware"]
    return ", ".join(f"{figure:g} on {network}" for network, figure in figures.items())


def _play(parts: Sequence[Part], say: Say) -> list[Scores]:
    found = []
    for part in parts:
        say(f"{part.policy} on {part.label}")
        options = {"limit_ticks": part.limit_ticks} if part.limit_ticks else {}
        points = []
        for name in training_seeds(part.policy):
            made = score(
                name, part.network, episodes=EPISODES, seed=FIRST_SEED, overrides=part.overrides, options=options
            )
            points.append(CalfResult.of(made).points)
        found.append(Scores(part, tuple(points)))
    return found


def _figure(name: str, unit: str, scores: Sequence[Scores], note: str = "") -> Figure:
    first = scores[0]
    asked = [one.part for one in scores if one.part.target is not None]
    targets = ", ".join(f"{part.target:g} on {part.label}" for part in asked)
    return Figure(
        name=name,
        value=first.median,
        unit=f"{unit} on {first.part.label}; " + _values(scores[1:]),
        target=f"at least {targets}; medians over training seeds" if targets else "none: reported as it is",
        holds=all(one.holds for one in scores),
        n=len(first.means) * EPISODES,
        spread=_spread(scores),
        note="; ".join(part for part in (note, _seeds_text()) if part),
    )


def _values(scores: Sequence[Scores]) -> str:
    return ", ".join(f"{one.median:.4g} on {one.part.label}" for one in scores)


def _spread(scores: Sequence[Scores]) -> str:
    return "; ".join(
        f"{one.part.label}: {len(one.means)} training seeds {min(one.means):.4g}..{max(one.means):.4g}, "
        f"mean {one.mean:.4g}, worst episode {one.least:.4g}"
        for one in scores
    )


def _seeds_text() -> str:
    return f"{EPISODES} episodes a training seed, seeds from {FIRST_SEED}; nothing chosen among training seeds"


def _ratio_text(baseline: float | None, own: float | None) -> str:
    if baseline is None or own is None:
        return "no gap: nothing without a network"
    ratio = gap_ratio(baseline, own)
    shown = "no ratio" if ratio is None else f"{ratio:.2f}"
    return f"{baseline:.1%} / {own:.1%} = {shown}"
