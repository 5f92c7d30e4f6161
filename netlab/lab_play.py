"""LabPlay: the schedules of a lab's links and the Player that plays them.

::

    add(link, direction, track) ...   start() --> Player, the links are its own   stop() --> ours again

Roof: joins links, which know no time, with a Player, which knows no link.
"""

from __future__ import annotations

import functools

import msgspec

from netlab.errors import LabError
from netlab.namespaces.link import Link
from netlab.namespaces.player import Played, Player
from netlab.namespaces.repeatable import require_no_chance
from netlab.namespaces.staged_changes import PreparesTogether
from netlab.namespaces.timeline import Track
from netlab.traces.seed import Direction

__all__ = ["LabPlay"]


class LabPlay:
    """What is played in a lab.

    Args:
        label: What messages call the lab.

    Attributes:
        player: The newest Player, whether it still plays or not; None before the first.
    """

    def __init__(self, label: str) -> None:
        self.player: Player | None = None
        self._label = label
        self._tracks: list[tuple[Link, Direction, Track]] = []
        self._owner: Player | None = None

    def add(self, link: Link, direction: Direction, track: Track) -> None:
        """Add what one direction of a link is to play, from the next start on.

        Raises:
            ProfileError: In virtual time: a state does what no two runs would do alike.
        """
        for state in track.states:
            require_no_chance(state, link.name)
        seed_of = functools.partial(link.played_seed, direction)
        self._tracks.append((link, direction, msgspec.structs.replace(track, seed_of=seed_of)))

    def links(self) -> list[Link]:
        """Return the links that have something to play."""
        return [link for link, _, _ in self._tracks]

    def start(self) -> Player | None:
        """Begin to play everything from its beginning; None where there is nothing.

        Raises:
            LabError: It is being played already.
            KernelError: What was played before did not take hold.
        """
        if self._owner is not None and self._owner.is_playing():
            hint = "stop_playing() first"
            raise LabError(f"the schedules of {self._label} are being played already", hint=hint)
        self.stop()
        if not self._tracks:
            return None
        played = []
        for link, direction, track in self._tracks:
            impairer = link.impairer(direction)
            assert impairer is not None  # made with the track's first state
            played.append(Played(track, impairer))
        wire = self._tracks[0][0].wire  # one for all links of a lab
        prepares = wire if isinstance(wire, PreparesTogether) else None
        player = self.player = self._owner = Player(played, wire.change_together, wire=prepares)
        for link in {id(link): link for link, _, _ in self._tracks}.values():
            link.begin_play(player.is_playing)
        player.start()
        return player

    def stop(self) -> None:
        """Stop what is being played and read it back; the links stay as they are. Nothing where nothing plays.

        Raises:
            KernelError: A step was refused or did not take hold.
        """
        player, self._owner = self._owner, None
        if player is None:
            return
        try:
            player.stop()
        finally:
            for link, _, _ in self._tracks:
                link.end_play()
