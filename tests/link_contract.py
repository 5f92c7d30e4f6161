"""What every link keeps, whatever carries its packets and by whatever clock: the kernel, a relay, the pure model.

A test file imports ``LinkContract``, subclasses it and says what ``open_link`` makes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest
from contract_links import ContractLink

from netlab.clock_name import in_virtual_time
from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState, QdiscState

MS = 1_000_000
SLOW = QdiscState(latency_ns=250 * MS, limit_packets=1000, seed=0x5EED_5EED_5EED)
PACKETS = 60

# Committed, not computed: whoever carries the packets must lose and double these.
FATES: dict[str, tuple[dict[str, object], list[int], list[int]]] = {
    "loss": ({"loss": U32_MAX // 8}, [31, 48], []),
    "Gilbert-Elliott": (
        {"loss_model": GilbertElliottState(p=U32_MAX // 15, r=U32_MAX // 3, h=U32_MAX // 10, k1=U32_MAX // 100)},
        [37, 38, 55, 56],
        [],
    ),
    "4-state": (
        {
            "loss_model": FourStateState(
                p13=U32_MAX // 20, p31=U32_MAX // 4, p32=U32_MAX // 5, p14=U32_MAX // 20, p23=U32_MAX // 3
            )
        },
        [31, 32],
        [],
    ),
    "duplicates": ({"duplicate": U32_MAX // 6}, [], [31, 38, 48]),
    "duplicates and loss": (
        {"duplicate": U32_MAX // 5, "loss": U32_MAX // 6},
        [15, 40, 48, 50, 58],
        [19, 22, 23, 37, 44, 51, 54],
    ),
    "loss in order": ({"loss": U32_MAX // 8, "rate_bytes_per_s": 12_500_000_000}, [31, 48], []),
}


class LinkContract:
    """The contract; ``open_link`` is the subclass's."""

    def open_link(self, state: QdiscState) -> AbstractContextManager[ContractLink]:
        """Make a link in a state, both ways."""
        raise NotImplementedError

    def test_the_first_packet_passes_both_ways(self) -> None:
        with self.open_link(QdiscState(seed=1)) as link:
            link.send([1])
            assert link.receive() == [1]
            link.send([2], "back")
            assert link.receive("back") == [2]

    @pytest.mark.parametrize("name", FATES)
    def test_the_seed_decides_the_fates(self, name: str) -> None:
        fields, lost, doubled = FATES[name]
        with self.open_link(SLOW.replace(**fields)) as link:
            link.send(range(PACKETS))
            arrived = link.receive()
        assert [number for number in range(PACKETS) if number not in arrived] == lost
        assert [number for number in range(PACKETS) if arrived.count(number) > 1] == doubled
        assert arrived == sorted(arrived)

    def test_the_same_seed_again_gives_the_same_fates_and_another_others(self) -> None:
        """60 packets at 50 %: alike by chance once in 10^18."""
        half = QdiscState(latency_ns=5 * MS, loss=U32_MAX // 2, seed=42)
        patterns = []
        with self.open_link(half) as link:
            for seed in (42, 42, 43):
                link.apply(half.replace(seed=seed))
                link.send(range(PACKETS))
                patterns.append(link.receive())
        assert patterns[0] == patterns[1] != patterns[2]

    def test_reordered_packets_leave_first(self) -> None:
        with self.open_link(SLOW.replace(gap=3, reorder=U32_MAX)) as link:
            link.send(range(9))
            assert link.receive() == [2, 5, 8, 0, 1, 3, 4, 6, 7]

    def test_a_change_keeps_the_packets_in_flight(self) -> None:
        with self.open_link(SLOW) as link:
            link.send(range(40))
            link.apply(QdiscState(latency_ns=MS, loss=U32_MAX, seed=2))
            link.send(range(40, 50))
            assert link.receive() == list(range(40))

    def test_a_shorter_delay_overtakes_unless_there_is_a_rate(self) -> None:
        for rate, arrived in ((0, [3, 4, 0, 1, 2]), (12_500_000_000, [0, 1, 2, 3, 4])):
            with self.open_link(SLOW.replace(rate_bytes_per_s=rate)) as link:
                link.send(range(3))
                link.apply(QdiscState(rate_bytes_per_s=rate, seed=2))
                link.send(range(3, 5))
                assert link.receive() == arrived

    def test_the_limit_counts_what_is_in_the_link(self) -> None:
        with self.open_link(SLOW.replace(limit_packets=10)) as link:
            link.send(range(30))
            assert link.receive() == list(range(10))

    def test_what_is_read_is_what_was_asked(self) -> None:
        corrupt = 0 if in_virtual_time() else 9  # links that corrupt are refused there
        first = QdiscState(
            latency_ns=30 * MS, jitter_ns=MS, limit_packets=77, loss=5, duplicate=6, gap=7, reorder=8,
            corrupt=corrupt, rate_bytes_per_s=2**33, packet_overhead_bytes=-4, cell_size_bytes=48,
            cell_overhead_bytes=5, ecn=True, loss_model=GilbertElliottState(p=1, r=2, h=3, k1=4), seed=2**64 - 1,
        )  # fmt: skip
        second = QdiscState(latency_ns=1, loss_model=FourStateState(p13=1, p31=2, p32=3, p14=4, p23=5), seed=0)
        with self.open_link(first) as link:
            assert link.read() == link.read("back") == first
            link.apply(second)
            assert (link.read(), link.read("back")) == (second, first)
            link.apply(QdiscState(seed=3))
            assert link.read() == QdiscState(seed=3), "nothing sticks"

    def test_both_directions_change_together(self) -> None:
        slow, fast = SLOW.replace(seed=5), QdiscState(latency_ns=MS, seed=6)
        with self.open_link(SLOW) as link:
            link.send(range(5), "back")
            link.change_together(slow, fast)
            assert (link.read(), link.read("back")) == (slow, fast)
            link.send([9], "back")
            assert link.receive("back") == [9, 0, 1, 2, 3, 4]
