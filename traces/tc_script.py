"""tc_script: a shell script of tc commands that gives devices the netem of a link's directions.

::

    ProfilePair --plan_leg--> Leg(device, moments) --tc_script--> TcScript(text, notes)
                                                      |
       tables as here-documents in a folder of their own, a line a state, sleeps to absolute times between them

Pure: text in, text out. Says in comments what a reader must know, and what tc cannot do as netlab does.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from netlab.errors import ProfileError, SpecError
from netlab.traces.bound import bounded_number
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import MAX_SCHEDULE_S, Schedule
from netlab.traces.seed import Direction, link_seed
from netlab.traces.tc_export import TcNetem, distribution_file, tc_netem

if TYPE_CHECKING:
    from netlab.traces.pair import ProfilePair
    from netlab.traces.profile import LinkProfile

__all__ = ["Leg", "Moment", "TcScript", "plan_leg", "tc_script"]

MAX_MOMENTS = 20_000
MAX_ENTRIES = 4_000_000
"""What the tables of one script may hold: some 25 MB of text."""

_MOST_NOTES = 8
_DEVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,14}")
_INSTEAD = "let netlab play it, or export one step with --at"
_NOTES = (
    "netem takes what leaves a device. On the sender's own device a super-packet counts as one packet, and the",
    "sender notices each drop: put it on a router between, or switch offloads off (ethtool -K DEV tso off gso off",
    "gro off). A tc before iproute2 6.9 cuts delays to whole microseconds and to 64 ns.",
)
_SEEDS = """\
case $(tc qdisc add dev lo root netem help 2>&1 || :) in
*'seed SEED'*) seed() { echo "seed $1"; } ;;
*)
    seed() { :; }
    echo 'this tc has no seeds (iproute2 6.6 has): losses and delays differ from run to run' >&2 ;;
esac
"""
_CLOCK = """\
# The steps, at absolute times from here: lateness does not add up, but each change waits for a sleep and a new tc,
# a few ms or more. netlab's own player keeps its times and says how late it was.
start=$(date +%s%N)
case $start in *[!0-9]*) echo 'this date has no %N: install coreutils' >&2; exit 1 ;; esac
at() { # sleep until $1 ns after the beginning of this pass
    left=$((start + $1 - $(date +%s%N)))
    if [ "$left" -gt 0 ]; then sleep "$((left / 1000000000)).$(printf %09d $((left % 1000000000)))"; fi
}
"""


class Moment(NamedTuple):
    """A state and when in a pass it takes hold."""

    at_ns: int
    state: QdiscState


class Leg(NamedTuple):
    """What one device is to do.

    Attributes:
        direction: ``forward`` or ``back``.
        device: Whose outgoing packets are meant.
        moments: The first at 0; one alone stays.
        pass_ns: After which the moments begin again; None where the last one stays.
    """

    direction: Direction
    device: str
    moments: tuple[Moment, ...]
    pass_ns: int | None = None


class TcScript(NamedTuple):
    """A script, and what will not be as asked, each once."""

    text: str
    notes: tuple[str, ...]


def plan_leg(
    asked: LinkProfile | Schedule,
    direction: Direction,
    device: str,
    *,
    link: str,
    seed: int | None = None,
    at_s: float | None = 0.0,
) -> Leg:
    """Return what a device is to do for one direction of a link, with the seeds netlab would give it.

    Args:
        asked: The direction.
        direction: Which one it is.
        device: Whose outgoing packets are meant.
        link: What the link is called; its seeds hang on it.
        seed: Seed of the run; None for no seeds.
        at_s: Of a schedule, the step in force then; None for all of them at their times.

    Raises:
        ProfileError: A number is out of range.
    """

    def seed_of(number: int) -> int | None:
        return None if seed is None else link_seed(seed, link, direction, number)

    if at_s is not None:
        bounded_number("at", at_s, 0.0, MAX_SCHEDULE_S)
    if not isinstance(asked, Schedule):
        return Leg(direction, device, (Moment(0, asked.to_qdisc_state(seed_of(0))),))
    # The state a link is made with has number 0; the schedule's steps follow it.
    if at_s is None:
        states = asked.to_qdisc_states(lambda step: seed_of(1 + step))
        moments = tuple(
            Moment(round(1e9 * step.start_s), state) for step, state in zip(asked.steps, states, strict=True)
        )
        return Leg(direction, device, moments, round(1e9 * asked.duration_s) if asked.loops else None)
    within_s = at_s % asked.duration_s if asked.loops else at_s
    index = bisect.bisect_right([step.start_s for step in asked.steps], within_s) - 1
    state = asked.steps[index].profile.to_qdisc_state(seed_of(1 + index), within_schedule=True)
    return Leg(direction, device, (Moment(0, state),))


def tc_script(pair: ProfilePair, legs: Sequence[Leg]) -> TcScript:
    """Return the POSIX shell script that does what the legs say.

    Raises:
        ProfileError: tc has no words for a state, or the script would be too long.
        SpecError: A device cannot have such a name, or is named twice.
    """
    devices = [leg.device for leg in legs]
    for device in devices:
        if not _DEVICE.fullmatch(device):
            raise SpecError(f"device {device!r:.40}: no name of a network device", hint="see: ip -br link")
        if devices.count(device) > 1:
            raise SpecError(
                f"device {device} twice: one root qdisc cannot be two", hint="name another for the way back"
            )
    tables = _Tables()
    spoken = [_speak(leg, tables) for leg in legs]
    notes = tuple(dict.fromkeys(note for one in spoken for note in one.notes))
    if len(notes) > _MOST_NOTES:
        notes = (*notes[:_MOST_NOTES], f"and {len(notes) - _MOST_NOTES} more of that kind")
    return TcScript("".join(_lines(pair, spoken, tables, notes)), notes)


class _Spoken(NamedTuple):
    """A leg, the tc command of each of its moments, and what of it will not be as asked."""

    leg: Leg
    commands: tuple[str, ...]
    notes: tuple[str, ...]
    has_seeds: bool

    @property
    def plays(self) -> bool:
        return len(self.commands) > 1


class _Tables:
    """The tables of a script, each once, by the name of its file."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, ...], str] = {}
        self._entries = 0

    def name(self, table: tuple[int, ...]) -> str:
        """Return the name of a table's file.

        Raises:
            ProfileError: The script would be too long.
        """
        if table not in self.names:
            self.names[table] = f"netlab{len(self.names)}"
            self._entries += len(table)
            if self._entries > MAX_ENTRIES:
                raise ProfileError(
                    f"{len(self.names)} tables or more: a script holds at most {MAX_ENTRIES} of their entries",
                    hint=_INSTEAD,
                )
        return self.names[table]


