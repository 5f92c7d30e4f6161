"""The exported script, run by the system's own tc: the kernel shows what netlab's own message made it show.

By fields, both read back; and packet by packet, for what no dump holds (the tables) and no eye sees.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from duet_check import check, pace_s
from old_tc import in_whole_microseconds

from netlab.bench.netem_duet import NetemDuet
from netlab.bench.netem_rig import INTERFACE, NetemRig, netem_rig
from netlab.errors import KernelError
from netlab.namespaces.features import kernel_features
from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_codec import encode_netem
from netlab.namespaces.netem_compare import compare_netem
from netlab.namespaces.netem_qdisc import DEFAULT_HANDLE, NetemQdisc
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.loss import FourState, GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import link_seed
from netlab.traces.slot import Slot
from netlab.traces.tc_export import distribution_file, tc_netem
from netlab.traces.tc_script import plan_leg, tc_script

SIOCGSKNS = 0x894C
BY_TC, BY_NETLAB = 2, 4
"""The two devices, by their numbers; the odd ones are their far ends."""

pytestmark = pytest.mark.skipif(shutil.which("tc") is None, reason="no tc here")


def version_of_tc() -> tuple[int, int]:
    words = subprocess.run(["tc", "-V"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"iproute2-(\d+)\.(\d+)", words)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def as_this_tc_says(state: QdiscState) -> QdiscState:
    """Return what the script makes of a state with the tc that is here."""
    version = version_of_tc()
    netem = tc_netem(state)
    state = state.replace(
        delay_table=netem.tables.get("delay", state.delay_table if not state.jitter_ns else None),
        slot_table=netem.tables.get("slot"),
        seed=state.seed if version >= (6, 6) else None,
        ecn=state.ecn and "ecn" in netem.words,
    )
    return state if version >= (6, 9) else in_whole_microseconds(state)


PROFILES: dict[str, LinkProfile] = {
    "nothing": LinkProfile(),
    "unordered": LinkProfile(ordered=False),
    "delay": LinkProfile(delay_s=0.030),
    "delay to the nanosecond": LinkProfile(delay_s=0.012345678),
    "long delay": LinkProfile(delay_s=270.0),
    "uniform": LinkProfile(delay_s=0.030, jitter_s=0.010, law="uniform"),
    "uniform, clipped": LinkProfile(delay_s=0.005, jitter_s=0.010, law="uniform"),
    "normal": LinkProfile(delay_s=0.030, jitter_s=0.005),
    "normal, clipped": LinkProfile(delay_s=0.040, jitter_s=0.028, ordered=False),
    "pareto": LinkProfile(delay_s=0.050, jitter_s=0.004, law="pareto"),
    "paretonormal": LinkProfile(delay_s=0.100, jitter_s=0.020, law="paretonormal"),
    "table": LinkProfile(law="table", delay_table_s=(0.008, 0.009, 0.0095, 0.010, 0.012, 0.031)),
    "loss": LinkProfile(delay_s=0.001, loss=0.02),
    "loss, odd": LinkProfile(loss=0.123456789),
    "loss, least": LinkProfile(loss=1e-12),
    "loss, all": LinkProfile(loss=1.0),
    "Gilbert-Elliott": LinkProfile(loss=GilbertElliott.from_mean(0.05, 8)),
    "Gilbert-Elliott, full": LinkProfile(loss=GilbertElliott(p=0.013, r=0.17, loss_in_bad=0.8, loss_in_good=1e-3)),
    "4-state": LinkProfile(loss=FourState(p13=0.013, p31=0.27, p32=0.1, p14=0.0017, p23=0.77)),
    "ecn": LinkProfile(loss=0.03, ecn=True),
    "ecn without loss": LinkProfile(delay_s=0.001, ecn=True),
    "duplicate, corrupt": LinkProfile(duplicate_ratio=0.011, corrupt_ratio=0.0007),
    "reorder": LinkProfile(delay_s=0.020, reorder_ratio=0.25, ordered=False),
    "reorder by gap": LinkProfile(delay_s=0.020, reorder_ratio=1.0, reorder_gap=5),
    "rate": LinkProfile(rate_bps=10e6, delay_s=0.030, limit_packets=123),
    "rate, overheads": LinkProfile(rate_bps=1.234567e6, overhead_bytes=-14, cell_bytes=53, cell_overhead_bytes=-5),
    "rate, beyond 32 bits": LinkProfile(rate_bps=40e9 + 8),
    "slots": LinkProfile(slot=Slot(delay_s=0.010, max_packets=5, max_bytes=3000)),
    "slots, bounds": LinkProfile(slot=Slot(delay_s=0.010, jitter_s=0.0012345, law="uniform", max_packets=5)),
    "slots by table": LinkProfile(slot=Slot(delay_s=0.010, jitter_s=0.002), delay_s=0.02, jitter_s=0.001),
    "everything": LinkProfile(
        delay_s=0.050, jitter_s=0.007, law="pareto", loss=GilbertElliott(p=0.01, r=0.2), duplicate_ratio=0.01,
        corrupt_ratio=0.02, reorder_ratio=0.03, reorder_gap=4, rate_bps=12_345_678.0, overhead_bytes=20,
        cell_bytes=48, cell_overhead_bytes=5, limit_packets=2222, ecn=True,
        slot=Slot(delay_s=0.005, jitter_s=0.001, max_packets=7, max_bytes=9999),
    ),
}  # fmt: skip


def script_for(asked: LinkProfile | Schedule, **choices: Any) -> str:
    pair = ProfilePair("here", asked, asked)
    return tc_script(pair, [plan_leg(asked, "forward", "eth0", link="exec", **choices)]).text


def run_script(namespace: Namespace, script: str) -> subprocess.CompletedProcess[str]:
    return namespace.call(
        lambda: subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False)
    )


@pytest.fixture
def place() -> Iterator[tuple[Namespace, RouteSocket]]:
    with Namespace.create() as namespace, RouteSocket.open(namespace.fd) as route:
        route.add_veth("eth0", "far0", index=BY_TC, peer_index=BY_TC + 1)
        route.add_veth("eth1", "far1", index=BY_NETLAB, peer_index=BY_NETLAB + 1)
        yield namespace, route


@pytest.mark.parametrize("name", PROFILES)
def test_both_read_back_the_same(place: tuple[Namespace, RouteSocket], name: str) -> None:
    namespace, route = place
    profile = PROFILES[name]
    done = run_script(namespace, script_for(profile, seed=7))
    assert done.returncode == 0, done.stderr
    asked = profile.to_qdisc_state(link_seed(7, "exec", "forward", 0))
    expected = as_this_tc_says(asked)
    own = NetemQdisc(route, BY_NETLAB, features=kernel_features())
    own.add(expected)
    by_tc = NetemQdisc(route, BY_TC).read()
    assert compare_netem(expected, by_tc, kernel_features()) == []
    assert by_tc.replace(seed=None) == own.read().replace(seed=None)
    if version_of_tc() >= (6, 9):
        assert compare_netem(asked.replace(ecn=expected.ecn), by_tc, kernel_features()) == []


def test_a_preset_in_both_directions(place: tuple[Namespace, RouteSocket]) -> None:
    namespace, route = place
    pair = parse_preset("wifi-degraded")
    legs = [
        plan_leg(pair.forward, "forward", "eth0", link="exec", seed=1),
        plan_leg(pair.back, "back", "eth1", link="exec", seed=1),
    ]
    done = run_script(namespace, tc_script(pair, legs).text)
    assert done.returncode == 0, done.stderr
    for direction, device in (("forward", BY_TC), ("back", BY_NETLAB)):
        asked = as_this_tc_says(pair.forward.to_qdisc_state(link_seed(1, "exec", direction, 0)))  # type: ignore[union-attr, arg-type]
        assert compare_netem(asked, NetemQdisc(route, device).read(), kernel_features()) == []


class ScriptedRig:
    """A rig whose netem the exported script makes; our own message gives it the seed alone."""

    def __init__(self, rig: NetemRig, script: str) -> None:
        self._rig = rig
        self._script = script

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rig, name)

    def begin(self, state: QdiscState) -> None:
        route = self._rig.route
        with Namespace(fcntl.ioctl(route.fileno(), SIOCGSKNS), "rig") as namespace:
            done = run_script(namespace, self._script)
        assert done.returncode == 0, done.stderr
        # Without tables: those that tc has put there stay.
        seeding = encode_netem(state.replace(delay_table=None, slot_table=None))
        route.qdisc_change(INTERFACE, DEFAULT_HANDLE, ROOT, "netem", seeding)


@pytest.mark.parametrize(
    "name", ["uniform", "normal", "normal, clipped", "pareto", "paretonormal", "table", "Gilbert-Elliott, full"]
)
def test_the_same_packets_at_the_same_moments(name: str) -> None:
    """300 draws of a table: two that differ anywhere would be noticed with an entry in a hundred."""
    if not kernel_features().seed:
        pytest.skip("this kernel's netem has no seed")
    profile = PROFILES[name]
    # Long enough that in real time all packets are sent before the first arrives; the table is laid anew.
    fields: dict[str, Any] = {"ordered": True}
    if profile.law == "table":
        fields["delay_table_s"] = tuple(0.2 + delay_s for delay_s in profile.delay_table_s)
    else:
        fields["delay_s"] = profile.delay_s + 0.2
    profile = profile.replace(**fields)
    state = as_this_tc_says(profile.to_qdisc_state(99)).replace(seed=99)
    with netem_rig() as rig:
        duet = NetemDuet(ScriptedRig(rig, script_for(profile)), state)  # type: ignore[arg-type]
        duet.send(300, period_s=pace_s())
        compared = duet.finish()
    assert compared.packets == 300
    check(compared)
    moments = {copy.delay_ns for fate in duet.fates for copy in fate.copies}
    assert len(moments) >= min(len(state.delay_table or ()) // 2, 100)


def test_another_table_would_be_noticed() -> None:
    """What the comparison above is worth, on the order of arrival and on the moments alike."""
    if not kernel_features().seed:
        pytest.skip("this kernel's netem has no seed")
    profile = LinkProfile(delay_s=0.23, jitter_s=0.005)
    state = as_this_tc_says(profile.to_qdisc_state(99)).replace(seed=99)
    assert state.delay_table is not None
    turned = state.replace(delay_table=tuple(reversed(state.delay_table)))
    with netem_rig() as rig:
        duet = NetemDuet(ScriptedRig(rig, script_for(profile)), turned)  # type: ignore[arg-type]
        duet.send(300, period_s=pace_s())
        compared = duet.finish()
    assert compared.differing == []
    assert compared.misplaced or min(compared.late_ns) < -1_000_000


def test_a_played_schedule_ends_in_its_last_step_with_nothing_of_the_others(
    place: tuple[Namespace, RouteSocket],
) -> None:
    namespace, route = place
    slot = Slot(delay_s=0.010, jitter_s=0.002, max_packets=5)
    busy = LinkProfile(
        delay_s=0.02, jitter_s=0.004, reorder_ratio=0.1, corrupt_ratio=0.1, duplicate_ratio=0.1, rate_bps=1e6,
        overhead_bytes=20, cell_bytes=48, cell_overhead_bytes=5, slot=slot, loss=0.5,
    )  # fmt: skip
    last = LinkProfile(delay_s=0.010, ordered=False)
    schedule = Schedule((Step(0.0, busy), Step(0.2, LinkProfile(loss=1.0)), Step(0.4, last)), 0.6)
    before = time.monotonic()
    done = run_script(namespace, script_for(schedule, at_s=None, seed=3))
    assert done.returncode == 0, done.stderr
    assert 0.4 <= time.monotonic() - before < 60.0
    asked = as_this_tc_says(last.to_qdisc_state(link_seed(3, "exec", "forward", 3), within_schedule=True))
    assert compare_netem(asked, NetemQdisc(route, BY_TC).read(), kernel_features()) == []


def test_a_looping_schedule_begins_again_until_it_is_stopped(place: tuple[Namespace, RouteSocket]) -> None:
    namespace, route = place
    steps = (Step(0.0, LinkProfile(delay_s=0.010)), Step(0.1, LinkProfile(delay_s=0.020)))
    script = script_for(Schedule(steps, 0.2, loop=True), at_s=None)

    def watch() -> tuple[list[int], float]:
        began_s = time.monotonic()
        with subprocess.Popen(["sh", "-c", script], start_new_session=True, stderr=subprocess.PIPE) as player:
            seen: list[int] = []
            deadline = time.monotonic() + 30.0
            while len(seen) < 5 and time.monotonic() < deadline:
                time.sleep(0.01)
                try:
                    latency_ns = NetemQdisc(route, BY_TC).read().latency_ns
                except KernelError:
                    continue  # not there yet
                if seen[-1:] != [latency_ns]:
                    seen.append(latency_ns)
            took_s = time.monotonic() - began_s
            player.terminate()
            player.wait(30.0)
            with contextlib.suppress(ChildProcessError):  # its orphans are ours
                while True:
                    os.waitpid(-player.pid, 0)
            return seen, took_s

    seen, took_s = namespace.call(watch)
    assert len(seen) == 5
    assert set(seen) == {10_000_000, 20_000_000}
    # Four changes, none before its time; not a whole 0.4 s as the script reads a clock that may be slewed.
    assert took_s >= 0.39
    time.sleep(0.3)
    assert NetemQdisc(route, BY_TC).read().latency_ns == seen[-1] != 0  # nobody plays on


def test_a_device_that_has_a_qdisc_is_left_as_it_is(place: tuple[Namespace, RouteSocket]) -> None:
    namespace, route = place
    mine = NetemQdisc(route, BY_TC, features=kernel_features())
    mine.add(QdiscState(latency_ns=5_000_000, seed=1))
    done = run_script(namespace, script_for(PROFILES["everything"]))
    assert done.returncode != 0
    assert done.stderr
    assert mine.verify()


def test_why_tables_are_shortened(place: tuple[Namespace, RouteSocket], tmp_path: Any) -> None:
    namespace, _ = place
    whole = LinkProfile(delay_s=0.03, jitter_s=0.005).to_qdisc_state(None).delay_table
    assert whole is not None
    (tmp_path / "t.dist").write_text(distribution_file(whole))
    command = "tc qdisc add dev eth0 root netem delay 30ms 5ms distribution t"
    environment = {**os.environ, "TC_LIB_DIR": str(tmp_path)}
    done = namespace.call(
        lambda: subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
    )
    assert done.returncode != 0
    assert "exceeded" in done.stderr
