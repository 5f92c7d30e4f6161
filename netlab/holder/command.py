"""serve_command: runs what one ``netlab lab exec`` asks for in a lab, until the program or its client ends.

::

    client --RunCommand + stdin, stdout, stderr--> Host.run --> program in the lab's PID namespace
           <------------------------- Started ----
           --SignalCommand ...-------------------> its group
           <-------------------- CommandEnded ----  or: the client is gone, and the program is ended
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable

from netlab.did_you_mean import did_you_mean
from netlab.errors import KernelError, LabError, NetlabError, SpecError, WireError
from netlab.foreground import exit_code_of_no_start
from netlab.holder.frames import Received, receive_frame, send_frame
from netlab.holder.messages import REQUESTS, CommandEnded, Refused, RunCommand, SignalCommand, Started
from netlab.lab import Lab
from netlab.namespaces.host import Host
from netlab.namespaces.process import HostProcess
from netlab.namespaces.process_output import HandedOver
from netlab.namespaces.program import Program

__all__ = ["serve_command"]

_MAX_SIGNAL_BYTES = 4096
_STREAMS = 3
_LOG = logging.getLogger("netlab.lab")

Register = Callable[[str, HostProcess], contextlib.AbstractContextManager[None]]


def serve_command(link: socket.socket, received: Received, lab: Lab, register: Register) -> None:
    """Run a client's command to its end, or to the client's.

    Args:
        link: The client.
        received: A RunCommand and the three descriptors.
        lab: Where to run it.
        register: Keeps it on the list of what runs, while it runs.

    Raises:
        WireError: The client breaks the protocol before the program runs.
    """
    try:
        host, process = _start(received, lab)
    except NetlabError as error:
        send_frame(link, Refused.of(error))
        return
    with register(host.name, process):
        try:
            send_frame(link, Started(process.pid))
        except WireError:  # gone already
            _end(process)
            return
        waiter = threading.Thread(target=_tell_its_end, args=(link, process), name="netlab-command", daemon=True)
        waiter.start()
        _pass_signals_on(link, process)
        _end(process)
        waiter.join()


def _start(received: Received, lab: Lab) -> tuple[Host, HostProcess]:
    command: RunCommand = received.message
    if len(received.descriptors) != _STREAMS:
        raise LabError(f"{len(received.descriptors)} descriptors came along: a command has three streams")
    host = _find_host(lab, command.host)
    argv = tuple(map(os.fsdecode, command.argv))
    program = Program(
        argv=argv,
        env={os.fsdecode(name): os.fsdecode(value) for name, value in command.env} | host.environment(),
        cwd=os.fsdecode(command.cwd),
        terminal=command.terminal,
        ignored_signals=frozenset(command.ignored_signals),
    )
    stdin, stdout, stderr = received.take()  # closed once the program has them: its readers wait for that
    try:
        return host, host.run(program, HandedOver(stdout, stderr), stdin)
    except KernelError as error:
        error.exit_code = exit_code_of_no_start(error)
        raise
    finally:
        os.close(stdin)


def _find_host(lab: Lab, name: str) -> Host:
    host = lab.hosts.get(name)
    if host is None:
        hint = did_you_mean(name, lab.hosts) or f"its hosts: {', '.join(lab.hosts)[:500] or 'none'}"
        raise SpecError(f"{name!r:.80} is no host of lab {lab.name}", key="host", hint=hint)
    return host


def _pass_signals_on(link: socket.socket, process: HostProcess) -> None:
    """Signal the program as its client says, until one of the two has ended."""
    try:
        while True:
            received = receive_frame(link, REQUESTS, _MAX_SIGNAL_BYTES, first_within_s=None)
            if received is None:
                return
            received.close()
            if isinstance(received.message, SignalCommand):
                process.send_signal(received.message.number, group=True)
    except WireError as error:
        _LOG.warning("the client of %s was shown out: %s", process.label, error)


def _tell_its_end(link: socket.socket, process: HostProcess) -> None:
    reply: CommandEnded | Refused
    try:
        reply = CommandEnded(process.wait())
    except LabError as error:
        reply = Refused.of(error)
    with contextlib.suppress(WireError):
        send_frame(link, reply)
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RD)  # wakes who waits for signals


def _end(process: HostProcess) -> None:
    try:
        process.close()
    except LabError as error:
        _LOG.warning("%s", error)
