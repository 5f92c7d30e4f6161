"""What belongs to each actuator where many rows are played at once; beyond this file nobody asks which one it is.

::

    "newest" --> ActuatorParts: make_edge -> ActuatorColumns     which rows play what at a tick
                                make_agenda -> AgendaColumns     which targets are asked about

The twin of ``netlab.control.actuators`` and of ``make_agenda``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from netlab.envs.vector.actuator_columns import (
    ActuatorColumns,
    NewestColumns,
    ScheduledColumns,
    StopAndWaitColumns,
)
from netlab.envs.vector.agenda_columns import (
    AgendaColumns,
    EachObservationColumns,
    EachTickColumns,
    EachTurnColumns,
)
from netlab.envs.vector.horizon_columns import HorizonColumns
from netlab.errors import SpecError
from netlab.messages import ActuatorName

__all__ = ["ACTUATOR_PARTS", "ActuatorParts", "parts_of"]


class ActuatorParts(NamedTuple):
    """What an actuator is made of.

    Attributes:
        make_edge: For so many rows.
        make_agenda: For D, so many rows and the task's lead in ticks.
        plays_at_targets: Whether decisions are looked up by the tick that they are for.
        has_pending: Whether something decided may still be to be played when a question is asked.
        tells_turns: Whether observations say how many actions were played.
    """

    make_edge: Callable[[int], ActuatorColumns]
    make_agenda: Callable[[HorizonColumns, int, int], AgendaColumns]
    plays_at_targets: bool = False
    has_pending: bool = True
    tells_turns: bool = False


ACTUATOR_PARTS: Mapping[ActuatorName, ActuatorParts] = {
    "newest": ActuatorParts(NewestColumns, lambda horizon, n, lead_ticks: EachObservationColumns(n, lead_ticks)),
    "scheduled": ActuatorParts(lambda n: ScheduledColumns(), EachTickColumns, plays_at_targets=True),
    "stop-and-wait": ActuatorParts(
        lambda n: StopAndWaitColumns(),
        lambda horizon, n, lead_ticks: EachTurnColumns(n, lead_ticks),
        has_pending=False,
        tells_turns=True,
    ),
}
"""By name; ``planned`` decides again what was decided, which no column here does."""


def parts_of(name: ActuatorName) -> ActuatorParts:
    """Return what belongs to an actuator.

    Raises:
        SpecError: It is not played in columns.
    """
    if name not in ACTUATOR_PARTS:
        raise SpecError(
            f"{name} is not played in columns",
            key="actuator",
            hint="VirtualNetwork plays it, one episode at a time; train with scheduled",
        )
    return ACTUATOR_PARTS[name]
