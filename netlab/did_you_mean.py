"""did_you_mean: the known word that a mistyped one was probably meant to be.

Ground: standard library only, and that late: the command line asks it.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["closest", "did_you_mean"]


def closest(word: str, known: Iterable[str]) -> str:
    """Return the known word closest to this one; empty where none is close."""
    import difflib

    close = difflib.get_close_matches(word, list(known), 1)
    return close[0] if close else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the known word closest to this one; empty where none is close."""
    close = closest(word, known)
    return f"did you mean {close!r}?" if close else ""
