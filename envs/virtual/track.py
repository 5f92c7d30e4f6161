"""LinkTrack: what one direction of a link does over time, compiled for the link model, without seeds.

Made once for what all episodes play, and anew for each that draws its own network. Knows no packet.
"""

from __future__ import annotations

from netlab.errors import ProfileError
from netlab.traces.model.link_model import check_modelled
from netlab.traces.model.step_times import StepTimes
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule

__all__ = ["LinkTrack"]


class LinkTrack:
    """The states of one direction and when they begin.

    Args:
        asked: A profile, which is in force for ever, or a schedule.

    Attributes:
        is_clear: Packets leave as they come: nothing is asked for that does anything to one.

    Raises:
        ProfileError: It is neither, or has what the model cannot do.
    """

    def __init__(self, asked: LinkProfile | Schedule) -> None:
        if isinstance(asked, Schedule):
            self._profiles = tuple(step.profile for step in asked.steps)
            starts_s = tuple(step.start_s for step in asked.steps)
            self._times = StepTimes(starts_s, asked.duration_s if asked.loop else None)
            self._is_schedule, self.is_clear = True, False
        elif isinstance(asked, LinkProfile):
            self._profiles, self._times = (asked,), StepTimes((0.0,))
            self._is_schedule, self.is_clear = False, _asks_for_nothing(asked)
        else:
            raise ProfileError(
                f"{type(asked).__name__} is nothing that a direction of a link does",
                hint="give a LinkProfile or a Schedule",
            )
        for profile in self._profiles:
            if profile.slot is not None:
                check_modelled(profile.to_qdisc_state(None))
        self._states: dict[int, QdiscState] = {}

    def start_ns(self, step: int) -> int | None:
        """Return when a step begins, counted over the passes of a loop; None where there is no such step."""
        return self._times.start_ns(step)

    def step_at(self, now_ns: int) -> int:
        """Return which step holds at a time, counted over the passes of a loop."""
        return self._times.step_at(now_ns)

    def profile(self, step: int) -> LinkProfile:
        """Return what is asked for in a step."""
        return self._profiles[step % len(self._profiles)]

    def state(self, step: int, seed: int) -> QdiscState:
        """Return a step's state with a seed."""
        within = step % len(self._profiles)
        state = self._states.get(within)
        if state is None:
            profile = self._profiles[within]
            state = profile.to_qdisc_state(None, within_schedule=self._is_schedule)
            self._states[within] = state
        return state.replace(seed=seed)


def _asks_for_nothing(profile: LinkProfile) -> bool:
    """Tell that a direction does nothing to packets: neither a law without jitter nor the order matters then."""
    return profile.law != "table" and profile == LinkProfile(law=profile.law, ordered=profile.ordered)
