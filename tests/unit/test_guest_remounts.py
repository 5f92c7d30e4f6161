"""The plan by which root's guest is confined."""

from __future__ import annotations

from netlab.namespaces import syscalls
from netlab.namespaces.guest.confinement import KEPT_CAPABILITIES, outermost, plan_remounts

MOUNTINFO = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:5 / /dev rw,nosuid shared:2 - devtmpfs devtmpfs rw
24 22 0:21 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
30 22 0:30 / /home/a\\040b rw,noatime,nodiratime - tmpfs tmpfs rw
31 22 0:31 / /home/me ro,relatime - tmpfs tmpfs rw
32 31 0:32 / /home/me/mounted rw - tmpfs tmpfs rw
33 22 0:33 / /home/mean rw - tmpfs tmpfs rw
"""


def test_every_mount_but_the_writable_ones_becomes_read_only() -> None:
    plan = plan_remounts(MOUNTINFO, ["/home/me"])
    assert [remount.target for remount in plan] == ["/", "/dev", "/proc", "/home/a b", "/home/mean"]
    needed = syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY | syscalls.MS_NODEV | syscalls.MS_NOSUID
    assert all(remount.flags & needed == needed for remount in plan)


def test_what_a_mount_forbade_before_it_forbids_after() -> None:
    flags = {remount.target: remount.flags for remount in plan_remounts(MOUNTINFO, [])}
    assert flags["/proc"] & syscalls.MS_NOEXEC
    assert not flags["/"] & syscalls.MS_NOEXEC
    assert flags["/home/a b"] & 1024
    assert flags["/home/a b"] & 2048


def test_places_within_others_need_no_mount_of_their_own() -> None:
    assert outermost(["/tmp/x", "/tmp", "/home/me", "/home/me", "/tmpfs", "/tmp/x/y"]) == (
        "/home/me",
        "/tmp",
        "/tmpfs",
    )


def test_the_root_is_never_writable() -> None:
    assert outermost(["/", "/tmp"]) == ("/tmp",)


def test_no_right_that_leads_out_is_kept() -> None:
    dac_read_search, kill, net_admin, sys_module, sys_ptrace, sys_admin, mknod = 2, 5, 12, 16, 19, 21, 27
    assert not KEPT_CAPABILITIES & {dac_read_search, kill, net_admin, sys_module, sys_ptrace, sys_admin, mknod}
