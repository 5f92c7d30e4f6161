"""Reports as lines for a person: a lab, a change, a state. Pure."""

from __future__ import annotations

from typing import Any

from netlab.holder.report import (
    ChangeReport,
    DirectionReport,
    HostReport,
    LabReport,
    LinkReport,
    state_document,
)
from netlab.traces.qdisc_state import QdiscState

__all__ = ["change_line", "report_lines", "state_text"]

_CHANCES = ("loss", "duplicate", "corrupt", "reorder")
_WHOLE = 2**32 - 1


def report_lines(report: LabReport) -> list[str]:
    """Return what there is of a lab, as lines."""
    seeded = "" if report.seeded else ", which not every link heeds"
    lines = [
        f"lab {report.name} (id {report.id}): up for {report.uptime_s:.0f} s, held by process {report.holder_pid}",
        f"  on {report.engine}, {report.kernel}; netlab {report.version}",
        f"  spec {report.spec}; seed {report.seed}{seeded}",
        f"  log {report.log}",
        f"  {_use_line(report)}",
    ]
    lines += [f"  problem: {report.problem}"] if report.problem else []
    lines += [f"  note: {text}" for text in report.warnings]
    if report.played:
        lines.append(f"schedules: {'playing' if report.playing else 'stopped'}; {_counts(report.played)}")
    for host in report.hosts:
        lines += _host_lines(host)
    for link in report.links:
        lines += _link_lines(link)
    for medium in report.media:
        lines.append(f"medium {medium.name}: {medium.rate_bps / 1e6:g} Mbit/s, {medium.queue_packets} packets")
        lines += _direction_lines("shared", medium.shared)
    for change in report.changes:
        what = state_text(change.state) + (f" NOT IN FORCE: {change.refusal}" if change.refusal else "")
        times = f"asked {change.asked_s:.3f} s, applied {change.applied_s:.3f} s"
        lines.append(f"change {change.link} {change.direction}: {times}: {what}")
    return lines


def change_line(change: ChangeReport) -> str:
    """Return a change that took hold as a line, with the time until it was acknowledged."""
    late_ms = 1e3 * (change.applied_s - change.asked_s)
    return f"{change.link} {change.direction}: {state_text(change.state)} (after {late_ms:.2f} ms)"


def _use_line(report: LabReport) -> str:
    if report.use is None:
        return f"processor time and memory are not known: {report.no_use}"
    cpu = "not counted" if report.use.cpu_s is None else f"{report.use.cpu_s:.2f} s"
    memory = "not counted" if report.use.memory_bytes is None else f"{report.use.memory_bytes / 2**20:.1f} MiB"
    return f"{report.use.processes} processes; processor time {cpu}, memory {memory}"


def _host_lines(host: HostReport) -> list[str]:
    lines = [f"host {host.name}"]
    for one in host.interfaces:
        lines.append(f"  {one.name} {one.address} -- {one.link} -- {one.peer} {one.peer_address}")
    for process in host.processes:
        status = "runs" if process.status is None else f"ended with {process.status}"
        origin = "" if process.from_spec else " (netlab lab exec)"
        lines.append(f"  process {process.pid} {status}{origin}: {' '.join(process.argv)[:120]}")
        lines += [f"    | {line}" for line in process.last_lines.splitlines()[-5:]]
    return lines


def _link_lines(link: LinkReport) -> list[str]:
    lines = [f"link {link.name}: {link.ends[0]} -- {link.ends[1]}"]
    for name, direction in (("forward", link.forward), ("back", link.back)):
        lines += _direction_lines(name, direction)
    return lines


def _direction_lines(name: str, direction: DirectionReport | None) -> list[str]:
    if direction is None:
        return [f"  {name:<7} clean"]
    lines = [f"  {name:<7} {state_text(direction.state)}", f"          {_counts(direction.counters)}"]
    if direction.as_asked:
        return lines
    verdict = "NOT PROVEN" if direction.as_asked is None else "NOT AS ASKED"
    return [*lines, f"          {verdict}: {direction.difference}"]


def _counts(counts: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in counts.items())


def state_text(state: dict[str, Any]) -> str:
    """Return a state as a line: what is not at its default, times in milliseconds, chances in per cent."""
    default = state_document(QdiscState())
    parts = []
    for field, value in state.items():
        if value == default.get(field):
            continue
        if field.endswith("_ns"):
            parts.append(f"{field.removesuffix('_ns')} {value / 1e6:g} ms")
        elif field in _CHANCES or field.endswith("_correlation"):
            parts.append(f"{field} {value / _WHOLE:.4%}")
        else:
            parts.append(f"{field} {value}")
    return ", ".join(parts) or "netem that does nothing"
