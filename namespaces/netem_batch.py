"""Several netem qdiscs of one wire changed in one message to the kernel.

::

    Change, Change ... --NetemQdisc.stage--> bytes, bytes ... --send_together--> kernel
                       <-NetemQdisc.settle-- None | KernelError each
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.errors import LabError
from netlab.namespaces.impairer import Change, Refusals
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.prebuilt_request import send_together
from netlab.namespaces.staged_changes import change_staged

__all__ = ["change_netems"]


def change_netems(changes: Sequence[Change]) -> Refusals:
    """Put qdiscs of one wire in new states, each once, without reading them back.

    Returns:
        For each change its refusal, or None.

    Raises:
        LabError: A change names what is no netem qdisc, or one qdisc comes twice.
    """
    qdiscs = [_netem(change) for change in changes]
    return change_staged(qdiscs, [change.state for change in changes], send_together)


def _netem(change: Change) -> NetemQdisc:
    if not isinstance(change.impairer, NetemQdisc):
        raise LabError(
            f"{type(change.impairer).__name__} is no netem qdisc of this wire",
            hint="change directions of one lab's wire together, those of another by themselves",
        )
    return change.impairer
