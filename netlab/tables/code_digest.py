"""code_digest: which code decides a figure, as a hash of its sources: those change more often than a version."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable

__all__ = ["code_digest"]

_SUFFIX = ".py"


@functools.cache
def code_digest(*packages: str) -> str:
    """Return the SHA-256 of all Python sources of some packages.

    Args:
        packages: Their names, such as ``netlab.control``.
    """
    digest = hashlib.sha256()
    for package in packages:
        for name, source in _sources(resources.files(package), package):
            text = source.read_bytes()
            digest.update(f"{name} {len(text)}\n".encode())
            digest.update(text)
    return digest.hexdigest()


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            yield from _sources(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(_SUFFIX):
            yield f"{name}/{entry.name}", entry
