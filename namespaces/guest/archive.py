"""The Debian archive as this machine knows it, and apt's configuration to use it privately; pure.

::

    machine's apt sources --parse--> SourceEntry --debian_mirrors--> Mirror --source_stanza--> our own source list
                                                                          `--apt_configuration--> our own apt.conf

Address and keyring are the machine's own: whoever set it up has decided whom to trust and what to reach.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple

from netlab.errors import GuestError

__all__ = [
    "AptFailure",
    "Mirror",
    "PackageFacts",
    "SourceEntry",
    "apt_configuration",
    "debian_mirrors",
    "explain_apt_failure",
    "kernel_series",
    "needed_libc",
    "needs_own_libc",
    "parse_deb822_sources",
    "parse_one_line_sources",
    "parse_stanzas",
    "source_stanza",
]

DEBIAN_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

_ONE_LINE = re.compile(
    r"^deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s*(?P<components>.*)$"
)
_NOT_THERE = "not there"
_NO_NETWORK = "no network"
# The first that fits counts: a bad signature also makes a mirror "have no Release file".
_MEANINGS = (
    (
        ("no_pubkey", "badsig", "not signed", "expkeysig", "invalid signature", "gpg error"),
        "the archive's signature does not hold",
        "update debian-archive-keyring (apt-get install debian-archive-keyring), or use another mirror",
    ),
    (("no space left", "not enough free space"), "no room", "make room in the cache folder (XDG_CACHE_HOME)"),
    (
        ("failure resolving", "could not resolve", "could not connect", "cannot initiate", "timed out"),
        _NO_NETWORK,
        "check the network and apt's proxy settings, then try again",
    ),
    (("404", "does not have a release file"), _NOT_THERE, "use a mirror that carries all of Debian's suites"),
)
_LIBC = re.compile(r"(?:^|[\s,])libc6\s*\(>=\s*([0-9.]+)")


class SourceEntry(NamedTuple):
    """One source of packages of this machine.

    Attributes:
        uris: Addresses, in apt's notation.
        suites: Suites or code names.
        components: For example ``main``.
        signed_by: A keyring's path, or a key itself; empty for the machine's common keys.
    """

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str


class Mirror(NamedTuple):
    """Where Debian's archive can be had, and whose signature it must bear."""

    uri: str
    signed_by: str


class AptFailure(NamedTuple):
    """Why apt did not do what it was asked.

    Attributes:
        message: What happened, in our words and then in apt's.
        hint: What to do.
        not_there: Whether the mirror is fine and has no such suite: another may have it.
        no_network: Whether the mirror was not reached at all.
    """

    message: str
    hint: str
    not_there: bool
    no_network: bool


class PackageFacts(NamedTuple):
    """What the package index says of one package."""

    name: str
    version: str
    depends: str
    sha256: str
    size_bytes: int


def parse_one_line_sources(text: str) -> list[SourceEntry]:
    """Return the binary sources in a file of the one-line style (``.list``)."""
    entries = []
    for line in text.splitlines():
        match = _ONE_LINE.match(line.partition("#")[0].strip())
        if match is None:
            continue
        options = dict(part.split("=", 1) for part in (match["options"] or "").split() if "=" in part)
        entries.append(
            SourceEntry(
                (match["uri"],),
                (match["suite"],),
                tuple(match["components"].split()),
                options.get("signed-by", ""),
            )
        )
    return entries


def parse_deb822_sources(text: str) -> list[SourceEntry]:
    """Return the enabled binary sources in a file of the deb822 style (``.sources``)."""
    entries = []
    for fields in parse_stanzas(text):
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false"):
            continue
        entries.append(
            SourceEntry(
                tuple(fields.get("uris", "").split()),
                tuple(fields.get("suites", "").split()),
                tuple(fields.get("components", "").split()),
                fields.get("signed-by", "").strip("\n"),
            )
        )
    return entries


def parse_stanzas(text: str) -> list[dict[str, str]]:
    """Return the stanzas of a control file; names in lower case, continuation lines kept as they are."""
    stanzas: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    last = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                stanzas.append(fields)
            fields, last = {}, ""
        elif line[0] in " \t":
            if last:
                fields[last] += "\n" + line
        else:
            name, _, value = line.partition(":")
            last = name.strip().lower()
            fields[last] = value.strip()
    return stanzas


