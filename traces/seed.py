"""Link seeds: one hashed seed for each (run, link, direction, step).

netem's generator is seeded without a warm-up, so small or neighbouring seeds give visibly related losses
(docs/netem.md). Every seed netlab sends is therefore a hash; and because every change of a link carries a new
one, a step does not repeat the drops of the step before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_count

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DIRECTIONS", "Direction", "link_seed", "link_seeds", "step_seed"]

Direction = Literal["forward", "back"]
DIRECTIONS: tuple[Direction, Direction] = ("forward", "back")


def link_seed(run_seed: int, link: str, direction: str, step: int) -> int:
    """Return the 64-bit seed of one direction of one link at one step of its schedule.

    SHA-256 of the JSON array ``[run_seed,"link","direction",step]`` (no spaces, ASCII), its first eight
    bytes read as a big-endian number: easy to reproduce in any language.

    Args:
        run_seed: Seed of the whole run, 0 .. 2^64 - 1.
        link: Name of the link within the lab.
        direction: ``forward`` or ``back``.
        step: Which change of the link it is, counted from 0 (the state it is made with) and over the passes
            of a loop.

    Raises:
        ProfileError: A number is out of range or the direction has another name.
    """
    bounded_count("step", step, 0, 2**63 - 1)
    digest = _begun(run_seed, link, direction).copy()
    digest.update(b"%d]" % step)
    return int.from_bytes(digest.digest()[:8], "big")


def link_seeds(run_seed: int, link: str, direction: str, steps: Iterable[int]) -> NDArray[np.uint64]:
    """Return ``link_seed`` of many steps of one direction, ``[steps]``.

    Args:
        run_seed: As for ``link_seed``.
        link: As for ``link_seed``.
        direction: As for ``link_seed``.
        steps: Each as for ``link_seed``.

    Raises:
        ProfileError: As for ``link_seed``.
    """
    import numpy as np  # not for those who seed one link

    begun, heads = _begun(run_seed, link, direction).copy, []
    asked = list(steps)
    for step in (min(asked), max(asked)) if asked else ():  # each by itself would take as long as to hash it
        bounded_count("step", step, 0, 2**63 - 1)
    for step in asked:
        digest = begun()
        digest.update(b"%d]" % step)
        heads.append(digest.digest()[:8])
    return np.frombuffer(b"".join(heads), dtype=">u8").astype(np.uint64)


def step_seed(episode_seed: int, step: int) -> int:
    """Return the seed of a step of a schedule that begins anew with each episode.

    Step 0 has the episode's own seed. The others have SHA-256 of the JSON array ``[episode_seed,step]``, taken as
    for ``link_seed``.

    Args:
        episode_seed: Seed of one direction of one link in one episode, hashed (``link_seed``).
        step: Which change within the episode it is, counted over the passes of a loop.

    Raises:
        ProfileError: A number is out of range.
    """
    bounded_count("step", step, 0, 2**63 - 1)
    bounded_count("episode_seed", episode_seed, 0, 2**64 - 1)
    if step == 0:
        return episode_seed
    return int.from_bytes(hashlib.sha256(b"[%d,%d]" % (episode_seed, step)).digest()[:8], "big")


@lru_cache(maxsize=8192, typed=True)  # 1 was checked, True and 1.0 were not
def _begun(run_seed: int, link: str, direction: str) -> Hash:
    """Return the hash of the array up to its step, by which steps of one direction differ; checked once."""
    bounded_count("run_seed", run_seed, 0, 2**64 - 1)
    if direction not in DIRECTIONS:
        raise ProfileError(f"direction = {direction!r}: must be one of {', '.join(DIRECTIONS)}")
    text = json.dumps([run_seed, link, direction], separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text[:-1].encode("ascii") + b",")
