"""``netlab capture``: record packets on one interface of this machine, for a trace."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

import click

from netlab.cli.command import NetlabCommand, ResultOption, echo_json, say
from netlab.cli.types import DURATION, SIZE
from netlab.errors import KernelError, SpecError
from netlab.traces.capture.captured_packet import MAX_PACKET_BYTES, MAX_PACKETS

if TYPE_CHECKING:
    from netlab.engine_request import EngineRequest
    from netlab.traces.capture.packet_listener import PacketListener
    from netlab.traces.capture.packet_recording import Recorded, RecordingBounds

__all__ = ["capture"]

_MIN_SNAP_BYTES = 16


class CaptureCommand(NetlabCommand):
    """Interfaces are this machine's, or a lab host's in which the command itself is run."""

    engines: ClassVar[tuple[str, ...]] = ("host",)
    engine_help: ClassVar[str] = "Interfaces are on this machine."

    def elsewhere(self, request: EngineRequest) -> str:
        """Return what hints say for the guest's kernel; see ``NetlabCommand.elsewhere``."""
        return "another machine"


@click.command("capture", cls=CaptureCommand)
@click.argument("interface")
@click.option("--for", "duration_s", type=DURATION, help="How long, for example 60s; unless told, until --count.")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=MAX_PACKETS,
    show_default=True,
    help="After how many packets to stop; unless told, after as many as are imported of one file.",
)
@click.option(
    "--filter",
    "wanted",
    default="trace",
    show_default=True,
    help="tcp, icmp, wifi (monitor mode), trace (all a trace can be made of), all, or in libpcap's words.",
)
@click.option("--snap", type=SIZE, help="Keep so much of each packet, content included, for example 256B.")
@click.option(
    "-o",
    "--output",
    cls=ResultOption,
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The pcap to write.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON document.")
def capture(
    interface: str,
    duration_s: float | None,
    count: int,
    wanted: str,
    snap: float | None,
    output: Path,
    as_json: bool,
) -> None:
    """Record packets on INTERFACE as a pcap, for `netlab trace import`; nothing is sent.

    Of each packet the headers alone are kept, unless --snap asks for more: addresses, ports and times are in the
    file, what anyone said is not. Ctrl-C ends the capture and leaves a whole file; so does a disk that is full.

    \b
    Example:
      netlab capture lo --for 2s -o ping.pcap
      netlab capture lo --filter icmp --for 2s --json -o ping.pcap
    """  # noqa: D301
    from netlab.documents import require_writable
    from netlab.traces.capture.packet_recording import RecordingBounds

    if duration_s is not None and duration_s <= 0.0:
        raise SpecError(f"{duration_s:g} s: must be above 0", key="--for")
    bounds = RecordingBounds(_snap_bytes(snap), count, math.inf if duration_s is None else duration_s)
    _require_interface(interface)
    require_writable("--output", output)
    signals: list[str] = []
    recorded = _record(interface, wanted, output, bounds, signals)
    _report(interface, output, recorded, signals, as_json)


def _record(interface: str, wanted: str, output: Path, bounds: RecordingBounds, signals: list[str]) -> Recorded:
    """Record until a bound is met or a signal comes, which is put into the list."""
    from netlab.cli.progress_line import ProgressLine
    from netlab.stop_signals import stop_on_signals
    from netlab.traces.capture.packet_recording import record_packets
    from netlab.traces.capture.packet_writer import PacketWriter

    unbounded = bounds.max_packets == MAX_PACKETS and bounds.max_duration_s == math.inf
    with (
        stop_on_signals(signals.append),
        _listener(interface, wanted) as listener,
        _pcap(output) as file,
        ProgressLine() as line,
    ):
        line.say(f"listening on {interface}" + ("; Ctrl-C ends it" if unbounded else ""))
        return record_packets(
            listener,
            PacketWriter(file, listener.link_type, bounds.snap_bytes or MAX_PACKET_BYTES),
            bounds,
            stopped=lambda: bool(signals),
            show=lambda now: line.count(f"{now.packets:,} packets"),
        )


def _snap_bytes(snap: float | None) -> int | None:
    if snap is not None and not _MIN_SNAP_BYTES <= snap <= MAX_PACKET_BYTES:
        raise SpecError(f"{snap:g} bytes: must be {_MIN_SNAP_BYTES} .. {MAX_PACKET_BYTES}", key="--snap")
    return None if snap is None else int(snap)


def _require_interface(interface: str) -> None:
    import socket

    from netlab.did_you_mean import did_you_mean

    known = [name for _, name in socket.if_nameindex()]
    if interface not in known:
        hint = did_you_mean(interface, known) or f"there are {', '.join(known)}"
        raise SpecError(f"there is no interface {interface!r} here", key="INTERFACE", hint=hint)


@contextlib.contextmanager
def _listener(interface: str, wanted: str) -> Iterator[PacketListener]:
    """Open the interface; what the filter is for is known once it is known what its packets are."""
    from netlab.traces.capture.capture_filter import PRESETS, filter_program
    from netlab.traces.capture.packet_listener import PacketListener

    if wanted in PRESETS:
        opened = PacketListener(interface, lambda kind: filter_program(wanted, interface, kind))
    else:
        opened = PacketListener(interface, expression="" if wanted == "all" else wanted)
    with opened:
        yield opened


@contextlib.contextmanager
def _pcap(path: Path) -> Iterator[BinaryIO]:
    """Open the file, unbuffered; it has its name once it is whole.

    An interface that goes away, or a disk that is full, leaves what there is.

    Raises:
        KernelError: The interface is gone; the file takes no more; or it cannot be made.
    """
    from netlab.whole_file import whole_file

    gone: KernelError | None = None
    try:
        with whole_file(path) as aside, open(aside.fileno(), "wb", buffering=0, closefd=False) as file:
            try:
                yield file
            except KernelError as error:
                gone = error
    except OSError as error:
        hint = "make room there, or name a file elsewhere; what was there before is untouched"
        raise KernelError(f"write {path}", error.errno or 0, error.strerror or "", hint) from error
    if gone is not None:
        raise gone


def _report(interface: str, output: Path, recorded: Recorded, signals: list[str], as_json: bool) -> None:
    if recorded.missed:
        missed = f"{recorded.missed:,} more packets came too fast to be written, and would be taken for lost"
        say(f"{missed}: filter more strictly")
    if as_json:
        document = {"interface": interface, "file": str(output), **recorded._asdict()}
        echo_json({**document, "ended_by": signals[0] if signals else "bound"})
        return
    say(f"{recorded.packets:,} packets in {recorded.duration_s:.1f} s on {interface}")
    if not recorded.packets:
        say("nothing that the filter asks for has passed")
        return
    click.echo(f"netlab trace import {output}")
