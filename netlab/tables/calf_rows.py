"""The tables beside CALF's, declared: which policies, how they are played, on which networks; the paper's figures.

Data alone. To change what the table shows, change it here.

Source: Purves and Lio, "CALF: Communication-Aware Learning Framework for Distributed Reinforcement Learning",
arXiv 2603.12543. Its networks are presets here; it does not say whether their figures are of a round trip or of
each way, so both readings are columns (docs/presets.md).
"""

from __future__ import annotations

import enum

from msgspec import Struct

from netlab.scoring.scorer import Overrides

__all__ = [
    "ABLATION",
    "CLEAN",
    "DEGRADED",
    "NETWORKS",
    "PAPER",
    "PAPER_GAP_RATIO",
    "SECTIONS",
    "Group",
    "Row",
    "Section",
]

CLEAN = "none"
NETWORKS = (
    CLEAN,
    "ethernet-clean@rtt",
    "ethernet-clean@oneway",
    "wifi-normal@rtt",
    "wifi-normal@oneway",
    "wifi-degraded@rtt",
    "wifi-degraded@oneway",
)
DEGRADED = ("wifi-degraded@rtt", "wifi-degraded@oneway")


class Group(enum.StrEnum):
    """What a row may be compared with."""

    BASELINE = "the paper's protocol, trained without a network"
    METHOD = "the paper's protocol and method"
    MORE_INPUTS = "the paper's protocol; the policy is told more than the paper's"
    PROTOCOL = "protocol changed"
    REFERENCE = "reference, nothing learned"


class Row(Struct, frozen=True, kw_only=True):
    """A policy and how it is played.

    Attributes:
        name: Of the row, in its section.
        policy: Name; its training seeds are those that there are.
        about: What it is, in a few words.
        group: What it may be compared with.
        overrides: How it is played other than its file says.
        is_code: Whether it is code, and so has no training seed.
        paper: Which of the paper's rows it stands beside; empty for none.
    """

    name: str
    policy: str
    about: str
    group: Group
    overrides: Overrides = Overrides()
    is_code: bool = False
    paper: str = ""


class Section(Struct, frozen=True, kw_only=True):
    """A table.

    Attributes:
        name: Of it, short.
        title: Of it, for people.
        task: That is played.
        unit: Of the figures.
        most: The most that a figure can be.
        rows: Of it, in order.
        networks: Its columns.
        options: Numbers that change the task.
    """

    name: str
    title: str
    task: str
    unit: str
    most: float
    rows: tuple[Row, ...]
    networks: tuple[str, ...] = NETWORKS
    options: dict[str, int | float] = {}


_NEUTRAL = Overrides(actuator="newest", fallback="neutral")
_HOLD = Overrides(actuator="newest", fallback="hold")

_CARTPOLE = (
    Row(
        name="baseline, neutral",
        policy="cartpole-baseline",
        about="newest action; no force where there is none",
        group=Group.BASELINE,
        overrides=_NEUTRAL,
        paper="baseline",
    ),
    Row(
        name="baseline, hold",
        policy="cartpole-baseline",
        about="newest action; the last one held where there is none, 10 ticks at most",
        group=Group.BASELINE,
        overrides=_HOLD,
        paper="baseline",
    ),
    Row(
        name="paper's method",
        policy="cartpole-paper",
        about="stack of 4, trained on random networks; newest action, no force where there is none",
        group=Group.METHOD,
        paper="network-aware",
    ),
    Row(
        name="scheduled, model-free",
        policy="cartpole-scheduled",
        about="trained on random networks, sees pending actions; each action scheduled for its tick",
        group=Group.PROTOCOL,
    ),
    Row(
        name="scheduled, learned model",
        policy="cartpole-predictor",
        about="trained without a network; a learned model predicts over pending actions; scheduled",
        group=Group.PROTOCOL,
    ),
    Row(
        name="scheduled, exact physics",
        policy="linear-predict",
        about="linear feedback on what the known physics predict; scheduled",
        group=Group.REFERENCE,
        is_code=True,
    ),
    Row(
        name="linear",
        policy="linear",
        about="linear feedback on the newest observation; newest action",
        group=Group.REFERENCE,
        is_code=True,
    ),
)

