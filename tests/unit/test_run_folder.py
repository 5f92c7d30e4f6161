"""Run folders: private, gone afterwards, swept when their run was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netlab.run_folder import run_folder


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("NETLAB_GUEST", raising=False)
    return tmp_path


def test_it_is_private_and_gone_afterwards(parent: Path) -> None:
    with run_folder("test") as folder:
        assert folder.parent == parent
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "secret").write_text("x")
    assert list(parent.iterdir()) == []


def test_it_is_gone_after_an_error(parent: Path) -> None:
    with pytest.raises(RuntimeError), run_folder("test"):
        raise RuntimeError
    assert list(parent.iterdir()) == []


def test_a_killed_run_is_swept_and_a_live_one_is_not(parent: Path) -> None:
    script = (
        "import sys, time\nfrom netlab.run_folder import run_folder\n"
        "with run_folder('killed') as folder:\n    print(folder, flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    theirs = Path(process.stdout.readline().strip())
    with run_folder("other"):
        assert theirs.is_dir(), "its run lives"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert theirs.is_dir(), "nobody could remove it"
    with run_folder("next"):
        assert not theirs.exists()


def test_folders_of_others_are_left_alone(parent: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder of another user")
    foreign = parent / "netlab-run-foreign"
    foreign.mkdir()
    os.chown(foreign, 65534, 65534)
    with run_folder("test"):
        pass
    assert foreign.is_dir()
