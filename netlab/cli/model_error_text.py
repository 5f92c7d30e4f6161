"""How far a learned model is off, as lines for people: each number by its name and unit where a task has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.agents.model_card import HorizonError

__all__ = ["model_error_lines"]


def model_error_lines(errors: Sequence[HorizonError], quantities: Sequence[tuple[str, str]] = ()) -> Iterator[str]:
    """Yield a heading and a line for each horizon; nothing where nothing was held out to compare with.

    Args:
        errors: Of each horizon.
        quantities: Name and unit of each number of the observation, in its order; none where nobody named them.
    """
    told = [error for error in errors if error.windows]
    if told:
        yield "its model's error on play it has not seen, root mean square (of predicting that nothing changes):"
    for error in told:
        named = quantities if len(quantities) == len(error.rmse) else _numbered(len(error.rmse))
        parts = [
            " ".join(filter(None, (name, f"{off:.2g}", unit, f"({still:.2g})")))
            for (name, unit), off, still in zip(named, error.rmse, error.still_rmse, strict=True)
        ]
        yield f"{error.ticks:4} tick{'s' if error.ticks > 1 else ' '} ahead: {', '.join(parts)}"


def _numbered(count: int) -> list[tuple[str, str]]:
    return [(f"number {place}", "") for place in range(count)]
