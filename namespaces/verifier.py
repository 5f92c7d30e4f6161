"""Verifier: reads back what a Player has changed, beside it, and only where it cannot make a change late.

::

    Player --note(name, impairer)--> Verifier --verify--> kernel
           <------- check() --------         `- turn(now, next change): what may be read back now is

Pure but for the impairers: no clock, no thread; whoever runs it says what time it is.
"""

from __future__ import annotations

from netlab.errors import NetlabError
from netlab.namespaces.impairer import Impairer

__all__ = ["Verifier"]

EVERY_S = 1.0
"""Each direction is read back about so often while it changes."""

SLACK_S = 0.005
"""A read-back begins only where the next change is so far away; one takes about 0.3 ms in a guest kernel."""

PATIENCE_S = 0.5
"""Where there has been no such time for so long, a read-back takes it: a change is then late by that much."""

IDLE_S = 0.25

PACE_S = 0.01
"""From one read-back to the next while there are changes to come: one takes 0.16 ms in a guest kernel, so a
thousand links never cost more than a sixtieth of a processor. Each is then read back every twenty seconds."""


class Verifier:
    """Keeps what has changed since it was last read back.

    Attributes:
        verified: Read-backs that showed the state asked for.
        problem: The first difference, or why nothing could be read; None while there is none.
    """

    def __init__(self) -> None:
        self.verified = 0
        self.problem: NetlabError | None = None
        self._changed: dict[str, Impairer] = {}
        self._round: list[str] = []
        self._next_round_s = 0.0
        self._patient_until_s = 0.0
        self._pause_s = SLACK_S / 2

    def note(self, name: str, impairer: Impairer) -> None:
        """Note that a direction has changed; any thread may."""
        self._changed[name] = impairer

    def turn(self, now_s: float, next_change_s: float | None) -> float:
        """Read back one direction, if it is time and there is time.

        Args:
            now_s: The time.
            next_change_s: When the next change is due; None when there is none left.

        Returns:
            Seconds until the next turn makes sense.
        """
        if not self._round:
            if now_s < self._next_round_s or not self._changed:
                return IDLE_S
            self._round = list(self._changed)
            self._next_round_s = now_s + EVERY_S
            self._patient_until_s = now_s + PATIENCE_S
        if next_change_s is not None and next_change_s - SLACK_S < now_s < self._patient_until_s:
            # Looking costs the thread that plays a little as well: ever less often where it finds no time.
            self._pause_s = min(2.0 * self._pause_s, PATIENCE_S / 4)
            return max(next_change_s - now_s, 0.0) + self._pause_s / 2
        self._patient_until_s = now_s + PATIENCE_S
        self._pause_s = SLACK_S / 2
        self._verify(self._round.pop())
        return PACE_S if self._round and next_change_s is not None else 0.0

    def is_done(self) -> bool:
        """Tell whether all that has changed so far is read back."""
        return not self._changed

    def finish(self) -> None:
        """Read back everything that has changed since it was last read back; nothing changes it meanwhile."""
        self._round.clear()
        for name in list(self._changed):
            self._verify(name)

    def _verify(self, name: str) -> None:
        impairer = self._changed.pop(name, None)
        if impairer is None:
            return
        try:
            if impairer.verify():
                self.verified += 1
            else:
                self._changed.setdefault(name, impairer)
        except NetlabError as error:  # what carries the packets may have died
            self.problem = self.problem or error
