"""Rootless: labs of an ordinary user, in a user namespace of this process.

Roof. Whether it works here is tried in a forked child, which does all of it and is gone: a user namespace in
which one thing is missing would be worse than none, and there is no way back out of it.

::

    try_rootless --fork--> child: user namespace, network namespace, veth, netem, PID namespace, /proc
         ^                    |
         `---- one line of JSON: features, or why not
    begin_rootless           the same for this process, once, while it has a single thread
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from netlab.errors import KernelError, NetlabError, PrivilegeError
from netlab.namespaces.user_namespace import enter_user_namespace

if TYPE_CHECKING:
    from netlab.namespaces.features import KernelFeatures

__all__ = ["RootlessTrial", "begin_rootless", "no_rights", "rootless_remedy", "try_rootless"]

TRIAL_S = 30.0
MAX_ANSWER_BYTES = 1 << 16

# A setting, the value at which it stands in the way, and what takes it out of it.
_OBSTACLES = (
    ("user/max_user_namespaces", 0, "sudo sysctl user.max_user_namespaces=10000"),
    ("kernel/unprivileged_userns_clone", 0, "sudo sysctl kernel.unprivileged_userns_clone=1"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        1,
        "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)


class RootlessTrial(NamedTuple):
    """What an ordinary user's labs can have here.

    Attributes:
        features: What the kernel can do for them; None where they cannot run on it.
        problem: Why not; empty where they can.
    """

    features: KernelFeatures | None
    problem: str = ""


def try_rootless() -> RootlessTrial:
    """Find out, in a child that is thrown away, what labs in a user namespace of ours could do."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        _answer_and_end(write_end)
    os.close(write_end)
    try:
        answer = _read_answer(read_end)
    finally:
        os.close(read_end)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # it has answered, or never will
        os.waitpid(child, 0)
    return _as_trial(answer)


def begin_rootless() -> None:
    """Move this process into a user namespace in which it may make labs.

    Raises:
        PrivilegeError: The system does not let us.
    """
    try:
        enter_user_namespace()
    except OSError as error:
        raise PrivilegeError(
            "enter a user namespace", error.errno or 0, hint=f"{rootless_remedy()}, or use sudo or --on guest"
        ) from error


def rootless_remedy(settings: Path = Path("/proc/sys")) -> str:
    """Return the command that would let ordinary users have user namespaces.

    Args:
        settings: Where the kernel shows its settings.
    """
    for name, value, remedy in _OBSTACLES:
        with contextlib.suppress(OSError, ValueError):
            if int((settings / name).read_text(encoding="ascii")) == value:
                return remedy
    return "a system or container that lets ordinary users have user namespaces"


def _answer_and_end(write_end: int) -> NoReturn:
    """Try everything a lab needs, write what came of it, end without any of the parent's clean-up."""
    try:
        os.write(write_end, _trial_in_child())
    finally:
        os._exit(0)


def _trial_in_child() -> bytes:
    import msgspec

    try:
        enter_user_namespace()
        from netlab.namespaces.features import probe_features
        from netlab.namespaces.pid_space import PidSpace

        features = probe_features()
        with PidSpace.open("the rootless trial"):
            pass
    except NetlabError as error:
        return msgspec.json.encode({"problem": str(error)})
    except OSError as error:
        return msgspec.json.encode({"problem": f"cannot enter a user namespace: {error.strerror}"})
    except Exception as error:
        return msgspec.json.encode({"problem": f"the trial of a user namespace failed: {error!r}"})
    return msgspec.json.encode({"features": features})


def _read_answer(read_end: int) -> bytes:
    answer = b""
    waiting = select.poll()
    waiting.register(read_end, select.POLLIN)
    while len(answer) < MAX_ANSWER_BYTES and waiting.poll(TRIAL_S * 1e3):
        part = os.read(read_end, 4096)
        if not part:
            break
        answer += part
    return answer


def _as_trial(answer: bytes) -> RootlessTrial:
    import msgspec

    from netlab.namespaces.features import KernelFeatures

    try:
        found = msgspec.json.decode(answer, type=dict[str, KernelFeatures | str])
    except msgspec.DecodeError:
        return RootlessTrial(None, "the trial of a user namespace came to no end")
    features = found.get("features")
    return RootlessTrial(features if isinstance(features, KernelFeatures) else None, str(found.get("problem", "")))


def no_rights(problem: str) -> KernelError:
    """Return the error of an ordinary user who can have no lab on this kernel."""
    return PrivilegeError(
        "run labs on this kernel", 0, f"no rights: {problem}", f"run as root (sudo), or {rootless_remedy()}"
    )
