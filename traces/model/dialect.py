"""Dialect: where kernels' netems differ in what becomes of a packet.

One frozen struct a kind of kernel; only what changes the behaviour of the model is in it. Knows no model.
"""

from __future__ import annotations

from msgspec import Struct

__all__ = ["LINUX_6_1", "LINUX_6_12", "Dialect"]


class Dialect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a kernel's netem differs from that of Linux 6.12.

    Attributes:
        name: Kernels that speak it.
        seed_honoured: False: seeds are ignored without a word, and the generator begins anywhere.
    """

    name: str
    seed_honoured: bool = True


LINUX_6_12 = Dialect(name="Linux 6.12 .. 7.2")
"""Measured: packets recorded on 6.12.117; 7.2 gave the same fates."""

LINUX_6_1 = Dialect(name="Linux 6.1", seed_honoured=False)
"""Measured on 6.1.176: the same packet by packet where no draw decides, else by counting (docs/kernels.md)."""
