"""Decided: one decision as the remote keeps it."""

from __future__ import annotations

from msgspec import Struct

from netlab.control.values import Value

__all__ = ["Decided"]


class Decided(Struct, frozen=True):
    """A decision, for prediction and for the wire.

    Attributes:
        action: The action.
        encoded: Its bytes.
    """

    action: Value
    encoded: bytes
