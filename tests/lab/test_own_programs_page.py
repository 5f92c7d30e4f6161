"""The page on controllers of one's own: two programs that know nothing of netlab, between two hosts."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "your-own-controller.md").read_text()
PROGRAMS = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = re.findall(r"^    netlab (exec .*?) +# (stands|fell)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[printed for _, printed in COMMANDS])
def test_two_programs_meet_as_shown(tmp_path: Path, command: str, printed: str) -> None:
    assert set(PROGRAMS) == {"controller.py", "robot.py"} and len(COMMANDS) == 2
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(text)
    name, *words = shlex.split(command)
    argv = [sys.executable, "-P", "-m", "netlab", name, "--on", "relay", *words]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"farthest \d+\.\d\d: {printed}\n", done.stdout), done.stdout + done.stderr
