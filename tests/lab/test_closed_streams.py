"""Commands that are started without stdin or stdout: their programs get nothing, not a file of ours."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_a_program_gets_no_descriptor_of_ours_for_a_closed_stream(closed: str) -> None:
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("there is no /dev/net/tun")
    script = "for n in 0 1 2; do found=$(readlink /proc/$$/fd/$n); echo $found >&2; done"
    exec_ = ["netlab", "exec", "--on", "relay", "--profile", "delay=1ms", "--", "sh", "-c", script]
    program = [sys.executable, "-P", "-m", *exec_]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *program],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *lines, last = [line for line in done.stderr.splitlines() if not line.startswith("netlab: ")]
    assert (len(lines), set(lines)) == (2, {"/dev/null"})
    assert last.startswith("pipe:")
