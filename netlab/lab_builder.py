"""LabBuilder: makes what a lab's spec names: hosts, links, and, when asked, the commands of the hosts.

Reads every profile when it is made, so that a spec which says what no link can be makes nothing. Knows how to
ask for hosts and links, not the lab that makes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from netlab.documents import refuse_shared_files
from netlab.errors import ProfileError, SpecError
from netlab.lab_impairment import read_profiles
from netlab.lab_links import LinkOrder
from netlab.lab_spec import LabSpec, MediumSpec
from netlab.namespaces.host import Host
from netlab.namespaces.process import HostProcess
from netlab.traces.profile import LinkProfile
from netlab.units import parse_rate_bps

__all__ = ["LabBuilder"]


class LabBuilder:
    """A checked spec and its profiles.

    Args:
        spec: Hosts, links and commands.
        path: The file the spec came from: its relative paths are relative to that file's folder.

    Raises:
        SpecError: The spec is not one a lab can have.
    """

    def __init__(self, spec: LabSpec, path: str = "") -> None:
        spec.check(path)
        self._spec = spec
        self._folder = Path(path).parent
        self._impairments = read_profiles(spec, self._folder, path)
        self._media = {name: _read_medium(name, medium, path) for name, medium in spec.media.items()}
        self._check_folders(path)
        self._check_outputs(path)

    @property
    def hosts(self) -> int:
        """How many hosts it names."""
        return len(self._spec.hosts)

    def _check_folders(self, path: str) -> None:
        """Refuse a host whose command has no folder to start in, or none to print to."""
        for name, host in self._spec.hosts.items():
            needed = {"cwd": self._folder / host.cwd} if host.cwd else {}
            if host.output:
                needed["output"] = (self._folder / host.output).parent
            for key, folder in needed.items():
                if not os.path.isdir(folder):  # noqa: PTH112 - Path's raises at a name that is too long
                    problem = f"{getattr(host, key)!r:.80}: there is no folder {folder!s:.200}"
                    raise SpecError(problem, path, f"hosts.{name}.{key}", "make it first, or name another")

    def _check_outputs(self, path: str) -> None:
        """Refuse an output that would hold up its writer for ever, or overwrite what another command prints."""
        outputs = self.outputs()
        for key, file in outputs.items():
            if os.path.exists(file) and not os.path.isfile(file):  # noqa: PTH110,PTH113 - as above
                raise SpecError(f"{str(file)!r:.200} is not a plain file", path, key, "name a file that is one")
        refuse_shared_files(outputs, {"the spec": Path(path)} if path else {}, path)

    def outputs(self) -> dict[str, Path]:
        """Return the files that its commands print to, by their keys in the spec."""
        hosts = self._spec.hosts.items()
        return {f"hosts.{name}.output": self._folder / host.output for name, host in hosts if host.output}

    def build(
        self,
        add_host: Callable[..., object],
        add_medium: Callable[..., object],
        add_links: Callable[[list[LinkOrder]], object],
    ) -> None:
        """Make the hosts, media and links, by a lab's ``add_host``, ``add_medium`` and ``add_links``."""
        for name, host in self._spec.hosts.items():
            add_host(name, virtual_cpus=host.virtual_cpus)
        for name, profile in self._media.items():
            add_medium(name, rate_bps=profile.rate_bps, queue_packets=profile.limit_packets)
        add_links(
            [
                LinkOrder(
                    *link.ends, self._impairments.get(link.full_name),
                    name=link.full_name, mtu=link.mtu, medium=link.medium,
                )
                for link in self._spec.link
            ]
        )  # fmt: skip

    def start_commands(self, hosts: Mapping[str, Host]) -> list[HostProcess]:
        """Start the command of each host that has one.

        Raises:
            KernelError: One cannot be started.
        """
        started = []
        for name, host in self._spec.hosts.items():
            if host.command:
                started.append(
                    hosts[name].start(
                        host.command,
                        env=host.env,
                        cwd=self._folder / host.cwd if host.cwd else None,
                        stdout=self._folder / host.output if host.output else None,
                    )
                )
        return started


def _read_medium(name: str, medium: MediumSpec, path: str) -> LinkProfile:
    """Return what a medium does to its frames.

    Raises:
        SpecError: Its rate is none.
    """
    try:
        rate_bps = parse_rate_bps(medium.rate)
        return LinkProfile(rate_bps=rate_bps, limit_packets=medium.queue_packets)
    except (ValueError, ProfileError) as error:
        raise SpecError(str(error), path, f"media.{name}.rate") from error
