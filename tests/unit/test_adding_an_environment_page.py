"""The page on environments of one's own: its files, as printed, make a task that netlab's commands know."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner
from msgspec import structs

from netlab.agents.policy_file import read_policy, write_policy
from netlab.cli.main import main
from netlab.envs.installed_tasks import GROUP
from netlab.envs.registry import TASKS, find_task, make_task, make_vector_task
from netlab.envs.virtual.gymnasium_task import GymnasiumTask
from netlab.errors import SpecError

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "adding-an-environment.md").read_text()


def printed(name: str) -> str:
    """Return the file of this name as the page prints it."""
    (text,) = re.findall(rf"```\w+\n# {re.escape(name)}[^\n]*\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, project: str, name: str = "my-robot") -> None:
    """Put a package on the path as pip leaves it: its modules, and beside them what it declares."""
    points = tomllib.loads(project)["project"]["entry-points"][GROUP]
    about = folder / f"{name.replace('-', '_')}-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    lines = "".join(f"{key} = {value}\n" for key, value in points.items())
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}")
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "swing", raising=False)
    Path("swing.py").write_text(printed("swing.py"))
    Path("swing.toml").write_text(printed("swing.toml"))
    install(tmp_path, monkeypatch, printed("pyproject.toml"))
    return tmp_path


def declared(folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, text: str, value: str) -> None:
    """Declare a task ``Other-v0``."""
    (folder / f"{module}.py").write_text(text)
    monkeypatch.delitem(sys.modules, module, raising=False)
    install(folder, monkeypatch, f'[project.entry-points."{GROUP}"]\n"Other-v0" = "{value}"\n', f"of-{module}")


def test_the_task_is_found_and_plays_as_what_it_wraps(folder: Path) -> None:
    task = make_task("Swing-v0")
    assert task.description.rate_hz == 20.0 == find_task("Swing-v0").rate_hz
    assert find_task("Swing-v0").options == ("gravity_m_s2",)
    wrapped = gymnasium.make("Pendulum-v1")
    assert np.array_equal(task.reset(7), wrapped.reset(seed=7)[0])
    for push in (0.5, -2.0, None):
        action = None if push is None else np.array([push], np.float32)
        step = task.step(action)
        seen, reward, *_ = wrapped.step(np.zeros(1, np.float32) if action is None else action)
        assert np.array_equal(step.observation, seen) and step.reward == reward
    lighter = make_task("Swing-v0", options={"gravity_m_s2": 1.0})
    lighter.reset(7)
    assert not np.array_equal(lighter.step(None).observation, make_and_step(7))


def make_and_step(seed: int) -> np.ndarray:
    task = make_task("Swing-v0")
    task.reset(seed)
    return task.step(None).observation


def test_the_commands_of_the_page_know_it(folder: Path) -> None:
    pytest.importorskip("torch")
    lines = re.findall(r"^    netlab (\w+ .*swing.*)$", PAGE, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["train", "eval", "run"]
    for line in lines:
        done = CliRunner().invoke(main, shlex.split(line))
        assert done.exit_code == 0, done.stderr
        if line.startswith("train"):
            assert "Swing-v0 has no vectorised twin: 16 single environments, slower" in done.stderr


def test_any_gymnasium_environment_needs_no_class(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"```python\n(import gymnasium\n.*?)```", PAGE, re.DOTALL)
    Path("acrobot.py").write_text(block)
    point = f'[project.entry-points."{GROUP}"]\n"Acrobot-v1" = "acrobot:ACROBOT"\n'
    install(folder, monkeypatch, point, "of-acrobot")
    task = make_task("Acrobot-v1")
    assert (task.description.rate_hz, task.description.action.n) == (15.0, 3)
    task.reset(1)
    assert task.step(None).reward == -1.0


def test_without_the_package_its_name_is_no_task(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(folder)])
    for name in ("Swing-v0", "swing:SWING"):
        with pytest.raises(SpecError, match="no task is called"):
            find_task(name)


def test_a_card_names_no_module(folder: Path, tmp_path: Path) -> None:
    """Whoever made a policy file must not choose what is imported where it is scored."""
    Path("evil.py").write_text("raise SystemExit('imported')")
    file = read_policy(Path(__file__).parents[2] / "agents" / "shipped" / "cartpole-baseline-1.safetensors")
    for name in ("evil", "evil:SWING", "swing:SWING"):
        card = structs.replace(file.card, task=structs.replace(file.card.task, name=name))
        write_policy(structs.replace(file, card=card), "other.safetensors")
        done = CliRunner().invoke(main, ["eval", "other.safetensors", "--episodes", "1"])
        assert done.exit_code == 2 and "no task is called" in done.stderr
        assert "swing" not in sys.modules


def test_names_that_are_near_are_suggested_and_netlabs_own_are_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SpecError, match="no task is called") as caught:
        find_task("Swing-v1")
    assert caught.value.hint == "did you mean 'Swing-v0'?"
    with pytest.raises(SpecError) as caught:
        find_task("xyz")
    assert caught.value.hint == f"one of: {', '.join(TASKS)}, Swing-v0"
    install(folder, monkeypatch, f'[project.entry-points."{GROUP}"]\n"CartPole-v1" = "swing:SWING"\n', "taker")
    assert find_task("CartPole-v1") is TASKS["CartPole-v1"]


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ("SWING = 1", "other:SWING", "'Other-v0' of netlab.tasks is a int, not a TaskEntry"),
        ("raise RuntimeError('no robot')", "other:SWING", "cannot be imported: RuntimeError: no robot"),
        ("", "other:SWING", "cannot be imported: AttributeError"),
        ("from swing import SWING", "other:SWING", "'Other-v0' describes itself as 'Swing-v0'"),
    ],
)
def test_what_is_declared_and_is_none_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, value: str, words: str
) -> None:
    declared(folder, monkeypatch, "other", text, value)
    with pytest.raises(SpecError, match=re.escape(words)):
        make_task("Other-v0")


def test_a_name_that_two_packages_declare_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared(folder, monkeypatch, "other", "", "other:A")
    declared(folder, monkeypatch, "third", "", "third:B")
    with pytest.raises(SpecError, match="declared twice: as other:A and as third:B"):
        find_task("Other-v0")


def test_options_that_the_task_does_not_take_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody asks for one: who declares it finds out at once."""
    entry = TASKS["CartPole-v1"]
    wrong = type(entry)(make=entry.make, rate_hz=50.0, options=("gravity_m_s2",), columns=entry.columns)
    monkeypatch.setitem(TASKS, "CartPole-v1", wrong)
    for options in ({}, {"gravity_m_s2": 3.0}):
        with pytest.raises(SpecError, match="CartPole of CartPole-v1 does not take 'gravity_m_s2'") as caught:
            make_task("CartPole-v1", options=options)
        assert "TaskEntry" in caught.value.hint
    with pytest.raises(SpecError, match="CartPoleColumns of CartPole-v1 does not take 'gravity_m_s2'"):
        make_vector_task("CartPole-v1", 2)
    monkeypatch.setitem(TASKS, "CartPole-v1", type(entry)(make=lambda: None, rate_hz=50.0))
    with pytest.raises(SpecError, match="does not take a rate in ticks a second"):
        make_task("CartPole-v1")


def test_where_gymnasium_task_is_imported_from_is_on_its_page() -> None:
    page = (DOCS / "virtual-network.md").read_text()
    (line,) = re.findall(r"`(from [\w.]+ import GymnasiumTask)`", page)
    found: dict[str, object] = {}
    exec(line, found)
    assert found["GymnasiumTask"] is GymnasiumTask
