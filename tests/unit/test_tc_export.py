"""tc_export and tc_script: what tc's own arithmetic makes of the text is what was asked.

``read_by_tc`` reads words as tc does (strtod, then multiply, cut or round), written from its manual and from what
was seen; ``tests/kernel/test_tc_export_kernel.py`` asks the real one.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from link_strategies import profiles, refused
from old_tc import in_whole_microseconds

from netlab.cli.main import main
from netlab.errors import ProfileError, SpecError
from netlab.namespaces.netem_compare import compare_netem
from netlab.traces.distribution import kernel_delays_ns
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import PRESETS, parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState, QdiscState, SlotState
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import link_seed
from netlab.traces.slot import Slot
from netlab.traces.tc_export import (
    TC_TABLE_ENTRIES,
    TcNetem,
    distribution_file,
    tc_netem,
)
from netlab.traces.tc_script import MAX_MOMENTS, Leg, Moment, plan_leg, tc_script

NS_OF = {"us": 1000.0, "ms": 1e6, "s": 1e9}
MESSAGE_BYTES = 32768
BESIDE_TABLES_BYTES = 264
"""Headers, the interface, "netem" and every attribute of it but the tables."""


def tc_percent(word: str) -> int:
    assert word.endswith("%")
    share = float(word[:-1]) / 100.0
    assert 0.0 <= share <= 1.0
    return int(np.rint(share * U32_MAX))


def tc_time_ns(word: str) -> int:
    """As from iproute2 6.9 on, and for slots always: floating point, then cut."""
    number, unit = word[:-2], word[-2:]
    return int(float(number) * NS_OF[unit])


def old_tc_time_ns(word: str) -> int:
    """As a tc before 6.9 reads a delay, which has no unit ns: whole microseconds, whole ticks of 64 ns."""
    assert word.endswith("us")
    return int(int(float(word[:-2])) * (1000 / 64)) * 64


def tc_rate(word: str) -> int:
    assert word.endswith("bit")
    return int(float(word[:-3]) / 8)


class Words:
    """A command line that is read from the left."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    def __bool__(self) -> bool:
        return bool(self._words)

    def take(self) -> str:
        return self._words.pop(0)

    def number_next(self, *, signed: bool = False) -> bool:
        """tc's only look ahead: a digit, or where it takes one, a sign."""
        return bool(self._words) and (self._words[0][0].isdigit() or (signed and self._words[0][0] == "-"))

    def keyword(self, word: str) -> bool:
        """tc takes any beginning of a keyword for it."""
        found = bool(self._words) and word.startswith(self._words[0])
        if found:
            self.take()
        return found


def read_by_tc(text: str, tables: Mapping[str, tuple[int, ...]], time_ns: Any = tc_time_ns) -> QdiscState:
    """Return the state that a tc sends for what follows ``netem``."""
    words, fields = Words(shlex.split(text)), dict[str, Any]()
    while words:
        keyword = words.take()
        if keyword in ("duplicate", "corrupt", "reorder"):
            fields[keyword] = tc_percent(words.take())
            assert not words.number_next()
        elif keyword == "distribution":
            fields["delay_table"] = tables[words.take()]
        elif keyword == "delay":
            fields["latency_ns"] = time_ns(words.take())
            if words.number_next():
                fields["jitter_ns"] = time_ns(words.take())
        elif keyword == "slot":
            _read_slot(words, fields, tables)
        elif keyword == "ecn":
            fields["ecn"] = True
        else:
            READERS[keyword](words, fields)
    state = QdiscState(**fields)
    assert bool(state.gap) == bool(state.reorder)
    assert not state.reorder or state.latency_ns
    assert not state.ecn or state.loss or state.loss_model
    assert state.delay_table is None or (state.latency_ns and state.jitter_ns)
    return state


def _read_rate(words: Words, fields: dict[str, Any]) -> None:
    fields["rate_bytes_per_s"] = tc_rate(words.take())
    extras = (("packet_overhead_bytes", True), ("cell_size_bytes", False), ("cell_overhead_bytes", True))
    for name, signed in extras:
        if words.number_next(signed=signed):
            fields[name] = int(words.take())


