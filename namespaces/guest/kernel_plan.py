"""KernelPlan: how the supervisor is to start a guest kernel, and the events it reports; pure.

::

    launcher --length, KernelPlan as JSON--> supervisor
             <--one JSON line an event-----

Standard library only: the supervisor runs without site-packages.
"""

from __future__ import annotations

import dataclasses
import json
import struct

from netlab.errors import GuestError
from netlab.namespaces.guest.kernel_descriptors import KERNEL_FDS

__all__ = ["EventReader", "KernelPlan", "encode_event", "kernel_arguments"]

MAX_COMMAND_LINE_BYTES = 4000
"""A little under COMMAND_LINE_SIZE (4096): beyond it the kernel cuts silently."""

# Set-up steps of Debian's kernel that measure the speed of code no lab uses: 0.85 s for RAID alone, whose
# only user there is btrfs. The loops a jiffy are given for the same reason (0.23 s); only busy-waits use them.
SKIPPED_STEPS = ("raid6_init", "raid6_select_algo")
LOOPS_A_JIFFY = 40_000_000

INIT_ENVIRONMENT = ("PYTHONHASHSEED=0", "PYTHONSAFEPATH=1")
"""Of pid 1: the kernel passes on what it does not know. A Python without this seed reads /dev/urandom first, and
a kernel that has no random numbers yet makes some then, spinning for 3 s of its own time or 13 s of ours."""

SHOWN_LEVELS = 5
"""Warnings and worse: that a process of the guest has been killed from outside is one."""


@dataclasses.dataclass(frozen=True)
class KernelPlan:
    """One guest kernel to start.

    Attributes:
        argv: Its program and arguments.
        env: Its environment.
        folder: Its working folder on the host; the program's interpreter is found from there.
        job_folder: Folder to make before and to remove after.
        job_files: Files to make in it, for their owner's eyes: text that stands for bytes, one (latin-1) each.
        descriptors: Descriptors that it inherits; there they have the numbers KERNEL_FDS.
        log_fd: That of them which is its standard output.
        cpus: CPUs it may be pinned to, best first.
        confine: Whether to confine it first.
        writable: What it can write to when confined.
        memory_bytes: Room for its memory in a file system of its own; 0 where the memory lies elsewhere.
        stdin_fd: Descriptor to read to its end into the job folder before the start; -1 for none.
        chance: Whether the kernel can have random numbers of this machine; without, it starts alike each time.
        hurries: Whether it goes before other programs, as far as that is permitted: not where its time is its own.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    folder: str
    job_folder: str
    job_files: dict[str, str] = dataclasses.field(repr=False)  # keys among them
    descriptors: tuple[int, ...]
    log_fd: int
    cpus: tuple[int, ...]
    confine: bool
    writable: tuple[str, ...]
    memory_bytes: int = 0
    stdin_fd: int = -1
    chance: bool = True
    hurries: bool = True

    def encode(self) -> bytes:
        """Return the plan as bytes for the supervisor."""
        text = json.dumps(dataclasses.asdict(self)).encode("ascii")
        return struct.pack("<I", len(text)) + text

    @classmethod
    def from_json(cls, text: str) -> KernelPlan:
        """Return the plan in the JSON part of what ``encode`` made.

        Raises:
            GuestError: Not such a text.
        """
        try:
            fields = json.loads(text)
            for name in ("argv", "descriptors", "cpus", "writable"):
                fields[name] = tuple(fields[name])
            return cls(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise GuestError(f"supervisor: not a plan: {error}") from error


def kernel_arguments(
    *,
    binary: str,
    memory_bytes: int,
    job_folder: str,
    init: tuple[str, ...],
    clock: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Return the command line of a guest kernel.

    Args:
        binary: The kernel.
        memory_bytes: Its memory.
        job_folder: Folder for its pid file, without white space.
        init: Program that becomes pid 1, absolute, and its arguments.
        clock: What makes its clock another than the real one.

    Raises:
        GuestError: A path that a kernel command line cannot carry, or too many.
    """
    log_fd, stdout_fd, stderr_fd, control_fd = KERNEL_FDS
    arguments = (
        binary,
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
        f"mem={memory_bytes // 1024}K",
        "quiet",
        f"loglevel={SHOWN_LEVELS}",
        *clock,
        "seccomp=on",
        "initcall_blacklist=" + ",".join(SKIPPED_STEPS),
        f"lpj={LOOPS_A_JIFFY}",
        *INIT_ENVIRONMENT,
        f"uml_dir={_plain(job_folder)}/",
        "umid=guest",
        "con=null",
        f"con0=null,fd:{log_fd}",
        f"con1=null,fd:{stdout_fd}",
        f"con2=null,fd:{stderr_fd}",
        f"con3=fd:{control_fd},fd:{control_fd}",
        f"init={_quoted(init[0])}",
        "--",
        *(_quoted(argument) for argument in init[1:]),
    )
    length = len(" ".join(arguments).encode("utf-8", "surrogateescape"))
    if length > MAX_COMMAND_LINE_BYTES:
        raise GuestError(
            f"guest kernel: a command line of {length} bytes; it takes {MAX_COMMAND_LINE_BYTES} at most",
            hint="install netlab, and make temporary files, in folders with shorter names",
        )
    return arguments


def encode_event(event: str, **facts: object) -> bytes:
    """Return an event as one line of JSON."""
    return json.dumps({"event": event, **facts}).encode("ascii") + b"\n"


class EventReader:
    """Puts events together from bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, data: bytes) -> list[dict[str, object]]:
        """Take bytes as they came and return the events that they complete."""
        *lines, self._pending = (self._pending + data).split(b"\n")
        return [json.loads(line) for line in lines]


def _plain(path: str) -> str:
    if any(character.isspace() or character == '"' for character in path):
        raise GuestError(
            f"guest: {path!r}: white space and quotes cannot be in the name of the temporary folder",
            hint="set TMPDIR to a folder with a plainer name",
        )
    return path


def _quoted(argument: str) -> str:
    if '"' in argument or "\n" in argument:
        raise GuestError(
            f"guest kernel: {argument!r}: a kernel command line cannot carry a quote or a line break",
            hint="install netlab in a folder with a plainer name",
        )
    return f'"{argument}"' if any(character.isspace() for character in argument) else argument
