"""What make says, as a count and as one complaint."""

from __future__ import annotations

import pytest

from netlab.namespaces.guest.build_progress import MAX_COMPLAINT_CHARACTERS, TYPICAL_FILES, BuildProgress


def after(*lines: str) -> BuildProgress:
    progress = BuildProgress()
    for line in lines:
        progress.take(line)
    return progress


def test_files_are_counted_and_nothing_else() -> None:
    progress = after(
        "make[1]: Entering directory '/out'",
        "  HOSTCC  scripts/basic/fixdep",
        "  CC      init/main.o",
        "  AS      arch/um/x.o",
        "  AR      init/built-in.a",
        "  LD      vmlinux",
        "  CC [M]  net/x.o",
    )
    assert progress.files == 4
    assert progress.text(1.0) == f"compiling: 4 of about {TYPICAL_FILES} files"
    assert not progress.complaint


def test_more_than_usual_promises_nothing() -> None:
    text = after(*["  CC      a.o"] * (TYPICAL_FILES + 1)).text(300.0)
    assert text == f"compiling: {TYPICAL_FILES + 1} files"


@pytest.mark.parametrize(
    ("files", "elapsed_s", "left"),
    [
        (19, 60.0, ""),  # too few to tell
        (TYPICAL_FILES // 10, 30.0, ", about 4 min left"),
        (TYPICAL_FILES // 10, 138.0, ", about 21 min left"),  # 23 minutes of a busy machine
        (TYPICAL_FILES // 2, 300.0, ", about 5 min left"),
        (TYPICAL_FILES - 10, 300.0, ", less than a minute left"),
        (TYPICAL_FILES, 300.0, ", less than a minute left"),
    ],
)
def test_the_time_left_is_told_by_what_the_files_so_far_have_taken(
    files: int, elapsed_s: float, left: str
) -> None:
    progress = after(*["  CC      a.o"] * files)
    assert progress.text(elapsed_s) == f"compiling: {files} of about {TYPICAL_FILES} files{left}"


@pytest.mark.parametrize(
    "complaint",
    [
        "net/core/dev.c:12:3: error: unknown type name 'foo'",
        "cc1: fatal error: Killed signal terminated program cc1",
        "ld: main.o: undefined reference to `f'",
        "/bin/sh: 1: bc: not found",
        "*** The source tree is not clean, please run 'make ARCH=um mrproper'",
        "make: *** No rule to make target 'allnoconfig'.  Stop.",
    ],
)
def test_the_first_complaint_counts(complaint: str) -> None:
    progress = after(
        "  CC      a.o",
        "make[4]: *** Waiting for unfinished jobs....",
        "make[3]: *** [scripts/Makefile.build:1: a.o] Error 1",
        complaint,
        "b.c:1:1: error: a later one",
    )
    assert progress.complaint == complaint


def test_a_warning_is_no_complaint_and_a_long_one_is_cut() -> None:
    assert not after("a.c:1:1: warning: unused variable 'error'").complaint
    assert len(after("a.c:1:1: error: " + "x" * 9999).complaint) == MAX_COMPLAINT_CHARACTERS


def test_a_full_disk_is_noticed() -> None:
    assert after("fatal error: error writing to /x: No space left on device").no_room
