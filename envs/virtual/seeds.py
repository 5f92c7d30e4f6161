"""Seeds of one episode: its task's, its network's, and those of its link's changes.

An episode begins with fresh links, so its number must be in their seeds. The changes of a link are numbered over
the run, 2^32 of them set aside for each episode; the first episode's are those of a lab that plays one.

::

    change 0           the state a lab's link is made with; nobody sends over it
    change 1 + step    the first episode
    2^32 + 1 + step    the second
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from netlab.envs.episode import episode_seed
from netlab.errors import SpecError
from netlab.messages import MAX_SEED
from netlab.traces.bound import bounded_count
from netlab.traces.quantity import shown
from netlab.traces.seed import Direction, link_seed, link_seeds
from netlab.whole_number import whole_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "MAX_DRAWN_SEED",
    "MAX_EPISODES",
    "MAX_RUN_SEED",
    "RUN",
    "as_run_seed",
    "change_seed",
    "change_seeds",
    "episode_seed",
    "first_change",
    "network_seed",
    "run_seed",
]

MAX_RUN_SEED = MAX_SEED
MAX_DRAWN_SEED = 2**32
"""Below it is the run that ``reset`` draws where it is given none."""
MAX_EPISODES = 2**30
"""Beyond, the number of a change would not be one that a link seed has."""
RUN = 1 << 63
"""Identity of a run in one process: like nearly all random ones as long as a 64-bit number can be on the wire."""

_CHANGES_AN_EPISODE = 2**32
_FIRST_CHANGE = 1


def as_run_seed(value: object, rows: int = 1) -> int | None:
    """Return the seed of a run as Python's own number; None where it is none, or one that follows is none.

    Args:
        value: As a person gave it; numpy's whole numbers are taken too.
        rows: How many runs there are: the others' seeds are those that follow.
    """
    seed = whole_number(value)
    return seed if seed is not None and 0 <= seed <= MAX_RUN_SEED + 1 - rows else None


def run_seed(value: object, rows: int = 1) -> int:
    """Return what ``as_run_seed`` does.

    Raises:
        SpecError: It is none, or one that follows is none.
    """
    seed = as_run_seed(value, rows)
    if seed is None:
        hint = "" if rows == 1 else f"the {rows} rows have the seeds from this one on"
        raise SpecError(f"{shown(value)}: must be a whole number, 0 .. 2^64 - {rows}", key="seed", hint=hint)
    return seed


def first_change(episode: int) -> int:
    """Return the number of the change with which a link begins an episode.

    Args:
        episode: Counted from 0.

    Raises:
        ProfileError: It is out of range.
    """
    bounded_count("episode", episode, 0, MAX_EPISODES)
    return episode * _CHANGES_AN_EPISODE + _FIRST_CHANGE


def change_seed(run_seed: int, link: str, direction: Direction, episode: int, step: int) -> int:
    """Return the 64-bit seed of a step of a link's schedule in an episode.

    Args:
        run_seed: 0 .. 2^64 - 1.
        link: Name of the link.
        direction: ``forward`` or ``back``.
        episode: Counted from 0.
        step: Counted from 0 over the passes of a loop; 0 alone where nothing changes.

    Raises:
        ProfileError: A number is out of range.
    """
    bounded_count("step", step, 0, _CHANGES_AN_EPISODE - _FIRST_CHANGE - 1)
    return link_seed(run_seed, link, direction, first_change(episode) + step)


def change_seeds(run_seed: int, link: str, direction: Direction, episodes: Iterable[int]) -> NDArray[np.uint64]:
    """Return ``change_seed`` of the first steps of many episodes, ``[episodes]``, each 0 or more; far faster."""
    numbers = (episode * _CHANGES_AN_EPISODE + _FIRST_CHANGE for episode in episodes)
    return link_seeds(run_seed, link, direction, numbers)


def network_seed(run_seed: int, episode: int) -> int:
    """Return the 64-bit seed from which an episode's network is drawn."""
    digest = hashlib.sha256(f"netlab network {run_seed} {episode}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
