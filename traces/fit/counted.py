"""Counted: a number and what it counts, one of it without the plural."""

from __future__ import annotations

__all__ = ["counted"]


def counted(n: int, thing: str) -> str:
    """Return ``1 step``, ``2 steps``."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"
