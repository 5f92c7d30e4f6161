"""LabChanges: what ``netlab lab set`` asks of a lab, done at one moment, proven, and kept for ``show``.

::

    SetLinks --all of it is possible?--> change_links: together, then read back --.
                                         media, one after another ----------------+--> ChangeReport ..., the log
                                                                                  `--> LinksSet | KernelError
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque

from netlab.did_you_mean import did_you_mean
from netlab.errors import KernelError, LabError, NetlabError, SpecError
from netlab.holder.medium_wish import MEDIUM_PREFIX, MediumWish
from netlab.holder.messages import LinksSet, LinkWish, SetLinks
from netlab.holder.report import ChangeReport, state_document
from netlab.lab import Lab
from netlab.namespaces.link import Link
from netlab.namespaces.link_change import AppliedChange, LinkChange, change_links
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import Direction

__all__ = ["LabChanges"]

_CHANGES_KEPT = 1000
_LOOK = "netlab lab show tells what is in force"
_LOG = logging.getLogger("netlab.lab")


class LabChanges:
    """The changes of one lab by hand.

    Args:
        lab: The lab, open.
        up_s: Since when, on the monotonic clock: times are told from then.
    """

    def __init__(self, lab: Lab, up_s: float) -> None:
        self._lab = lab
        self._up_s = up_s
        self._kept: deque[ChangeReport] = deque(maxlen=_CHANGES_KEPT)
        self._turn = threading.Lock()

    def newest(self) -> list[ChangeReport]:
        """Return the newest of them, oldest first, the refused ones too."""
        return list(self._kept)

    def make(self, asked: SetLinks) -> LinksSet:
        """Change links, all at one moment, then media, and prove it.

        Raises:
            SpecError: There is no such link or medium, one is named twice, a profile is a schedule, or a direction
                of a medium is asked for.
            ProfileError: A profile is none, or a medium cannot be so.
            FeatureMissing: Links cannot be impaired here.
            LabError: A schedule is being played on one of them, or what carries the packets has died.
            LabError: A schedule had failed before it was stopped; no link was changed by hand then.
            KernelError: A change was refused or shows otherwise; says which took hold all the same.
        """
        _require_once(asked.wishes)
        media = [self._find_medium(wish, asked) for wish in asked.wishes if wish.link.startswith(MEDIUM_PREFIX)]
        wishes = [wish for wish in asked.wishes if not wish.link.startswith(MEDIUM_PREFIX)]
        links = [self._find_link(wish.link) for wish in wishes]
        pairs = [parse_preset(wish.profile) for wish in wishes]
        for wish, pair in zip(wishes, pairs, strict=True):
            _require_steady(wish.link, pair, asked.direction)
        wanted = [
            LinkChange(link, _part(pair, asked.direction), asked.direction)
            for link, pair in zip(links, pairs, strict=True)
        ]
        with self._turn:
            if asked.stop_playing:
                self._stop_playing()
            changes = [self._note(self._report_change(change)) for change in self._change_links(wanted)]
            changes += [self._note(self._change_medium(wish)) for wish in media]
        _require_all(changes)
        warnings = [text for pair in pairs for text in pair.warnings()]
        return LinksSet(changes=changes, warnings=list(dict.fromkeys(warnings)))

    def _stop_playing(self) -> None:
        try:
            self._lab.stop_playing()
        except NetlabError as error:
            problem = f"the schedules are stopped, and no link was changed by hand; one had failed before: {error}"
            raise LabError(problem, hint=_LOOK) from error

    def _change_links(self, wanted: list[LinkChange]) -> list[AppliedChange]:
        if not wanted:
            return []
        try:
            return change_links(wanted[0].link.wire, wanted)
        except LabError as error:
            playing = self._lab.player is not None and self._lab.player.is_playing()
            hint = "--stop-playing stops the lab's schedules first" if playing else error.hint
            raise LabError(error.message, hint=hint) from error

    def _note(self, change: ChangeReport) -> ChangeReport:
        """Keep a change for ``show``, whatever becomes of those that follow it."""
        self._kept.append(change)
        _LOG.info(
            "%s %s: asked at %.3f s, applied at %.3f s: %s",
            change.link, change.direction, change.asked_s, change.applied_s, change.refusal or "in force",
        )  # fmt: skip
        return change

    def _report_change(self, change: AppliedChange) -> ChangeReport:
        return ChangeReport(
            link=change.link,
            direction=change.direction,
            state=state_document(change.state),
            asked_s=change.asked_s - self._up_s,
            applied_s=change.applied_s - self._up_s,
            refusal=str(change.refusal) if change.refusal is not None else "",
        )

    def _find_medium(self, wish: LinkWish, asked: SetLinks) -> MediumWish:
        if asked.direction is not None:
            hint = "leave --direction out, or change links and media one after the other"
            raise SpecError("a medium is shared by both directions", key=wish.link, hint=hint)
        found = MediumWish.read(self._lab, wish)
        _ = found.state  # refuses what is none before anything changes
        return found

    def _change_medium(self, wish: MediumWish) -> ChangeReport:
        asked_s, refusal = time.monotonic(), ""
        try:
            wish.apply()
        except NetlabError as error:  # those before it have changed: the answer must name them
            refusal = str(error)
        return ChangeReport(
            link=f"{MEDIUM_PREFIX}{wish.medium.name}",
            direction="shared",
            state=state_document(wish.state),
            asked_s=asked_s - self._up_s,
            applied_s=time.monotonic() - self._up_s,
            refusal=refusal,
        )

    def _find_link(self, name: str) -> Link:
        link = self._lab.links.get(name)
        if link is None:
            known = ", ".join(self._lab.links)[:500] or "none"
            hint = did_you_mean(name, self._lab.links) or f"its links: {known}"
            raise SpecError(f"{name!r:.80} is no link of lab {self._lab.name}", key="link", hint=hint)
        return link


def _require_once(wishes: list[LinkWish]) -> None:
    """Refuse a link or medium that is named twice, before anything changes."""
    name, times = Counter(wish.link for wish in wishes).most_common(1)[0]
    if times > 1:
        raise SpecError(f"{name!r:.80} is named {times} times", key="set", hint="name each link once")


def _part(pair: ProfilePair, direction: Direction | None) -> ProfilePair | LinkProfile:
    if direction is None:
        return pair
    part = pair.forward if direction == "forward" else pair.back
    assert isinstance(part, LinkProfile)  # _require_steady
    return part


def _require_steady(link: str, pair: ProfilePair, direction: Direction | None) -> None:
    """Refuse a schedule: a link that stays is changed by hand to one profile."""
    parts = [pair.forward] * (direction != "back") + [pair.back] * (direction != "forward")
    if not all(isinstance(part, LinkProfile) for part in parts):
        hint = "give a profile without steps here, or the schedule in the spec of a new lab"
        raise SpecError(f"{pair.name!r:.80} is a schedule", key=link, hint=hint)


def _require_all(changes: list[ChangeReport]) -> None:
    """Refuse to call it done where a direction did not change.

    Raises:
        KernelError: Names those that did not, and those that did.
    """
    refused = [f"{change.link} {change.direction}: {change.refusal}" for change in changes if change.refusal]
    if refused:
        done = [f"{change.link} {change.direction}" for change in changes if not change.refusal]
        rest = f"; changed all the same: {', '.join(done)}" if done else ""
        raise KernelError("change every link as asked", 0, "; ".join(refused) + rest, _LOOK)
