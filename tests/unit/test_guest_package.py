"""Which modules are taken from the archive's kernel, and in which order."""

from __future__ import annotations

import pytest

from netlab.errors import GuestError
from netlab.namespaces.guest.kernel_package import REQUIRED_MODULES, choose_modules

NET = "kernel/net/sched"
DEPENDENCIES = f"""\
kernel/drivers/net/veth.ko:
kernel/drivers/net/tun.ko:
{NET}/sch_netem.ko:
{NET}/sch_ingress.ko:
{NET}/cls_u32.ko: {NET}/lib-u32.ko
{NET}/lib-u32.ko:
{NET}/act_mirred.ko:
kernel/net/bridge/bridge.ko: kernel/net/802/stp.ko kernel/net/llc/llc.ko
kernel/net/802/stp.ko: kernel/net/llc/llc.ko
kernel/net/llc/llc.ko:
kernel/fs/other.ko:
"""


def test_modules_come_after_those_they_need() -> None:
    order = choose_modules(DEPENDENCIES, "")
    assert order.index("kernel/net/llc/llc.ko") < order.index("kernel/net/802/stp.ko")
    assert order.index("kernel/net/802/stp.ko") < order.index("kernel/net/bridge/bridge.ko")
    assert order.index(f"{NET}/lib-u32.ko") < order.index(f"{NET}/cls_u32.ko")
    assert len(order) == len(set(order))
    assert "kernel/fs/other.ko" not in order


def test_what_is_compiled_in_needs_no_module() -> None:
    without = "\n".join(line for line in DEPENDENCIES.splitlines() if "veth" not in line)
    assert "veth" not in " ".join(choose_modules(without, "kernel/drivers/net/veth.ko\n"))


@pytest.mark.parametrize("name", REQUIRED_MODULES)
def test_a_kernel_without_what_labs_need_is_refused(name: str) -> None:
    without = "\n".join(line for line in DEPENDENCIES.splitlines() if f"/{name}.ko:" not in line)
    with pytest.raises(GuestError, match=name):
        choose_modules(without, "")
