"""Whether a schedule is being played on a link: the link knows, however long ago its steps left the play log."""

from __future__ import annotations

from netlab.namespaces.link import Link
from netlab.namespaces.link_plan import plan_link


def test_a_link_knows_whether_it_is_played() -> None:
    link = Link("a-b", plan_link(0, "abcdef", 0, 0), None, 9)  # type: ignore[arg-type]
    assert not link.is_played
    is_playing = True
    link.begin_play(lambda: is_playing)
    assert link.is_played
    is_playing = False
    assert not link.is_played, "it has come to its end"
    link.begin_play(lambda: True)
    link.end_play()
    assert not link.is_played
