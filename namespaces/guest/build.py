"""Build: a guest kernel with time travel, from source, into the user's cache.

::

    source -> tree -> make allnoconfig + our lines -> did they hold? -> make linux -> try it -> manifest -> rename
                `------------------------ in a staging folder of KernelStore ------------------------'

As an ordinary user, outside the checkout; the source and all that was made of it go with the staging folder. Of
what stays, the folder's name says version, source and configuration. What else would differ from one build to the
next is fixed: date, user and host; and nothing of the caller's environment but PATH reaches make.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from netlab.errors import GuestError
from netlab.namespaces.guest.build_progress import BuildProgress
from netlab.namespaces.guest.guarded_command import run_guarded
from netlab.namespaces.guest.installed import GuestKernel, file_sha256, list_guest_kernels
from netlab.namespaces.guest.kernel_configuration import (
    KernelConfiguration,
    parse_configuration,
    time_travel_configuration,
)
from netlab.namespaces.guest.kernel_source import DebianSource, FoundSource, KernelSource, check_tree
from netlab.namespaces.guest.kernel_store import (
    KernelStore,
    built_folder_name,
    built_folder_names,
    describe_kernel,
)
from netlab.namespaces.guest.machine import check_processor
from netlab.namespaces.guest.toolchain import check_toolchain

__all__ = ["FAILED_LOG_NAME", "Progress", "build_guest_kernel", "current_build"]

NEEDED_BYTES = 1280 << 20
"""Of a build at its largest, the source and all that is made of it, and half as much again."""

FAILED_LOG_NAME = "build-failed.log"

_FIXED = {
    "LC_ALL": "C",
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "netlab",
    "KBUILD_BUILD_HOST": "netlab",
    "KBUILD_BUILD_VERSION": "1",
}
"""What of a build would else differ from one to the next."""


class Progress(Protocol):
    """Is told how a build gets on."""

    def say(self, text: str) -> None:
        """Take in what is being done now."""
        ...

    def count(self, text: str) -> None:
        """Take in how far it is; often."""
        ...


def current_build(cache: Path) -> GuestKernel | None:
    """Return the newest kernel built from Debian's source as this netlab would; None where there is none."""
    asked = time_travel_configuration().sha256
    for kernel in list_guest_kernels(cache):
        manifest = kernel.manifest
        if not kernel.problem and manifest is not None and manifest.suite and manifest.configuration == asked:
            return kernel
    return None


def build_guest_kernel(
    cache: Path, progress: Progress, *, source: KernelSource | None = None, jobs: int = 0, again: bool = False
) -> GuestKernel:
    """Build a kernel with time travel and return it.

    One of the same source and configuration that is there already and whole is kept. Two builds at once are safe:
    the second waits for the first and takes what it left.

    Args:
        cache: Folder of guest kernels; made if it is not there.
        progress: Told what is being done.
        source: Where the source comes from; Debian's archive unless given.
        jobs: Compilers at a time; as many as CPUs if 0.
        again: Build even if it is there.

    Raises:
        FeatureMissing: Programs are missing, or this machine cannot have Debian's source.
        GuestUnavailable: No network, no room, no x86-64, or an archive without a kernel that is new enough.
        GuestError: A signature that does not hold, not a source for it, a configuration that kconfig does not
            grant, a source that does not compile, or no room for it halfway.
    """
    check_processor()
    chosen: KernelSource = source or DebianSource()
    check_toolchain(chosen.tools)
    configuration = time_travel_configuration()
    store = KernelStore(cache, "build", ".build-lock", ".building-", progress.say)
    with store.turn() as waited, store.staging(NEEDED_BYTES) as staging:
        _check_place(staging)
        found = chosen.find(staging, progress.say)
        key = hashlib.sha256(f"{found.identity.sha256} {configuration.sha256}".encode()).hexdigest()
        there = None if again and not waited else _find(store, key)
        if there is not None:
            progress.say(f"guest kernel {there.release} of this source and configuration is there already")
            return there
        order = _Order(found, configuration, key, jobs or len(os.sched_getaffinity(0)))
        return _build(store, staging, order, progress)


class _Order(NamedTuple):
    """What is to be built, how, and what it will be known by."""

    source: FoundSource
    configuration: KernelConfiguration
    key: str
    jobs: int


