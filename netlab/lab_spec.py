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

from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from netlab.decoder_words import choices_of, plain_rule
from netlab.did_you_mean import did_you_mean
from netlab.episode.spec import EpisodeSpec
from netlab.errors import SpecError
from netlab.lab_rules import MAX_HOSTS, MIN_MTU_BYTES, check_name, check_peer, check_seed
from netlab.namespaces.link_plan import MAX_LINKS, MAX_MTU_BYTES, peer_variable
from netlab.namespaces.medium import DEFAULT_QUEUE_PACKETS
from netlab.namespaces.medium_plan import MAX_MEDIA
from netlab.traces.toml_text import read_toml

__all__ = ["HostSpec", "LabSpec", "LinkSpec", "MediumSpec", "read_lab_spec"]

MAX_FILE_BYTES = 1 << 20

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
        virtual_cpus: How many computations its programs do at a time in virtual time.
    """

    command: Annotated[list[str], Meta(max_length=4096)] = msgspec.field(default_factory=list)
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cwd: str = ""
    output: str = ""
    virtual_cpus: Annotated[int, Meta(ge=1, le=1024)] = 1


class MediumSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rate and a queue that links share.

    Attributes:
        rate: What all its links carry together, both directions, such as ``20mbit``.
        queue_packets: Packets that may wait for it.
    """

    rate: str
    queue_packets: Annotated[int, Meta(ge=1, le=2**32 - 1)] = DEFAULT_QUEUE_PACKETS


class LinkSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link between two hosts.

    Attributes:
        ends: The two hosts; the first sends *forward*.
        profile: A preset, a profile file or inline options; none for a clean link.
        name: What messages and seeds call it; ``first-second`` unless given.
        mtu: In bytes.
        medium: The medium it is part of; none for a link by itself.
        trace: Instead of a profile, a measured trace to be played, or two, forward and back.
        trace_offset: Where in the trace it begins, such as ``10s``.
        trace_loop: Begin again for ever; true unless given.
        trace_time_scale: 2 plays twice as fast.
        trace_step: Length of a step, such as ``100ms``.
    """

    ends: tuple[str, str]
    profile: str = ""
    name: str = ""
    mtu: MtuBytes = 1500
    medium: str = ""
    trace: str | Annotated[list[str], Meta(min_length=1, max_length=3)] = ""
    trace_offset: str | None = None
    trace_loop: bool | None = None
    trace_time_scale: float | None = None
    trace_step: str | None = None

    @property
    def traces(self) -> list[str]:
        """The files that are played on it; none where it has a profile."""
        return [self.trace] if isinstance(self.trace, str) and self.trace else list(self.trace)

    @property
    def trace_options(self) -> dict[str, object]:
        """How they are played, as written, by keys without ``trace_``."""
        options = {key: getattr(self, f"trace_{key}") for key in ("offset", "loop", "time_scale", "step")}
        return {key: value for key, value in options.items() if value is not None}

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
        media: Media by name.
        link: Links in the order of their addresses.
        episode: What ``netlab lab run`` plays; None for a lab that runs its hosts' commands.
    """

    name: str = ""
    seed: Annotated[int, Meta(ge=0)] = 0
    hosts: dict[str, HostSpec] = msgspec.field(default_factory=dict)
    media: dict[str, MediumSpec] = msgspec.field(default_factory=dict)
    link: list[LinkSpec] = msgspec.field(default_factory=list)
    episode: EpisodeSpec | None = None

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
        for medium in self.media:
            check_name(medium, path, f"media.{medium}")
        self._check_links(path)

    def _check_links(self, path: str) -> None:
        names: set[str] = set()
        peers: dict[str, dict[str, str]] = {host: {} for host in self.hosts}
        for number, link in enumerate(self.link):
            key = f"link[{number}]"
            for end in link.ends:
                if end not in self.hosts:
                    hint = did_you_mean(end, self.hosts) or f"add [hosts.{end}]"
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
                peers[host][peer_variable(peer)] = peer
            _check_trace(link, path, key)
            if link.medium and link.medium not in self.media:
                hint = did_you_mean(link.medium, self.media) or f"add [media.{link.medium}]"
                raise SpecError(f"{link.medium!r} is no medium of this lab", path, f"{key}.medium", hint)
        if self.episode is not None:
            self.episode.check(self.hosts, [link.ends for link in self.link], path)


def _check_trace(link: LinkSpec, path: str, key: str) -> None:
    if link.traces and link.profile:
        hint = "leave one of the two out"
        raise SpecError("a link has a profile or a trace, not both", path, f"{key}.trace", hint)
    if link.trace_options and not link.traces:
        name = next(iter(link.trace_options))
        raise SpecError("says how a trace is played, without a trace", path, f"{key}.trace_{name}", "add trace")


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
        document = read_toml(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SpecError(f"is not TOML: {error}", path) from error
    except ValueError as error:
        raise SpecError(str(error), path) from error
    spec = _read_document(document, str(path))
    spec.check(str(path))
    return spec


def _read_document(document: dict[str, Any], path: str) -> LabSpec:
    """Convert table by table, so that every message can name the table, key and value."""
    hosts, media, links = document.pop("hosts", {}), document.pop("media", {}), document.pop("link", [])
    for key, value, kind, most, form in (
        ("hosts", hosts, dict, MAX_HOSTS, "[hosts.NAME]"),
        ("media", media, dict, MAX_MEDIA, "[media.NAME]"),
        ("link", links, list, MAX_LINKS, "[[link]]"),
    ):
        if not isinstance(value, kind):
            raise SpecError(f"{_shown(value)}: must be tables", path, key, f"write {form}")
        if len(value) > most:
            raise SpecError(f"{len(value)} of them: at most {most}", path, key)
    for name, host in hosts.items():
        if isinstance(host, dict) and host.get("command") == []:
            hint = "name a program and its arguments, or leave command out"
            raise SpecError("[]: no program", path, f"hosts.{name}.command", hint)
    episode = document.pop("episode", None)
    spec = _convert(document, LabSpec, path, "", known=LabSpec.__struct_fields__)
    return msgspec.structs.replace(
        spec,
        episode=None if episode is None else _convert(episode, EpisodeSpec, path, "episode"),
        hosts={name: _convert(host, HostSpec, path, f"hosts.{name}") for name, host in hosts.items()},
        media={name: _convert(medium, MediumSpec, path, f"media.{name}") for name, medium in media.items()},
        link=[_convert(link, LinkSpec, path, f"link[{number}]") for number, link in enumerate(links)],
    )


def _convert(table: object, kind: type[S], path: str, key: str, known: tuple[str, ...] = ()) -> S:
    prefix = f"{key}." if key else ""
    if isinstance(table, dict):
        known = known or kind.__struct_fields__
        for name in table:
            if name not in known:
                hint = did_you_mean(name, known) or f"known here: {', '.join(known)}"
                raise SpecError("unknown key", path, f"{prefix}{name}", hint)
            if table[name] == "":
                raise SpecError("'' says nothing", path, f"{prefix}{name}", "give it a value, or leave it out")
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        rule, _, where = str(error).partition(" - at `$")
        where = where.rstrip("`").lstrip(".")
        field = where.partition("[")[0]
        value = table.get(field) if where and isinstance(table, dict) else table
        choices = choices_of(kind, field) if where == field else ()
        hint = did_you_mean(value, choices) if isinstance(value, str) else ""
        problem = f"{_shown(value)}: {plain_rule(rule, choices)}"
        raise SpecError(problem, path, f"{prefix}{where}".rstrip("."), hint) from error


def _shown(value: object) -> str:
    return f"{value!r:.80}"
