"""Which machines may fetch and run a guest, where its memory goes, which CPU it gets."""

from __future__ import annotations

import pytest

from netlab.errors import GuestError
from netlab.namespaces.guest.kernel_log import KernelLog
from netlab.namespaces.guest.machine import check_distribution, check_processor, parse_os_release
from netlab.namespaces.guest.memory_place import PlaceFacts, choose_memory_place, memory_places
from netlab.namespaces.guest.processors import busy_ticks, chosen_cpus, idlest_first

GIB = 1 << 30


def test_x86_64_linux_alone() -> None:
    check_processor("x86_64", "Linux")
    for machine, system in (("aarch64", "Linux"), ("x86_64", "Darwin"), ("i686", "Linux")):
        with pytest.raises(GuestError, match=machine):
            check_processor(machine, system)


def test_other_distributions_are_named_with_what_to_do() -> None:
    ubuntu = parse_os_release('PRETTY_NAME="Ubuntu 24.04 LTS"\nID=ubuntu\nID_LIKE=debian\n# c\n')
    with pytest.raises(GuestError, match=r"this is Ubuntu 24\.04 LTS") as caught:
        check_distribution(ubuntu)
    assert "--on host" in caught.value.hint
    with pytest.raises(GuestError, match="an unknown distribution"):
        check_distribution({})


def test_memory_goes_to_the_first_place_with_room() -> None:
    facts = {
        "/dev/shm": PlaceFacts(True, True, 64 << 20),
        "/run/user/1": PlaceFacts(True, False, 8 * GIB),
        "/tmp": PlaceFacts(True, True, 8 * GIB),
    }
    places = memory_places({"XDG_RUNTIME_DIR": "/run/user/1"})
    assert places == tuple(facts)
    assert choose_memory_place(GIB, places, facts.__getitem__) == "/tmp"
    assert choose_memory_place(32 << 20, places, facts.__getitem__) == "/dev/shm"
    with pytest.raises(GuestError) as caught:
        choose_memory_place(16 * GIB, places, facts.__getitem__)
    for reason in ("/dev/shm has 64 MiB free", "/run/user/1 is mounted noexec", "/tmp has 8192 MiB free"):
        assert reason in caught.value.message


def test_a_confined_guests_memory_keeps_out_of_the_users_runtime_folder() -> None:
    assert memory_places({"XDG_RUNTIME_DIR": "/run/user/0"}, confined=True) == ("/dev/shm", "/tmp")


def test_places_that_are_not_there_are_passed_over() -> None:
    with pytest.raises(GuestError, match="/no/such/folder cannot be written to"):
        choose_memory_place(1, ["/no/such/folder"])


STAT = (
    "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 5 20 1000 50 1 2 3 7 7\ncpu1 10 0 2 1000 9 0 0 0 0 0\nintr 5 6\nctxt 9\n"
)


def test_busy_is_neither_idle_nor_waiting() -> None:
    assert busy_ticks(STAT) == {0: 131, 1: 12}


def test_the_idlest_cpu_comes_first_and_the_last_where_all_are_idle() -> None:
    assert idlest_first({0: 100, 1: 50, 2: 10}, {0: 101, 1: 60, 2: 10}, [0, 1, 2]) == (2, 0, 1)
    assert idlest_first({}, {}, [0, 1]) == (1, 0)


def test_a_cpu_that_we_may_not_use_is_refused() -> None:
    with pytest.raises(GuestError, match="CPU 99999"):
        chosen_cpus(99999, {})


def test_the_kernels_last_words() -> None:
    log = KernelLog()
    log.add(b"<0>[    1.19] Kernel panic - not syncing: Attempted to kill init!\r\n[ 1.2] Call Trace:\n")
    assert log.panic == "Kernel panic - not syncing: Attempted to kill init!"
    assert log.out_of_memory == ""
    log.add(b"Out of memory: Killed process 77 (python3)\n")
    assert log.out_of_memory == "Out of memory: Killed process 77 (python3)"
    assert log.last_lines.splitlines()[0] == "  Kernel panic - not syncing: Attempted to kill init!"


def test_the_kernels_words_do_not_pile_up() -> None:
    log = KernelLog()
    for number in range(5000):
        log.add(b"line %06d ......................................\n" % number)
    assert log.lines[-1].startswith("line 004999")
    assert sum(map(len, log.lines)) < 66000


def test_a_missing_disk_is_no_news() -> None:
    log = KernelLog()
    log.add(b"[    0.1] Failed to initialize ubd device 0 :Couldn't determine size\nreal news\n")
    assert log.lines == ["real news"]
