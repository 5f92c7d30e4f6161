"""make_fallback: a fallback by its name, with the defaults that ``EnvConfig`` has."""

from __future__ import annotations

from collections.abc import Callable

from netlab.control.fallback import Fallback, Hold, Local, Neutral
from netlab.control.policy import Policy
from netlab.envs.config import DEFAULT_HOLD_LIMIT_TICKS
from netlab.errors import SpecError

__all__ = ["make_fallback"]


def make_fallback(
    name: str, hold_limit_ticks: int | None = None, make_local_policy: Callable[[], Policy] | None = None
) -> Fallback:
    """Return a fresh fallback by its name; beyond this file nobody asks which one it is.

    Args:
        name: ``neutral``, ``hold`` or ``local``.
        hold_limit_ticks: The most ticks in a row that ``hold`` holds; None is 10.
        make_local_policy: Makes the policy of ``local``, which nobody else has.

    Raises:
        SpecError: There is no such fallback, it has no policy, or the limit is none.
    """
    if name == "neutral":
        return Neutral()
    if name == "hold":
        return Hold(DEFAULT_HOLD_LIMIT_TICKS if hold_limit_ticks is None else hold_limit_ticks)
    if name != "local":
        raise SpecError(f"{name!r:.80}: must be neutral, hold or local", key="fallback")
    if make_local_policy is None:
        raise SpecError("the local fallback has no policy", key="fallback", hint="name one: --local-policy")
    return Local(make_local_policy())
