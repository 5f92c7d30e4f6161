"""Several netem qdiscs of one wire changed in one message to the kernel.

::

    Change, Change ... --NetemQdisc.stage--> bytes, bytes ... --send_together--> kernel
                       <-NetemQdisc.settle-- None | KernelError each
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.errors import KernelError, LabError
from netlab.namespaces.change import Change, Refusals
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.prebuilt_request import send_together

__all__ = ["change_netems"]


def change_netems(changes: Sequence[Change]) -> Refusals:
    """Put qdiscs of one wire in new states, each once, without reading them back.

    Returns:
        For each change its refusal, or None.

    Raises:
        LabError: A change names what is no netem qdisc, or one qdisc comes twice.
    """
    qdiscs = [_netem(change) for change in changes]
    if len({id(qdisc) for qdisc in qdiscs}) != len(qdiscs):
        raise LabError("one qdisc twice among changes made together", hint="name each direction once")
    requests = [qdisc.stage(change.state) for qdisc, change in zip(qdiscs, changes, strict=True)]
    outcomes: Refusals = [KernelError("change qdiscs together", 0, "interrupted")] * len(qdiscs)
    try:
        outcomes = send_together(requests)
    finally:
        for qdisc, refusal in zip(qdiscs, outcomes, strict=True):
            qdisc.settle(refusal is None)
    return outcomes


def _netem(change: Change) -> NetemQdisc:
    if not isinstance(change.impairer, NetemQdisc):
        raise LabError(f"{type(change.impairer).__name__} is no netem qdisc of this wire")
    return change.impairer
