"""CalfCell: one policy, as it is played, on one network, some episodes in the model.

::

    CalfCell + versions + hash of the code --SHA-256--> key
        `----- score() ------> CalfResult, as JSON
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from netlab.errors import SpecError
from netlab.scoring.scorer import MAX_EPISODES, Overrides, score
from netlab.tables.calf_result import CalfResult
from netlab.tables.cell import cell_key
from netlab.tables.deciding_versions import deciding_versions

__all__ = ["CHOOSING_SEEDS", "FIRST_SEED", "CalfCell"]

CHOOSING_SEEDS = 10_000
"""Seeds below this are for choosing: recipes, horizons, which idea to keep. No table is made of them."""

FIRST_SEED = 1_000_000
"""Tables count their episodes' seeds from here."""

Name = Annotated[str, Meta(min_length=1, max_length=4096)]


class CalfCell(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is played.

    Attributes:
        policy: Name or file.
        policy_sha256: Of its file; empty of one that is code.
        training_seed: That it was trained with; None of one that is code.
        task: What it controls.
        options: Numbers that change the task, by name, for example ``limit_ticks``.
        network: In words.
        overrides: How it is played other than its file says.
        episodes: How many.
        first_seed: Of the first episode; the next is one more.

    Raises:
        SpecError: The seeds are among those for choosing, or there are no episodes.
    """

    policy: Name
    policy_sha256: str = ""
    training_seed: int | None = None
    task: Name
    options: dict[str, int | float] = {}
    network: Name
    overrides: Overrides = Overrides()
    episodes: int
    first_seed: int = FIRST_SEED

    def __post_init__(self) -> None:
        if not 1 <= self.episodes <= MAX_EPISODES:
            raise SpecError(f"{self.episodes}: must be 1 .. {MAX_EPISODES}", key="episodes")
        if self.first_seed < CHOOSING_SEEDS:
            raise SpecError(
                f"{self.first_seed}: seeds 0 .. {CHOOSING_SEEDS - 1} are for choosing",
                key="first_seed",
                hint=f"tables begin at {FIRST_SEED}",
            )

    @property
    def key(self) -> str:
        """What is another one as soon as the figures could be: a file's path is not in it, its contents are."""
        placed = msgspec.structs.replace(self, policy="") if self.policy_sha256 else self
        return cell_key("calf", placed, deciding_versions())

    @property
    def title(self) -> str:
        """What it is, in a line."""
        options = "".join(f", {name} {value:g}" for name, value in sorted(self.options.items()))
        overrides = "".join(f", {word}" for word in msgspec.structs.astuple(self.overrides) if word is not None)
        return f"{self.policy} on {self.network}{options}{overrides}"

    def compute(self) -> bytes:
        """Return the result as JSON.

        Raises:
            NetlabError: It cannot be played, or the policy's file is not what it was.
        """
        made = score(
            self.policy,
            self.network,
            episodes=self.episodes,
            seed=self.first_seed,
            overrides=self.overrides,
            options=self.options,
        )
        if made.policy_sha256 != self.policy_sha256:
            raise SpecError(f"{self.policy} has changed", key="policy", hint="run the same command again")
        return msgspec.json.encode(CalfResult.of(made))
