"""Tensor files: named arrays and one document about them in one safetensors file; the door to that library.

::

    file --read, at most so many bytes--> header checked --safetensors--> {name: array} --finite?--> tensors
                                          `-- __metadata__["netlab"] --msgspec--> a card of the type asked for

safetensors and not npz: an npz is a zip, and how large its members become is only known once they are unpacked.
Here every array's size follows from the header and must fill the file exactly, so what is
allocated is bounded by the file's length. Nothing of a file is ever run.

What an array or a card means is for those who ask. Format: https://github.com/huggingface/safetensors
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from netlab.errors import KernelError, LocalProtocolError, NetlabError, SpecError
from netlab.whole_file import write_whole

__all__ = [
    "SUFFIX",
    "Tensors",
    "card_format",
    "decode_tensors",
    "read_file",
    "read_tensors",
    "write_error",
    "write_tensors",
]

SUFFIX = ".safetensors"
Tensors = Mapping[str, NDArray[Any]]

_CARD_KEY = "netlab"
_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 1 << 20
_MAX_CARD_CHARACTERS = 1 << 18
_MAX_TENSORS = 1024
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_KINDS = {"F32": "float32", "F64": "float64", "I64": "int64", "I32": "int32", "U8": "uint8", "BOOL": "bool"}
"""What numbers may be: as safetensors calls them, and as numpy does."""
_DTYPES = tuple(_KINDS.values())

Card = TypeVar("Card", bound=Struct)


class _Header(Struct):
    """The part of a file's header that is ours; safetensors judges the rest."""

    metadata: Annotated[dict[str, str], Meta(max_length=16)] = msgspec.field(
        name="__metadata__", default_factory=dict
    )


class _Named(Struct):
    """What of a card says which kind it is."""

    format: str = ""


def read_tensors(
    path: str | os.PathLike[str], card_type: type[Card], *, max_bytes: int, what: str, hint: str = ""
) -> tuple[Card, dict[str, NDArray[Any]]]:
    """Return the card and the arrays of a tensor file; arrays are read-only.

    Args:
        path: The file.
        card_type: What its card must be.
        max_bytes: The most that is read; a larger file is refused unread.
        what: What such a file is called, with its article, for the error message.
        hint: How to get one.

    Raises:
        SpecError: It cannot be read, is too large, is no safetensors file, has no card of this type, or holds
            numbers that are not finite.
    """
    return decode_tensors(read_file(path, max_bytes=max_bytes, what=what, hint=hint), path, card_type, what, hint)


def decode_tensors(
    data: bytes, path: str | os.PathLike[str], card_type: type[Card], what: str, hint: str = ""
) -> tuple[Card, dict[str, NDArray[Any]]]:
    """Return the card and the arrays in the bytes of a tensor file; see ``read_tensors``.

    Args:
        data: The file's bytes.
        path: Where they are from, for the error message.
        card_type: What its card must be.
        what: What such a file is called, with its article, for the error message.
        hint: How to get one.

    Raises:
        SpecError: They are no safetensors file, have no card of this type, or hold numbers that are not finite.
    """
    text = _card_text(data, path, what, hint)
    try:
        card = msgspec.json.decode(text, type=card_type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, SpecError) as error:  # of a field's own rule
        raise SpecError(f"is not {what}: its card is not one: {error}", path, _CARD_KEY, hint) from error
    try:
        tensors = load(data)
    except (SafetensorError, KeyError, ValueError) as error:
        raise SpecError(f"is not {what}: {error}", path, hint=hint) from error
    for name, tensor in tensors.items():
        if tensor.dtype.name not in _DTYPES:
            allowed = ", ".join(_DTYPES)
            raise SpecError(f"{name!r:.80} holds {tensor.dtype.name}: must be one of {allowed}", path, hint=hint)
        if tensor.dtype.kind == "f" and not bool(np.isfinite(tensor).all()):
            raise SpecError(f"{name!r:.80} holds a number that is not finite", path, hint=hint)
        tensor.flags.writeable = False
    return card, dict(tensors)


def card_format(data: bytes) -> str:
    """Return the format that the card in a tensor file's bytes names, to say what it is; empty for none."""
    try:
        return msgspec.json.decode(_card_text(data, "", "a tensor file", ""), type=_Named).format
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, SpecError):
        return ""