def _speak(leg: Leg, tables: _Tables) -> _Spoken:
    """Put a leg into tc's words.

    Raises:
        ProfileError: tc cannot do it.
    """
    if len(leg.moments) > MAX_MOMENTS:
        problem = f"{leg.direction}: {len(leg.moments)} steps: a script has at most {MAX_MOMENTS}"
        raise ProfileError(problem, hint=_INSTEAD)
    if len({moment.state.ecn for moment in leg.moments}) > 1:
        problem = f"{leg.direction}: ecn is on in some steps and off in others: tc cannot switch it off again"
        raise ProfileError(problem, hint=f"give all steps the same; or {_INSTEAD}")
    plays = len(leg.moments) > 1
    netems = [tc_netem(moment.state, complete=plays) for moment in leg.moments]
    commands = (_command(leg, netem, tables, "change" if index else "add") for index, netem in enumerate(netems))
    notes = tuple(f"{leg.direction}: {text}" for netem in netems for text in netem.differences)
    return _Spoken(leg, tuple(commands), notes, any(netem.seed is not None for netem in netems))


def _command(leg: Leg, netem: TcNetem, tables: _Tables, verb: str) -> str:
    names = {name: tables.name(table) for name, table in netem.tables.items()}
    words = " ".join(netem.words).format_map(names)
    seed = "" if netem.seed is None else f" $(seed {netem.seed})"
    return f"tc qdisc {verb} dev {leg.device} root handle 1: netem {words}{seed}\n"


def _lines(pair: ProfilePair, legs: Sequence[_Spoken], tables: _Tables, notes: Sequence[str]) -> Iterator[str]:
    plays = any(one.plays for one in legs)
    yield f"#!/bin/sh\n# {pair.name}: netem by tc, as netlab would set it up\n#\n"
    yield from (f"# {line}\n" for line in _NOTES)
    yield from (f"# Not as asked: {note}\n" for note in notes)
    yield from (f"# To undo: tc qdisc del dev {one.leg.device} root\n" for one in legs)
    yield "set -eu\n"
    acts = ["kill $players 2> /dev/null || :"] if plays else []
    if tables.names:
        # tc takes paths of at most 127 characters, so the folder is not left to TMPDIR.
        yield "TC_LIB_DIR=$(TMPDIR=/tmp mktemp -d)\nexport TC_LIB_DIR\n"
        acts.append('rm -rf "$TC_LIB_DIR"')
    if acts:
        yield f"players=\ntrap '{'; '.join(acts)}' EXIT\ntrap 'exit 130' INT TERM\n"
    for table, name in tables.names.items():
        yield f"cat > \"$TC_LIB_DIR/{name}.dist\" <<'END'\n{distribution_file(table)}END\n"
    if any(one.has_seeds for one in legs):
        yield _SEEDS
    for one in legs:
        yield f"\n# {one.leg.direction}: what leaves {one.leg.device}\n{one.commands[0]}"
    if plays:
        yield f"\n{_CLOCK}"
        for one in legs:
            if one.plays:
                yield from _player(one)
        yield '\nfor player in $players; do wait "$player"; done\n'


def _player(one: _Spoken) -> Iterator[str]:
    """Yield the part of a script that plays a leg, beside the others."""
    leg = one.leg
    yield f"\n( # {leg.direction}\n"
    if leg.pass_ns is not None:
        yield "while :; do\n"
    for moment, command in zip(leg.moments[1:], one.commands[1:], strict=True):
        yield f"at {moment.at_ns}\n{command}"
    if leg.pass_ns is not None:
        first = one.commands[0].replace(" add ", " change ", 1)
        yield f"at {leg.pass_ns}\nstart=$((start + {leg.pass_ns}))\n"
        if one.has_seeds:
            yield "seed() { :; } # the same ones again would lose the same packets in each pass\n"
        yield f"{first}done\n"
    yield ') &\nplayers="$players $!"\n'
