"""require_repeatable: in virtual time no link may do what a second run would do otherwise.

Three things of netem come by chance, whatever the seed: without one it draws its own, a correlation begins with a
random value that no seed sets, and which bit of a packet a corruption flips is drawn from elsewhere. In real time
all three are the user's business.
"""

from __future__ import annotations

from netlab.clock_name import in_virtual_time
from netlab.errors import ProfileError
from netlab.traces.qdisc_state import QdiscState

__all__ = ["require_no_chance", "require_repeatable"]

_CORRELATIONS = (
    "delay_correlation",
    "loss_correlation",
    "duplicate_correlation",
    "reorder_correlation",
    "corrupt_correlation",
)


def require_repeatable(state: QdiscState, link: str) -> None:
    """Do nothing in real time, or where a state does the same in every run.

    Raises:
        ProfileError: It has a correlation, corruption or no seed, and time is virtual.
    """
    require_no_chance(state, link)
    if in_virtual_time() and state.seed is None:
        raise ProfileError(
            f"link {link}: seed = None: in virtual time every state has one, else no two runs are alike",
            hint="give the state a seed, or apply a profile, which gets one",
        )


def require_no_chance(state: QdiscState, link: str) -> None:
    """Do nothing in real time, or where a state that gets a seed later will do the same in every run.

    Raises:
        ProfileError: It has a correlation or corruption, and time is virtual.
    """
    if not in_virtual_time():
        return
    for name in _CORRELATIONS:
        if getattr(state, name):
            raise ProfileError(
                f"link {link}: {name} = {getattr(state, name)}: in virtual time there is none, since netem begins "
                "it with a value that no seed sets",
                hint="leave the correlation out, or run in real time",
            )
    if state.corrupt:
        raise ProfileError(
            f"link {link}: corrupt = {state.corrupt}: in virtual time there is none, since which bit netem "
            "flips is drawn from chance that no seed sets",
            hint="real time, or leave corrupt out",
        )
