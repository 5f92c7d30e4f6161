"""of_episodes: of all the packets of a lab those that belong to episodes.

::

    begun             begun                      goodbye
      |o o o o ... o    |o o o o ... o   h         |g
      |--episode 0--|   |--episode 1--|
                     h                 what is left out: heartbeats of pauses, and what comes after the goodbye

Pure: knows packets by their length and order alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from netlab.envs.service import ALL_PLAYED
from netlab.envs.tick_log import TickRecord
from netlab.episode.run import EpisodePlan
from netlab.messages import Goodbye, Heartbeat
from netlab.traces.packets.packet_log import PacketLog, PacketRecord
from netlab.wire.frame_length import frame_bytes

__all__ = ["of_episodes", "ticks_of_episodes"]

_GOODBYE_BYTES = frame_bytes(Goodbye(reason=ALL_PLAYED))
_HEARTBEAT_BYTES = frozenset(frame_bytes(Heartbeat(1 << bits)) for bits in (0, 7, 8, 16, 32))
"""A heartbeat's number takes one to nine bytes; no other message is so short."""


def ticks_of_episodes(ticks: Sequence[TickRecord]) -> list[int]:
    """Return how many ticks each episode had."""
    counts = Counter(tick.episode for tick in ticks)
    return [counts[episode] for episode in sorted(counts)]


def of_episodes(log: PacketLog, plan: EpisodePlan, ticks: Sequence[int], begun_ns: Sequence[int]) -> PacketLog:
    """Return a log without what was sent between episodes, and without what came after the edge's goodbye.

    In a pause the services send heartbeats, and how many is the machine's affair. Answers still under way when the
    edge has gone meet a closed port, and how a kernel complains of that, and how often, is its own affair.
    A packet that was sent when an episode's links had been put afresh, and before its first observation, has taken
    a draw that was meant for another one: the header then says so. TCP's packets are left as they are: one is no
    message.

    Args:
        log: The packets of the lab.
        plan: What was played.
        ticks: How many observations each episode sent; then the edge said goodbye.
        begun_ns: When the links were put afresh for each episode, from the log's beginning.
    """
    ours = [one for one in log.records if one.link == plan.link.full_name and not one.is_further_copy]
    said = [one for one in ours if one.direction == plan.outward and not _is_heartbeat(one)]
    played = sum(ticks)
    if plan.episode.transport != "datagram" or len(said) <= played or said[played].length_bytes != _GOODBYE_BYTES:
        return log
    end_ns = said[played].sent_ns
    early, pauses, first = 0, list[tuple[int, int]](), 0
    for count, begin_ns in zip(ticks, begun_ns, strict=False):
        observed_ns = said[first].sent_ns
        early += sum(begin_ns <= one.sent_ns < observed_ns for one in ours)
        if first:
            pauses.append((said[first - 1].sent_ns + 1, begin_ns))
        first += count
    header = log.header | ({"early": f"packets sent before the first observation: {early}"} if early else {})
    records = [one for one in log.records if one.sent_ns <= end_ns and not _is_pause(one, plan, pauses)]
    return PacketLog.of(header, records)


def _is_pause(record: PacketRecord, plan: EpisodePlan, pauses: Sequence[tuple[int, int]]) -> bool:
    """Tell whether it is a heartbeat of a pause, ``[(begin, end), ...]`` in their order."""
    if record.link != plan.link.full_name or not _is_heartbeat(record):
        return False
    place = bisect_left(pauses, (record.sent_ns + 1,)) - 1
    return place >= 0 and record.sent_ns < pauses[place][1]


def _is_heartbeat(record: PacketRecord) -> bool:
    return record.length_bytes in _HEARTBEAT_BYTES
