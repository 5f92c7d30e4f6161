"""The command line without a kernel: help, usage errors, documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from netlab.cli.command import KernelCommand, NetlabCommand, say
from netlab.cli.env_text import say_line
from netlab.cli.lab_command import StayingLabUpCommand
from netlab.cli.main import LazyGroup, main
from netlab.cli.progress_line import ProgressLine
from netlab.errors import KernelError, NetlabError


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, list(words))
    return result.exit_code, result.stdout, result.stderr


def leaf_commands() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []

    def walk(command: click.Command, path: tuple[str, ...]) -> None:
        if isinstance(command, click.Group):
            with click.Context(command) as ctx:
                for name in command.list_commands(ctx):
                    inner = command.get_command(ctx, name)
                    assert inner is not None
                    walk(inner, (*path, name))
        else:
            found.append(path)

    walk(main, ())
    return found


@pytest.mark.parametrize("path", leaf_commands(), ids=" ".join)
def test_every_command_has_an_example_and_an_engine(path: tuple[str, ...]) -> None:
    code, text, _ = run(*path, "--help")
    assert code == 0
    assert "Example:" in text
    assert f"netlab {' '.join(path)}" in text, "the example calls the command itself"
    assert "--on [host" in text or "--on [guest]" in text
    assert "--virtual-time" in text


def test_help_lists_every_command() -> None:
    code, text, _ = run("--help")
    assert code == 0
    assert isinstance(main, LazyGroup)
    with click.Context(main) as ctx:
        for name in main.list_commands(ctx):
            assert f"  {name} " in text


def test_unknown_command_is_guessed() -> None:
    code, _, text = run("domo")
    assert code == 2
    assert "Did you mean 'demo'?" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("profile", "show", "wifi-degarded"), "did you mean 'wifi-degraded'"),
        (("profile", "show", "delay=30"), "no unit"),
        (("profile", "show", "/nowhere/at-all.toml"), "cannot be read"),
        (("exec", "--on", "host", "--profile", "loss=120%", "--", "true"), "120%"),
        (("bench", "no-such-figure"), "no-such-figure"),
        (("demo", "--episodes", "0"), "0"),
        (("demo", "--on", "host", "--output", "/nowhere/at/all.json"), "--output"),
        (("exec", "--on", "host", "--profile", "wifi-normal", "--sed", "3", "--", "true"), "--sed"),
        (("guest", "run", "--memroy", "1GiB", "--", "true"), "--memory"),
        (("guest", "run", "--memory", "12", "--", "true"), "has no unit"),
        (("env", "run", "CartPoll", "--agent", "127.0.0.1:1"), "CartPole-v1"),
        (("env", "run", "--agent", "127.0.0.1"), "127.0.0.1"),
        (("agent", "serve", "--policy", "liner"), "did you mean 'linear'"),
    ],
)
def test_usage_errors_exit_2_and_name_the_value(words: tuple[str, ...], expected: str) -> None:
    code, out, text = run(*words)
    assert code == 2, text
    assert expected in text
    assert "Traceback" not in text
    assert out == ""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "netlab: not memory enough\nhint: ask for less"),
        (MemoryError("Unable to allocate 52 GiB"), "netlab: not memory enough: unable to allocate 52 GiB\nhint: "),
    ],
    ids=str,
)
def test_memory_that_is_not_there_is_an_error_as_any_other(
    error: MemoryError, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: object) -> None:
        raise error

    monkeypatch.setattr("netlab.traces.presets.parse_preset", fail)
    result = CliRunner().invoke(main, ["profile", "show", "wifi-normal"])
    assert result.exit_code == 1
    assert result.stderr.startswith(said)
    assert CliRunner().invoke(main, ["profile", "show", "wifi-normal", "--debug"]).exception is error


def test_what_others_worded_drives_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    said = "\x1b[31mred\nand \x9b2J"
    say(said)
    say_line(said)
    ProgressLine().say(said)
    shown = capsys.readouterr().err
    assert shown.count("\\x1b[31mred\nand \\x9b2J\n") == 3
    assert not {"\x1b", "\x9b"} & set(shown)


def test_debug_shows_the_traceback() -> None:
    result = CliRunner().invoke(main, ["profile", "show", "nothing", "--debug"])
    assert isinstance(result.exception, NetlabError)


def test_profile_show_prints_what_parses_again(tmp_path: Path) -> None:
    code, text, _ = run("profile", "show", "wifi-normal@oneway")
    assert code == 0
    path = tmp_path / "again.toml"
    path.write_text(text)
    code, again, _ = run("profile", "show", str(path))
    assert code == 0
    assert again == text


def test_profile_show_says_of_the_same_packets_how_long_they_take() -> None:
    # 200 bytes at 10 Mbit/s are 0.16 ms each way; nothing else takes time.
    _, text, _ = run("profile", "show", "rate=10Mbps")
    assert "0.3 +- 0.0 ms" in text
    assert "99 % of these within 0.3 ms" in text


def test_profile_list_json_has_the_papers_networks() -> None:
    code, text, _ = run("profile", "list", "--json")
    assert code == 0
    by_name = {entry["name"]: entry for entry in json.loads(text)}
    assert by_name["ethernet-clean"]["asked_round_trip_ms"] == pytest.approx([2.0, 0.0])
    assert by_name["wifi-degraded"]["asked_round_trip_ms"] == pytest.approx([80.0, 40.0])
    assert by_name["wifi-degraded"]["loss_ratio"] == pytest.approx(0.10)
    assert by_name["wifi-degraded"]["horizon_ticks_at_50_hz"] == 10
    assert by_name["measured"]["loss_ratio"] == 0.0


def test_key_new_makes_a_private_file_and_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "robot.key"
    assert run("key", "new", str(path))[0] == 0
    first = path.read_bytes()
    assert len(first) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    code, _, text = run("key", "new", str(path))
    assert code != 0
    assert str(path) in text
    assert path.read_bytes() == first
    assert run("key", "new", str(path), "--force")[0] == 0
    assert path.read_bytes() != first


def test_agent_off_loopback_needs_a_key() -> None:
    code, _, text = run("agent", "serve", "--bind", "0.0.0.0:0")
    assert code == 1
    assert "key" in text
    assert "netlab key new" in text


def test_a_figure_that_cannot_be_measured_does_not_take_the_others_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from netlab.bench import change, commands
    from netlab.bench.figure import Figure

    good = Figure(name="help-time", value=2.0, unit="times", target="under 4", holds=True, n=1)
    monkeypatch.setattr(commands, "help_time", lambda say: good)
    monkeypatch.setattr(change.shutil, "which", lambda *words, **options: None)
    code, text, errors = run("bench", "help-time", "change-vs-tc", "--json")
    assert code == 1
    document = json.loads(text)
    assert [figure["value"] for figure in document["figures"]] == [2.0, None]
    assert "tc" in document["figures"][1]["note"]
    assert "apt-get install iproute2" in errors
    assert document["machine"]["clock"] == "real"


def test_bench_exits_0_only_when_every_target_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    from netlab.bench import commands
    from netlab.bench.figure import Figure

    for holds in (True, False):
        figure = Figure(name="help-time", value=2.0, unit="times", target="under 4", holds=holds, n=1)
        monkeypatch.setattr(commands, "help_time", lambda say, figure=figure: figure)
        code, text, _ = run("bench", "help-time")
        assert code == (0 if holds else 1)
        assert ("holds" if holds else "missed") in text


def test_bench_list_json_names_every_figure_of_the_catalogue() -> None:
    from netlab.bench.catalogue import CATALOGUE

    code, text, _ = run("bench", "--list", "--json")
    assert code == 0
    assert [entry["name"] for entry in json.loads(text)] == list(CATALOGUE)


def test_agent_policies_json() -> None:
    code, text, _ = run("agent", "policies", "--json")
    assert code == 0
    assert {"linear", "linear-predict", "cartpole-paper-1"} <= {entry["name"] for entry in json.loads(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("loss=100%", "delivered to 50 packets a second: nothing"), ("delay=1h", "horizon at 50 Hz: none fits")],
)
def test_profile_show_shows_even_what_no_agent_could_use(text: str, expected: str) -> None:
    code, out, _ = run("profile", "show", text)
    assert code == 0
    assert expected in out


def test_a_named_pipe_is_no_profile(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    code, _, text = run("profile", "show", str(tmp_path / "pipe.toml"))
    assert code == 2
    assert "not a plain file" in text


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "nasty.toml"
    path.write_text('[link]\n"\\u001b[31mX\\u0007" = 1\n')
    code, _, text = run("profile", "show", str(path))
    assert code == 2
    assert "\x1b" not in text and "\x07" not in text
    assert "\\x1b[31mX" in text


def test_a_full_disk_under_stdout_is_one_line() -> None:
    command = [sys.executable, "-m", "netlab", "profile", "list"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "netlab: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("words", [["profile", "list"], ["lab", "list"], ["--help"], ["no-such-command"]])
def test_a_command_without_standard_streams_is_as_with_ones_that_lead_nowhere(words: list[str]) -> None:
    program = [sys.executable, "-m", "netlab", *words]
    expected = subprocess.run(
        program, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    for closed in ("<&-", ">&-", "<&- >&-"):
        command = ["sh", "-c", f'exec "$@" {closed}', "sh", *program]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (expected.returncode, expected.stderr)


def test_services_are_found_from_a_folder_that_holds_a_clone_called_netlab(tmp_path: Path) -> None:
    from netlab.service_run import netlab_command

    (tmp_path / "netlab").mkdir()
    done = subprocess.run(netlab_command("--version"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "netlab" in done.stdout


def test_a_network_that_loses_everything_is_refused_before_anything_starts() -> None:
    code, _, text = run("demo", "--on", "host", "--network", "loss=100%")
    assert code == 2
    assert "loses everything" in text


def test_every_file_that_a_command_writes_is_what_check_compares() -> None:
    from netlab.cli.command import ResultOption

    found = set()
    for path in leaf_commands():
        command: click.Command | None = main
        for name in path:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), name)
        assert command is not None
        for option in command.params:
            if option.name in ("output", "packets", "ticks", "tick_log"):
                assert isinstance(option, ResultOption), (path, option.name)
                found.add((*path, option.name))
    assert len(found) >= 7


def test_figures_that_start_guests_are_measured_outside_and_the_others_in_a_guest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from netlab.bench import catalogue
    from netlab.bench.figure import Figure
    from netlab.cli import bench

    where: list[tuple[str, ...]] = []

    def here(name: str, say: object) -> Figure:
        where.append((name, "here"))
        return Figure(name=name, value=1.0, unit="", target="", holds=True, n=1)

    def in_guest(name: str, *options: str) -> dict[str, object]:
        where.append((name, *options))
        return {"name": name, "holds": True}

    monkeypatch.delenv("NETLAB_GUEST", raising=False)
    monkeypatch.setattr(catalogue, "measure", here)
    monkeypatch.setattr(bench, "_measure_in_guest", in_guest)
    code, _, errors = run("bench", "protocol", "virtual-time", "--virtual-time", "--json")
    assert code == 0, errors
    assert where == [("protocol", "--virtual-time"), ("virtual-time", "here")]
    code, _, errors = run("bench", "virtual-time", "--virtual-time", "--check")
    assert code == 2
    assert "--check" in errors and "starts guests itself" in errors


def test_a_figure_names_what_it_was_measured_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from netlab.bench import catalogue, relay_error
    from netlab.bench.figure import Figure

    monkeypatch.delenv("NETLAB_GUEST", raising=False)
    bare = Figure(name="relay-error", value=1.0, unit="", target="", holds=True, n=1)
    monkeypatch.setattr(relay_error, "relay_error", lambda say: bare)
    assert catalogue.measure("relay-error", print).engine == "relay"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["exec", "--profile", "delay=1ms", "--", "true"], "use --on guest"),
        (["lab", "up", "lab.toml"], "use --on relay"),
        (["lab", "up", "lab.toml", "--on", "relay"], "use --on host"),
        (["lab", "set", "field", "a-b=delay=1ms"], "use a lab made with --on relay"),
        (["shim", "tap:a", "tap:b", "--profile", "delay=1ms"], "use another machine"),
    ],
)
def test_a_hint_advises_what_the_command_allows(
    words: list[str], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, ctx: click.Context, engine: object) -> None:
        raise KernelError("emulate links", words="it lacks sch_netem", hint="use --on guest, or another kernel")

    monkeypatch.delenv("NETLAB_GUEST", raising=False)
    monkeypatch.setattr(NetlabCommand, "_run_on", refuse)
    monkeypatch.setattr(KernelCommand, "choose", lambda self, ctx, request: None)
    monkeypatch.setattr(StayingLabUpCommand, "choose", lambda self, ctx, request: None)
    code, _, text = run(*words)
    assert code == 1
    assert f"hint: {hint}, or another kernel\n" in text


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["lab", "exec", "field", "a", "--", ""], "a program's name is empty"),
        (["shim", "tap:a", "tap:b", "--profile", "delay=1ms", "--seed", str(2**64)], "'--seed'"),
        (["shim", "tap:x%d", "tap:b", "--profile", "delay=1ms"], "'tap:x%d' is no port"),
    ],
)
def test_what_no_command_can_do_is_refused_by_its_name(words: list[str], complaint: str) -> None:
    code, _, text = run(*words)
    assert (code, complaint in text) == (2, True), text