def _read_loss(words: Words, fields: dict[str, Any]) -> None:
    kind = words.take()
    if kind == "random":
        fields["loss"] = tc_percent(words.take())
        assert not words.number_next()
        return
    shares = []
    while words.number_next():
        shares.append(tc_percent(words.take()))
    if kind == "gemodel":
        p, r, h, k = shares
        fields["loss_model"] = GilbertElliottState(p=p, r=r, h=U32_MAX - h, k1=k)
    else:
        assert kind == "state"
        p13, p31, p32, p23, p14 = shares
        fields["loss_model"] = FourStateState(p13=p13, p31=p31, p32=p32, p23=p23, p14=p14)


READERS: dict[str, Callable[[Words, dict[str, Any]], None]] = {
    "limit": lambda words, fields: fields.update(limit_packets=int(float(words.take()))),
    "gap": lambda words, fields: fields.update(gap=int(words.take())),
    "seed": lambda words, fields: fields.update(seed=int(words.take())),
    "rate": _read_rate,
    "loss": _read_loss,
}


def _read_slot(words: Words, fields: dict[str, Any], tables: Mapping[str, tuple[int, ...]]) -> None:
    slot: dict[str, int] = {}
    if words.number_next():
        slot["min_delay_ns"] = slot["max_delay_ns"] = tc_time_ns(words.take())
        if words.number_next():
            slot["max_delay_ns"] = tc_time_ns(words.take())
    else:
        assert words.take() == "distribution"
        fields["slot_table"] = tables[words.take()]
        slot["dist_delay_ns"], slot["dist_jitter_ns"] = tc_time_ns(words.take()), tc_time_ns(words.take())
        assert slot["dist_jitter_ns"] > 0
    if words.keyword("packets"):
        slot["max_packets"] = int(words.take())
    if words.keyword("bytes"):
        size = words.take()
        assert size.endswith("b")
        slot["max_bytes"] = int(float(size[:-1]))
    fields["slot"] = SlotState(**slot)


def read_netem(netem: TcNetem, **how: Any) -> QdiscState:
    """Return what tc makes of it, tables read from the text of their files."""
    tables = {
        f"t{name}": tuple(int(word) for word in distribution_file(table).split())
        for name, table in netem.tables.items()
    }
    words = " ".join(netem.words).format_map({name: f"t{name}" for name in netem.tables})
    if netem.seed is not None:
        words += f" seed {netem.seed}"
    return read_by_tc(words, tables, **how)


def sayable(profile: LinkProfile) -> bool:
    """Whether tc can say it: it reorders and distributes only where there is a delay."""
    state = profile.to_qdisc_state(None)
    return bool(state.latency_ns) or not (state.reorder or (state.delay_table and state.jitter_ns))


def same_table(asked: tuple[int, ...] | None, read: tuple[int, ...] | None, jitter_ns: int) -> bool:
    """Whether a table is the one asked for, or as much of it as tc's message holds."""
    if asked is None or not jitter_ns:
        return read is None
    if len(asked) <= TC_TABLE_ENTRIES // 2:
        return read == asked
    return read is not None and {*read} <= {*asked} and (read[0], read[-1]) == (asked[0], asked[-1])


@given(
    profile=profiles().filter(sayable),
    seed=st.one_of(st.none(), st.integers(0, 2**64 - 1)),
    complete=st.booleans(),
)
@settings(max_examples=150)
def test_tc_makes_the_same_numbers_of_any_profile(profile: LinkProfile, seed: int | None, complete: bool) -> None:
    asked = profile.to_qdisc_state(seed, within_schedule=complete)
    netem = tc_netem(asked, complete=complete)
    read = read_netem(netem)
    if profile.ecn and not read.ecn:
        assert not asked.loss
        assert asked.loss_model is None
        assert any("ecn" in text for text in netem.differences)
        asked = asked.replace(ecn=False)
    assert compare_netem(asked, read) == []
    assert same_table(asked.delay_table, read.delay_table, asked.jitter_ns)
    assert same_table(asked.slot_table, read.slot_table, 1)
    old = (
        read_netem(netem, time_ns=old_tc_time_ns)
        if asked.latency_ns >= 1000 and not 0 < asked.jitter_ns < 1000
        else None
    )
    if old is not None:
        assert compare_netem(in_whole_microseconds(asked), old) == []


