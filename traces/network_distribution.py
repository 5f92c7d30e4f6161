"""NetworkDistribution: the networks that episodes of training meet: one is drawn for each, a share of them clean.

::

    "random"  "random-loss"  "clean" built in         --.
    "wifi-degraded@oneway"           one network         |
    "runs/lte.toml"                  one network         +--parse_network--> NetworkDistribution
    "runs/networks.toml"             ranges or choices --'                      | draw(seed)
                                                                                v
                                                                     ProfilePair, None for clean

Everything is drawn by name, from a hash of the seed and the name: what is drawn of one thing does not hang on what
else there is. Knows the keys of a distribution's file; those of a link are in ``key.py``. See
docs/network-distributions.md.
"""

from __future__ import annotations

import hashlib
import itertools
from typing import Literal, NamedTuple

from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_count, bounded_number, bounded_ratio
from netlab.traces.loss import GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile

__all__ = [
    "CLEAN",
    "MAX_CHOICES",
    "PERFECT_LINK",
    "RANDOM",
    "RANDOM_DELAY",
    "RANDOM_JITTER",
    "RANDOM_LOSS",
    "Choice",
    "LinkRanges",
    "NetworkDistribution",
    "Range",
]

MAX_CHOICES = 1000
MAX_WEIGHT = 1e9

RangedLaw = Literal["normal", "uniform", "pareto", "paretonormal"]
RANGED_LAWS = ("normal", "uniform", "pareto", "paretonormal")

PERFECT_LINK = LinkProfile(ordered=False)
"""One direction of a clean network: no delay, no loss, no rate."""


class Range(NamedTuple):
    """Anything from ``low`` to ``high``, all equally likely."""

    low: float
    high: float

    def at(self, share: float) -> float:
        """Return what lies so far along, 0 .. 1."""
        return self.low + (self.high - self.low) * share


class LinkRanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one direction of a link may be.

    Attributes:
        delay_s: Of the mean delay, before clipping at zero.
        jitter_s: Of the spread: standard deviation, or half-width for the law ``uniform``.
        law: How delays are distributed, in all episodes.
        loss_ratio: Of the mean loss.
        burst_ratio: Share of the episodes whose losses come in bursts (Gilbert-Elliott).
        burst_packets: Of how many packets a burst lasts on average, in those.
        ordered_ratio: Share of the episodes in which packets do not overtake one another.

    Raises:
        ProfileError: A range is none, or leads to links that cannot be.
    """

    delay_s: Range = Range(0.0, 0.0)
    jitter_s: Range = Range(0.0, 0.0)
    law: RangedLaw = "normal"
    loss_ratio: Range = Range(0.0, 0.0)
    burst_ratio: float = 0.0
    burst_packets: Range = Range(2.0, 8.0)
    ordered_ratio: float = 0.0

    def __post_init__(self) -> None:
        for name in ("delay_s", "jitter_s", "loss_ratio", "burst_packets"):
            low, high = getattr(self, name)
            for end in (low, high):
                bounded_number(name, end, 0.0, 1e9)
            if high < low:
                raise ProfileError(
                    f"{name} = {low!r} .. {high!r}: the first is above the second", hint="exchange the two"
                )
        bounded_ratio("burst_ratio", self.burst_ratio)
        bounded_ratio("ordered_ratio", self.ordered_ratio)
        if self.law not in RANGED_LAWS:
            raise ProfileError(f"law = {self.law!r}: must be one of {', '.join(RANGED_LAWS)}")
        if self.burst_ratio and not self.loss_ratio.high:
            raise ProfileError(
                f"burst_ratio = {self.burst_ratio!r} without loss: bursts are bursts of losses",
                hint='add a range of losses, for example loss = ["0%", "15%"]',
            )
        self._check_corners()

    def _check_corners(self) -> None:
        """Refuse ranges that hold a link which cannot be; the worst stand in the corners."""
        if self.jitter_s.high and not self.delay_s.high:
            self.link(delay_s=0.0, jitter_s=self.jitter_s.high)  # refused: half of the law would be cut off
        for delay_s, jitter_s in itertools.product(self.delay_s, self.jitter_s):
            self.link(delay_s=delay_s, jitter_s=jitter_s if delay_s else 0.0)
        for loss_ratio, burst in itertools.product(self.loss_ratio, self.burst_packets):
            self.link(loss_ratio=loss_ratio, burst_packets=burst if self.burst_ratio else None)

    def link(
        self,
        *,
        delay_s: float = 0.0,
        jitter_s: float = 0.0,
        loss_ratio: float = 0.0,
        burst_packets: float | None = None,
        ordered: bool = False,
    ) -> LinkProfile:
        """Return the link of these figures and of this law.

        Raises:
            ProfileError: There is no such link.
        """
        loss: float | GilbertElliott = loss_ratio
        if burst_packets is not None and loss_ratio:
            loss = GilbertElliott.from_mean(loss_ratio, burst_packets)
        return LinkProfile(delay_s=delay_s, jitter_s=jitter_s, law=self.law, loss=loss, ordered=ordered)

    def draw(self, draws: _Draws) -> LinkProfile:
        """Draw one."""
        # In whole nanoseconds: netem knows no less, and refuses what is less but not nothing.
        delay_s = round(self.delay_s.at(draws.share("delay")) * 1e9) / 1e9
        jitter_s = round(self.jitter_s.at(draws.share("jitter")) * 1e9) / 1e9
        in_bursts = draws.share("burst_ratio") < self.burst_ratio
        return self.link(
            delay_s=delay_s,
            jitter_s=jitter_s if delay_s else 0.0,
            loss_ratio=self.loss_ratio.at(draws.share("loss")),
            burst_packets=self.burst_packets.at(draws.share("burst")) if in_bursts else None,
            ordered=draws.share("ordered_ratio") < self.ordered_ratio,
        )


class Choice(Struct, frozen=True):
    """A network and how often it is drawn, against the other choices."""

    pair: ProfilePair
    weight: float = 1.0


class NetworkDistribution(Struct, frozen=True, kw_only=True):
    """Networks, and how likely each is.

    Attributes:
        name: What a person calls it.
        description: A sentence for a person.
        clean_ratio: Share of the episodes without any impairment.
        forward: What the way to the second host may be in the others; None where there are choices.
        back: The other way; None where one draw holds both ways.
        choices: Networks to choose from, in the place of ranges.

    Raises:
        ProfileError: Nothing to draw from, or two things.
    """

    name: str
    description: str = ""
    clean_ratio: float
    forward: LinkRanges | None = None
    back: LinkRanges | None = None
    choices: tuple[Choice, ...] = ()

    def __post_init__(self) -> None:
        bounded_ratio("clean_ratio", self.clean_ratio)
        if self.back is not None and self.forward is None:
            raise ProfileError("back is given without forward", hint="give both, or forward alone for both ways")
        if self.forward is not None and self.choices:
            raise ProfileError("ranges and choices are both given: an episode is drawn from one of them")
        if self.clean_ratio < 1.0 and self.forward is None and not self.choices:
            raise ProfileError(
                f"clean_ratio = {self.clean_ratio!r} and nothing for the other episodes",
                hint="add ranges or choices, or let all be clean: 100%",
            )
        if len(self.choices) > MAX_CHOICES:
            raise ProfileError(f"{len(self.choices)} choices: at most {MAX_CHOICES}")
        for number, choice in enumerate(self.choices, 1):
            bounded_number(f"choice {number}: weight", choice.weight, 0.0, MAX_WEIGHT)
        if self.choices and not sum(choice.weight for choice in self.choices):
            raise ProfileError("weight = 0 everywhere: no choice would ever be drawn")

    @classmethod
    def of_pair(cls, pair: ProfilePair) -> NetworkDistribution:
        """Return the distribution that always gives one network."""
        return cls(name=pair.name, description=pair.description, clean_ratio=0.0, choices=(Choice(pair),))

    @property
    def fixed(self) -> ProfilePair | None:
        """The one network of all episodes; None where they differ or are clean."""
        return self.choices[0].pair if len(self.choices) == 1 and not self.clean_ratio else None

    def draw(self, seed: int) -> ProfilePair | None:
        """Draw the network of an episode: always the same for a seed.

        Args:
            seed: 64 bits; any will do, they are hashed here.

        Returns:
            The network; None for a clean one.

        Raises:
            ProfileError: The seed is no unsigned 64-bit number.
        """
        bounded_count("seed", seed, 0, 2**64 - 1)
        if _Draws(seed, "").share("clean_ratio") < self.clean_ratio:
            return None
        if self.choices:
            return self._choose(_Draws(seed, "").share("choice"))
        assert self.forward is not None  # __post_init__ has seen to it
        forward = self.forward.draw(_Draws(seed, "forward."))
        back = forward if self.back is None else self.back.draw(_Draws(seed, "back."))
        return ProfilePair(f"{self.name}-{seed}"[:200], forward, back)

    def _choose(self, share: float) -> ProfilePair:
        chosen = share * sum(choice.weight for choice in self.choices)
        for choice in self.choices:
            chosen -= choice.weight
            if chosen < 0.0:
                return choice.pair
        return next(choice.pair for choice in reversed(self.choices) if choice.weight)  # by rounding


class _Draws(NamedTuple):
    """Numbers by name: SHA-256 of the JSON array ``[seed,"name"]``, its first 53 bits."""

    seed: int
    prefix: str

    def share(self, name: str) -> float:
        """Return a number from 0 up to, not including, 1."""
        digest = hashlib.sha256(f'[{self.seed},"{self.prefix}{name}"]'.encode("ascii")).digest()
        return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


_EACH = LinkRanges(
    delay_s=Range(0.0, 0.1),
    jitter_s=Range(0.0, 0.05),
    loss_ratio=Range(0.0, 0.15),
    burst_ratio=0.5,
    burst_packets=Range(2.0, 8.0),
)

RANDOM = NetworkDistribution(
    name="random",
    description="each way by itself: 0 to 100 ms, deviation 0 to 50 ms, loss 0 to 15 %, half of it in bursts",
    clean_ratio=0.2,
    forward=_EACH,
    back=_EACH,
)
"""What policies are trained on unless something else is asked for."""


def _alone(what: str, description: str, each: LinkRanges) -> NetworkDistribution:
    """Return ``random`` with one of its components alone, and as many clean episodes."""
    return NetworkDistribution(
        name=f"random-{what}", description=description, clean_ratio=RANDOM.clean_ratio, forward=each, back=each
    )


RANDOM_DELAY = _alone(
    "delay",
    "each way by itself: 0 to 100 ms, the same for all packets; no loss",
    LinkRanges(delay_s=_EACH.delay_s),
)
"""Of ``random`` the delay alone."""

# What a law has below zero is cut off, so a spread needs a mean: the middle of the delays of `random`. It is the
# same in all episodes, so a policy can learn it as what it is.
_MIDDLE_S = _EACH.delay_s.at(0.5)

RANDOM_JITTER = _alone(
    "jitter",
    "each way by itself: deviation 0 to 50 ms about a delay of 50 ms; no loss",
    LinkRanges(delay_s=Range(_MIDDLE_S, _MIDDLE_S), jitter_s=_EACH.jitter_s),
)
"""Of ``random`` the jitter alone, about a delay that is the same in all episodes."""

RANDOM_LOSS = _alone(
    "loss",
    "each way by itself: loss 0 to 15 %, half of it in bursts; no delay",
    LinkRanges(loss_ratio=_EACH.loss_ratio, burst_ratio=_EACH.burst_ratio, burst_packets=_EACH.burst_packets),
)
"""Of ``random`` the loss alone."""

CLEAN = NetworkDistribution(name="clean", description="no impairment at all", clean_ratio=1.0)
"""No network: every episode is clean."""
