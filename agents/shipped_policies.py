"""Shipped policies: trained ones that come with netlab, found by name; package data, a file a training seed.

::

    shipped/NAME-SEED.safetensors <--shipped_path-- NAME-SEED | NAME, which is seed 1's
                                  <--training_seeds-- NAME, all of them

Nothing was chosen among the seeds. Reads no file: what is in one is ``policy_file``'s.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["kind_of", "shipped_names", "shipped_path", "shipped_policies", "training_seeds"]

_FOLDER = Path(__file__).parent / "shipped"
_SUFFIX = ".safetensors"
_FIRST_SEED = "-1"


def shipped_policies() -> dict[str, Path]:
    """Return the file of every shipped policy by its name with its seed, in order."""
    return {path.name.removesuffix(_SUFFIX): path for path in sorted(_FOLDER.glob(f"*{_SUFFIX}"))}


def shipped_names() -> list[str]:
    """Return the names without a seed, in order: one a kind of policy, however often it was trained."""
    return [name.removesuffix(_FIRST_SEED) for name in shipped_policies() if name.endswith(_FIRST_SEED)]


def shipped_path(name: str) -> Path | None:
    """Return the file of the shipped policy of this name, with a seed or without; None where there is none."""
    policies = shipped_policies()
    return policies.get(name) or policies.get(f"{name}{_FIRST_SEED}")


def training_seeds(kind: str) -> list[str]:
    """Return the names of all policies of a kind, in order: one a training seed; none where it is not shipped."""
    return [name for name in shipped_policies() if kind_of(name) == kind]


def kind_of(name: str) -> str:
    """Return the name of a policy without its training seed."""
    return name.rpartition("-")[0]
