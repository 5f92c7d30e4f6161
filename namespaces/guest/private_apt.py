"""PrivateApt: apt with lists, caches and sources of its own; nothing is installed, no rights are needed."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
from pathlib import Path

from netlab.errors import GuestError, GuestUnavailable
from netlab.namespaces.guest.archive import (
    Mirror,
    PackageFacts,
    apt_configuration,
    explain_apt_failure,
    parse_stanzas,
    source_stanza,
)
from netlab.namespaces.guest.installed import file_sha256, version_key
from netlab.namespaces.syscalls import die_with_parent_thread

__all__ = ["PrivateApt"]

COMMAND_TIMEOUT_S = 900.0


class PrivateApt:
    """One suite of one mirror."""

    def __init__(self, folder: Path, mirror: Mirror, suite: str) -> None:
        """Lay out a folder for apt.

        Args:
            folder: Empty or not there; all that apt writes goes into it.
            mirror: Where Debian's archive is.
            suite: For example ``forky``.

        Raises:
            GuestError: The folder's name cannot be used.
            OSError: It cannot be written to.
        """
        self._folder = folder
        self._suite = suite
        for name in ("lists/partial", "cache/archives/partial", "state", "log", "packages"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "debian.sources").write_text(source_stanza(mirror, suite), encoding="utf-8")
        self._configuration = folder / "apt.conf"
        self._configuration.write_text(apt_configuration(folder), encoding="utf-8")

    def update(self) -> bool:
        """Fetch the package lists and check their signature; return False where the mirror has no such suite.

        Raises:
            GuestUnavailable: No network.
            GuestError: No room, or a signature that does not hold.
        """
        result = self._run("apt-get", "-q", "update")
        if result.returncode == 0:
            return True
        if explain_apt_failure(result.stdout).not_there:
            return False
        raise self._refusal(result)

    def show(self, name: str) -> PackageFacts | None:
        """Return what the lists say of the newest version of a package; None where there is none.

        Raises:
            GuestUnavailable: apt took too long.
        """
        found = parse_stanzas(self._run("apt-cache", "show", name).stdout)
        found = [fields for fields in found if fields.get("package") == name]
        if not found:
            return None
        newest = max(found, key=lambda fields: version_key(fields.get("version", "")))
        return PackageFacts(
            name,
            newest.get("version", ""),
            newest.get("depends", ""),
            newest.get("sha256", ""),
            int(newest.get("size", "0")),
        )

    def download(self, package: PackageFacts) -> Path:
        """Fetch a package; return its file, whose SHA-256 is that of the signed list.

        Raises:
            GuestUnavailable: No network.
            GuestError: Not the file that the list promises.
        """
        folder = self._folder / "packages"
        result = self._run("apt-get", "-q", "download", f"{package.name}={package.version}", cwd=folder)
        if result.returncode:
            raise self._refusal(result)
        files = list(folder.glob(f"{package.name}_*.deb"))
        if len(files) != 1 or file_sha256(files[0]) != package.sha256:
            raise GuestError(
                f"guest: package {package.name} {package.version}: not the file that the signed list names",
                hint="try again; if it stays, use another mirror",
            )
        return files[0]

    def _run(self, program: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [program, "-c", str(self._configuration), *arguments],
                cwd=cwd or self._folder,
                env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=COMMAND_TIMEOUT_S,
                check=False,
                # Or a fetch that is killed leaves apt behind, for minutes where there is no network.
                preexec_fn=functools.partial(_end_with, os.getpid()),
            )
        except subprocess.TimeoutExpired as error:
            words = f"guest: {program} took over {COMMAND_TIMEOUT_S:g} s"
            raise GuestUnavailable(words, hint="try again where the network is faster") from error

    def _refusal(self, result: subprocess.CompletedProcess[str]) -> GuestError:
        failure = explain_apt_failure(result.stdout)
        kind = GuestUnavailable if failure.no_network else GuestError
        error = kind(f"guest: suite {self._suite}: {failure.message}", hint=failure.hint)
        error.add_note("all that apt said:\n" + result.stdout)  # seen with the traceback alone
        return error


def _end_with(parent: int) -> None:
    """Have a child, this process, killed with its parent, even one that ended before the kernel was told."""
    die_with_parent_thread()
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
