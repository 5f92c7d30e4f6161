"""What of Debian's user-mode-linux and libc6 packages a guest needs; the choice is pure, the unpacking is not.

::

    package --dpkg-deb--> tar --choose_modules--> linux, modules/*.ko            libc6 --> lib/
"""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path, PurePosixPath

from netlab.errors import GuestError

__all__ = [
    "LIBC_FILES",
    "LOADER",
    "REQUIRED_MODULES",
    "WANTED_MODULES",
    "choose_modules",
    "unpack_kernel",
    "unpack_libc",
]

REQUIRED_MODULES = ("veth", "sch_netem", "tun", "sch_ingress", "cls_u32", "act_mirred")
WANTED_MODULES = (
    *REQUIRED_MODULES, "sch_tbf", "sch_htb", "sch_fq", "ifb", "cls_matchall", "bridge", "nlmon",
)  # fmt: skip
"""All are loaded at the start of a guest: nothing inside loads them on demand."""

LOADER = "ld-linux-x86-64.so.2"
LIBC_FILES = ("libc.so.6", LOADER)

_KERNEL_MEMBER = PurePosixPath("usr/bin/linux.uml")
_MODULES_FOLDER = PurePosixPath("usr/lib/uml/modules")


def choose_modules(dependencies: str, builtin: str) -> tuple[str, ...]:
    """Return the modules to load, by their paths in the module folder, each after those it needs.

    Args:
        dependencies: The text of ``modules.dep``.
        builtin: The text of ``modules.builtin``.

    Raises:
        GuestError: The kernel lacks what a lab cannot do without.
    """
    needs = {}
    for line in dependencies.splitlines():
        path, colon, others = line.partition(":")
        if colon:
            needs[path] = others.split()
    path_of = {PurePosixPath(path).name.partition(".")[0].replace("-", "_"): path for path in needs}
    compiled_in = {PurePosixPath(line).name.partition(".")[0].replace("-", "_") for line in builtin.splitlines()}
    missing = [name for name in REQUIRED_MODULES if name not in path_of and name not in compiled_in]
    if missing:
        raise GuestError(f"guest: the archive's kernel lacks {', '.join(missing)}", hint="try another suite")
    order: dict[str, None] = {}

    def add(path: str) -> None:
        if path not in order:
            for needed in needs.get(path, ()):
                add(needed)
            order[path] = None

    for name in WANTED_MODULES:
        if name in path_of:
            add(path_of[name])
    return tuple(order)


def unpack_kernel(package: Path, folder: Path) -> tuple[str, ...]:
    """Unpack kernel and modules into a folder: ``linux`` and ``modules/``.

    Returns:
        The modules' paths within the folder, in the order to load them.

    Raises:
        GuestError: The package is not laid out as Debian's is.
    """
    with _opened(package, folder) as archive:
        members = {PurePosixPath(member.name): member for member in archive if member.isfile()}
        _extract(archive, members, _KERNEL_MEMBER, folder / "linux")
        (folder / "linux").chmod(0o755)
        lists = [path for path in members if path.name == "modules.dep" and path.is_relative_to(_MODULES_FOLDER)]
        if len(lists) != 1:
            raise GuestError(f"guest: {package.name}: {len(lists)} lists of modules; one is due")
        base = lists[0].parent
        builtin = members.get(base / "modules.builtin")
        names = choose_modules(
            _text(archive, members[lists[0]]), "" if builtin is None else _text(archive, builtin)
        )
        (folder / "modules").mkdir()
        unpacked = []
        for name in names:
            if not name.endswith(".ko"):
                raise GuestError(f"guest: {package.name}: module {name} is compressed: update netlab")
            target = f"modules/{PurePosixPath(name).name}"
            _extract(archive, members, base / name, folder / target)
            unpacked.append(target)
    return tuple(unpacked)


def unpack_libc(package: Path, folder: Path) -> None:
    """Unpack the C library and its loader into ``lib/`` of a folder.

    Raises:
        GuestError: The package is not laid out as Debian's is.
    """
    (folder / "lib").mkdir()
    with _opened(package, folder) as archive:
        members = {PurePosixPath(member.name): member for member in archive if member.isfile()}
        for name in LIBC_FILES:
            places = [path for path in members if path.name == name and path.parent.name == "x86_64-linux-gnu"]
            if len(places) != 1:
                raise GuestError(f"guest: {package.name}: {len(places)} files called {name}; one is due")
            _extract(archive, members, places[0], folder / "lib" / name)
            (folder / "lib" / name).chmod(0o755)


def _opened(package: Path, folder: Path) -> tarfile.TarFile:
    """Return a package's files as an open tar archive; its temporary file is removed at once."""
    path = folder / ".data.tar"
    try:
        with path.open("wb") as file:
            subprocess.run(
                ["dpkg-deb", "--fsys-tarfile", str(package)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
                check=True,
            )
        return tarfile.open(path)
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode(errors="replace").strip()
        raise GuestError(f"guest: {package.name} cannot be unpacked: {words}") from error
    except tarfile.TarError as error:
        raise GuestError(f"guest: {package.name}: not a package: {error}") from error
    finally:
        path.unlink(missing_ok=True)


def _extract(
    archive: tarfile.TarFile, members: dict[PurePosixPath, tarfile.TarInfo], name: PurePosixPath, target: Path
) -> None:
    if name not in members:
        raise GuestError(f"guest: the package has no {name}")
    target.write_bytes(_content(archive, members[name]))


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    return _content(archive, member).decode("utf-8", "replace")


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None, "only plain files are asked for"
    with file:
        return file.read()
