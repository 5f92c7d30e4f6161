"""Virtual CPUs between processes: who waits, and what becomes of a token whose holder is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from netlab.cpu_tokens import CpuTokens

HOLD = """
import sys, time
from netlab.cpu_tokens import CpuTokens
CpuTokens.of_this_host().take()
print("held", flush=True)
time.sleep(60)
"""
CHARGE = "from netlab.charge import charge\nfor _ in range(10): charge(0.004)\n"


@pytest.fixture
def one_cpu() -> Iterator[CpuTokens]:
    tokens = CpuTokens.make(1)
    yield tokens
    tokens.close()


def start(program: str, tokens: CpuTokens) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **tokens.variables, "NETLAB_CLOCK": "virtual"},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_token_comes_back_from_a_process_that_is_killed(one_cpu: CpuTokens) -> None:
    with start(HOLD, one_cpu) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with start("from netlab.charge import charge; charge(0.001); print('done')", one_cpu) as waiter:
            time.sleep(0.3)
            assert waiter.poll() is None, "it ran though the only CPU was taken"
            os.kill(holder.pid, signal.SIGKILL)
            assert waiter.communicate(timeout=30)[0] == "done\n"
    one_cpu.take()
    one_cpu.give()


def test_on_one_cpu_two_programs_take_the_sum_of_their_costs(one_cpu: CpuTokens) -> None:
    begin_s = time.monotonic()
    programs = [start(CHARGE, one_cpu) for _ in range(2)]
    for program in programs:
        program.communicate(timeout=30)
    assert time.monotonic() - begin_s >= 2 * 10 * 0.004


def test_tokens_end_with_their_lab() -> None:
    tokens = CpuTokens.make(3)
    (number,) = tokens.variables.values()
    tokens.close()
    tokens.close()
    with pytest.raises(OSError, match="Invalid argument"):
        CpuTokens(int(number)).take()


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_an_impossible_number_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=r"1 \.\. 1024"):
        CpuTokens.make(count)
