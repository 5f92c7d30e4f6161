"""ComputingCommand: numpy has one thread in commands that compute; the environment of others is the user's."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from netlab.cli.command import NetlabCommand
from netlab.cli.computing_command import ComputingCommand
from netlab.cli.main import main

NAMES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")

SCRIPT = """
import os, click
from netlab.cli.command import NetlabCommand
from netlab.cli.computing_command import ComputingCommand

@click.command(cls={cls})
def compute():
    import numpy as np

    square = np.ones((512, 512))
    square @ square
    print(len(os.listdir("/proc/self/task")))

compute()
"""


@pytest.fixture(autouse=True)
def _unset(monkeypatch):
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that it is put back as it was, whatever a command makes of it
        monkeypatch.delenv(name)


def threads(cls: type[click.Command], **env: str) -> int:
    """Return how many threads a process has after a product of numpy's in a command of this class."""
    script = SCRIPT.format(cls=cls.__name__)
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, env=os.environ | env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def command(*words: str) -> click.Command:
    """Return the command of these words."""
    found: click.Command = main
    for word in words:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, words
        found = inner
    return found


def test_a_product_is_made_on_one_thread():
    assert threads(ComputingCommand) == 1


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: numpy makes no second thread")
def test_it_would_be_made_on_more_and_is_where_the_user_says_so():
    assert threads(NetlabCommand) > 1
    assert threads(ComputingCommand, OMP_NUM_THREADS="2") > 1
    assert threads(ComputingCommand, OPENBLAS_NUM_THREADS="2") > 1


@pytest.mark.parametrize("words", [("train", "--list"), ("bench", "--list"), ("eval", "no-such-policy")])
def test_commands_that_compute_set_it(words):
    CliRunner().invoke(main, words)
    assert [os.environ.get(name) for name in NAMES] == ["1", "1"]


def test_other_commands_do_not():
    CliRunner().invoke(main, ["profile", "list"])
    assert [os.environ.get(name) for name in NAMES] == [None, None]
    for words in (("exec",), ("lab", "run"), ("lab", "exec"), ("guest", "run"), ("shim",)):
        assert not isinstance(command(*words), ComputingCommand), words


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    CliRunner().invoke(main, ["train", "--list"])
    assert [os.environ.get(name) for name in NAMES] == [None, "3"]
