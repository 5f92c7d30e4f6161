"""parity_engines: what the packets of the parity table's services go through, and which kernel that is here."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping

from netlab.errors import FeatureMissing

__all__ = ["ENGINES", "REAL", "VIRTUAL", "engine_kernel", "kernel_of"]

VIRTUAL = "guest, virtual time"
REAL = {"guest": "guest, real time", "relay": "relay, real time", "host": "host, real time"}
"""The others, by what ``--on`` calls them."""
ENGINES: dict[str, tuple[str, ...]] = {
    VIRTUAL: ("--virtual-time",),
    **{engine: ("--on", name) for name, engine in REAL.items()},
}
"""How each is asked for."""


def engine_kernel(engine: str, say: Callable[[str], None] = lambda text: None) -> str:
    """Return the identity of the kernel that an engine runs on here, as results have it.

    Args:
        engine: One of ``ENGINES``.
        say: Told of downloads.

    Raises:
        GuestError: There is no such guest kernel here, and none can be had.
        KernelError: This kernel cannot do it.
    """
    from netlab.engine_choice import guest_kernel, virtual_kernel
    from netlab.host_survey import survey_host

    if engine == VIRTUAL:
        return virtual_kernel().identity
    if engine == REAL["guest"]:
        return guest_kernel(say).identity
    found = survey_host()
    if engine == REAL["host"] and found.problem is not None:
        raise found.problem
    if engine == REAL["relay"] and not found.can_relay:
        words, hint = "it lacks TUN, or rights to it", "netlab doctor says more; or leave --real relay out"
        raise FeatureMissing("run labs through a relay on this kernel", words=words, hint=hint)
    return f"{platform.system()} {platform.release()}"


def kernel_of(machine: Mapping[str, object]) -> str:
    """Return the identity of the kernel that a result was measured on."""
    return str(machine.get("guest") or machine.get("kernel"))
