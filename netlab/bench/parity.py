"""How far real services and the training wrapper are apart: the committed table, and some of it played again.

::

    docs/results/parity.json --ParityTable--> largest difference of means, lines that are equivalent
    one cell --play--> the same returns as the table was made of?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

import netlab
from netlab.bench.figure import Figure
from netlab.errors import FeatureMissing, SpecError
from netlab.tables.parity_cell import VIRTUAL, ParityCell
from netlab.tables.parity_table import ParityLine, ParityTable

__all__ = ["parity"]

TABLE = Path(netlab.__file__).resolve().parents[1] / "docs" / "results" / "parity.json"
AGAIN = ("cartpole-paper", "wifi-degraded")
"""The policy and network that are played again: what is played as it arrives shows every difference."""
EPISODES = 20


def parity(say: Callable[[str], None]) -> Figure:
    """Read the table, and play some of its episodes again."""
    table = _read()
    virtual = [line for line in table.lines if line.engine == VIRTUAL]
    real = [line for line in table.lines if line not in virtual]
    worst = max(virtual, key=lambda line: line.share)
    line = next(one for one in virtual if (one.policy, one.network) == AGAIN)
    say(f"{_named(line)}: {EPISODES} episodes again, as services and in the wrapper")
    again = ParityCell(
        policy=line.policy, network=line.network, engine=line.engine, seed=line.seeds[0], episodes=EPISODES
    ).play()
    episodes = sum(one.equivalence.n for one in virtual)
    return Figure(
        name="parity",
        value=100.0 * worst.share,
        unit="% of the range, the largest difference of means in virtual time",
        target="all equivalent within 2 % of the range, none different in real time",
        holds=all(one.verdict == "equivalent" for one in virtual)
        and all(one.verdict != "different" for one in real),
        n=episodes,
        spread=f"{_verdicts(virtual)} of {len(virtual)} in virtual time, the largest is {_named(worst)}; "
        f"{_verdicts(real)} of {len(real)} in real time",
        note=f"in virtual time {sum(one.identical for one in virtual)} of {episodes} the same tick by tick; "
        f"{_named(line)} again: {EPISODES - len(again.partings)} of {EPISODES} "
        f"(services {sum(again.services) / EPISODES:.1f}, wrapper {sum(again.wrapper) / EPISODES:.1f})",
    )


def _all_are(lines: list[ParityLine], *verdicts: str) -> bool:
    return all(line.verdict in verdicts for line in lines)


def _verdicts(lines: list[ParityLine]) -> str:
    counts = Counter(line.verdict for line in lines)
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) or "none"


def _read() -> ParityTable:
    """Return the committed table.

    Raises:
        FeatureMissing: It is not there: netlab is not run from its repository.
        SpecError: It is none.
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
        raise SpecError(str(error), TABLE, hint="make it again: netlab table parity -o docs/results") from error


def _named(line: ParityLine) -> str:
    return f"{line.policy} on {line.network}, {line.engine}"
