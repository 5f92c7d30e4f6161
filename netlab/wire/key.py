"""Key: the 32 secret bytes that two services share, and the file they live in.

A key is random, never a password: the handshake shows a listener's MAC to whoever asks with a recorded
request, which is harmless for 256 random bits and fatal for a word. It is read from a file only its owner
can read; it is never an argument of a command nor a variable of the environment, and it is never printed.

::

    netlab key new PATH --> 32 bytes, mode 0600 --copy to the other host--> Key.read(PATH)
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from netlab.errors import AuthError

__all__ = ["KEY_BYTES", "OPEN_KEY", "Key"]

KEY_BYTES = 32
_PRIVATE_MODE = 0o600
_OTHERS_MAY = 0o077


class Key:
    """A shared secret of 32 bytes.

    Args:
        secret: The bytes.

    Raises:
        AuthError: Not 32 bytes.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise AuthError(f"a key has {KEY_BYTES} bytes, this one has {len(secret)}", hint=_HINT_NEW)
        self._secret = bytes(secret)

    @classmethod
    def new(cls) -> Key:
        """Make a new random key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Key:
        """Read a key file; a symbolic link to one is fine.

        Raises:
            AuthError: No such file, not a plain file, another user's (not ours, not root's; in a guest, not its
                starter's), readable by others than its owner, or not 32 bytes.
        """
        name = os.fspath(path)
        try:
            # Without O_NONBLOCK a named pipe would hang here for ever.
            fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            words = os.strerror(error.errno or 0) if isinstance(error, OSError) else str(error)
            raise AuthError(f"key file {name}: {words}", hint=_HINT_NEW) from error
        try:
            state = os.fstat(fd)
            if not stat.S_ISREG(state.st_mode):
                raise AuthError(f"key file {name} is not a plain file", hint=_HINT_NEW)
            _check_private(name, state)
            secret = os.read(fd, KEY_BYTES + 1)
        except OSError as error:
            raise AuthError(f"key file {name}: {os.strerror(error.errno or 0)}", hint=_HINT_NEW) from error
        finally:
            os.close(fd)
        if len(secret) != KEY_BYTES or state.st_size != KEY_BYTES:
            raise AuthError(f"key file {name} has {state.st_size} bytes, a key has {KEY_BYTES}", hint=_HINT_NEW)
        return cls(secret)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the key to a file that only its owner can read (mode 0600): whole, or not at all.

        Args:
            path: The file to make.
            overwrite: Replace a file that is there.

        Raises:
            AuthError: The file exists and ``overwrite`` was not asked, or it cannot be written.
        """
        target = Path(path)
        if not target.name:
            raise AuthError(f"key file {target}: not the name of a file")
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            try:
                self._write_new(draft)
                if overwrite:
                    draft.replace(target)
                else:
                    target.hardlink_to(draft)  # fails where there is something, a link included
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            number = error.errno or 0
            raise AuthError(f"key file {target}: {os.strerror(number)}", hint=_HINTS.get(number, "")) from error

    def _write_new(self, path: Path) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE_MODE)
        try:
            os.fchmod(fd, _PRIVATE_MODE)  # an odd umask may have taken bits away
            if os.write(fd, self._secret) < KEY_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(fd)
        finally:
            os.close(fd)

    @property
    def is_open(self) -> bool:
        """Whether this is ``OPEN_KEY``, which everybody has."""
        return self == OPEN_KEY

    def reveal(self) -> bytes:
        """Return the secret itself: for key derivation, never for print, argv or environment."""
        return self._secret

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and hmac.compare_digest(self._secret, other._secret)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Key(open)" if self.is_open else "Key(secret)"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a Key is not pickled: write it to a file with Key.write")


def _starter_of_guest() -> int:
    """Return the user whose guest we are root of, whose files are ours; -1 on a host.

    A guest shows the host's files with their owners there, and its root has that user's rights, no more.
    """
    starter = os.environ.get("NETLAB_GUEST_USER", "") if os.environ.get("NETLAB_GUEST") else ""
    return int(starter) if os.geteuid() == 0 and starter.isdecimal() else -1


def _caller_of_sudo() -> int:
    """Return the user on whose behalf sudo made us root: his key is as good as ours; -1 where there is none."""
    caller = os.environ.get("SUDO_UID", "")
    return int(caller) if os.geteuid() == 0 and caller.isdecimal() else -1


def _check_private(name: str, state: os.stat_result) -> None:
    """Refuse a file that somebody else could have written or can read."""
    if state.st_uid not in (os.geteuid(), 0, _caller_of_sudo(), _starter_of_guest()):
        raise AuthError(
            f"key file {name} belongs to user {state.st_uid}, who is neither this one nor root",
            hint=f"its owner may change it: `sudo chown {os.geteuid()} {name}` if it is yours",
        )
    mode = stat.S_IMODE(state.st_mode)
    if mode & _OTHERS_MAY:
        raise AuthError(
            f"key file {name} has mode {mode:04o}: others than its owner may use it",
            hint=f"chmod 600 {name}   (and make a new key if others may have read this one)",
        )


_HINT_NEW = "make a key with `netlab key new PATH` and copy that file to the other host (mode 600)"
_HINT_NO_LINKS = "a file system without hard links? make the key elsewhere and move it there"
_HINTS = {
    errno.EEXIST: "use the key that is there, another name, or ask for it to be overwritten",
    errno.EPERM: _HINT_NO_LINKS,
    errno.EOPNOTSUPP: _HINT_NO_LINKS,
}

OPEN_KEY = Key(hashlib.sha256(b"netlab: the key of loopback, known to everybody").digest())
"""Stands in on loopback when no key is given. Published here, so it protects nothing: it only keeps one code
path. Frames under it are still checked for damage, order and replay."""
