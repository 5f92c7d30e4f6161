"""ValueCodec: one value of a Space as raw little-endian bytes and back.

A discrete value is a Python int, a box an array ``[*shape]``. Everything that comes from a peer passes here:
size, finiteness and bounds are checked before a value is handed on.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.errors import LocalProtocolError, RemoteProtocolError, SpecError
from netlab.messages import Space

__all__ = ["Value", "ValueCodec"]

Value = int | NDArray[Any]
"""An action or an observation: an int of a discrete space, an array of a box."""

_SMALL = 64
"""Up to here a check over Python floats is faster than one over an array."""


class ValueCodec:
    """Turn values of one space into bytes and back.

    Args:
        space: What the values look like.

    Raises:
        SpecError: The space contradicts itself.
    """

    def __init__(self, space: Space) -> None:
        problem = space.problem()
        if problem:
            raise SpecError(problem, key="space")
        self.space = space
        self.nbytes = space.nbytes
        self._dtype = np.dtype(space.dtype).newbyteorder("<")
        self._discrete = space.kind == "discrete"
        self._is_flat = len(space.shape) == 1
        self._is_float = self._dtype.kind == "f"
        self._low = np.asarray(space.low, dtype=np.float64) if space.low else None
        self._high = np.asarray(space.high, dtype=np.float64) if space.high else None

    def encode(self, value: object) -> bytes:
        """Return the bytes of one value.

        Args:
            value: An int (anything with ``__index__``) for a discrete space, an array ``[*shape]`` for a box.

        Raises:
            LocalProtocolError: Our own side offers a value that is not of this space.
        """
        if self._discrete:
            return self._encode_discrete(value)
        try:
            array = np.asarray(value).astype(self._dtype, casting="same_kind")
        except (TypeError, ValueError) as error:
            raise self._not_ours(value) from error
        if array.shape != self.space.shape or self._find_fault(array.ravel()):
            raise self._not_ours(value)
        return array.tobytes()

    def _encode_discrete(self, value: object) -> bytes:
        try:
            number = operator.index(value)  # type: ignore[arg-type]  # it refuses what has no __index__
        except TypeError as error:
            raise self._not_ours(value) from error
        if not 0 <= number < self.space.n:
            raise self._not_ours(value)
        return number.to_bytes(self.nbytes, "little")

    def decode(self, data: bytes) -> Value:
        """Return the one value that these bytes hold.

        Raises:
            RemoteProtocolError: Wrong size, not finite or out of bounds.
        """
        if len(data) != self.nbytes:
            raise RemoteProtocolError(f"a value in {len(data)} bytes: must be {self.nbytes}")
        if self._discrete:
            number = int.from_bytes(data, "little")
            if number >= self.space.n:  # a negative one has its highest bit set and is far above n
                raise RemoteProtocolError(f"discrete value outside 0 .. {self.space.n - 1}")
            return number
        array = np.frombuffer(data, self._dtype)
        fault = self._find_fault(array)
        if fault:
            raise RemoteProtocolError(fault)
        return array if self._is_flat else array.reshape(self.space.shape)

    def decode_many(self, data: bytes, count: int) -> list[Value]:
        """Return ``count`` values laid one after another.

        Raises:
            RemoteProtocolError: Wrong size, or one of them not finite or out of bounds.
        """
        size = self.nbytes
        if len(data) != count * size:
            raise RemoteProtocolError(f"{count} values in {len(data)} bytes: must be {count * size}")
        return [self.decode(data[start : start + size]) for start in range(0, count * size, size)]

    def _find_fault(self, array: NDArray[Any]) -> str:
        """Return what is wrong with a box's items ``[items]``, or nothing."""
        if self._is_float and not _all_finite(array):
            return "value is not finite"
        if self._low is not None and bool((array < self._low).any()):
            return "value below its lower bound"
        if self._high is not None and bool((array > self._high).any()):
            return "value above its upper bound"
        return ""

    def _not_ours(self, value: object) -> LocalProtocolError:
        space = self.space
        what = f"0 .. {space.n - 1}" if self._discrete else f"{space.dtype}{list(space.shape)} within bounds"
        return LocalProtocolError(f"{value!r:.200} is not a value of the {space.kind} space: must be {what}")


def _all_finite(array: NDArray[Any]) -> bool:
    if array.size <= _SMALL:
        return all(map(math.isfinite, array.tolist()))
    return bool(np.isfinite(array).all())