_DOORKEY = (
    Row(
        name="baseline, no-op",
        policy="doorkey-baseline",
        about="LSTM; newest action; nothing is done where there is none",
        group=Group.BASELINE,
        overrides=_NEUTRAL,
        paper="baseline",
    ),
    Row(
        name="baseline, hold",
        policy="doorkey-baseline",
        about="LSTM; newest action; the last one held where there is none, 10 ticks at most",
        group=Group.BASELINE,
        overrides=_HOLD,
        paper="baseline",
    ),
    Row(
        name="network-aware",
        policy="doorkey-aware",
        about="LSTM, trained on random networks, sees its last actions, their age, what was played; newest action",
        group=Group.MORE_INPUTS,
        paper="network-aware",
    ),
    Row(
        name="baseline, stop-and-wait",
        policy="doorkey-baseline",
        about="LSTM, trained without a network; each action repeated until it is acknowledged, played once",
        group=Group.PROTOCOL,
        overrides=Overrides(actuator="stop-and-wait"),
    ),
)

_ABLATION = tuple(
    Row(name=name, policy=policy, about=about, group=group)
    for name, policy, group, about in (
        ("none", "cartpole-paper-none", Group.BASELINE, "stack of 4, trained without a network"),
        ("delay", "cartpole-paper-delay", Group.METHOD, "random delay alone, 0 to 100 ms each way"),
        (
            "jitter",
            "cartpole-paper-jitter",
            Group.METHOD,
            "random deviation alone, 0 to 50 ms, about a delay of 50 ms each way that is always the same",
        ),
        (
            "loss",
            "cartpole-paper-loss",
            Group.METHOD,
            "random loss alone, 0 to 15 % each way, half of it in bursts",
        ),
        ("full", "cartpole-paper", Group.METHOD, "all three: the paper's method above"),
    )
)

ABLATION = Section(
    name="ablation",
    title="Ablation: CartPole-v1, what is random in training",
    task="CartPole-v1",
    unit="return",
    most=500.0,
    rows=_ABLATION,
    networks=(CLEAN, *DEGRADED),
)

SECTIONS = (
    Section(
        name="cartpole",
        title="CartPole-v1",
        task="CartPole-v1",
        unit="return",
        most=500.0,
        rows=_CARTPOLE,
    ),
    *(
        Section(
            name=f"doorkey-{limit_ticks}",
            title=f"MiniGrid-DoorKey-8x8, at most {limit_ticks} ticks",
            task="MiniGrid-DoorKey-8x8-v0",
            unit="success %",
            most=100.0,
            rows=_DOORKEY,
            options={"limit_ticks": limit_ticks},
        )
        for limit_ticks in (640, 160)
    ),
    ABLATION,
)

PAPER = {
    "CartPole-v1": {
        "network-aware": {
            CLEAN: 476.0,
            "ethernet-clean": 458.0,
            "wifi-normal": 442.0,
            "wifi-degraded": 378.0,
        },
        "baseline": {CLEAN: 495.0, "wifi-degraded": 92.0},
    },
    "MiniGrid-DoorKey-8x8-v0": {
        "network-aware": {CLEAN: 89.0, "ethernet-clean": 85.0, "wifi-normal": 81.0, "wifi-degraded": 74.0},
        "baseline": {CLEAN: 94.0, "wifi-degraded": 44.0},
    },
}
"""What the paper reports: return of CartPole, success % of DoorKey; without a reading, as it states none."""

PAPER_GAP_RATIO = {"CartPole-v1": 3.95, "MiniGrid-DoorKey-8x8-v0": 3.13}
"""How many times narrower than the baseline's it says its network-aware policy's gap is, on Wi-Fi-Degraded."""
