"""A JSON file as typed structs: bounded, and every refusal a TraceError that says where in the document.

Knows no format; the importers of JSON formats name the types.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from netlab.errors import TraceError
from netlab.traces.trace_source import TraceSource

__all__ = ["decode_json", "printable"]

MAX_JSON_BYTES = 384 << 20
"""The largest document unless told: an hour of irtt at 100 packets a second, indented, is about 330 MB."""

_MAX_WORDS = 200

Document = TypeVar("Document")


def decode_json(source: TraceSource, kind: type[Document], max_bytes: int = MAX_JSON_BYTES) -> Document:
    """Return a file's JSON document as what it must be.

    Args:
        source: The file.
        kind: A type whose fields are bounded: what is not in it is skipped.
        max_bytes: The most it may have, as each element takes several times its bytes in memory.

    Raises:
        TraceError: It is too large, no whole JSON document, or not of this kind.
    """
    data = source.data()
    if len(data) > max_bytes:
        raise source.refuse(f"holds more than {max_bytes >> 20} MiB of JSON", hint="measure in shorter runs")
    decoder = msgspec.json.Decoder(kind)
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise source.refuse(f"is not as its format has it: {error}", hint=_HINT) from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _no_json(source, data, str(error)) from None


def printable(words: str) -> str:
    """Return words from a file for a line about it: printable, and not too many."""
    return "".join(c if c.isprintable() else " " for c in words[:_MAX_WORDS]).strip()


def _no_json(source: TraceSource, data: bytes, reason: str) -> TraceError:
    """Return the error for a document that is no JSON, with its line where the decoder tells the byte."""
    line = 0
    before, _, byte = reason.rpartition("(byte ")
    if before and byte.removesuffix(")").isdigit():
        reason = before.strip()
        line = data.count(b"\n", 0, int(byte.removesuffix(")"))) + 1
    return source.refuse(f"is not whole JSON: {reason}", line, hint=_HINT)


_HINT = "it may have been cut short or edited: write it again with the tool that measured"