def debian_mirrors(entries: Iterable[SourceEntry], codename: str, keyring_exists: bool) -> list[Mirror]:
    """Return where this machine gets Debian itself from, likeliest first.

    Args:
        entries: The machine's sources.
        codename: Of its release: the suite that Debian's own entry names.
        keyring_exists: Whether Debian's archive keyring lies where its package puts it; it alone is trusted then.
    """
    found: dict[str, Mirror] = {}
    for entry in entries:
        names_us = {codename, f"{codename}-updates", "stable", "testing", "unstable", "sid"} & set(entry.suites)
        if not names_us or "main" not in entry.components:
            continue
        signed_by = DEBIAN_KEYRING if keyring_exists else entry.signed_by
        for uri in entry.uris:
            if "security" not in uri:
                found.setdefault(uri.rstrip("/"), Mirror(uri, signed_by))
    return sorted(found.values(), key=lambda mirror: "debian" not in mirror.uri.rstrip("/").rpartition("/")[2])


def source_stanza(mirror: Mirror, suite: str) -> str:
    """Return a source list with one suite of one mirror, package indexes alone."""
    lines = [
        "Types: deb",
        f"URIs: {mirror.uri}",
        f"Suites: {suite}",
        "Components: main",
        "Architectures: amd64",
        "Targets: Packages",
    ]
    if mirror.signed_by:
        lines.append(f"Signed-By: {mirror.signed_by}")
    return "\n".join(lines) + "\n"


def apt_configuration(folder: PurePath) -> str:
    """Return a configuration that keeps apt within a folder.

    Read after the machine's own: proxies and credentials stay; sources, lists, caches, hooks and every way round
    the signature do not.

    Raises:
        GuestError: The folder's name cannot stand in apt's configuration.
    """
    if any(character in str(folder) for character in '"\n\\'):
        raise GuestError(
            f"guest cache {folder}: apt's configuration cannot carry a quote, a backslash or a line break",
            hint="set XDG_CACHE_HOME to a folder with a plainer name",
        )
    cleared = ("APT::Update", "DPkg", "APT::Default-Release", "Acquire::AllowInsecureRepositories")
    settings = {
        "Dir::Etc::SourceList": f"{folder}/debian.sources",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State": f"{folder}/state",
        "Dir::State::Lists": f"{folder}/lists",
        "Dir::State::status": f"{folder}/status",
        "Dir::Cache": f"{folder}/cache",
        "Dir::Cache::pkgcache": "pkgcache.bin",
        "Dir::Cache::srcpkgcache": "",
        "Dir::Log": f"{folder}/log",
        "APT::Architecture": "amd64",
        "APT::Sandbox::User": "",
        "APT::Get::AllowUnauthenticated": "false",
        "APT::Update::Error-Mode": "any",
        "Acquire::AllowInsecureRepositories": "false",
        "Acquire::AllowWeakRepositories": "false",
        "Acquire::AllowDowngradeToInsecureRepositories": "false",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "Acquire::http::Timeout": "30",
        "Acquire::https::Timeout": "30",
    }
    lines = [f"#clear {name};" for name in cleared] + [f'{name} "{value}";' for name, value in settings.items()]
    return "\n".join(lines) + "\n"


def kernel_series(version: str) -> tuple[int, int]:
    """Return the kernel series in a package version: (7, 2) for ``7.2um1``; (0, 0) where there is none."""
    match = re.match(r"(?:\d+:)?(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def needed_libc(depends: str) -> tuple[int, ...]:
    """Return the C library version that a package asks for; empty where it asks for none."""
    match = _LIBC.search(depends)
    return tuple(int(number) for number in match[1].strip(".").split(".")) if match else ()


def needs_own_libc(depends: str, host: tuple[int, ...]) -> bool:
    """Return whether a package needs a newer C library than the machine's.

    Args:
        depends: What the package asks for.
        host: Version of the machine's C library; empty where it is another than glibc.
    """
    return host < needed_libc(depends)


def explain_apt_failure(output: str) -> AptFailure:
    """Return what apt's messages mean, with its own first complaint.

    Args:
        output: Standard output and standard error, in the C locale.
    """
    complaints = [line.strip() for line in output.splitlines() if line.startswith(("E:", "W:", "Err:"))]
    errors = [line for line in complaints if line.startswith("E:")]
    first = (errors or complaints or ["no message"])[0]
    lower = output.lower()
    for words, meaning, hint in _MEANINGS:
        if any(word in lower for word in words):
            return AptFailure(f"{meaning}: {first}", hint, meaning == _NOT_THERE, meaning == _NO_NETWORK)
    hint = "try apt-get update: the machine's own apt may fail alike"
    return AptFailure(f"apt failed: {first}", hint, not_there=False, no_network=False)