def write_tensors(path: str | os.PathLike[str], card: Struct, tensors: Tensors, *, max_bytes: int) -> None:
    """Write a tensor file: whole or not at all.

    Args:
        path: The file.
        card: The document about the arrays.
        tensors: By name.
        max_bytes: The most that ``read_tensors`` will read of it.

    Raises:
        LocalProtocolError: What would be written could not be read again: too large, or not finite.
        SpecError: No such file can be written.
        KernelError: The disk takes no more; what was there before is untouched.
    """
    for name, tensor in tensors.items():
        if tensor.dtype.name not in _DTYPES or (tensor.dtype.kind == "f" and not bool(np.isfinite(tensor).all())):
            raise LocalProtocolError(f"tensor {name!r:.80} of {tensor.dtype.name}: must be finite, of {_DTYPES}")
    text = msgspec.json.encode(card).decode()
    try:
        msgspec.json.decode(text, type=type(card))
    except msgspec.ValidationError as error:  # an infinite number, for one, is null in JSON
        raise LocalProtocolError(f"{os.fspath(path)}: the card could not be read again: {error}") from error
    # Contiguous, since safetensors writes what it finds in memory; in order of name, so that equal is equal bytes.
    data = save({name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}, {_CARD_KEY: text})
    if len(data) > max_bytes or len(text) > _MAX_CARD_CHARACTERS or len(tensors) > _MAX_TENSORS:
        raise LocalProtocolError(f"{os.fspath(path)}: {len(data)} bytes, of which {len(text)} of card: too large")
    try:
        write_whole(path, data)
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: str | os.PathLike[str], error: OSError) -> NetlabError:
    """Return the error that a refusal to write a file is: a file named badly, or a disk without room."""
    if error.errno in _NO_ROOM:
        hint = "make room there, or name a file elsewhere; what was there before is untouched"
        return KernelError(f"write {os.fspath(path)}", error.errno or 0, error.strerror or "", hint)
    return SpecError(f"cannot be written: {error.strerror}", path, hint="name a file in a folder you may write to")


def read_file(path: str | os.PathLike[str], *, max_bytes: int, what: str, hint: str = "") -> bytes:
    """Return the bytes of a file, at most so many.

    Args:
        path: The file.
        max_bytes: The most that is read; a larger file is refused.
        what: What such a file is called, with its article, for the error message.
        hint: How to get one.

    Raises:
        SpecError: It cannot be read, is no plain file, or is larger.
    """
    too_large = SpecError(f"is larger than {max_bytes} bytes, the most {what} may have", path, hint=hint)
    try:
        descriptor = os.open(
            path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        )  # a named pipe would keep us waiting
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise SpecError("is not a plain file", path, hint=hint)
            if found.st_size > max_bytes:
                raise too_large
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(max_bytes + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"cannot be read: {reason}", path, hint=hint) from error
    if len(data) > max_bytes:  # it has grown meanwhile
        raise too_large
    return data


def _card_text(data: bytes, path: str | os.PathLike[str], what: str, hint: str) -> str:
    """Return the card as it stands in the header, which is checked for size before anything parses it."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if len(data) < _LENGTH_BYTES or length > len(data) - _LENGTH_BYTES:
        raise SpecError(f"is not {what}: no safetensors file, or cut short", path, hint=hint)
    if length > _MAX_HEADER_BYTES:
        problem = f"is not {what}: a header of {length} bytes, at most {_MAX_HEADER_BYTES} are allowed"
        raise SpecError(problem, path, hint=hint)
    header_bytes = data[_LENGTH_BYTES : _LENGTH_BYTES + length]
    try:
        header = msgspec.json.decode(header_bytes, type=_Header)
        entries = len(msgspec.json.decode(header_bytes, type=dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(f"is not {what}: its header is not one: {error}", path, hint=hint) from error
    if entries > _MAX_TENSORS + 1:
        raise SpecError(f"is not {what}: more than {_MAX_TENSORS} arrays", path, hint=hint)
    problem = _entry_problem(header_bytes)
    if problem:
        raise SpecError(f"is not {what}: {problem}", path, hint=hint)
    text = header.metadata.get(_CARD_KEY, "")
    if not text or len(text) > _MAX_CARD_CHARACTERS:
        problem = (
            f"is not {what}: no card of netlab's in it, or one of more than {_MAX_CARD_CHARACTERS} characters"
        )
        raise SpecError(problem, path, hint=hint)
    return text


def _entry_problem(header: bytes) -> str:
    """Return what is wrong with the entries of a header that safetensors would not say, or not in words."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise ValueError(f"{name!r:.80} stands in its header twice")
            found[name] = value
        return found

    try:
        entries = json.loads(header, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        return str(error)
    for name, entry in entries.items():
        kind = entry.get("dtype") if isinstance(entry, dict) else None
        if isinstance(kind, str) and kind not in _KINDS:
            return f"{name!r:.80} holds {kind:.20}: must be one of {', '.join(_KINDS)}"
    return ""
