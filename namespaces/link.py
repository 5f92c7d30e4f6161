"""Link: two hosts joined through the wire of their lab, each direction impaired or not.

::

    host A eth0 ---- wire: [forward ->] ---- eth0 host B
                     wire: [<- back   ]

What carries the packets is the wire's affair, and opening links is ``link_opening``'s; a link numbers the seeds
and applies states.
Neighbours are static and IPv6 is off: nothing but the hosts' own packets spends a link's seed.

Must not know labs, processes or time, nor whether a kernel or a relay is its wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from netlab.errors import LabError, ProfileError
from netlab.namespaces.impairer import Change, Impairer
from netlab.namespaces.link_plan import LinkPlan
from netlab.namespaces.medium import Medium
from netlab.namespaces.repeatable import require_repeatable
from netlab.namespaces.wire import Wire
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import DIRECTIONS, Direction, link_seed

__all__ = ["Link", "LinkReading"]


class LinkReading(NamedTuple):
    """What the kernel or relay that carries a link shows of it now; None for a direction without impairment."""

    forward: QdiscState | None
    back: QdiscState | None


class Link:
    """A link between two hosts, each direction with an impairment of its own or none.

    Attributes:
        name: What messages and seeds call it.
        plan: Its names, numbers and addresses.
        wire: What carries its packets.
        forward: What happens from the first host to the second; None as long as nothing was asked for.
        back: What happens from the second host to the first.
        medium: The rate and queue it shares with others, before what it does itself; None for none.
    """

    def __init__(self, name: str, plan: LinkPlan, wire: Wire, run_seed: int, medium: Medium | None = None) -> None:
        self.name = name
        self.plan = plan
        self.forward: Impairer | None = None
        self.back: Impairer | None = None
        self.wire = wire
        self.medium = medium
        self._run_seed = run_seed
        # Changes so far, which number the seeds; and where that stood when play began.
        self._changes = dict.fromkeys(DIRECTIONS, 0)
        self._play_from = dict.fromkeys(DIRECTIONS, 0)
        self._is_playing: Callable[[], bool] = _never

    def apply(
        self, impairment: LinkProfile | ProfilePair | QdiscState, direction: Direction | None = None
    ) -> None:
        """Change what the link does and prove it; packets in flight stay in flight.

        Args:
            impairment: A pair for both directions, or a profile or state for the direction named (both,
                unless one is named). Profiles get a fresh seed each time; a state is applied as it is.
            direction: ``forward`` or ``back``.

        Raises:
            LabError: A schedule is being played on this link, or what carries its packets has died.
            ProfileError: It is no impairment, or none that a link of this wire can have.
            FeatureMissing: Links cannot be impaired here.
            KernelError: It is refused, or another state than asked for shows afterwards.
        """
        for one, state in self.plan_states(impairment, direction):
            self.put(one, state)

    def plan_states(
        self, impairment: LinkProfile | ProfilePair | QdiscState, direction: Direction | None = None
    ) -> list[tuple[Direction, QdiscState]]:
        """Return what ``apply`` would put in force, direction by direction; the seeds are used up by it.

        Raises:
            LabError: A schedule is being played on this link.
            ProfileError: It is no impairment.
        """
        self._require_idle()
        if direction is not None and direction not in DIRECTIONS:
            hint = "name one of the two, or leave the direction out for both"
            raise ProfileError(f"direction = {direction!r:.80}: must be forward or back", hint)
        planned: list[tuple[Direction, QdiscState]] = []
        for one in DIRECTIONS if direction is None else (direction,):
            asked = getattr(impairment, one) if isinstance(impairment, ProfilePair) else impairment
            if isinstance(asked, LinkProfile):
                asked = asked.to_qdisc_state(self._next_seed(one))
            if not isinstance(asked, QdiscState):
                hint = "apply a profile, a pair or a state; a schedule is played: Lab.play()"
                raise ProfileError(f"{type(asked).__name__} is no state of a link", hint)
            require_repeatable(asked, self.name)
            planned.append((one, asked))
        return planned

    def number_changes_from(self, number: int) -> None:
        """Have the next change, of each direction, be the one with this number; numbers used up stay so.

        Raises:
            LabError: A schedule is being played on this link, or a change had this number.
        """
        self._require_idle()
        made = max(self._changes.values())
        if number < made:
            raise LabError(f"link {self.name}: change {number} cannot follow {made} changes that have been made")
        self._changes = dict.fromkeys(DIRECTIONS, number)

    def plan_restart(self) -> list[Change]:
        """Return what puts each direction in its state afresh; the seeds are used up by it."""
        changes = []
        for direction in DIRECTIONS:
            impairer = self.impairer(direction)
            if impairer is not None and impairer.asked is not None and impairer.asked.seed is not None:
                seed = self._next_seed(direction)
                changes.append(Change(impairer, impairer.asked.replace(seed=seed)))
        return changes

    def put(self, direction: Direction, state: QdiscState) -> None:
        """Put one direction in a state and prove it; the first time its impairment is made.

        Raises:
            ProfileError: A link of this wire cannot be in such a state.
            FeatureMissing: Links cannot be impaired here.
            KernelError: It is refused, or another state shows afterwards.
            LabError: What carries the packets has died.
        """
        impairer = self.impairer(direction)
        if impairer is not None:
            impairer.apply(state)
            return
        self.wire.require_impairments()
        setattr(self, direction, self.wire.impair(self.plan, direction, state))

    def read(self) -> LinkReading:
        """Return what shows now.

        Raises:
            KernelError: An impairment has been deleted by someone else.
            LabError: What carries the packets has died.
        """
        return LinkReading(*(one.read() if one else None for one in (self.forward, self.back)))

    def impairer(self, direction: Direction) -> Impairer | None:
        """Return what impairs one direction; None as long as nothing was asked for."""
        return self.forward if direction == "forward" else self.back

    @property
    def seeded(self) -> bool:
        """Tell whether seeds decide what it does: each impairment has one, and what carries packets heeds it."""
        states = [one.asked for one in (self.forward, self.back) if one is not None]
        if not states:
            return True
        return self.wire.seeded and all(state is not None and state.seed is not None for state in states)

    @property
    def is_played(self) -> bool:
        """Tell whether a schedule is being played on it, which changes it by itself."""
        return self._is_playing()

    def begin_play(self, is_playing: Callable[[], bool]) -> None:
        """Leave the link to a Player; nobody else changes it as long as ``is_playing`` tells so."""
        self._is_playing = is_playing
        self._play_from = dict(self._changes)

    def end_play(self) -> None:
        """Take the link back from its Player, which has been stopped."""
        self._is_playing = _never

    def played_seed(self, direction: Direction, step: int) -> int:
        """Return the seed of a step that is played, counted from 0 over all passes of a loop.

        Seeds are numbered by the changes of the link, whoever makes them: none comes twice, not that of the
        state before play, nor those of an earlier play or of a change by hand after it.
        """
        number = self._play_from[direction] + step
        self._changes[direction] = max(self._changes[direction], number + 1)
        return link_seed(self._run_seed, self.name, direction, number)

    def _require_idle(self) -> None:
        if self._is_playing():
            hint = "Lab.stop_playing() before changing it by hand"
            raise LabError(f"link {self.name} is being played", hint=hint)

    def _next_seed(self, direction: Direction) -> int:
        number = self._changes[direction]
        self._changes[direction] += 1
        return link_seed(self._run_seed, self.name, direction, number)


def _never() -> bool:
    """Tell that nobody plays."""
    return False
