"""Job: what pid 1 of the guest is to run and how; a JSON file in the job folder carries it across.

Pure and standard library only: pid 1 imports it without site-packages.
"""

from __future__ import annotations

import dataclasses
import json

from netlab.errors import GuestError

__all__ = ["FILE", "JOB_FILE_NAME", "NULL", "PIPE", "SAME_AS_STDOUT", "TERMINAL", "Job"]

JOB_FILE_NAME = "job.json"

NULL = "null"
PIPE = "pipe"
FILE = "file"
TERMINAL = "terminal"
SAME_AS_STDOUT = "stdout"


@dataclasses.dataclass(frozen=True)
class Job:
    """One command for the guest.

    Text stands for bytes as ``os.fsdecode`` makes it, so any name and any environment survives.

    Attributes:
        argv: The command.
        env: Its environment, whole.
        cwd: Its working folder, absolute.
        umask: Its file mode mask.
        rlimits: ``(resource, soft, hard)``, -1 for no limit.
        ignored_signals: Those that it starts with ignored (nohup).
        stdin: NULL, PIPE, TERMINAL or FILE.
        stdout: PIPE or TERMINAL.
        stderr: PIPE, TERMINAL or SAME_AS_STDOUT.
        rows: Height of the terminal; 0 where unknown.
        columns: Width of the terminal; 0 where unknown.
        hostname: What the guest calls itself.
        modules: Kernel modules to load, in this order.
        stdin_path: The file that is its input, where that is FILE.
        clock_source: The clock that the kernel must have; empty for any.
        start_step_s: It starts when the guest's clock shows a multiple of this; 0 for at once.
        beat_s: How often pid 1 notes the guest's time in the job folder; 0 for never.
        secret: What random numbers inside come from, in hexadecimal; empty where the kernel has its own.
        budget_s: Guest time after which pid 1 notes what still runs; 0 for never.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    umask: int
    rlimits: tuple[tuple[int, int, int], ...] = ()
    ignored_signals: tuple[int, ...] = ()
    stdin: str = NULL
    stdout: str = PIPE
    stderr: str = PIPE
    rows: int = 0
    columns: int = 0
    hostname: str = "guest"
    modules: tuple[str, ...] = ()
    stdin_path: str = ""
    clock_source: str = ""
    start_step_s: int = 0
    beat_s: float = 0.0
    budget_s: float = 0.0
    secret: str = dataclasses.field(default="", repr=False)

    def to_json(self) -> str:
        """Return the job as one line of ASCII."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Return the job that ``to_json`` wrote.

        Raises:
            GuestError: Not such a text.
        """
        try:
            fields = json.loads(text)
            for name in ("argv", "ignored_signals", "modules"):
                fields[name] = tuple(fields[name])
            fields["rlimits"] = tuple((int(kind), int(soft), int(hard)) for kind, soft, hard in fields["rlimits"])
            return cls(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise GuestError(f"{JOB_FILE_NAME}: not a job: {error}") from error
