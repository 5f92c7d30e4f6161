"""LabSpec: a lab as a TOML file says it, checked before anything is made.

::

    name = "two-hosts"
    seed = 7

    [hosts.edge]
    command = ["python3", "-m", "http.server"]

    [hosts.agent]

    [[link]]
    ends = ["edge", "agent"]
    profile = "wifi-degraded@oneway"

Knows no kernel and makes nothing; profiles are parsed where the lab is made.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from netlab.errors import SpecError
from netlab.namespaces.link_plan import MAX_LINKS, peer_variable

__all__ = [
    "MAX_HOSTS",
    "HostSpec",
    "LabSpec",
    "LinkSpec",
    "check_link",
    "check_name",
    "check_peer",
    "check_seed",
    "read_lab_spec",
]

MAX_HOSTS = 4096
"""A host costs two file descriptors."""
MAX_FILE_BYTES = 1 << 20
MIN_MTU_BYTES = 68
MAX_MTU_BYTES = 65535
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?\Z")

S = TypeVar("S", bound=Struct)

MtuBytes = Annotated[int, Meta(ge=MIN_MTU_BYTES, le=MAX_MTU_BYTES)]


class HostSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host and what runs in it.

    Attributes:
        command: The program it runs and its arguments; nothing unless given.
        env: Variables on top of netlab's own environment.
        cwd: Folder the command starts in, relative to the spec file's; netlab's own unless given.
        output: File the command's output goes to, relative to the spec file's folder; unless given, its last
            64 KiB are kept.
    """

    command: Annotated[list[str], Meta(max_length=4096)] = msgspec.field(default_factory=list)
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cwd: str = ""
    output: str = ""


class LinkSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link between two hosts.

    Attributes:
        ends: The two hosts; the first sends *forward*.
        profile: A preset, a profile file or inline options; none for a clean link.
        name: What messages and seeds call it; ``first-second`` unless given.
        mtu: In bytes.
    """

    ends: tuple[str, str]
    profile: str = ""
    name: str = ""
    mtu: MtuBytes = 1500

    @property
    def full_name(self) -> str:
        """The name it was given, else ``first-second``."""
        return self.name or "-".join(self.ends)


class LabSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lab: hosts and the links between them.

    Attributes:
        name: What messages call it; one lab of a name at a time.
        seed: Seed of every link.
        hosts: Hosts by name.
        link: Links in the order of their addresses.
    """

    name: str = ""
    seed: Annotated[int, Meta(ge=0)] = 0
    hosts: dict[str, HostSpec] = msgspec.field(default_factory=dict)
    link: list[LinkSpec] = msgspec.field(default_factory=list)

    def check(self, path: str = "") -> None:
        """Refuse what no lab can be.

        Raises:
            SpecError: A bad name, a link to an unknown host or to itself, two links of one name.
        """
        if self.name:
            check_name(self.name, path, "name")
        check_seed(self.seed, path)
        for host in self.hosts:
            check_name(host, path, f"hosts.{host}")
            _check_host(self.hosts[host], path, f"hosts.{host}")
        names: set[str] = set()
        peers: dict[str, list[str]] = {host: [] for host in self.hosts}
        for number, link in enumerate(self.link):
            key = f"link[{number}]"
            for end in link.ends:
                if end not in self.hosts:
                    hint = _did_you_mean(end, self.hosts) or f"add [hosts.{end}]"
                    raise SpecError(f"{end!r} is no host of this lab", path, f"{key}.ends", hint)
            if link.ends[0] == link.ends[1]:
                raise SpecError(f"{link.ends[0]!r} twice: a link joins two hosts", path, f"{key}.ends")
            name = link.full_name
            check_name(name, path, f"{key}.name", "" if link.name else "give the link a name of its own")
            if name in names:
                hint = "give one of the two links a name of its own"
                raise SpecError(f"{name!r} is the name of an earlier link", path, f"{key}.name", hint)
            names.add(name)
            for host, peer in (link.ends, link.ends[::-1]):
                check_peer(host, peer, peers[host], path, f"{key}.ends")
                peers[host].append(peer)


def _check_host(host: HostSpec, path: str, key: str) -> None:
    if host.command and not host.command[0]:
        raise SpecError("'' is no program", path, f"{key}.command", "name a program and its arguments")
    texts = [("command", argument) for argument in host.command]
    for name, value in host.env.items():
        if not name or "=" in name:
            raise SpecError(f"{name!r:.80}: a variable's name is not empty and has no '='", path, f"{key}.env")
        texts += [("env", name), (f"env.{name}", value)]
    for field, text in (*texts, ("cwd", host.cwd), ("output", host.output)):
        if "\0" in text:
            raise SpecError(f"{text!r:.80}: holds a null byte", path, f"{key}.{field}")


def check_name(name: object, path: str = "", key: str = "", hint: str = "") -> None:
    """Refuse a name that would not do as part of an address, a file or a message.

    Raises:
        SpecError: It is not 1 to 64 letters, digits, ``.``, ``_`` or ``-``, the first and last of them a
            letter or digit.
    """
    if not isinstance(name, str) or not _NAME.match(name):
        rule = "must be 1 to 64 letters, digits, '.', '_' or '-', with a letter or digit at both ends"
        shown = repr(name[:80] if isinstance(name, str) else name)
        raise SpecError(f"{shown:.160} {rule}", path, key, hint)


