"""KernelConfiguration: what we ask of a kernel's configuration, and what became of it; pure but for one read.

::

    data/time_travel.config --asked--> make allnoconfig --> .config --dropped--> lines that did not hold

kconfig drops what it cannot have without a word (an option that depends on another, or no longer exists), and a
kernel without time travel runs in real time without a word as well. So each line that was asked is looked for.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from msgspec import Struct

__all__ = ["KernelConfiguration", "parse_configuration", "time_travel_configuration"]

_FRAGMENT = Path(__file__).with_name("data") / "time_travel.config"
_SETTING = re.compile(r"(CONFIG_\w+)=(.+)")


class KernelConfiguration(Struct, frozen=True, kw_only=True):
    """Options by name, ``n`` for one that must be off.

    Attributes:
        path: The file that says so, for make.
        options: What it says.
    """

    path: Path
    options: dict[str, str]

    @property
    def sha256(self) -> str:
        """Identity of what is asked: order, comments and blank lines do not count."""
        lines = "".join(f"{name}={value}\n" for name, value in sorted(self.options.items()))
        return hashlib.sha256(lines.encode()).hexdigest()

    def dropped(self, resolved: str) -> list[str]:
        """Return the lines asked that do not hold in a ``.config``, in the order asked.

        Args:
            resolved: Its text.
        """
        found = parse_configuration(resolved)
        return [f"{name}={value}" for name, value in self.options.items() if found.get(name, "n") != value]


def parse_configuration(text: str) -> dict[str, str]:
    """Return the options that are set in the text of a fragment or a ``.config``."""
    matches = (_SETTING.fullmatch(line.strip()) for line in text.splitlines())
    return {match[1]: match[2] for match in matches if match}


def time_travel_configuration() -> KernelConfiguration:
    """Return what a kernel for virtual time is asked to have."""
    return KernelConfiguration(path=_FRAGMENT, options=parse_configuration(_FRAGMENT.read_text(encoding="utf-8")))
