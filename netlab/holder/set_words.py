"""The words of ``netlab lab set``: which links are to do what, as one asks a holder.

::

    radio wifi-degraded              one link, with a profile, a preset's name or a file's
    a-b=wifi-normal c-d=loss=100%    several
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.errors import SpecError
from netlab.holder.messages import LinkWish
from netlab.working_folder import absolute_path

__all__ = ["parse_wishes"]


def parse_wishes(words: Sequence[str]) -> list[LinkWish]:
    """Return which links and media are to do what; files are named absolutely.

    Raises:
        SpecError: A word is no LINK=PROFILE, a link is named twice, or the folder we stand in is gone.
    """
    # No link's name holds a "=", so the first word tells which of the two forms it is.
    pairs = [words] if len(words) == 2 and "=" not in words[0] else [word.split("=", 1) for word in words]
    wishes: dict[str, LinkWish] = {}
    for pair, word in zip(pairs, words, strict=False):
        if len(pair) != 2 or not all(pair):
            hint = "write LINK PROFILE for one link, LINK=PROFILE for each of several"
            raise SpecError(f"{word!r:.80} names no link and profile", key="set", hint=hint)
        link, profile = pair
        if link in wishes:
            raise SpecError(f"{link!r:.80} is named twice", key="set", hint="name each link once")
        path = absolute_path(profile) if profile.endswith(".toml") else profile
        wishes[link] = LinkWish(link=link, profile=path)
    return list(wishes.values())