def check_peer(host: str, peer: str, known: Iterable[str], path: str = "", key: str = "link.ends") -> None:
    """Refuse a neighbour whose variable another neighbour of the host has.

    Args:
        host: Name of the host.
        peer: Name of its new neighbour.
        known: Names of its neighbours so far.
        path: The file the spec came from; empty for none.
        key: The key to blame.

    Raises:
        SpecError: Programs in the host could not tell the two apart.
    """
    variable = peer_variable(peer)
    for other in known:
        if other != peer and peer_variable(other) == variable:
            problem = f"{peer!r} and {other!r}, both neighbours of {host!r}, are both {variable} to its programs"
            raise SpecError(problem, path, key, "rename one of them")


def check_link(name: str, ends: tuple[str, str], mtu: int, taken: Container[str]) -> None:
    """Refuse what no further link of a lab can be.

    Args:
        name: Its name.
        ends: Names of its hosts.
        mtu: In bytes.
        taken: Names of the lab's other links.

    Raises:
        SpecError: A bad or taken name, one host twice, an MTU out of range.
    """
    check_name(name, key="link.name")
    if ends[0] == ends[1]:
        raise SpecError(f"{ends[0]!r} twice: a link joins two hosts", key="link.ends")
    if name in taken:
        hint = "give it a name of its own"
        raise SpecError(f"{name!r} is a link of this lab already", key="link.name", hint=hint)
    if not isinstance(mtu, int) or isinstance(mtu, bool) or not MIN_MTU_BYTES <= mtu <= MAX_MTU_BYTES:
        raise SpecError(f"{mtu!r:.80}: must be a whole number, {MIN_MTU_BYTES} .. {MAX_MTU_BYTES}", key="link.mtu")


def check_seed(seed: int, path: str = "") -> None:
    """Refuse a seed that no link can have.

    Raises:
        SpecError: It is no whole number from 0 to 2^64 - 1.
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        raise SpecError(f"{seed!r:.80}: must be a whole number from 0 to 2^64 - 1", path, "seed")


def read_lab_spec(path: str | Path) -> LabSpec:
    """Read and check a lab's TOML file.

    Raises:
        SpecError: It cannot be read, is no TOML, or says what no lab can be; names the key and the rule.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", path) from error
    if len(data) > MAX_FILE_BYTES:
        raise SpecError(f"longer than {MAX_FILE_BYTES} bytes", path)
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(f"is no TOML: {error}", path) from error
    spec = _read_document(document, str(path))
    spec.check(str(path))
    return spec


def _read_document(document: dict[str, Any], path: str) -> LabSpec:
    """Convert table by table, so that every message can name the table, key and value."""
    hosts, links = document.pop("hosts", {}), document.pop("link", [])
    for key, value, kind, form in (("hosts", hosts, dict, "[hosts.NAME]"), ("link", links, list, "[[link]]")):
        if not isinstance(value, kind):
            raise SpecError(f"{_shown(value)}: must be tables", path, key, f"write {form}")
    if len(hosts) > MAX_HOSTS or len(links) > MAX_LINKS:
        key, count, most = (
            ("hosts", len(hosts), MAX_HOSTS) if len(hosts) > MAX_HOSTS else ("link", len(links), MAX_LINKS)
        )
        raise SpecError(f"{count} of them: at most {most}", path, key)
    for name, host in hosts.items():
        if isinstance(host, dict) and host.get("command") == []:
            hint = "name a program and its arguments, or leave command out"
            raise SpecError("[]: no program", path, f"hosts.{name}.command", hint)
    spec = _convert(document, LabSpec, path, "", known=LabSpec.__struct_fields__)
    return msgspec.structs.replace(
        spec,
        hosts={name: _convert(host, HostSpec, path, f"hosts.{name}") for name, host in hosts.items()},
        link=[_convert(link, LinkSpec, path, f"link[{number}]") for number, link in enumerate(links)],
    )


def _convert(table: object, kind: type[S], path: str, key: str, known: tuple[str, ...] = ()) -> S:
    prefix = f"{key}." if key else ""
    if isinstance(table, dict):
        known = known or kind.__struct_fields__
        for name in table:
            if name not in known:
                hint = _did_you_mean(name, known) or f"known here: {', '.join(known)}"
                raise SpecError("unknown key", path, f"{prefix}{name}", hint)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        rule, _, where = str(error).partition(" - at `$")
        where = where.rstrip("`").lstrip(".")
        value = table.get(where.partition("[")[0]) if where and isinstance(table, dict) else table
        raise SpecError(
            f"{_shown(value)}: {rule[:1].lower()}{rule[1:]}", path, f"{prefix}{where}".rstrip(".")
        ) from error


def _shown(value: object) -> str:
    try:
        return f"{value!r:.80}"
    except RecursionError:
        return f"{type(value).__name__} of many levels"


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), 1)
    return f"did you mean {close[0]!r}?" if close else ""