@given(share=st.one_of(st.integers(0, U32_MAX), st.sampled_from([0, 1, 2, U32_MAX - 1, U32_MAX, 2**31])))
def test_every_share_is_reached(share: int) -> None:
    assert read_netem(tc_netem(QdiscState(loss=share))).loss == share
    chain = GilbertElliottState(p=share, r=U32_MAX - share, h=share, k1=share // 3)
    assert read_netem(tc_netem(QdiscState(loss_model=chain))).loss_model == chain


@given(
    time_ns=st.one_of(st.integers(0, 86_400 * 10**9), st.integers(0, 2000)), jitter_ns=st.integers(0, 2**31 - 1)
)
def test_every_nanosecond_is_reached(time_ns: int, jitter_ns: int) -> None:
    read = read_netem(tc_netem(QdiscState(latency_ns=time_ns, jitter_ns=jitter_ns)))
    assert (read.latency_ns, read.jitter_ns) == (time_ns, jitter_ns)


@given(rate=st.integers(1, 125_000_000_000_000))
def test_every_rate_is_reached(rate: int) -> None:
    assert read_netem(tc_netem(QdiscState(rate_bytes_per_s=rate))).rate_bytes_per_s == rate


def test_percentages_are_short_where_they_can_be() -> None:
    assert " ".join(tc_netem(LinkProfile(loss=0.02, ordered=False).to_qdisc_state(None)).words) == (
        "limit 1000 delay 0us loss random 2%"
    )


@pytest.mark.parametrize(
    "state",
    [
        LinkProfile(delay_s=0.1, jitter_s=0.02, law="pareto").to_qdisc_state(None),
        LinkProfile(delay_s=0.1, jitter_s=0.02, slot=Slot(delay_s=0.01, jitter_s=0.001)).to_qdisc_state(None),
    ],
    ids=["delay", "delay and slots"],
)
def test_long_tables_are_shortened_to_what_tcs_message_holds(state: QdiscState) -> None:
    netem = tc_netem(state)
    entries = sum(map(len, netem.tables.values()))
    assert (
        BESIDE_TABLES_BYTES + sum(4 + 2 * len(table) + 3 & ~3 for table in netem.tables.values()) <= MESSAGE_BYTES
    )
    assert entries > 0.7 * TC_TABLE_ENTRIES, "no shorter than it must be"
    assert any("delay table" in text for text in netem.differences)
    assert state.delay_table is not None
    before = kernel_delays_ns(state.latency_ns, state.jitter_ns, state.delay_table)
    after = kernel_delays_ns(state.latency_ns, state.jitter_ns, netem.tables["delay"])
    assert (after.min(), after.max()) == (before.min(), before.max())
    assert abs(after.mean() - before.mean()) < 1e-3 * before.std()
    assert abs(after.std() / before.std() - 1.0) < 0.01


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"latency_ns": -1}, "latency_ns"),
        ({"gap": 5}, "gap"),
        ({"reorder": 5, "gap": 1}, "reorder"),
        ({"rate_bytes_per_s": 2**60}, "rate_bytes_per_s"),
        ({"loss_correlation": 1, "loss": 5}, "loss_correlation"),
        ({"jitter_ns": 5, "delay_table": (1, 2)}, "latency_ns = 0 with a delay_table"),
        ({"slot": SlotState(min_delay_ns=-1)}, "slot"),
        ({"slot": SlotState(dist_delay_ns=5, dist_jitter_ns=5)}, "slot"),
        ({"slot": SlotState(min_delay_ns=5, max_delay_ns=6), "slot_table": (1,)}, "slot"),
        ({"slot": SlotState(min_delay_ns=5, max_delay_ns=6, dist_jitter_ns=6), "slot_table": (1,)}, "slot"),
    ],
)
def test_what_tc_cannot_say_is_refused(fields: dict[str, Any], words: str) -> None:
    assert words in str(refused(tc_netem, QdiscState(**fields)))


FAKE_TC = """\
#!/bin/sh
case "$*" in
*help) echo 'Usage: [ HELP ]' >&2; exit 1 ;;
esac
printf '%s\\n' "$*" >> "$FAKE/calls"
[ -z "${TC_LIB_DIR:-}" ] || { printf '%s\\n' "$TC_LIB_DIR" > "$FAKE/folder"; cp "$TC_LIB_DIR"/*.dist "$FAKE"; }
"""


