"""Greeting: the messages with which a probe's session begins, in the words of the wire. Pure.

A prober says Hello as an edge does: its task is ``netlab-probe``, its rate that of the probes, its observations
datagrams of their size. The reflector's Welcome, or its Goodbye, is the first frame of the session.
"""

from __future__ import annotations

import netlab
from netlab.messages import PROTOCOL_VERSION, Hello, Space, TaskDescription, Welcome
from netlab.probe.probe_frame import LEAST_BYTES
from netlab.probe.probe_plan import MAX_BYTES, MAX_RATE_HZ, ProbePlan

__all__ = ["TASK", "build_hello", "build_welcome", "find_objection"]

TASK = "netlab-probe"


def build_hello(plan: ProbePlan, run: int) -> Hello:
    """Return what a prober says.

    Args:
        plan: What it is going to send.
        run: A random number.
    """
    return Hello(
        protocol=PROTOCOL_VERSION,
        version=netlab.__version__,
        run=run,
        task=TaskDescription(
            name=TASK,
            rate_hz=plan.rate_hz,
            observation=Space(kind="box", dtype="uint8", shape=(plan.size_bytes,)),
            action=Space(kind="discrete", dtype="uint8", n=2),
        ),
        horizon_ticks=1,
    )


def build_welcome() -> Welcome:
    """Return the reflector's consent."""
    return Welcome(protocol=PROTOCOL_VERSION, version=netlab.__version__, policy=TASK)


def find_objection(hello: Hello) -> str:
    """Return why a reflector does not serve whoever says this; empty where it does."""
    task = hello.task
    if task.name != TASK:
        return f"this is netlab probe serve; the task {task.name!r} is for netlab agent serve"
    if task.rate_hz > MAX_RATE_HZ:
        return f"{task.rate_hz:g} probes a second; {MAX_RATE_HZ:g} are served"
    if not LEAST_BYTES <= task.observation.nbytes <= MAX_BYTES:
        return f"probes of {task.observation.nbytes} bytes; {LEAST_BYTES} .. {MAX_BYTES} are served"
    return ""
