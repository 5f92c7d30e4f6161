"""What must be known besides, to believe the numbers of a measurement: sentences for people. Pure."""

from __future__ import annotations

from netlab.probe.probe_record import ProbeRecord

__all__ = ["course_notes", "truth_notes"]


def truth_notes(record: ProbeRecord, impossible: int) -> list[str]:
    """Return what bears on whether the traces are true: it goes with them.

    Args:
        record: What a prober has sent and learnt.
        impossible: Replies that the reflector says to have had for longer than they were away.
    """
    no_room = int(record.no_room.sum())
    notes = {
        "the reflector did not hand over its log: forward losses are known as far as replies tell": (
            record.n_sent > 0 and record.log is None
        ),
        "the reflector's log was full before the end: behind it, what replies do not tell is unknown": (
            record.log_overflowed
        ),
        f"this host had no room for {no_room} probes: what would have become of them is unknown": no_room > 0,
        f"this host had no way for {record.no_way} probes: they count as lost": record.no_way > 0,
        f"the path carries no more than {record.too_large_bytes} bytes in one packet: the flow has ended there": (
            record.too_large_bytes > 0
        ),
        f"{impossible} replies were held for longer than they were away: their round trips are unknown": (
            impossible > 0
        ),
        f"this host's clock was set {record.clock_steps} times; stamps were kept steady": record.clock_steps > 0,
        "the reflector's clock was set; stamps were kept steady": record.reflector_clock_set,
        f"{record.unstamped} replies have the time at which they were read: the kernel did not stamp them": (
            record.unstamped > 0
        ),
        "some probes have the time at which the reflector read them: its kernel did not stamp them": (
            record.reflector_unstamped
        ),
    }
    return [note for note, holds in notes.items() if holds]


def course_notes(record: ProbeRecord) -> list[str]:
    """Return what happened besides and leaves the traces as they are."""
    notes = {
        f"ended early by {record.stopped_by}": bool(record.stopped_by),
        f"{record.implausible} answers could not be true and were left out": record.implausible > 0,
        f"{record.port_refusals} times the peer's host said that its port is closed": record.port_refusals > 0,
    }
    return [note for note, holds in notes.items() if holds]
