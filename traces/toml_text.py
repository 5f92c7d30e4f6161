"""read_toml: what TOML text of people says, read in a time that grows with its length and no faster.

Python's reader takes a time that grows with the square of the parts of a dotted key (``a.b.c = 1``): one line of a
small file would keep it busy for ever. So such a key is refused before anything is read.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

__all__ = ["MAX_KEY_PARTS", "read_toml"]

MAX_KEY_PARTS = 32
"""The most parts of a dotted key, and the most tables within one another; what netlab reads has four."""

_TOO_DEEP = "is nested too deeply"

_TOKEN = re.compile(
    r'''
      \#[^\n]*+
    | """ (?: [^"\\] | \\. | "{1,2}(?!") )*+ (?: "{3,5} )?
    | \'\'\' (?: [^'] | '{1,2}(?!') )*+ (?: '{3,5} )?
    | " (?: [^"\\\n] | \\[^\n] )*+ "?
    | ' [^'\n]*+ '?
    | (?P<dot> \. )
    | (?P<end> [=,\n\[\]{}] )
    ''',
    re.VERBOSE | re.DOTALL,
)
"""What stands between the parts of a key, what ends one, and what may hold either without being one."""


def read_toml(text: str) -> dict[str, Any]:
    """Return the document that TOML text is.

    Args:
        text: The text; who read it has seen to its length.

    Raises:
        ValueError: It is none: says why, in words that follow a file's name.
    """
    line = _line_of_long_key(text)
    if line:
        raise ValueError(f"has a key of more than {MAX_KEY_PARTS} parts (at line {line})")
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError as error:  # not only TOMLDecodeError: int() refuses 5000 digits itself
        raise ValueError(f"is not TOML: {error}") from None
    _require_shallow(document)
    return document


def _require_shallow(document: dict[str, Any]) -> None:
    """Refuse tables within tables without end, on which whoever looks into them would find Python's own."""
    level: list[Any] = [document]
    for _ in range(MAX_KEY_PARTS):
        inner: list[Any] = []
        for one in level:
            for value in one.values() if isinstance(one, dict) else one:
                if isinstance(value, dict | list):
                    inner.append(value)
        level = inner
    if level:
        raise ValueError(_TOO_DEEP)


def _line_of_long_key(text: str) -> int:
    """Return the line of the first key of too many parts; 0 where there is none."""
    if all(line.count(".") < MAX_KEY_PARTS for line in text.split("\n")):
        return 0  # a key stands in one line: nearly every file ends here
    dots = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "dot":
            dots += 1
            if dots >= MAX_KEY_PARTS:
                return text.count("\n", 0, token.start()) + 1
        elif token.lastgroup == "end":
            dots = 0
    return 0
