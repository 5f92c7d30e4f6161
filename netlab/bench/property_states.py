"""Does anything stick: random netem states put in force one after another, each read back from the kernel.

::

    first  --apply or apply_fast--> netem --read--> compare
    second --the other------------> netem --read--> compare      nothing of the first may be left

Each pair goes on where the one before ended, so 1,000 pairs are 2,000 changes of one qdisc.
"""

from __future__ import annotations

from collections.abc import Callable

from netlab.bench.figure import Figure
from netlab.bench.netem_rig import netem_rig
from netlab.bench.random_states import RandomStates
from netlab.machine import inside_guest
from netlab.namespaces.features import kernel_features
from netlab.namespaces.netem_compare import compare_netem
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.traces.qdisc_state import QdiscState

__all__ = ["property_states"]

PAIRS = 1_000
SEED = 20_261_129


def property_states(say: Callable[[str], None]) -> Figure:
    """Put 1,000 pairs of random states in force, count those that read back otherwise.

    Raises:
        KernelError: The kernel refuses a state that it should take, or shows another after ``apply``.
    """
    say(f"{PAIRS} pairs of random states")
    states = RandomStates(SEED)
    differences: list[list[str]] = []
    with netem_rig(QdiscState()) as rig:
        for pair in range(PAIRS):
            # By turns, so that each way of changing follows each.
            ways = (rig.qdisc.apply, rig.qdisc.apply_fast)
            order = (ways[pair & 1], ways[pair >> 1 & 1])
            for change in order:
                differences.append(_change_and_read(rig.qdisc, change, states.draw()))
    return _figure(differences, inside_guest() or kernel_features().release)


def _figure(changes: list[list[str]], kernel: str) -> Figure:
    """Return the figure of what each change reads back otherwise, two changes a pair."""
    differences = [difference for change in changes for difference in change]
    return Figure(
        name="property-states",
        value=float(len(differences)),
        unit="fields read back otherwise",
        target="0",
        holds=not differences,
        n=len(changes) // 2,
        spread="; ".join(differences[:5]),
        note=f"pairs, {len(changes)} changes of one qdisc; every field but tables, which no kernel shows; "
        f"kernel {kernel}",
    )


def _change_and_read(qdisc: NetemQdisc, change: Callable[[QdiscState], None], state: QdiscState) -> list[str]:
    """Change the qdisc and return what it shows that was not asked for."""
    change(state)
    sent = qdisc.asked
    assert sent is not None  # it has just been sent
    return [*compare_netem(sent, qdisc.read(), kernel_features()), *_misremembered(state, sent)]


def _misremembered(asked: QdiscState, sent: QdiscState) -> list[str]:
    """Return what was sent otherwise than asked; a linear table in place of none is how uniform is asked for."""
    return [
        f"{field}: asked {getattr(asked, field)}, sent {getattr(sent, field)}"
        for field in asked.__struct_fields__
        if getattr(asked, field) != getattr(sent, field) and field not in ("delay_table", "slot_table", "slot")
    ]
