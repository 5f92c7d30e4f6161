"""The typed messages of the tick protocol: what the two services say to each other.

Ground: standard library and msgspec only. How a message becomes bytes is ``netlab.wire``'s business; what
it means to play one out is ``netlab.control``'s.

::

    edge (environment)                                   remote (policy)
        Hello(run, task, actuator) ------------------>   may this edge be served?
                                   <------------------   Welcome(policy)  |  Goodbye(reason)
        Observation(tick k)        ------------------>   decide
                                   <------------------   Action(based on k, for ticks k+1 ..)
        Goodbye(reason)            ------------------>

Arrays travel as raw little-endian bytes; shape and dtype are agreed once, in the Hello's Task, so that a
receiver knows each message's exact size before it looks inside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal, overload

from msgspec import Meta, Struct

__all__ = [
    "ADAPTIVE_HORIZON",
    "MAX_RATE_HZ",
    "MAX_SEED",
    "MIN_RATE_HZ",
    "PRINTABLE",
    "PROTOCOL_VERSION",
    "Action",
    "ActuatorName",
    "FallbackName",
    "Goodbye",
    "Heartbeat",
    "Hello",
    "HorizonWord",
    "Message",
    "Observation",
    "Seed",
    "Space",
    "TaskDescription",
    "Welcome",
    "horizon_number",
    "horizon_word",
]

PROTOCOL_VERSION = 2
"""Changes when an older peer could no longer understand us."""

MAX_PAYLOAD_BYTES = 1 << 20
MAX_ACTIONS = 256
ADAPTIVE_HORIZON = 0
"""Stands for a horizon that the remote chooses, and changes, by what it measures."""
HISTORY_TICKS = 64
MAX_SEED = 2**64 - 1
"""Of whatever is seeded: links, episodes, training, scores."""

# msgspec takes no bound past 63 bits; MessagePack itself has no integer above 2**64 - 1.
UInt64 = Annotated[int, Meta(ge=0)]
Seed = UInt64
"""A seed in a document, up to ``MAX_SEED``."""
Tick = Annotated[int, Meta(ge=0, le=2**62)]
ActuatorName = Literal["newest", "scheduled", "planned", "stop-and-wait"]
FallbackName = Literal["neutral", "hold"]
"""Those that need no policy beside the environment."""
HorizonWord = Annotated[int, Meta(ge=1, le=MAX_ACTIONS)] | Literal["adaptive"]
"""D as people write it, where ``ADAPTIVE_HORIZON`` is a word."""
MIN_RATE_HZ, MAX_RATE_HZ = 1e-3, 100_000
"""Ticks a second; slower than one in a quarter of an hour is no control."""
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*\Z"
"""Of text that others wrote and we show: nothing in it drives a terminal, or begins a line."""
ShortText = Annotated[str, Meta(max_length=200, pattern=PRINTABLE)]

_UINT8_VALUES = 256
_ITEM_BYTES = {"int32": 4, "int64": 8, "uint8": 1, "float32": 4, "float64": 8}


@overload
def horizon_word(ticks: int) -> int | Literal["adaptive"]: ...
@overload
def horizon_word(ticks: None) -> None: ...
@overload
def horizon_word(ticks: int | None) -> int | Literal["adaptive"] | None: ...
def horizon_word(ticks: int | None) -> int | Literal["adaptive"] | None:
    """Return D as people write it: ``adaptive`` for ``ADAPTIVE_HORIZON``; None for none."""
    return "adaptive" if ticks == ADAPTIVE_HORIZON else ticks


@overload
def horizon_number(word: int | Literal["adaptive"]) -> int: ...
@overload
def horizon_number(word: None) -> None: ...
@overload
def horizon_number(word: int | Literal["adaptive"] | None) -> int | None: ...
def horizon_number(word: int | Literal["adaptive"] | None) -> int | None:
    """Return D as both halves are told it: ``ADAPTIVE_HORIZON`` for ``adaptive``; None for none."""
    return ADAPTIVE_HORIZON if word == "adaptive" else word


class Space(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an observation or an action looks like; the wire's view of a Gymnasium space.

    Attributes:
        kind: ``discrete`` (an integer 0 .. n-1) or ``box`` (an array between bounds).
        dtype: Element type on the wire, little-endian.
        shape: Shape of a box; empty for a discrete space.
        n: Number of values of a discrete space; 0 for a box.
        low: Lower bounds of a box, flattened; empty where unbounded.
        high: Upper bounds of a box, flattened; empty where unbounded.
    """

    kind: Literal["discrete", "box"]
    dtype: Literal["int32", "int64", "uint8", "float32", "float64"]
    shape: Annotated[tuple[Annotated[int, Meta(ge=1, le=2**20)], ...], Meta(max_length=4)] = ()
    n: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    low: Annotated[tuple[float, ...], Meta(max_length=4096)] = ()
    high: Annotated[tuple[float, ...], Meta(max_length=4096)] = ()

    @property
    def nbytes(self) -> int:
        """Return the size of one value in bytes."""
        return math.prod(self.shape) * _ITEM_BYTES[self.dtype]

    def problem(self) -> str:
        """Return how the fields contradict each other or what a message holds; empty where they do not."""
        return next(self._problems(), "")

    def _problems(self) -> Iterator[str]:
        if self.kind == "discrete":
            if self.n < 1 or self.shape or self.low or self.high or self.dtype.startswith("float"):
                yield "a discrete space needs n >= 1, an integer dtype, no shape and no bounds"
            if self.dtype == "uint8" and self.n > _UINT8_VALUES:
                yield f"n = {self.n} does not fit uint8"
            return
        if self.n or not self.shape:
            yield f"a box has a shape and no n; this one has shape {list(self.shape)} and n = {self.n}"
        if self.nbytes > MAX_PAYLOAD_BYTES:
            yield f"a box with values of {self.nbytes} bytes; {MAX_PAYLOAD_BYTES} are allowed"
        items = math.prod(self.shape)
        for name, bounds in (("low", self.low), ("high", self.high)):
            if bounds and len(bounds) != items:
                yield f"{len(bounds)} {name} bounds for {items} elements"
            if any(math.isnan(bound) for bound in bounds):
                yield f"a {name} bound is NaN"
        if any(low > high for low, high in zip(self.low, self.high, strict=False)):
            yield "a lower bound is above its upper bound"


