"""``netlab probe serve`` and ``netlab probe run``: the two ends of a measurement between hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from netlab.cli.command import ResultOption, echo_json, say
from netlab.cli.flow_options import as_typed
from netlab.cli.service_command import ServiceCommand
from netlab.cli.types import DURATION, SIZE

__all__ = ["run", "serve"]

_KEY_HELP = "The shared key (netlab key new); needed off loopback."


@click.command(cls=ServiceCommand)
@click.option(
    "--bind",
    "address",
    default="127.0.0.1:7448",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; off loopback a key is needed.",
)
@click.option("--key-file", "key_path", default="", type=click.Path(), help=_KEY_HELP)
@click.option(
    "--ready-file",
    "ready_path",
    default="",
    type=click.Path(dir_okay=False),
    help="Write the bound address there once probers may come.",
)
@click.option("--json", "as_json", is_flag=True, help="At the end, print the counters as one JSON document.")
def serve(address: str, key_path: str, ready_path: str, as_json: bool) -> None:
    """Answer the probes of hosts that have the key, until Ctrl-C or SIGTERM.

    \b
    Example:
      netlab probe serve
      netlab probe serve --bind 0.0.0.0:7448 --key-file probe.key
    """  # noqa: D301
    from netlab.probe.reflector import Reflector
    from netlab.stop_signals import stop_on_signals
    from netlab.wire.address import Address
    from netlab.wire.key import Key

    key = Key.read(key_path) if key_path else None
    with Reflector(Address.parse(address), key) as reflector, stop_on_signals(reflector.stop):
        if ready_path:
            from netlab.documents import write_document

            write_document(Path(ready_path), f"{reflector.address}\n".encode())
        say(f"listens for probes at {reflector.address}")
        counters = reflector.run()
    if as_json:
        echo_json(counters)
    else:
        turned_away = sum(counters.rejected.values())
        say(
            f"{counters.sessions} sessions, {counters.probes} probes, {counters.replies} answered; "
            f"{turned_away} datagrams not believed, {counters.unsent} answers that could not be sent"
        )


@click.command(cls=ServiceCommand)
@click.argument("peer", metavar="HOST:PORT")
@click.option("--key-file", "key_path", default="", type=click.Path(), help=_KEY_HELP)
@click.option("--rate", "rate_hz", type=float, default=100.0, show_default=True, help="Probes a second.")
@click.option(
    "--size",
    "size_bytes",
    type=SIZE,
    default="200B",
    show_default=True,
    help="UDP payload of each, never in fragments; an IPv4 packet is 28 bytes larger, an IPv6 one 48.",
)
@click.option("--count", type=int, default=None, help="How many probes.  [default: 10 s of them]")
@click.option("--for", "duration_s", type=DURATION, default=None, help="How long to send, instead of --count.")
@click.option(
    "--wait", "wait_s", type=DURATION, default="2s", show_default=True, help="What comes later than this is lost."
)
@click.option("--one-way", is_flag=True, help="Ask for no replies: load and measure the way forward alone.")
@click.option(
    "--poisson", "poisson_seed", type=int, default=None, metavar="SEED", help="Exponential gaps by SEED."
)
@click.option("--one-clock", is_flag=True, help="One clock stamps both ends: two hosts of one kernel.")
@click.option("--port", "local_port", type=click.IntRange(0, 65535), default=0, help="Send from this UDP port.")
@click.option(
    "--connect-wait",
    "timeout_s",
    type=DURATION,
    default="10s",
    show_default=True,
    help="How long to wait for the reflector.",
)
@click.option(
    "-o",
    "--output",
    "prefix",
    default="",
    metavar="PREFIX",
    help="Write PREFIX.csv (round trip), PREFIX.forward.csv and PREFIX.back.csv.",
)
@click.option(
    "--json-file",
    cls=ResultOption,
    default=None,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the summary there as one JSON document.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON document.")
def run(
    peer: str,
    key_path: str,
    prefix: str,
    json_file: Path | None,
    as_json: bool,
    one_clock: bool,
    local_port: int,
    timeout_s: float,
    **planned: Any,
) -> None:
    """Probe the path to HOST:PORT, where netlab probe serve listens; Ctrl-C ends with what was measured so far.

    \b
    Example:
      netlab probe run 127.0.0.1:7448 --for 5s
      netlab probe run desktop:7448 --key-file probe.key --rate 100 --for 60s -o wifi
    """  # noqa: D301
    from netlab.cli.progress_line import ProgressLine
    from netlab.probe.prober import probe_path
    from netlab.wire.address import Address
    from netlab.wire.key import Key

    plan = _plan(**planned)
    key = Key.read(key_path) if key_path else None
    files = _files(prefix, one_way=plan.one_way)
    _prepare(files, json_file, key_path)
    with ProgressLine() as line, as_typed():
        measured = probe_path(
            plan,
            Address.parse(peer),
            key,
            one_clock=one_clock,
            local_port=local_port,
            timeout_s=timeout_s,
            progress=lambda sent, replies: line.count(f"{sent} of {plan.count} sent, {replies} replies"),
        )
    _write_traces(measured.result.traces, files)
    _write_summary(measured.summary, json_file)
    _print(measured.summary, files, as_json=as_json)
    if not any(trace.has_delays for trace in measured.result.traces):
        say("nothing has arrived")
        click.get_current_context().exit(1)


def _plan(*, count: int | None, duration_s: float | None, rate_hz: float, **rest: Any) -> Any:
    """Return the plan that is asked for."""
    from netlab.probe.probe_plan import ProbePlan

    if count is not None and duration_s is not None:
        raise click.UsageError("--count and --for say the same thing: give one of them")
    with as_typed():
        if count is not None:
            return ProbePlan(count=count, rate_hz=rate_hz, **rest)
        return ProbePlan.lasting(10.0 if duration_s is None else duration_s, rate_hz, **rest)


def _prepare(files: dict[str, Path], json_file: Path | None, key_path: str) -> None:
    """Refuse files that cannot be written, before anything is sent."""
    from netlab.documents import refuse_shared_files, require_writable

    written = {f"--output ({name})": path for name, path in files.items()}
    if json_file is not None:
        written["--json-file"] = json_file
    refuse_shared_files(written, {"--key-file": Path(key_path)} if key_path else {})
    for option, path in written.items():
        require_writable(option, path)


def _files(prefix: str, *, one_way: bool) -> dict[str, Path]:
    """Return the file of each path that is measured; none without a prefix."""
    if not prefix:
        return {}
    suffixes = {"forward": ".forward.csv"}
    if not one_way:
        suffixes = {"round-trip": ".csv", **suffixes, "back": ".back.csv"}
    return {path: Path(prefix + suffix) for path, suffix in suffixes.items()}


def _write_traces(traces: list[Any], files: dict[str, Path]) -> None:
    if not files:
        return
    from netlab.traces.trace_file import write_trace

    for trace in traces:
        write_trace(trace, files[trace.path.value])


def _write_summary(summary: Any, json_file: Path | None) -> None:
    if json_file is None:
        return
    import msgspec

    from netlab.documents import write_document

    write_document(json_file, msgspec.json.encode(summary) + b"\n")


def _print(summary: Any, files: dict[str, Path], *, as_json: bool) -> None:
    if as_json:
        echo_json(summary)
        return
    from netlab.cli.probe_text import print_summary

    print_summary(summary)
    for path in files.values():
        say(f"wrote {path}")
