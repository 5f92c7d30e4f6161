"""Launcher: runs one command inside a guest kernel as if it had run here.

::

    run_in_guest --plan--> supervisor --> warden --> guest kernel --> pid 1 --> command
         ^                                                |
         `------ GuestSession: streams, signals, status --'

It starts the supervisor, tells it what to start, serves the session and turns its end into an exit status or
an error. Inside, ``NETLAB_GUEST`` names the kernel: release and SHA-256. What time the guest has is its
clock's business (``guest_clock.py``).
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from netlab.errors import GuestError
from netlab.namespaces.guest import processors
from netlab.namespaces.guest.caller import (
    Surroundings,
    describe_job,
    init_interpreter,
    new_job_folder,
    writable_places,
)
from netlab.namespaces.guest.confinement import MEMORY_PLACE, outermost
from netlab.namespaces.guest.guest_clock import GuestClock, RealClock
from netlab.namespaces.guest.guest_ends import ENTRY, GuestEnds
from netlab.namespaces.guest.installed import GuestKernel, verify_kernel
from netlab.namespaces.guest.job import FILE, JOB_FILE_NAME, NULL, Job
from netlab.namespaces.guest.kernel_descriptors import JOB_FOLDER_LINK
from netlab.namespaces.guest.kernel_plan import KernelPlan, kernel_arguments
from netlab.namespaces.guest.memory_place import choose_memory_place, memory_places
from netlab.namespaces.guest.outcome import cannot_start, exit_status
from netlab.namespaces.guest.session import GuestSession
from netlab.namespaces.guest.signal_catch import caught_signals
from netlab.namespaces.guest.streams import CallerStreams

__all__ = ["DEFAULT_MEMORY_BYTES", "MIN_MEMORY_BYTES", "run_in_guest"]

DEFAULT_MEMORY_BYTES = 1 << 30
MIN_MEMORY_BYTES = 48 << 20


def run_in_guest(
    argv: Sequence[str],
    *,
    kernel: GuestKernel,
    clock: GuestClock | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    timeout_s: float | None = None,
    cpu: int | None = None,
    confine: bool = True,
    writable: Sequence[str] = (),
    private_files: Mapping[str, bytes] | None = None,
    stdin: int | None = 0,
    stdout: int = 1,
    stderr: int = 2,
    notice: Callable[[str], None] | None = None,
    signalled: Callable[[int], None] | None = None,
) -> int:
    """Run a command inside a guest kernel and return its exit status.

    Folder, environment, arguments, umask, limits, terminal and output are those it would have had here. When
    called from the main thread, INT, TERM, HUP and QUIT are passed on meanwhile; a second one of a kind within
    10 s ends the guest.

    Args:
        argv: The command; looked up in PATH inside.
        kernel: The kernel to run.
        clock: What time the guest has: a RealClock unless given, or a VirtualClock, by which the same command
            gives the same output (docs/virtual-time.md).
        env: Its environment, whole; ours unless given.
        cwd: Its working folder; ours unless given.
        memory_bytes: The guest's memory; costs nothing until it is used.
        timeout_s: End the guest after so many seconds, its start included; None for never.
        cpu: Pin the guest to this CPU; the idlest without a guest unless given.
        confine: As root, let the guest write to its working folder, the temporary folders and ``writable``
            alone. An ordinary user's guest has that user's rights, no more, and is not confined further.
        writable: Existing files and folders that a confined guest may write to as well.
        private_files: Files of this run alone, by the environment variable in which the command finds the path
            of each: small ones that only their owner may read (keys), gone with the guest however it ends.
        stdin: Descriptor its input comes from; None for none. What the command leaves unread may be lost.
        stdout: Descriptor its output goes to.
        stderr: Descriptor its errors go to.
        notice: Told what a person should know beside the exit status; printed on our stderr unless given.
        signalled: Told of each signal to end that has reached us meanwhile, when the guest is gone.

    Returns:
        The command's status; 128 + n for signal n; 127 not found, 126 not executable; 124 after ``timeout_s``.

    Raises:
        GuestError: The kernel is damaged, the guest cannot be started or confined, or it died without a status;
            the clock is virtual and the kernel cannot, or its time stood still, or its budget is spent.
    """
    if "NETLAB_GUEST" in os.environ:
        raise GuestError("already inside a guest: one guest cannot run another", hint="run the command as it is")
    if timeout_s is not None and not 0.0 < timeout_s < math.inf:
        raise GuestError(f"guest: a time limit of {timeout_s} s; it is above 0 and finite, or None for none")
    around = Surroundings(cwd, env)
    launch = _Launch(kernel, clock or RealClock(), memory_bytes, around, writable if _confines(confine) else None)
    streams = CallerStreams(stdin, stdout, stderr)
    session = launch.run(argv, streams, cpu, timeout_s, private_files or {})
    if signalled is not None:
        for number in session.signals:
            signalled(number)
    return exit_status(session, memory_bytes, notice or _print_notice)


class _Launch:
    """One guest on its way: descriptors, supervisor, plan."""

    def __init__(
        self,
        kernel: GuestKernel,
        clock: GuestClock,
        memory_bytes: int,
        around: Surroundings,
        writable: Sequence[str] | None,
    ) -> None:
        if memory_bytes < MIN_MEMORY_BYTES:
            raise GuestError(
                f"guest: {memory_bytes} bytes of memory; it needs {MIN_MEMORY_BYTES >> 20} MiB or more"
            )
        self._kernel = kernel
        self._clock = clock
        self._memory_bytes = memory_bytes
        self._around = around
        self._writable = writable
        self._job_folder = new_job_folder()
        confined = writable is not None
        self._memory_place = choose_memory_place(memory_bytes, memory_places(os.environ, confined))
        # A confined guest gets a file system of its own there: the folder's other files are none of its business.
        self._own_memory = confined and self._memory_place == MEMORY_PLACE

    def run(
        self,
        argv: Sequence[str],
        streams: CallerStreams,
        cpu: int | None,
        timeout_s: float | None,
        private_files: Mapping[str, bytes],
    ) -> GuestSession:
        """Start the guest, serve it until it is gone, and return the session.

        Raises:
            GuestError: It cannot be started.
        """
        _flush_ours()
        with contextlib.ExitStack() as stack:
            try:
                session = self._begin(stack, argv, streams, cpu, timeout_s, private_files)
            except OSError as error:
                raise cannot_start(error) from error
            session.run()
            return session

    def _begin(
        self,
        stack: contextlib.ExitStack,
        argv: Sequence[str],
        streams: CallerStreams,
        cpu: int | None,
        timeout_s: float | None,
        private_files: Mapping[str, bytes],
    ) -> GuestSession:
        begun_s = time.monotonic()
        ticks = processors.read_busy_ticks()
        # The supervisor removes the folder, unless it was killed.
        stack.callback(shutil.rmtree, self._job_folder, ignore_errors=True)
        signals_fd = stack.enter_context(caught_signals(self._clock.passed_on))
        self._around.env.update({name: f"{self._job_folder}/{name}" for name in private_files})
        job = describe_job(argv, self._around, self._kernel, streams.kinds, streams.window)
        job = self._clock.arrange(job, self._job_folder)
        spooled = job.stdin == FILE
        ends = stack.enter_context(GuestEnds(streams.stdin if spooled else None))
        verify_kernel(self._kernel)  # meanwhile the supervisor's interpreter starts
        self._clock.require(self._kernel)
        plan = self._plan(job, ends, processors.chosen_cpus(cpu, ticks), private_files)
        with contextlib.suppress(BrokenPipeError):  # it was killed: the session says so
            ends.link.sendall(plan.encode())
        deadline_s = None if timeout_s is None else begun_s + timeout_s
        return GuestSession(
            supervisor=ends.link,
            supervisor_pid_fd=ends.supervisor_pid_fd,
            control=ends.control,
            log_fd=ends.log,
            outputs=((ends.output, streams.stdout), (ends.errors, streams.stderr)),
            stdin=None if spooled or job.stdin == NULL else streams.stdin,
            kinds=streams.kinds,
            signals_fd=signals_fd,
            watchdog=self._clock.watchdog(deadline_s, self._job_folder, ends.supervisor),
        )

    def _plan(
        self,
        job: Job,
        ends: GuestEnds,
        cpus: tuple[int, ...],
        private_files: Mapping[str, bytes],
    ) -> KernelPlan:
        log_fd = ends.theirs[0]
        own = (self._job_folder,) if self._own_memory else (self._job_folder, self._memory_place)
        return KernelPlan(
            argv=kernel_arguments(
                binary=str(self._kernel.binary),
                memory_bytes=self._memory_bytes,
                job_folder=self._job_folder,
                init=(init_interpreter(), "-BsS", ENTRY, "init", JOB_FOLDER_LINK),
                clock=self._clock.kernel_arguments,
            ),
            env={"TMPDIR": self._memory_place, "PATH": os.defpath, "HOME": self._job_folder},
            folder=str(self._kernel.path),
            job_folder=self._job_folder,
            job_files={
                JOB_FILE_NAME: job.to_json(),
                **{name: content.decode("latin-1") for name, content in private_files.items()},
            },
            descriptors=ends.theirs,
            log_fd=log_fd,
            cpus=cpus,
            confine=self._writable is not None,
            writable=()
            if self._writable is None
            else outermost(writable_places(self._around, self._writable, own)),
            memory_bytes=self._memory_bytes if self._own_memory else 0,
            stdin_fd=ends.spool,
            chance=not job.secret,
            hurries=self._clock.hurries,
        )


def _confines(wanted: bool) -> bool:
    """Return whether to confine: an ordinary user's guest is held by that user's rights already."""
    return wanted and os.geteuid() == 0


def _flush_ours() -> None:
    """Let what we printed come out before what the guest prints."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(ValueError):  # closed
                stream.flush()


def _print_notice(text: str) -> None:
    print(f"netlab: {text}", file=sys.stderr, flush=True)
