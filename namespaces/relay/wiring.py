"""RelayWiring: labs whose packets pass through a relay process instead of the kernel's netem.

::

    Lab(wiring=RelayWiring()) --make--> RelayWire --socket--> relay process (LinkModel, timers)

For machines whose kernel has no netem: it takes network namespaces and /dev/net/tun alone.
"""

from __future__ import annotations

from netlab.namespaces.relay.priority import is_real_time_permitted
from netlab.namespaces.relay.relay_wire import RelayWire

__all__ = ["RelayWiring"]


class RelayWiring:
    """Labs on relay processes, one a lab."""

    name = "relay"

    def make(self, name: str) -> RelayWire:
        """Start the relay process of a lab.

        Raises:
            FeatureMissing: There is no /dev/net/tun.
            PrivilegeError: The caller may not open it.
            LabError: The process does not come up.
        """
        return RelayWire.make(name)

    def warnings(self) -> list[str]:
        """Return what a person must know of the relay's timing here."""
        if is_real_time_permitted():
            return []
        return [
            "the relay may not have real-time priority here (CAP_SYS_NICE or an rtprio limit): packets are late "
            "whenever other programs keep the processors busy"
        ]
