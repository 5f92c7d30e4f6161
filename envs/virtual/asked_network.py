"""AskedNetwork: what a person may give for a network, made one link an episode.

::

    None | "wifi-degraded" | ProfilePair | LinkProfile | Schedule     the same in each episode
    NetworkPool | NetworkDistribution | a function of a seed          another one in each
                       `--AskedNetwork--> draw(seed) -> (LinkTrack, LinkTrack) | None

No network at all is asked for by None, and not drawn: a *clean* network that is drawn is a link that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from netlab.envs.virtual.track import LinkTrack
from netlab.errors import ProfileError
from netlab.traces.network_pool import NetworkPool
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule

__all__ = ["AskedNetwork", "DrawsNetworks", "Network", "Tracks", "fixed_pair"]


class DrawsNetworks(Protocol):
    """A distribution over networks."""

    def draw(self, seed: int) -> ProfilePair | None:
        """Return an episode's network, None for a clean one; the seed alone decides it."""
        ...


Drawn = Callable[[int], ProfilePair | None]
Network = None | str | ProfilePair | LinkProfile | Schedule | NetworkPool | DrawsNetworks | Drawn
Tracks = tuple[LinkTrack, LinkTrack]
"""Both directions: forward, back."""

_CLEAN: Tracks = (LinkTrack(LinkProfile()), LinkTrack(LinkProfile()))


class AskedNetwork:
    """Give each episode its network.

    Args:
        asked: None for no network; what ``parse_preset`` understands; a pair; a profile or schedule for both
            directions; a pool of networks; or what draws one, an object with ``draw`` or a function of a seed.

    Raises:
        ProfileError: It is none of these, or does what the link model cannot do.
    """

    def __init__(self, asked: Network) -> None:
        self._draw: Drawn | None = None
        self._fixed: Tracks | None = None
        if asked is None:
            return
        if (pair := fixed_pair(asked)) is not None:
            self._fixed = _tracks(pair)
        elif isinstance(asked, NetworkPool):
            self._draw = _draw_from(asked)
        elif hasattr(asked, "draw"):
            self._draw = asked.draw
        elif callable(asked):
            self._draw = asked
        else:
            raise ProfileError(
                f"{type(asked).__name__} is no network",
                hint="give None, a preset's name, a profile, a schedule, a pair of them, or what draws one",
            )

    def draw(self, seed: int) -> Tracks | None:
        """Return an episode's network; None where none at all was asked for.

        Raises:
            ProfileError: What was drawn is no network, or does what the link model cannot do.
        """
        if self._draw is None:
            return self._fixed
        pair = self._draw(seed)
        if pair is None:
            return _CLEAN
        if not isinstance(pair, ProfilePair):
            raise ProfileError(
                f"a {type(pair).__name__} was drawn for a network",
                hint="draw a ProfilePair, or None for a clean one",
            )
        return _tracks(pair)


def fixed_pair(asked: object) -> ProfilePair | None:
    """Return the network that is the same in each episode; None where it is no such one.

    Raises:
        ProfileError: Text that names no network.
    """
    if isinstance(asked, str):
        return parse_preset(asked)
    if isinstance(asked, LinkProfile | Schedule):
        return ProfilePair("given", asked, asked)
    return asked if isinstance(asked, ProfilePair) else None


def _draw_from(pool: NetworkPool) -> Drawn:
    return lambda seed: pool.pair(pool.number_of(seed))


def _tracks(pair: ProfilePair) -> Tracks:
    return LinkTrack(pair.forward), LinkTrack(pair.back)