def _build(store: KernelStore, staging: Path, order: _Order, progress: Progress) -> GuestKernel:
    tree = order.source.unpack(staging, progress.say)
    version = check_tree(tree)
    progress.say(f"configuring Linux {version}")
    make = _Make(tree, staging / "out", store.cache)
    make.run(["allnoconfig"], lambda text: None, {"KCONFIG_ALLCONFIG": str(order.configuration.path)})
    resolved = (make.output / ".config").read_text(encoding="utf-8", errors="replace")
    dropped = order.configuration.dropped(resolved)
    if dropped:
        raise GuestError(
            f"guest: Linux {version} cannot be configured as netlab needs it: without {', '.join(dropped)}",
            hint="name another source: netlab guest build --source PATH",
        )
    progress.say(f"compiling Linux {version} with {order.jobs} at a time")
    make.run([f"-j{order.jobs}", "linux"], progress.count, {})
    kernel = staging / "kernel"
    kernel.mkdir()
    shutil.copy2(make.output / "linux", kernel / "linux")
    manifest = describe_kernel(
        kernel,
        sha256=file_sha256(kernel / "linux"),
        patched=False,
        modules=(),
        packages=order.source.identity.packages,
        suite=order.source.identity.suite,
        configuration=order.configuration.sha256,
        compiler=parse_configuration(resolved).get("CONFIG_CC_VERSION_TEXT", "").strip('"'),
    )
    if not manifest.time_travel:
        raise GuestError("guest: the kernel that was built has no time travel", hint="report this as a bug")
    progress.say("done; removing the source")
    return store.put(kernel, built_folder_name(version, order.key), manifest, staging)


class _Make:
    """make, in one tree for one output folder.

    Args:
        tree: The source; not written to.
        output: Where everything that is made goes.
        cache: Where the log of a failure is kept.
    """

    def __init__(self, tree: Path, output: Path, cache: Path) -> None:
        output.mkdir()
        self.output = output
        self._tree = tree
        self._cache = cache

    def run(self, arguments: list[str], count: Callable[[str], None], more: dict[str, str]) -> None:
        """Run make to its end.

        Args:
            arguments: Targets and options.
            count: Told how many files have been compiled, and how long the others will take, at each.
            more: Variables for this run.

        Raises:
            GuestError: It failed: its first complaint, and where all of its words are.
        """
        progress, began_s = BuildProgress(), time.monotonic()
        log = self.output.with_suffix(".log")
        with log.open("a", encoding="utf-8") as file:

            def take(line: str) -> None:
                file.write(line + "\n")
                if progress.take(line):
                    count(progress.text(time.monotonic() - began_s))

            status = run_guarded(
                ["make", "ARCH=um", f"O={self.output}", *arguments],
                cwd=self._tree,
                environment={"PATH": os.environ.get("PATH", os.defpath), **_FIXED, **more},
                on_line=take,
            )
        if status:
            raise self._failure(status, progress, log)

    def _failure(self, status: int, progress: BuildProgress, log: Path) -> GuestError:
        complaint = progress.complaint or f"make ended with status {status}"
        if progress.no_room:
            return GuestError(
                f"guest cache {self._cache}: no room left while compiling: {complaint}",
                hint="make room there, or set XDG_CACHE_HOME to a folder with more",
            )
        kept = self._cache / FAILED_LOG_NAME
        shutil.copy2(log, kept)
        return GuestError(f"guest: the kernel does not compile: {complaint}", hint=f"all that make said: {kept}")


def _find(store: KernelStore, key: str) -> GuestKernel | None:
    for name in built_folder_names(store.cache, key):
        kernel = store.whole(name)
        if kernel is not None and kernel.time_travel:
            return kernel
    return None


def _check_place(staging: Path) -> None:
    """Make sure that make can work in a folder.

    Raises:
        GuestError: It cannot.
    """
    cache = staging.parent
    if any(character.isspace() or character == ":" for character in str(staging)):
        raise GuestError(
            f"guest cache {cache}: a kernel cannot be built where the path has spaces or colons",
            hint="set XDG_CACHE_HOME to a folder with a plainer name",
        )
    if os.statvfs(staging).f_flag & os.ST_NOEXEC:
        raise GuestError(
            f"guest cache {cache}: nothing can be executed there (mounted noexec)",
            hint="set XDG_CACHE_HOME to a folder that allows it",
        )
