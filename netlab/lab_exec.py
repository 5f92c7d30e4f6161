"""Run one command in a throw-away host behind an impaired link: what ``netlab exec`` does.

::

    host "here": COMMAND  <===== link with the profile =====>  host "peer": --peer COMMAND
                 $NETLAB_PEER = 10.77.0.2                                   $NETLAB_PEER = 10.77.0.1

No NAT, no route to anywhere else, no rule on the machine is touched. The command has our terminal, streams,
folder and environment, and its exit status becomes ours.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from netlab.errors import KernelError, LabError, SpecError
from netlab.foreground import Foreground, exit_code_of_no_start, ignored_signals
from netlab.lab import Lab
from netlab.lab_impairment import Impairment
from netlab.namespaces.process import HostProcess
from netlab.namespaces.wire import Wiring
from netlab.traces.packets.packet_log import PacketLog

__all__ = ["run_exec", "split_command"]

_PEER_READY_S = 1.0
_PEER_POLL_S = 0.01
_LOOK_S = 0.5
# Socket states in /proc/net: a listening TCP socket, and a UDP socket that waits for anyone.
_LISTENING = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
_STATE_COLUMN = 3


def split_command(text: str) -> list[str]:
    """Return the words of a command line as a shell would split it; nothing is expanded, no shell runs.

    Raises:
        SpecError: A quote is left open, or there is no word.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SpecError(f"{text!r:.80} is no command: {error}", key="peer", hint="close the quotes") from error
    if not words:
        raise SpecError("the command is empty", key="peer", hint="name a program and its arguments")
    return words


def run_exec(
    command: Sequence[str],
    impairment: Impairment = None,
    *,
    peer: str | None = None,
    seed: int = 0,
    mtu: int = 1500,
    say: Callable[[str], None] | None = None,
    wiring: Wiring | None = None,
    record: Callable[[PacketLog], None] | None = None,
) -> int:
    """Run a command in a host behind a link, wait for its end, leave nothing.

    Args:
        command: Program and arguments; finds the far end's address in ``$NETLAB_PEER``.
        impairment: What the link does; forward is from the command to the peer.
        peer: A command line for the far host, started first and given a moment to listen.
        seed: Seed of the link.
        mtu: Of the link, in bytes.
        say: Told what is to be known of the kernel, and when the peer dies on its own; stderr unless given.
        wiring: What carries the packets; this kernel's netem unless given.
        record: Told at the end what happened to each packet; nothing is recorded unless given.

    Returns:
        The command's exit status; 128 + N when signal N killed it.

    Raises:
        SpecError: The peer's command line is malformed; nothing has been made then.
        KernelError: The command cannot be started; its ``exit_code`` is 127 (not found) or 126, as a shell's.
        PrivilegeError: The caller may not make namespaces.
        FeatureMissing: This kernel has no netem.
        LabError: What carries the packets has died.
    """
    say = say or _print_to_stderr
    peer_words = split_command(peer) if peer is not None else None
    ignored = ignored_signals()
    with Lab(seed=seed, wiring=wiring) as lab:
        here, far = lab.add_host("here"), lab.add_host("peer")
        lab.add_link(here, far, impairment, name="exec", mtu=mtu)
        for text in lab.warnings:
            say(text)
        server = far.start(peer_words) if peer_words else None
        if server is not None:
            _wait_until_it_listens(server)
        recording = lab.record() if record is not None else None
        lab.play()
        with Foreground() as foreground:
            try:
                process = here.start(
                    command,
                    stdin=0,
                    stdout="inherit",
                    own_session=not foreground.has_terminal,
                    ignored_signals=ignored,
                )
            except KernelError as error:
                error.exit_code = exit_code_of_no_start(error)
                raise
            foreground.watch(process)
            status = _wait(lab, process)
        lab.check_links()
        if recording is not None and record is not None:
            record(recording.finish())
        if server is not None:
            _tell_of_its_death(server, say)
    return status if status >= 0 else 128 - status


def _wait(lab: Lab, process: HostProcess) -> int:
    """Wait for the command's end, as long as its packets can pass; return its status."""
    while process.poll() is None:
        lab.check_links()
        with contextlib.suppress(LabError):  # it still runs; what else there is, the next look says
            process.wait(_LOOK_S)
    return process.wait()


def _wait_until_it_listens(server: HostProcess) -> None:
    """Give a server the time it needs before its client comes; at most a second for what is no server."""
    deadline_s = time.monotonic() + _PEER_READY_S
    while server.poll() is None and time.monotonic() < deadline_s and not _listens(server.pid):
        time.sleep(_PEER_POLL_S)


def _listens(pid: int) -> bool:
    """Tell whether any socket in the process's network namespace waits for a peer."""
    for table, state in _LISTENING.items():
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()
            if any(line.split()[_STATE_COLUMN] == state for line in lines[1:]):
                return True
    return False


def _tell_of_its_death(server: HostProcess, say: Callable[[str], None]) -> None:
    try:
        server.check()
    except LabError as error:
        say(str(error))


def _print_to_stderr(text: str) -> None:
    print(f"netlab: {text}", file=sys.stderr)
