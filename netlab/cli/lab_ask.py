"""``netlab lab exec``, ``set`` and ``show``: what is asked of a lab that stays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.command import echo_json
from netlab.cli.lab_command import StayingLabCommand
from netlab.errors import SpecError

if TYPE_CHECKING:
    from netlab.holder.messages import LinkWish
    from netlab.holder.report import DirectionReport, HostReport, LabReport, LinkReport

__all__ = ["exec_", "parse_wishes", "set_", "show", "state_text"]

_CHANCES = ("loss", "duplicate", "corrupt", "reorder")
_WHOLE = 2**32 - 1


@click.command("exec", cls=StayingLabCommand, context_settings={"allow_interspersed_args": False})
@click.argument("name")
@click.argument("host")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(name: str, host: str, command: tuple[str, ...]) -> None:
    """Run COMMAND in a HOST of lab NAME, with our terminal, streams, folder and environment.

    Its exit status becomes ours. It ends with the lab, and with us.

    \b
    Example:
      netlab lab exec field client -- bash
      netlab lab exec field client -- sh -c 'ping -c 5 $NETLAB_PEER'
    """  # noqa: D301
    from netlab.holder.execution import run_in_lab

    words = command[1:] if command[0] == "--" else command
    if not words:
        raise click.UsageError("name a command to run in the host")
    sys.exit(run_in_lab(name, host, words))


@click.command("set", cls=StayingLabCommand)
@click.argument("name")
@click.argument("wishes", nargs=-1, required=True, metavar="LINK PROFILE | LINK=PROFILE...")
@click.option("--direction", type=click.Choice(["forward", "back"]), help="Change this direction alone.")
@click.option("--stop-playing", is_flag=True, help="Stop the lab's schedules first.")
@click.option("--json", "as_json", is_flag=True, help="Print the changes as one JSON document.")
def set_(name: str, wishes: tuple[str, ...], direction: Any, stop_playing: bool, as_json: bool) -> None:
    """Change links of lab NAME while they carry packets; those in flight stay in flight.

    Several links change at one moment. What is in force afterwards is read back. A shared medium is changed as
    medium:NAME, its rate, its queue or both.

    \b
    Example:
      netlab lab set field radio wifi-degraded
      netlab lab set field radio delay=30ms,loss=2% --direction forward
      netlab lab set field a-b=wifi-normal c-d=loss=100%
      netlab lab set field medium:ap rate=10mbit,queue=100
    """  # noqa: D301
    from netlab.holder.client import ask
    from netlab.holder.messages import LinksSet, SetLinks

    request = SetLinks(wishes=parse_wishes(wishes), direction=direction, stop_playing=stop_playing)
    done = ask(name, request, LinksSet)
    for text in done.warnings:
        click.echo(f"netlab: {text}", err=True)
    if as_json:
        echo_json(done.changes)
        return
    for change in done.changes:
        late_ms = 1e3 * (change.applied_s - change.asked_s)
        click.echo(f"{change.link} {change.direction}: {state_text(change.state)} (after {late_ms:.2f} ms)")


def parse_wishes(words: tuple[str, ...]) -> list[LinkWish]:
    """Return which links are to do what.

    Raises:
        SpecError: A word is no LINK=PROFILE, or a link is named twice.
    """
    from netlab.holder.messages import LinkWish
    from netlab.working_folder import absolute_path

    # No link's name holds a "=", so the first word tells which of the two forms it is.
    pairs = [words] if len(words) == 2 and "=" not in words[0] else [word.split("=", 1) for word in words]
    wishes: dict[str, LinkWish] = {}
    for pair, word in zip(pairs, words, strict=False):
        if len(pair) != 2 or not all(pair):
            hint = "write LINK PROFILE for one link, LINK=PROFILE for each of several"
            raise SpecError(f"{word!r:.80} names no link and profile", key="set", hint=hint)
        link, profile = pair
        if link in wishes:
            raise SpecError(f"{link!r:.80} is named twice", key="set", hint="name each link once")
        path = absolute_path(profile) if profile.endswith(".toml") else profile
        wishes[link] = LinkWish(link=link, profile=path)
    return list(wishes.values())


@click.command(cls=StayingLabCommand)
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def show(name: str, as_json: bool) -> None:
    """Show lab NAME as it is now, read back from the kernel: links, hosts, processes, what was changed.

    \b
    Example:
      netlab lab show field
      netlab lab show field --json
    """  # noqa: D301
    from netlab.holder.client import ask
    from netlab.holder.messages import ShowLab
    from netlab.holder.report import LabReport

    report = ask(name, ShowLab(), LabReport)
    if as_json:
        echo_json(report)
        return
    for line in _lines(report):
        click.echo(line)


def _lines(report: LabReport) -> list[str]:
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
    from netlab.holder.report import state_document
    from netlab.traces.qdisc_state import QdiscState

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
