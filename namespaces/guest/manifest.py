"""Manifest: what the folder of an installed guest kernel holds, and how its file is read.

Bounded before it is read, and refused where it names a file outside its folder.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from netlab.errors import GuestError

__all__ = [
    "MANIFEST_FORMAT",
    "MANIFEST_NAME",
    "MAX_MANIFEST_BYTES",
    "FileRecord",
    "Manifest",
    "PackageRecord",
    "parse_manifest",
]

MANIFEST_NAME = "manifest.json"
MANIFEST_FORMAT = 1
MAX_MANIFEST_BYTES = 1 << 20

Sha256 = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class FileRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file must be."""

    sha256: Sha256
    bytes: Annotated[int, Meta(ge=0)]


class PackageRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A package that files were taken from."""

    name: str
    version: str
    sha256: Sha256


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a kernel's folder holds.

    Attributes:
        format: Version of this description.
        release: What ``uname -r`` says inside.
        sha256: Of the kernel as the archive ships it, before patchelf: its identity, the same on every machine.
        time_travel: Whether it can run in virtual time; from the kernel's own configuration.
        patched: Whether it has been made to use the C library in ``lib/``.
        kernel: The kernel's file.
        modules: Module files in the order to load them.
        files: Every file by its path within the folder.
        packages: Where they come from; empty for a source that the user named.
        suite: The suite of the archive; empty likewise.
        configuration: For a kernel built here, SHA-256 of what we asked of its configuration.
        compiler: For a kernel built here, what compiled it.
    """

    format: int
    release: Annotated[str, Meta(min_length=1)]
    sha256: Sha256
    time_travel: bool
    patched: bool
    kernel: str
    modules: tuple[str, ...]
    files: dict[str, FileRecord]
    packages: tuple[PackageRecord, ...] = ()
    suite: str = ""
    configuration: str = ""
    compiler: str = ""


def parse_manifest(data: bytes) -> Manifest:
    """Return the manifest that a file holds.

    Raises:
        GuestError: Not a manifest, of another format, or naming files outside its folder.
    """
    if len(data) > MAX_MANIFEST_BYTES:
        raise GuestError(f"{MANIFEST_NAME}: over {MAX_MANIFEST_BYTES} bytes: not a manifest")
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.DecodeError as error:
        raise GuestError(f"{MANIFEST_NAME}: not a manifest: {error}") from error
    if manifest.format != MANIFEST_FORMAT:
        raise GuestError(f"{MANIFEST_NAME}: format {manifest.format}; this netlab reads format {MANIFEST_FORMAT}")
    for name in manifest.files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise GuestError(f"{MANIFEST_NAME}: {name!r}: not a path within the folder")
    for name in (manifest.kernel, *manifest.modules):
        if name not in manifest.files:
            raise GuestError(f"{MANIFEST_NAME}: {name!r} is used but not among the files")
    return manifest
