"""RuntimeFolder: the private folder in which running labs are found.

::

    root           /run/netlab
    anyone         $XDG_RUNTIME_DIR/netlab, else /tmp/netlab-<user id>
    whoever says   $NETLAB_RUNTIME_DIR

Only its owner may enter it: what lies in it is believed. Knows nothing of labs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from netlab.errors import LabError
from netlab.namespaces.user_namespace import outer_user
from netlab.working_folder import absolute_path

__all__ = ["RuntimeFolder", "runtime_path"]

VARIABLE = "NETLAB_RUNTIME_DIR"
_LOCK_WITHIN_S = 10.0
_POLL_S = 0.01


def runtime_path(variables: Mapping[str, str], *, is_root: bool, user_id: int) -> Path:
    """Return where the folder is.

    Args:
        variables: The environment.
        is_root: Whether we are the machine's root, who may write to /run.
        user_id: Ours, outside all user namespaces.
    """
    if variables.get(VARIABLE):
        return Path(absolute_path(variables[VARIABLE]))
    if is_root:
        return Path("/run/netlab")
    if variables.get("XDG_RUNTIME_DIR"):
        return Path(variables["XDG_RUNTIME_DIR"]) / "netlab"
    return Path(tempfile.gettempdir()) / f"netlab-{user_id}"


class RuntimeFolder:
    """A folder that only this user may enter.

    Args:
        path: Where it is, there or not.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of_this_user(cls) -> RuntimeFolder:
        """Return this user's; it may not be there yet."""
        is_root = os.geteuid() == 0 and os.access("/run", os.W_OK)
        return cls(runtime_path(os.environ, is_root=is_root, user_id=outer_user()))

    def exists(self) -> bool:
        """Tell whether it is there.

        Raises:
            LabError: It is there and somebody else could write in it.
        """
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return False
        except OSError as error:
            hint = f"is it yours to enter? else name a folder of your own in {VARIABLE}"
            raise LabError(f"cannot look at the folder {self.path}: {error.strerror}", hint=hint) from error
        self._check(found)
        return True

    def make(self) -> None:
        """Make it where it is not there.

        Raises:
            LabError: It cannot be made, or is there and somebody else could write in it.
        """
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            pass
        except OSError as error:
            hint = f"name a folder of your own in {VARIABLE}"
            raise LabError(f"cannot make the runtime folder {self.path}: {error.strerror}", hint=hint) from error
        self._check(self.path.lstat())

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one who adds to it or tidies it up.

        Raises:
            LabError: Somebody else is at it for longer than anybody needs.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            hint = f"look what it is: ls -ld {self.path}"
            raise LabError(f"cannot open the runtime folder {self.path}: {error.strerror}", hint=hint) from error
        try:
            deadline_s = time.monotonic() + _LOCK_WITHIN_S
            while not _try_lock(fd):
                if time.monotonic() > deadline_s:
                    hint = "is a netlab command stopped there? let it go on or end it"
                    raise LabError(f"the runtime folder {self.path} is locked by another netlab", hint=hint)
                time.sleep(_POLL_S)
            yield
        finally:
            os.close(fd)

    def _check(self, found: os.stat_result) -> None:
        if not stat.S_ISDIR(found.st_mode):
            raise LabError(f"the runtime folder {self.path} is no folder", hint="remove it")
        if found.st_uid != os.geteuid():
            problem = f"the runtime folder {self.path} belongs to user {found.st_uid}, not to {os.geteuid()}"
            raise LabError(problem, hint=f"have it removed, or name a folder of your own in {VARIABLE}")
        if found.st_mode & 0o077:
            problem = f"the runtime folder {self.path} has mode {found.st_mode & 0o777:03o}: others could enter"
            raise LabError(problem, hint=f"look who did that; then chmod 700 {self.path}")


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