class TaskDescription(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the edge does, as far as a policy must know it.

    Attributes:
        name: The task's name, for example ``CartPole-v1``.
        rate_hz: Ticks a second.
        observation: Space of an observation's payload.
        action: Space of one action.
        pace: ``real-time``: a tick plays what had arrived when it was observed. ``turn-based``: what arrives
            until its end, and only then is the next one observed.
    """

    name: ShortText
    rate_hz: Annotated[float, Meta(ge=MIN_RATE_HZ, le=MAX_RATE_HZ)]
    observation: Space
    action: Space
    pace: Literal["real-time", "turn-based"] = "real-time"

    @property
    def lead_ticks(self) -> int:
        """Return how many ticks after its own an observation can be answered at the earliest."""
        return 1 if self.pace == "real-time" else 0


class Hello(Struct, frozen=True, kw_only=True, tag="hello", forbid_unknown_fields=True):
    """The edge's first message.

    Attributes:
        protocol: ``PROTOCOL_VERSION`` of the sender.
        version: netlab's version, for the error message.
        run: Identity of the run: random, new each time a service starts.
        seed: Of the run, which decides what a ``sampled`` policy draws.
        task: What is controlled.
        horizon_ticks: D: a decision on the observation of tick k is for the Dth tick that an answer to it can
            reach (k+D in real time, k+D-1 by turns), and each action message repeats the last D decisions.
            1 means "play the newest"; ``ADAPTIVE_HORIZON`` leaves D to the remote.
        actuator: Which of the decisions that have arrived the edge plays (docs/control.md).
    """

    protocol: Annotated[int, Meta(ge=0, le=65535)]
    version: ShortText
    run: UInt64
    seed: UInt64 = 0
    task: TaskDescription
    horizon_ticks: Annotated[int, Meta(ge=ADAPTIVE_HORIZON, le=MAX_ACTIONS)]
    actuator: ActuatorName = "newest"


class Welcome(Struct, frozen=True, kw_only=True, tag="welcome", forbid_unknown_fields=True):
    """The remote's consent.

    Attributes:
        protocol: ``PROTOCOL_VERSION`` of the sender.
        version: netlab's version.
        policy: Name of the policy that will decide.
        policy_sha256: Of its file, since names are not unique; empty of a policy that has none.
    """

    protocol: Annotated[int, Meta(ge=0, le=65535)]
    version: ShortText
    policy: ShortText
    policy_sha256: ShortText = ""


class Goodbye(Struct, frozen=True, kw_only=True, tag="goodbye", forbid_unknown_fields=True):
    """Either side's last message.

    Attributes:
        reason: Why, in words for a person.
        refused: True when the session is refused (a retry would be refused again).
    """

    reason: Annotated[str, Meta(max_length=1000)]
    refused: bool = False


class Heartbeat(Struct, frozen=True, tag="heartbeat", array_like=True, forbid_unknown_fields=True):
    """A sign of life when there is nothing else to say.

    Attributes:
        count: How many heartbeats this side has sent.
    """

    count: UInt64


class Observation(Struct, frozen=True, tag="obs", array_like=True, forbid_unknown_fields=True):
    """What the edge saw at the start of a tick, and what it has done and measured.

    Attributes:
        run: The run it belongs to.
        episode: Episode number, counted from 0 within the run.
        tick: Edge tick; never restarts within a run.
        payload: The observation, raw bytes of the task's observation space.
        last_action: The action applied at ``tick - 1``, raw bytes of the action space; empty at an
            episode's first tick and where the tick fell back to the task's neutral action.
        played: Bit i is set when tick ``tick - 1 - i`` played a remote action, clear when it fell back.
        history_ticks: How many bits of ``played`` are valid (ticks of this episode, at most 64).
        newest_age_ticks: ``tick`` minus the highest ``obs_tick`` received in this episode; -1 before the first.
        loss_seen: Share of the last observations' answers that never came, 0 .. 1.
        turn: How many remote actions have been played in this episode.
    """

    run: UInt64
    episode: UInt64
    tick: Tick
    payload: Annotated[bytes, Meta(max_length=MAX_PAYLOAD_BYTES)]
    last_action: Annotated[bytes, Meta(max_length=MAX_PAYLOAD_BYTES)]
    played: UInt64
    history_ticks: Annotated[int, Meta(ge=0, le=HISTORY_TICKS)]
    newest_age_ticks: Annotated[int, Meta(ge=-1, le=2**62)]
    loss_seen: Annotated[float, Meta(ge=0.0, le=1.0)]
    turn: UInt64 = 0


class Action(Struct, frozen=True, tag="act", array_like=True, forbid_unknown_fields=True):
    """Decisions for consecutive ticks.

    Attributes:
        run: The run it belongs to.
        episode: The episode it belongs to.
        obs_tick: Tick of the observation it is based on; for one target tick the higher one wins.
        first_target_tick: Tick that ``actions[0]`` is for.
        n: How many actions.
        actions: ``n`` actions, one after another, raw bytes of the action space.
        turn: Of the observation it is based on.
    """

    run: UInt64
    episode: UInt64
    obs_tick: Tick
    first_target_tick: Tick
    n: Annotated[int, Meta(ge=1, le=MAX_ACTIONS)]
    actions: Annotated[bytes, Meta(max_length=MAX_PAYLOAD_BYTES)]
    turn: UInt64 = 0


Message = Hello | Welcome | Goodbye | Heartbeat | Observation | Action
