"""Network words: what training or a score meets, from the words of a recipe or a command line. Roof."""

from __future__ import annotations

import functools
from pathlib import Path

from netlab.envs.virtual.asked_network import Network
from netlab.traces.network_distribution import NetworkDistribution
from netlab.traces.network_pool import NetworkPool
from netlab.traces.toml_network import BUILT_IN, parse_network

__all__ = ["NO_NETWORK", "as_network", "find_network", "placed_network", "training_network"]

NO_NETWORK = "none"
"""What a person writes for no network at all: each action is played at the tick it was asked for."""
_TRACE = "trace="


def find_network(words: str) -> NetworkDistribution | None:
    """Return the network of these words; None for ``none``.

    Raises:
        NetlabError: There is no such preset or file, or it is no network.
    """
    return None if words.strip() == NO_NETWORK else parse_network(words)


def placed_network(words: str, folder: Path) -> str:
    """Return a network's words with the files in them seen from this folder.

    Args:
        words: As ``find_network`` takes them.
        folder: Of the file that has them.
    """
    if words.endswith(".toml"):
        return str(folder / words)
    if words.startswith(_TRACE):
        files, comma, options = words.removeprefix(_TRACE).partition(",")
        return _TRACE + "+".join(str(folder / one) for one in files.split("+")) + comma + options
    return words


def as_network(found: NetworkDistribution | None, seed: int) -> Network:
    """Return a network as environments take it: a fixed pair where there is but one, else a pool of draws.

    Args:
        found: As ``find_network`` returns it.
        seed: Of the pool's draws.
    """
    if found is None:
        return None
    if BUILT_IN.get(found.name) is found:
        return _built_in_pool(found.name, seed)
    return found.fixed or NetworkPool(found, seed)


@functools.lru_cache(maxsize=4)
def _built_in_pool(name: str, seed: int) -> NetworkPool:
    """Return a pool that is made once: its links are compiled as they are asked for, which takes seconds."""
    return NetworkPool(BUILT_IN[name], seed)


def training_network(words: str, seed: int) -> Network:
    """Return the network of a training run with this seed.

    Raises:
        NetlabError: There is no such preset or file, or it is no network.
    """
    return as_network(find_network(words), seed)
