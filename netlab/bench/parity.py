"""How far real services and the training wrapper are apart: the committed table, and some of it played again.

::

    docs/results/parity.json --ParityTable--> largest difference of means, lines that are equivalent
    one cell --play--> agrees with itself tick by tick, races aside? the returns that the table was made of?
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

import netlab
from netlab.bench.figure import Figure
from netlab.errors import FeatureMissing, SpecError
from netlab.tables.deciding_versions import deciding_versions
from netlab.tables.parity_cell import ParityCell, ParityEpisodes
from netlab.tables.parity_engines import VIRTUAL, engine_kernel
from netlab.tables.parity_page import verdict_words
from netlab.tables.parity_race import CLOSE_US
from netlab.tables.parity_rows import DIFFERENCE_SHARE
from netlab.tables.parity_table import ParityLine, ParityTable

__all__ = ["parity"]

TABLE = Path(netlab.__file__).resolve().parents[1] / "docs" / "results" / "parity.json"
AGAIN = ("cartpole-paper", "wifi-degraded")
"""The policy and network that are played again: what is played as it arrives shows every difference."""
EPISODES = 20
_MAKE = "make it again: netlab table parity -o docs/results"


def parity(say: Callable[[str], None]) -> Figure:
    """Read the table, and play some of its episodes again."""
    table = _read()
    virtual = [line for line in table.lines if line.engine == VIRTUAL]
    real = [line for line in table.lines if line.engine != VIRTUAL]
    line = _line(virtual)
    say(f"{_named(line)}: {EPISODES} episodes again, as services and in the wrapper")
    again = _cell(line).play()
    worst = max(virtual, key=lambda one: one.share)
    episodes = sum(one.equivalence.n for one in virtual)
    agrees, how = _judged(table, line, again)
    return Figure(
        name="parity",
        value=100.0 * worst.share,
        unit="% of the range, the largest difference of means in virtual time",
        target=f"all equivalent within {DIFFERENCE_SHARE:.0%} of the range, none different in real time; "
        "what is played again agrees",
        holds=all(one.verdict == "equivalent" for one in virtual)
        and all(one.verdict != "different" for one in real)
        and agrees,
        n=episodes,
        spread=f"{verdict_words(virtual)} of {len(virtual)} in virtual time, the largest is {_named(worst)}; "
        f"{verdict_words(real)} of {len(real)} in real time",
        note=f"in virtual time {sum(one.identical for one in virtual)} of {episodes} the same tick by tick; "
        f"{_named(line)} again: {EPISODES - len(again.partings)} of {EPISODES}; {how}",
    )


def _line(virtual: list[ParityLine]) -> ParityLine:
    """Return the line of which some is played again.

    Raises:
        SpecError: The table lacks it, or has fewer episodes of it.
    """
    line = next((one for one in virtual if (one.policy, one.network, one.actuator) == (*AGAIN, "")), None)
    name = " on ".join(AGAIN)
    if line is None:
        raise SpecError(f"the table has no line of {name} in virtual time", TABLE, hint=_MAKE)
    if len(line.first_services) < EPISODES:
        problem = f"the first run of {name} has {len(line.first_services)} episodes, not {EPISODES} or more"
        raise SpecError(f"{problem}: a table of --quick?", TABLE, hint=_MAKE)
    return line


def _cell(line: ParityLine) -> ParityCell:
    from netlab.agents.policy import find_policy

    return ParityCell(
        policy=line.policy,
        policy_sha256=find_policy(line.policy).sha256,
        network=line.network,
        engine=line.engine,
        kernel=engine_kernel(line.engine),
        seed=line.seeds[0],
        episodes=EPISODES,
    )


def _judged(table: ParityTable, line: ParityLine, again: ParityEpisodes) -> tuple[bool, str]:
    """Return whether what was played again agrees, with itself and with the table, and the reason in words."""
    odd = [one for one in again.partings if not one.is_race]
    if odd:
        return False, (
            f"episode {odd[0].episode} parts at tick {odd[0].tick} ({odd[0].what}), and nothing arrived within "
            f"{CLOSE_US:g} us of a tick that decides, nor of another observation"
        )
    if table.versions != deciding_versions() or table.kernels.get(VIRTUAL) != engine_kernel(VIRTUAL):
        return True, "the table is of other code, other versions or another kernel: its returns are not compared"
    if again.wrapper != line.first_wrapper[:EPISODES]:
        return False, "the wrapper's returns are not those of the table"
    # In virtual time a race may fall to the other side in another clone.
    raced = {one.episode for one in again.partings}
    raced |= {one.episode for seed, one in line.partings if seed == line.seeds[0]}
    pairs = enumerate(zip(again.services, line.first_services[:EPISODES], strict=True))
    if any(played != kept for episode, (played, kept) in pairs if episode not in raced):
        return False, "the services' returns are not those of the table, and no race explains it"
    return True, "the returns are those of the table, races aside"


def _read() -> ParityTable:
    """Return the committed table.

    Raises:
        FeatureMissing: It is not there: netlab is not run from its repository.
        SpecError: It is none, or has nothing in virtual time.
    """
    try:
        text = TABLE.read_bytes()
    except OSError as error:
        words = f"{TABLE} is not there"
        hint = "run it in a clone of the repository, or: netlab table parity -o docs/results"
        raise FeatureMissing("read the parity table", words=words, hint=hint) from error
    try:
        return msgspec.json.decode(text, type=ParityTable)
    except msgspec.DecodeError as error:
        raise SpecError(str(error), TABLE, hint=_MAKE) from error


def _named(line: ParityLine) -> str:
    return f"{line.policy} on {line.network}, {line.engine}"
