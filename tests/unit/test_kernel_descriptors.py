"""Whatever numbers a supervisor's descriptors have, the kernel's are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
from netlab.namespaces.guest.kernel_descriptors import JOB_FOLDER_LINK, KERNEL_FDS, number_descriptors
wanted = [int(word) for word in sys.argv[2].split(",")]
pipes = {}
for text in "abcd":
    near, far = os.pipe()
    os.write(far, text.encode())
    pipes[text] = os.dup2(near, 100 + len(pipes))
high = dict(zip(pipes, wanted))
for text, number in high.items():
    os.dup2(pipes[text], number)
number_descriptors(wanted, sys.argv[1])
print(b"".join(os.read(fd, 1) for fd in KERNEL_FDS).decode(), all(os.get_inheritable(fd) for fd in KERNEL_FDS))
print(os.readlink(JOB_FOLDER_LINK))
"""


@pytest.mark.parametrize("numbers", ["3,4,5,6", "6,5,4,3", "7,3,8,4", "20,21,22,23", "8,9,10,7"])
def test_descriptors_get_their_numbers_wherever_they_were(numbers: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), numbers],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["abcd True", str(tmp_path)]
