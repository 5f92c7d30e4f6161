"""Link seeds: one hashed seed for each (run, link, direction, step).

netem's generator is seeded without a warm-up, so small or neighbouring seeds give visibly related losses
(docs/netem.md). Every seed netlab sends is therefore a hash; and because every change of a link carries a new
one, a step does not repeat the drops of the step before it.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_count

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

__all__ = ["DIRECTIONS", "Direction", "link_seed"]

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


@lru_cache(maxsize=8192)
def _begun(run_seed: int, link: str, direction: str) -> Hash:
    """Return the hash of the array up to its step, by which steps of one direction differ; checked once."""
    bounded_count("run_seed", run_seed, 0, 2**64 - 1)
    if direction not in DIRECTIONS:
        raise ProfileError(f"direction = {direction!r}: must be one of {', '.join(DIRECTIONS)}")
    text = json.dumps([run_seed, link, direction], separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text[:-1].encode("ascii") + b",")
