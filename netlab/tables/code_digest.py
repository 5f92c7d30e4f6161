"""code_digest: which code decides a figure, as a hash of its sources: those change more often than a version."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable

__all__ = ["code_digest"]

_SUFFIXES = (".py", ".dat")
"""Sources, and the series that networks are made of."""


@functools.cache
def code_digest(*packages: str, without: tuple[str, ...] = (), but: tuple[str, ...] = ()) -> str:
    """Return the SHA-256 of all sources of some packages.

    Args:
        packages: Their names, such as ``netlab.control``.
        without: Packages and modules in them that are left out.
        but: Modules in those that count all the same.
    """
    digest = hashlib.sha256()
    for package in packages:
        for name, source in _sources(resources.files(package), package.replace(".", "/")):
            module = name.rpartition(".")[0].replace("/", ".")
            if _is_in(module, without) and module not in but:
                continue
            text = source.read_bytes()
            digest.update(f"{name} {len(text)}\n".encode())
            digest.update(text)
    return digest.hexdigest()


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            yield from _sources(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(_SUFFIXES):
            yield f"{name}/{entry.name}", entry
