"""settled_horizon: D of ``scheduled`` and ``planned``, by one rule for every command that plays a policy.

::

    asked for?  --yes--> that
      no: card says one? --yes--> that, so many ticks after the observation
            no: network known, the same for all episodes? --yes--> fitted to it
                  no--> adaptive

Roof. Whether an actuator has a horizon at all is for those who ask.
"""

from __future__ import annotations

from netlab.messages import ADAPTIVE_HORIZON
from netlab.traces.horizon import horizon_ticks
from netlab.traces.pair import ProfilePair

__all__ = ["settled_horizon"]


def settled_horizon(asked: int | None, of_card: int | None, pair: ProfilePair | None, rate_hz: float) -> int:
    """Return D in ticks, or ``ADAPTIVE_HORIZON`` where the agent is to choose it by what the edge measures.

    Args:
        asked: D as asked for, ``ADAPTIVE_HORIZON`` included; None where nobody says.
        of_card: D that the policy was made for; None where its card has none.
        pair: The network, where there is but one and it is known beforehand: a clean one is ``CLEAN``. None where
            each episode draws its own, or where it is a real one.
        rate_hz: Ticks a second.

    Raises:
        ProfileError: It is to be fitted to a network to which no D fits.
    """
    if asked is not None:
        return asked
    if of_card is not None:
        return of_card
    return ADAPTIVE_HORIZON if pair is None else horizon_ticks(pair, 1.0 / rate_hz)