def run_with_fake_tc(script: str, folder: Path, help_text: str) -> subprocess.CompletedProcess[str]:
    """Run a script with a tc that notes how it was called; return how the script ended."""
    tc = folder / "tc"
    tc.write_text(FAKE_TC.replace("HELP", help_text))
    tc.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "FAKE": str(folder)}
    return subprocess.run(["sh"], input=script, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("seeded", [True, False])
def test_a_shell_hands_tc_what_was_asked(name: str, seeded: bool, tmp_path: Path) -> None:
    pair = parse_preset(name)
    legs = [
        plan_leg(pair.forward, "forward", "eth0", link="exec", seed=7),
        plan_leg(pair.back, "back", "br-lan.5", link="exec", seed=7),
    ]
    done = run_with_fake_tc(tc_script(pair, legs).text, tmp_path, "seed SEED" if seeded else "")
    assert done.returncode == 0, done.stderr
    assert ("no seeds" in done.stderr) == (not seeded)
    tables = {file.stem: tuple(int(word) for word in file.read_text().split()) for file in tmp_path.glob("*.dist")}
    calls = (tmp_path / "calls").read_text().splitlines()
    for call, leg in zip(calls, legs, strict=True):
        head, _, words = call.partition(" netem ")
        assert head == f"qdisc add dev {leg.device} root handle 1:"
        asked = leg.moments[0].state
        assert compare_netem(asked if seeded else asked.replace(seed=None), read_by_tc(words, tables)) == []
        is_played = isinstance(getattr(pair, leg.direction), Schedule)  # its first step is the link's first change
        assert asked.seed == link_seed(7, "exec", leg.direction, 1 if is_played else 0)
    if tables:
        assert not Path((tmp_path / "folder").read_text().strip()).exists(), "the folder of tables is left behind"


def test_a_failing_tc_ends_the_script(tmp_path: Path) -> None:
    pair = parse_preset("wifi-normal")
    script = tc_script(pair, [plan_leg(pair.forward, "forward", "eth0", link="exec")]).text
    (tmp_path / "tc").write_text('#!/bin/sh\necho "$TC_LIB_DIR" > folder\nexit 2\n')
    (tmp_path / "tc").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh"], input=script, env=environment, cwd=tmp_path, text=True, check=False)
    assert done.returncode == 2
    assert not Path((tmp_path / "folder").read_text().strip()).exists()


def test_a_played_step_says_what_is_off_as_well() -> None:
    steps = (Step(0.0, LinkProfile(corrupt_ratio=0.1, rate_bps=1e6)), Step(1.0, LinkProfile(ordered=False)))
    schedule = Schedule(steps, 2.0)
    leg = plan_leg(schedule, "back", "eth0", link="exec", at_s=None)
    text = tc_script(ProfilePair("x", schedule, schedule), [leg]).text
    words = "limit 1000 delay 0us corrupt 0% reorder 0% rate 0bit 0 0 0 slot 0us"
    assert f"at 1000000000\ntc qdisc change dev eth0 root handle 1: netem {words}\n" in text
    assert "while" not in text


def test_each_pass_begins_where_the_one_before_ends() -> None:
    steps = (Step(0.0, LinkProfile(delay_s=0.01)), Step(0.5, LinkProfile(delay_s=0.02)))
    schedule = Schedule(steps, 1.25, loop=True)
    leg = plan_leg(schedule, "forward", "eth0", link="exec", at_s=None)
    text = tc_script(ProfilePair("x", schedule, schedule), [leg]).text
    assert "\nat 500000000\ntc qdisc change " in text
    assert "\nat 1250000000\nstart=$((start + 1250000000))\ntc qdisc change " in text


def test_each_played_step_has_the_seed_that_netlab_would_give_it() -> None:
    steps = tuple(Step(float(index), LinkProfile(loss=0.1 * (index + 1))) for index in range(3))
    leg = plan_leg(Schedule(steps, 3.0), "back", "eth0", link="exec", seed=5, at_s=None)
    seeds = [moment.state.seed for moment in leg.moments]
    assert seeds == [link_seed(5, "exec", "back", 1 + index) for index in range(3)]


def test_a_difference_in_each_step_is_not_said_a_thousand_times() -> None:
    long = tuple(range(-8192, 8192))
    states = [QdiscState(latency_ns=10**9, jitter_ns=10_000 + at, delay_table=long) for at in range(20)]
    leg = Leg("forward", "eth0", tuple(Moment(at, state) for at, state in enumerate(states)))
    notes = tc_script(parse_preset("wifi-normal"), [leg]).notes
    assert len(notes) < len(states)
    assert notes[-1].startswith("and ")


def test_a_played_script_is_one_that_a_shell_can_read() -> None:
    pair = parse_preset("measured")
    legs = [plan_leg(pair.forward, "forward", "eth0", link="exec", at_s=None, seed=1)]
    done = subprocess.run(
        ["sh", "-n"], input=tc_script(pair, legs).text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_step_in_force_at_a_time() -> None:
    steps = tuple(Step(float(index), LinkProfile(delay_s=0.01 * (index + 1))) for index in range(3))
    for loop, at_s, delay_ms in ((False, 0.0, 10), (False, 1.0, 20), (False, 99.0, 30), (True, 4.5, 20)):
        schedule = Schedule(steps, 3.0, loop)
        leg = plan_leg(schedule, "forward", "eth0", link="exec", seed=1, at_s=at_s)
        assert leg.moments[0].state.latency_ns == delay_ms * 1_000_000
        assert leg.moments[0].state.seed == link_seed(1, "exec", "forward", delay_ms // 10)
    assert "at" in str(refused(plan_leg, Schedule(steps, 3.0), "forward", "eth0", link="exec", at_s=-1.0))


def test_what_a_script_cannot_be_is_refused() -> None:
    pair = parse_preset("wifi-normal")

    def leg(device: str, *states: QdiscState) -> Leg:
        return Leg(
            "forward", device, tuple(Moment(at, state) for at, state in enumerate(states or (QdiscState(),)))
        )

    for device in ("eth 0", "-d", "", "a" * 16, "$(reboot)", "eth0;ls", "eth0\nls"):
        with pytest.raises(SpecError, match="name of a network device"):
            tc_script(pair, [leg(device)])
    with pytest.raises(SpecError, match="twice"):
        tc_script(pair, [leg("eth0"), leg("eth0")])
    with pytest.raises(ProfileError, match="ecn"):
        tc_script(pair, [leg("eth0", QdiscState(ecn=True, loss=5), QdiscState(loss=5))])
    with pytest.raises(ProfileError, match="steps"):
        tc_script(pair, [leg("eth0", *[QdiscState()] * (MAX_MOMENTS + 1))])
    own = [QdiscState(latency_ns=5, jitter_ns=5, delay_table=(at, *[0] * 15_999)) for at in range(251)]
    with pytest.raises(ProfileError, match="entries"):
        tc_script(pair, [leg("eth0", *own)])


def test_the_command_prints_a_script_and_says_what_differs() -> None:
    done = CliRunner().invoke(main, ["profile", "export", "--to", "tc", "wifi-degraded", "--seed", "3"])
    assert done.exit_code == 0
    assert done.stdout.startswith("#!/bin/sh\n")
    assert f"$(seed {link_seed(3, 'exec', 'forward', 0)})" in done.stdout
    assert "not as asked: forward: delay table of 16000" in done.stderr
    assert (
        CliRunner().invoke(main, ["profile", "export", "--to", "tc", "wifi-degraded", "--seed", "3"]).stdout
        == done.stdout
    )


def test_the_command_and_schedules() -> None:
    first = CliRunner().invoke(main, ["profile", "export", "--to", "tc", "measured"])
    assert "the first of 600 steps alone" in first.stderr
    later = CliRunner().invoke(main, ["profile", "export", "--to", "tc", "measured", "--at", "3s"])
    assert not later.stderr
    assert later.stdout != first.stdout
    played = CliRunner().invoke(main, ["profile", "export", "--to", "tc", "measured", "--play"])
    assert played.stdout.count("tc qdisc change") == 600
    both = CliRunner().invoke(main, ["profile", "export", "--to", "tc", "measured", "--at", "3s", "--play"])
    assert both.exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["--direction", "both"],
        ["--direction", "back", "--device", "a", "--device", "b"],
        ["--device", "a", "--device", "b", "--device", "c"],
        ["--device", "a b"],
    ],
)
def test_the_command_refuses_what_does_not_go_together(words: list[str]) -> None:
    done = CliRunner().invoke(main, ["profile", "export", "--to", "tc", "wifi-normal", *words])
    assert done.exit_code == 2
    assert "--device" in done.stderr or "device" in done.stderr
    assert not done.stdout
