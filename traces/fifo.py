"""First in, first out: when packets leave a link that keeps their order. Pure.

::

    ready     35  80  50 100          when each could leave, had it the link to itself
    leaves    35  80  80 100          the running maximum; the third packet waited

With a rate, leave_i = max(ready_i, leave_{i-1}) + transmit_i: the same running maximum once the transmissions
so far are taken off both sides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["leave_s"]


def leave_s(ready_s: NDArray[np.float64], transmit_s: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return when each packet leaves, in the order in which they came in, ``[n]``.

    Args:
        ready_s: When each could; minus infinity for one that holds nobody up, such as a lost one, ``[n]``.
        transmit_s: How long each occupies the link once it can, ``[n]``; None where there is no rate.
    """
    if transmit_s is None:
        transmit_s = transmitted_s = np.zeros(1)
    else:
        transmitted_s = np.cumsum(transmit_s)
    left: NDArray[np.float64] = np.maximum.accumulate(ready_s - (transmitted_s - transmit_s)) + transmitted_s
    return left
