"""The second process: who goes there, what is reported of it, and what is left when it dies or is interrupted."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PROCESS = "import os\ndef test_process():\n    print(os.getpid(), flush=True)\n"


@pytest.fixture
def few_tests(tmp_path: Path) -> Path:
    """A folder with this folder's conftest and no tests yet."""
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    for file in TESTS.glob("*.py"):
        shutil.copy(file, tmp_path / "tests")
    shutil.copy(TESTS.parent / "pyproject.toml", tmp_path)
    return tmp_path


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / "tests" / "unit" / f"test_{name}.py").write_text(text)


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--second-process", *options, "tests"],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith(("NETLAB_", "PYTEST_"))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_every_other_file_runs_there_and_all_are_counted_here(few_tests: Path) -> None:
    write(few_tests, a=PROCESS, b=PROCESS, c=PROCESS, d=PROCESS)
    (few_tests / "tests" / "guest").mkdir()  # runs here after those of the second process have been reported
    (few_tests / "tests" / "guest" / "test_e.py").write_text("def test_nothing(): pass\n")
    process = start(few_tests, "-rP")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "5 passed" in output
    assert re.search(r"^spent in tests of: unit \d+ s, guest \d+ s$", output, re.M)
    a, c, b, d = re.findall(r"^(\d+)$", output, re.M)  # in the order in which they are reported
    assert a == c
    assert b == d
    assert a != b


def test_a_failure_there_fails_the_run_and_shows_why(few_tests: Path) -> None:
    write(few_tests, a=PROCESS, b="def test_fails():\n    six = 6\n    assert six == 7\n", c=PROCESS)
    process = start(few_tests)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "1 failed, 2 passed" in output
    assert "assert 6 == 7" in output


def test_what_it_did_not_come_to_has_failed(few_tests: Path) -> None:
    dies = "import os\ndef test_first(): pass\ndef test_dies(): os._exit(7)\ndef test_next(): pass\n"
    write(few_tests, a=PROCESS, b=dies)
    process = start(few_tests)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "2 failed, 2 passed" in output
    assert output.count("the second process ended (7) before this test did") >= 2


def test_it_ends_with_a_run_that_is_interrupted(few_tests: Path) -> None:
    there = few_tests / "there"
    os.mkfifo(there)
    waits = "import signal\ndef test_waits():\n    signal.pause()\n"
    says_so = f"import os\ndef test_says_so():\n    open({str(there)!r}, 'w').write(str(os.getpid()))\n"
    write(few_tests, a=waits, b=says_so + waits)
    process = start(few_tests)
    with open(os.open(there, os.O_RDONLY | os.O_NONBLOCK)) as pipe:
        assert select.select([pipe], [], [], 60.0)[0], "it has not come to its test"
        second = int(pipe.read())
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


def test_what_is_skipped_there_is_told_with_its_reason(few_tests: Path) -> None:
    skipped = "import pytest\n@pytest.mark.skip(reason='no such thing')\ndef test_it(): pass\n"
    write(few_tests, a=PROCESS, b=skipped)
    output, _ = (process := start(few_tests, "-rs")).communicate(timeout=60)
    assert process.returncode == 0, output
    assert "1 passed, 1 skipped" in output and "no such thing" in output
