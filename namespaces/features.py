"""What this kernel can do for a lab, found by doing it in a namespace that is thrown away.

A version number tells little (distributions leave modules out, containers take rights away), so each
feature is tried, and netem's are read back: an old kernel takes an attribute it does not know and drops it.
"""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

from msgspec import Struct

from netlab.errors import FeatureMissing, KernelError
from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_codec import decode_netem, encode_netem
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.qdisc_state import GilbertElliottState, QdiscState, SlotState

__all__ = ["KernelFeatures", "kernel_features", "probe_features", "require_netem"]

_LOOPBACK = 1
_HANDLE = 0x10000

# One value a feature, each impossible by chance or default.
_PROBE = QdiscState(
    latency_ns=12_345_678_901,
    limit_packets=17,
    loss_model=GilbertElliottState(p=11, r=12, h=13, k1=14),
    rate_bytes_per_s=2**33 + 5,
    slot=SlotState(dist_delay_ns=1_000_001, dist_jitter_ns=1_001),
    seed=0x6E65746C61622121,
)


class KernelFeatures(Struct, frozen=True, kw_only=True):
    """What this kernel can do.

    Attributes:
        release: ``uname -r``.
        netem: It has sch_netem.
        seed: netem takes a seed and shows it (Linux 6.6).
        nanoseconds: netem takes delays in ns (Linux 4.16).
        rate64: netem takes rates beyond 4 GB/s.
        slots: netem has slots with distributions (Linux 4.17).
        loss_models: netem has loss chains.
        veth: It has veth pairs.
        redirect: It has the ingress qdisc, u32 and mirred: a link's wire.
        tun: /dev/net/tun can be opened.
        user_namespaces: An ordinary user may make user namespaces, as far as the settings tell.
    """

    release: str
    netem: bool
    seed: bool
    nanoseconds: bool
    rate64: bool
    slots: bool
    loss_models: bool
    veth: bool
    redirect: bool
    tun: bool
    user_namespaces: bool

    def missing(self) -> list[str]:
        """Return the names of what is not there."""
        return [field for field in self.__struct_fields__ if getattr(self, field) is False]

    def seed_warning(self) -> str:
        """Return what a person must know of seeds on this kernel; empty where they hold."""
        if not self.netem or self.seed:
            return ""
        return (
            f"kernel {self.release} has a netem without seeds (Linux 6.6 brought them): the seed is not in force, "
            "losses and delays differ from run to run; --on guest has a kernel with them"
        )


def probe_features() -> KernelFeatures:
    """Try each feature in a namespace of its own, which is gone afterwards.

    Raises:
        PrivilegeError: The caller may make no network namespace.
    """
    with Namespace.create("the feature probe") as namespace, RouteSocket.open(namespace.fd) as socket:
        shown = _netem_as_shown(socket)
        return KernelFeatures(
            release=platform.release(),
            netem=shown is not None,
            seed=shown is not None and shown.seed == _PROBE.seed,
            nanoseconds=shown is not None and shown.latency_ns == _PROBE.latency_ns,
            rate64=shown is not None and shown.rate_bytes_per_s == _PROBE.rate_bytes_per_s,
            slots=shown is not None and shown.slot == _PROBE.slot,
            loss_models=shown is not None and shown.loss_model == _PROBE.loss_model,
            veth=_has_veth(socket),
            redirect=_has_redirect(socket),
            tun=_has_tun(),
            user_namespaces=_has_user_namespaces(),
        )


@functools.cache
def kernel_features() -> KernelFeatures:
    """Return what this kernel can do; probed once, when it is first asked for.

    Raises:
        PrivilegeError: The caller may not make namespaces.
    """
    return probe_features()


def require_netem(features: KernelFeatures) -> None:
    """Refuse a kernel on which no link can be emulated.

    Raises:
        FeatureMissing: It has no netem, no veth or no redirection; names which.
    """
    modules = {"netem": "sch_netem", "veth": "veth", "redirect": "sch_ingress, cls_u32, act_mirred"}
    lacking = [name for feature, name in modules.items() if not getattr(features, feature)]
    if lacking:
        raise FeatureMissing(
            f"emulate links on kernel {features.release}",
            0,
            f"it lacks {', '.join(lacking)}",
            "use --on guest, or install the full kernel of the distribution (linux-modules-extra on Ubuntu)",
        )


def _netem_as_shown(socket: RouteSocket) -> QdiscState | None:
    """Return the probe state as the kernel shows it, None without netem."""
    try:
        socket.qdisc_add(_LOOPBACK, _HANDLE, ROOT, "netem", encode_netem(_PROBE))
    except FeatureMissing:
        return None
    try:
        return decode_netem(socket.qdisc_read(_LOOPBACK, _HANDLE, ROOT).options)
    finally:
        socket.qdisc_delete(_LOOPBACK, _HANDLE, ROOT)


def _has_veth(socket: RouteSocket) -> bool:
    try:
        socket.add_veth("probe0", "probe1")
    except FeatureMissing:
        return False
    return True


def _has_redirect(socket: RouteSocket) -> bool:
    # A missing classifier or action is ENOENT with words that differ by kernel, so any refusal counts.
    try:
        socket.redirect(_LOOPBACK, _LOOPBACK)
    except KernelError:
        return False
    return True


def _has_tun() -> bool:
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _has_user_namespaces() -> bool:
    """Read the settings: making one needs a process with a single thread, which ours may not be."""
    return (
        Path("/proc/self/ns/user").exists()
        and _setting("user/max_user_namespaces", 0) > 0
        and _setting("kernel/unprivileged_userns_clone", 1) != 0
        and _setting("kernel/apparmor_restrict_unprivileged_userns", 0) == 0
    )


def _setting(name: str, default: int) -> int:
    try:
        return int(Path("/proc/sys", name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return default
