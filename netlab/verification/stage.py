"""Where flows are measured: a lab of two hosts made for it, or the model alone.

::

    ProfilePair --verification_lab--> two hosts, a link --measure_lab--.
                `--measure_model-- LinkModels, no packets -------------+--> MeasuredFlow a direction
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from netlab.lab import Lab
from netlab.namespaces.process import HostProcess
from netlab.namespaces.wire import Wiring
from netlab.probe.probe_plan import ProbePlan
from netlab.run_folder import run_folder
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.simulation import simulate
from netlab.traces.pair import ProfilePair
from netlab.traces.seed import Direction, link_seed
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.verification.flow_order import frame_bytes
from netlab.verification.measurement import FlowsPlan, MeasuredFlow, measure
from netlab.verification.tail import Tail

__all__ = ["LINK_NAME", "asked_of", "measure_lab", "measure_model", "verification_lab"]

LINK_NAME = "verify"
_HOSTS = ("near", "far")
_LOOK_S = 0.0005

Watch = Callable[[float], None]


@contextlib.contextmanager
def verification_lab(pair: ProfilePair, seed: int, wiring: Wiring | None) -> Iterator[Lab]:
    """Make two hosts and a link that does what a pair asks for, of a schedule its first step."""
    with Lab(seed=seed, wiring=wiring) as lab:
        near, far = (lab.add_host(name) for name in _HOSTS)
        lab.add_link(near, far, pair, name=LINK_NAME)
        yield lab


class _LabEnds:
    """The two hosts of a lab; see ``Ends``."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def start(self, host: str, argv: Sequence[str]) -> HostProcess:
        return self._lab.hosts[host].start(argv)

    def check(self) -> None:
        self._lab.check_links()


def measure_lab(
    lab: Lab,
    pair: ProfilePair,
    plan: ProbePlan,
    *,
    asked: Mapping[Direction, Asked] | None = None,
    source: str = "netlab verify",
    watch: Watch = lambda share: None,
) -> dict[Direction, MeasuredFlow]:
    """Send flows both ways over the link of a verification's lab, its schedules from their beginning.

    Args:
        lab: As ``verification_lab`` makes it.
        pair: What was asked, which says how long to wait for the last packets.
        plan: What each host sends.
        asked: What the pair asks for, where that has been found out before: of a long schedule it takes a while.
        source: Where it was measured, for a person.
        watch: Told which share of the time has passed.

    Raises:
        NetlabError: It cannot be measured.
    """
    asked = asked or asked_of(pair)
    link = FlowsPlan(
        hosts=_HOSTS,
        addresses=(lab.hosts[_HOSTS[0]].address, lab.hosts[_HOSTS[1]].address),
        plan=plan,
        tail=Tail.of(asked.values(), plan),
    )
    with run_folder("verify") as folder:
        return measure(link, _LabEnds(lab), folder, source=source, on_begin=lambda: _play(lab), watch=watch)


def asked_of(pair: ProfilePair) -> dict[Direction, Asked]:
    """Return what a pair asks of each direction.

    Raises:
        ProfileError: Slots, which no model foresees.
    """
    return {"forward": Asked.of(pair.forward), "back": Asked.of(pair.back)}


def _play(lab: Lab) -> float | None:
    """Begin to play; return when it began, on the monotonic clock; None where there is nothing to play."""
    player = lab.play()
    if player is None:
        return None
    while player.start_s is None and player.is_playing():  # its thread has yet to run
        time.sleep(_LOOK_S)
    return player.start_s


def measure_model(asked: Mapping[Direction, Asked], plan: ProbePlan, seed: int) -> dict[Direction, MeasuredFlow]:
    """Send flows both ways through the model, with the seeds that a lab's link would have.

    Args:
        asked: What each direction does.
        plan: What is sent each way.
        seed: Of the link.
    """
    sent_s = plan.offsets_ns() / 1e9
    measured: dict[Direction, MeasuredFlow] = {}
    for direction, one in asked.items():
        seeds = [link_seed(seed, LINK_NAME, direction, 0)]
        flow = next(simulate(one, sent_s, frame_bytes(plan), seeds))
        trace = Trace.of(
            sent_s,
            path=TracedPath.FORWARD if direction == "forward" else TracedPath.BACK,
            clocks=ClockVerdict.ONE_CLOCK,
            delay_s=flow.delay_s,
            lost=(~flow.arrived).astype(np.int8),
            copies=flow.copies.astype(np.int32),
            source="netlab verify, model",
        )
        measured[direction] = MeasuredFlow(trace, frame_bytes(plan), 0.0)
    return measured
