"""When a guest is ended, by the clock outside, by the one inside, and when that stands still."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.namespaces.guest.watchdog import LOOK_EVERY_S, LOST_PROCESS, Verdict, VirtualWatchdog, WallWatchdog


class Scene:
    """A watchdog with a clock and notes that the test moves; the kernel has been started."""

    def __init__(
        self,
        folder: Path,
        deadline_s: float | None = None,
        busiest: str = "python3 spin.py",
        started: bool = True,
        init_lost: bool = False,
    ) -> None:
        self.now_s = 100.0
        self.folder = folder
        self.dog = VirtualWatchdog(
            WallWatchdog(deadline_s, self.clock),
            folder,
            budget_s=60.0,
            stall_s=5.0,
            busiest=lambda: busiest,
            init_lost=lambda: init_lost,
            clock=self.clock,
        )
        if started:
            self.dog.begin()

    def clock(self) -> float:
        return self.now_s

    def beat(self, passed_s: float) -> None:
        (self.folder / "beat").write_text(f"{passed_s:.3f}\n")

    def watch(self, duration_s: float, *, held_up: bool = False, step_s: float = LOOK_EVERY_S) -> Verdict | None:
        end_s = self.now_s + duration_s
        while self.now_s < end_s:
            self.now_s += step_s
            verdict = self.dog.look(held_up=held_up)
            if verdict is not None:
                return verdict
        return None


def test_no_limit_outside_is_none() -> None:
    dog = WallWatchdog(None, lambda: 1e9)
    assert dog.patience_s() is None
    assert dog.look(held_up=False) is None


def test_the_limit_outside_is_124() -> None:
    now_s = [5.0]
    dog = WallWatchdog(7.0, lambda: now_s[0])
    assert (dog.patience_s(), dog.look(held_up=False)) == (2.0, None)
    now_s[0] = 7.0
    assert dog.look(held_up=False) == Verdict(124)


def test_the_limit_outside_names_what_runs_in_virtual_time(tmp_path: Path) -> None:
    scene = Scene(tmp_path, deadline_s=102.0)
    scene.beat(3.25)
    verdict = scene.watch(10.0)
    assert verdict is not None
    assert verdict.status == 124
    assert "at 3.250 s of guest time; running: python3 spin.py" in verdict.message
    assert scene.now_s == 102.0


def test_time_that_goes_on_is_left_alone(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for number in range(20):
        scene.beat(number / 4)
        assert scene.watch(4.0) is None


def test_time_that_stands_still_is_told_with_what_runs(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.beat(1.037)
    verdict = scene.watch(100.0)
    assert verdict is not None
    assert verdict.status is None
    assert "stood still for 5 s, at 1.037 s of guest time; running: python3 spin.py" in verdict.message
    assert "charge()" in verdict.hint
    assert 105.0 <= scene.now_s <= 106.0


def test_before_the_first_beat_the_same_holds(tmp_path: Path) -> None:
    verdict = Scene(tmp_path).watch(100.0)
    assert verdict is not None
    assert "before its first beat" in verdict.message


def test_before_the_kernel_starts_nothing_stands_still(tmp_path: Path) -> None:
    """Input is read to its end first, and whoever writes it may take any time."""
    scene = Scene(tmp_path, started=False)
    assert scene.dog.patience_s() is None
    assert scene.watch(1000.0) is None
    scene.dog.begin()
    assert scene.watch(4.0) is None
    assert scene.watch(2.0) is not None


def test_the_limit_outside_holds_before_the_kernel_starts(tmp_path: Path) -> None:
    scene = Scene(tmp_path, deadline_s=102.0, started=False)
    assert scene.dog.patience_s() == 2.0
    verdict = scene.watch(10.0)
    assert verdict is not None
    assert (verdict.status, scene.now_s) == (124, 102.0)
    assert "before the guest was started: all of its input is read first" in verdict.message


def test_where_nothing_is_seen_to_run_the_last_note_is_told(tmp_path: Path) -> None:
    (tmp_path / "processes").write_text("cat /slow/file (waiting)\n")
    verdict = Scene(tmp_path, busiest="").watch(100.0)
    assert verdict is not None
    assert "no program is seen to run; its programs, as last noted: cat /slow/file (waiting)" in verdict.message


def test_a_slow_reader_of_the_output_is_not_the_guests_fault(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.beat(1.0)
    assert scene.watch(100.0, held_up=True) is None
    assert scene.watch(4.0) is None
    assert scene.watch(2.0) is not None


def test_a_launcher_that_was_stopped_counts_little_of_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.beat(1.0)
    assert scene.watch(2.0) is None
    assert scene.watch(1000.0, step_s=1000.0) is None
    assert scene.watch(100.0) is not None


def test_spent_virtual_time_is_told_with_what_waits(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (tmp_path / "processes").write_text("a (waiting)\nb (waiting)\n")
    scene.beat(59.9)
    assert scene.watch(1.0) is None
    scene.beat(60.0)
    verdict = scene.watch(1.0)
    assert verdict is not None
    assert verdict.status is None
    assert "60 s of virtual time are spent" in verdict.message
    assert "a (waiting); b (waiting)" in verdict.message


@pytest.mark.parametrize(("deadline_s", "patience_s"), [(None, 0.5), (100.2, 0.2), (200.0, 0.5)])
def test_it_looks_again_soon_or_at_the_deadline(
    tmp_path: Path, deadline_s: float | None, patience_s: float
) -> None:
    assert Scene(tmp_path, deadline_s=deadline_s).dog.patience_s() == pytest.approx(patience_s)


def test_a_killed_pid_1_is_not_blamed_on_the_program(tmp_path: Path) -> None:
    scene = Scene(tmp_path, init_lost=True)
    scene.beat(3.25)
    verdict = scene.watch(10.0)
    assert verdict == Verdict(None, LOST_PROCESS)
