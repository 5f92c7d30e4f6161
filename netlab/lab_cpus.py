"""LabCpus: the virtual CPUs of a lab's hosts, made for a host when its first program is about to start.

Roof. In virtual time computing is free, so what a program declares that it costs (``charge``) is spent on one of
its host's virtual CPUs. In real time a host has the machine's CPUs and nothing is made.
"""

from __future__ import annotations

from netlab.clock_name import in_virtual_time
from netlab.closers import Closers
from netlab.cpu_tokens import MAX_TOKENS, CpuTokens
from netlab.errors import KernelError, SpecError

__all__ = ["LabCpus", "check_virtual_cpus"]


class LabCpus:
    """Makes each host's tokens once.

    Args:
        closers: Told how to do away with them.
    """

    def __init__(self, closers: Closers) -> None:
        self._closers = closers
        self._tokens: dict[str, CpuTokens] = {}

    def variables(self, host: str, count: int) -> dict[str, str]:
        """Return the variables by which programs of a host find its virtual CPUs; none in real time.

        Raises:
            KernelError: The kernel has no room for them.
        """
        if not in_virtual_time():
            return {}
        tokens = self._tokens.get(host)
        if tokens is None:
            try:
                tokens = self._tokens[host] = CpuTokens.make(count)
            except OSError as error:
                raise KernelError(f"make the virtual CPUs of host {host}", error.errno or 0) from error
            self._closers.push(f"do away with the virtual CPUs of host {host}", tokens.close)
        return tokens.variables


def check_virtual_cpus(count: object, key: str) -> None:
    """Refuse what is no number of virtual CPUs.

    Raises:
        SpecError: Names the key and the rule.
    """
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_TOKENS:
        hint = "virtual_cpus = 1, unless its programs compute at the same time"
        raise SpecError(f"{count!r:.80}: must be a whole number, 1 .. {MAX_TOKENS}", key=key, hint=hint)
