"""Spread: whether a law has room above zero around delays that differ in every step.

A law that would deliver before it was asked to is cut at zero, and each such law needs a table of its own: a
schedule of many different ones is refused, but only once it is long enough. So a model refuses it at once.
"""

from __future__ import annotations

from netlab.errors import ProfileError
from netlab.traces.distribution import Law, standard_quantiles

__all__ = ["require_room"]

_ENTRIES = 4096


def require_room(jitter_s: float, least_s: float, law: Law, names: tuple[str, str]) -> None:
    """Refuse a spread that reaches below zero from the least delay.

    Args:
        jitter_s: Spread of the law.
        least_s: The least delay that it is laid around.
        law: The law.
        names: What a person calls the two.

    Raises:
        ProfileError: It would be cut.
    """
    if not jitter_s:
        return
    reach = -float(standard_quantiles(law, _ENTRIES)[0])
    if jitter_s * reach > least_s:
        raise ProfileError(
            f"{names[0]} = {jitter_s:g} s: reaches below zero from {names[1]} = {least_s:g} s, and each step "
            "would need a table of its own",
            hint=f"at most {1e3 * least_s / reach:.3g}ms",
        )
