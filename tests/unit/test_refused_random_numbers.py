"""A process that is refused random numbers finds none, and nothing else is refused."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, errno, os
from netlab.namespaces.guest import kernel_calls
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(16)
def draw(): return libc.syscall(318, buffer, ctypes.c_size_t(16), ctypes.c_uint(0))
print(draw())
kernel_calls.refuse_random_numbers()
ctypes.set_errno(0)
print(draw(), errno.errorcode[ctypes.get_errno()])
os.execvp("sh", ["sh", "-c", "echo on it goes"])
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="guests are x86-64 alone")
def test_a_filter_takes_one_call_away() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["16", "-1 ENOSYS", "on it goes"]
