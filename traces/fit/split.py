"""Split: how a round trip is divided over the two directions of a link, since a round trip does not say.

With a share s of the way there and 1 - s of the way back, both independent:

::

    mean      s m  +  (1 - s) m                    = m
    variance  s v  +  (1 - s) v                    = v       half each: deviation / sqrt 2
    arrived   (1 - L)^s  (1 - L)^(1 - s)           = 1 - L   half each: 1 - (1 - p)^2 = L

Pure numbers; knows no trace.
"""

from __future__ import annotations

import math
import re

from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_ratio

__all__ = ["SYMMETRIC", "Split"]

_PARTS = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*:\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*\Z")


class Split(Struct, frozen=True):
    """How much of a round trip is the way there.

    Attributes:
        forward: Share of its mean, of its variance and of its losses (in logarithms), 0 .. 1.

    Raises:
        ProfileError: No ratio.
    """

    forward: float = 0.5

    def __post_init__(self) -> None:
        bounded_ratio("split", self.forward)

    @classmethod
    def parse(cls, text: str) -> Split:
        """Return the split that ``70:30`` means: seventy parts there, thirty back.

        Raises:
            ProfileError: Not two numbers, or both zero.
        """
        match = _PARTS.match(text)
        if match is None or not float(match[1]) + float(match[2]):
            raise ProfileError(
                f"split = {text[:40]!r}: must be FORWARD:BACK, two numbers that are not both 0",
                hint="50:50 for half each way, 70:30, or 100:0 where the way back costs nothing",
            )
        there, back = float(match[1]), float(match[2])
        return cls(there / (there + back))

    @property
    def is_symmetric(self) -> bool:
        """Tell whether both ways are alike."""
        return self.forward == 0.5

    @property
    def shares(self) -> tuple[float, float]:
        """Return the share of the way there and of the way back."""
        return self.forward, 1.0 - self.forward

    @property
    def words(self) -> str:
        """Return the split as it is typed."""
        return ":".join(f"{100.0 * share:.6g}" for share in self.shares)

    @staticmethod
    def of_loss(loss_ratio: float, share: float) -> float:
        """Return the loss ratio of a direction with so large a share of a round trip's."""
        if loss_ratio >= 1.0:
            return 1.0 if share > 0.0 else 0.0
        return -math.expm1(share * math.log1p(-loss_ratio))


SYMMETRIC = Split(0.5)
"""Two equal, independent directions: what is assumed unless another split is declared."""
