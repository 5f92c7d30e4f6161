from __future__ import annotations

import os
from pathlib import Path

import pytest

from netlab.errors import SpecError
from netlab.lab_builder import LabBuilder
from netlab.lab_rules import check_name
from netlab.lab_spec import LabSpec, read_lab_spec
from netlab.namespaces.link_plan import MAX_LINKS, plan_link
from netlab.namespaces.medium_plan import MAX_MEDIA, plan_medium

GOOD = """
name = "two-hosts"
seed = 7
[hosts.edge]
command = ["python3", "-m", "http.server"]
env = { A = "b" }
[hosts.agent]
[[link]]
ends = ["edge", "agent"]
profile = "wifi-degraded@oneway"
"""


def _read(tmp_path: Path, text: str) -> LabSpec:
    (tmp_path / "lab.toml").write_text(text, encoding="utf-8")
    return read_lab_spec(tmp_path / "lab.toml")


def test_a_good_spec(tmp_path: Path) -> None:
    spec = _read(tmp_path, GOOD)
    assert (spec.name, spec.seed, list(spec.hosts)) == ("two-hosts", 7, ["edge", "agent"])
    assert spec.hosts["edge"].command == ["python3", "-m", "http.server"]
    assert spec.hosts["edge"].env == {"A": "b"}
    assert (spec.link[0].ends, spec.link[0].full_name, spec.link[0].mtu) == (("edge", "agent"), "edge-agent", 1500)
    assert _read(tmp_path, "") == LabSpec()


@pytest.mark.parametrize(
    ("old", "new", "key", "words", "hint"),
    [
        ("seed = 7", "sed = 7", "sed", "unknown key", "did you mean 'seed'?"),
        ("command =", "comand =", "hosts.edge.comand", "unknown key", "did you mean 'command'?"),
        ("profile =", "loss =", "link[0].loss", "unknown key", "known here: ends, profile, name, mtu"),
        ("seed = 7", "seed = -1", "seed", "-1: must be a whole number, 0 or more", ""),
        ("seed = 7", 'seed = "x"', "seed", "'x': must be a whole number, not a text in quotes", ""),
        ("seed = 7", "seed = 18446744073709551616", "seed", "must be a whole number from 0 to 2^64 - 1", ""),
        ('"two-hosts"', '"two hosts"', "name", "must be 1 to 64 letters", ""),
        ("[hosts.agent]", '[hosts."-"]', "hosts.-", "must be 1 to 64 letters", ""),
        ('"python3", "-m", "http.server"', "1", "hosts.edge.command[0]", "[1]: must be a text in quotes", ""),
        ('["python3", "-m", "http.server"]', '"python3"', "hosts.edge.command", "'python3': must be a list", ""),
        ('"http.server"', '"a\\u0000b"', "hosts.edge.command", "holds a null byte", ""),
        ('["edge", "agent"]', '["edge", "agnt"]', "link[0].ends", "'agnt' is no host", "did you mean 'agent'?"),
        ('["edge", "agent"]', '["edge", "x"]', "link[0].ends", "'x' is no host of this lab", "add [hosts.x]"),
        ('["edge", "agent"]', '["edge", "edge"]', "link[0].ends", "'edge' twice", ""),
        ('["edge", "agent"]', '["edge"]', "link[0].ends", "must be a list of 2", ""),
        ('ends = ["edge", "agent"]', "", "link[0]", "the key 'ends' is missing", ""),
        ("profile =", "mtu = 67\nprofile =", "link[0].mtu", "67: must be a whole number, 68 or more", ""),
        ("profile =", "mtu = 65536\nprofile =", "link[0].mtu", "65536: must be a whole number, at most 65535", ""),
        ("[[link]]", "[link]", "link", "must be tables", "write [[link]]"),
        ("[[link]]", '[[link]]\nends = ["agent", "edge"]\nname = "edge-agent"\n[[link]]',
         "link[1].name", "'edge-agent' is the name of an earlier link", "give one of the two"),
        ("{ A =", "{ 'A=B' =", "hosts.edge.env", "'A=B': a variable's name is not empty and has no '='", ""),
        ("{ A =", "{ '' =", "hosts.edge.env", "'': a variable's name is not empty", ""),
        ('A = "b"', 'A = "\\u0000"', "hosts.edge.env.A", "holds a null byte", ""),
        ('A = "b"', '"A\\u0000" = "b"', "hosts.edge.env", "holds a null byte", ""),
        ("env =", 'cwd = "\\u0000"\nenv =', "hosts.edge.cwd", "holds a null byte", ""),
        ("env =", 'output = "\\u0000"\nenv =', "hosts.edge.output", "holds a null byte", ""),
        ('["python3", "-m", "http.server"]', "[]", "hosts.edge.command", "[]: no program", "leave command out"),
        ('["python3", "-m", "http.server"]', '["", "x"]', "hosts.edge.command", "'' is no program", "name a"),
        ("profile =", f'name = "{"x" * 65}"\nprofile =', "link[0].name", "must be 1 to 64 letters", ""),
        ("profile =", 'name = "a b"\nprofile =', "link[0].name", "'a b' must be 1 to 64 letters", ""),
        ('[hosts.agent]\n[[link]]\nends = ["edge", "agent"]',
         f'[hosts.{"x" * 64}]\n[[link]]\nends = ["edge", "{"x" * 64}"]', "link[0].name",
         "must be 1 to 64 letters", "give the link a name of its own"),
        ("[hosts.agent]", "[hosts.agent]\n[hosts.x-y]\n[hosts.x_y]\n[[link]]\nends = ['x-y', 'edge']\n"
         "[[link]]\nends = ['edge', 'x_y']", "link[1].ends",
         "'x_y' and 'x-y', both neighbours of 'edge', are both NETLAB_PEER_X_Y", "rename one"),
        ("[hosts.agent]", "[hosts.edge]", "", "is not TOML", ""),
        ("[hosts.agent]", "[hosts.agent", "", "is not TOML", ""),
    ],
)  # fmt: skip
def test_a_bad_spec(tmp_path: Path, old: str, new: str, key: str, words: str, hint: str) -> None:
    assert old in GOOD
    with pytest.raises(SpecError) as caught:
        _read(tmp_path, GOOD.replace(old, new))
    error = caught.value
    assert words in str(error)
    assert error.key == key
    assert error.path == str(tmp_path / "lab.toml")
    assert str(error).startswith(f"{error.path}: {key}: " if key else f"{error.path}: ")
    assert hint in error.hint
    assert error.exit_code == 2


def test_files_that_are_no_spec(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        read_lab_spec(tmp_path / "nowhere.toml")
    with pytest.raises(SpecError, match="cannot be read: Is a directory"):
        read_lab_spec(tmp_path)
    (tmp_path / "lab.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="is not TOML"):
        read_lab_spec(tmp_path / "lab.toml")
    (tmp_path / "lab.toml").write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(SpecError, match="longer than 1048576 bytes"):
        read_lab_spec(tmp_path / "lab.toml")
    with pytest.raises(SpecError):
        _read(tmp_path, "a = " + "[" * 100_000)
    with pytest.raises(SpecError, match="hosts: 4097 of them: at most 4096"):
        _read(tmp_path, "".join(f"[hosts.h{number}]\n" for number in range(4097)))
    with pytest.raises(SpecError, match="link: 16385 of them: at most 16384"):
        _read(tmp_path, "link = [" + '{ends=["a","b"]},' * 16385 + "]")


def test_levels_beyond_all_reason(tmp_path: Path) -> None:
    levels = "a." * 25 + "a = 1"
    for text, words in (
        ("a = {" + "a={" * 100_000, "is nested too deeply"),
        ("link." + "a." * 5000 + "a = 1", "has a key of more than 32 parts"),
        (f"link.{levels}", "link: {'a': {'a': .*: must be tables"),
        (f"hosts.{levels}", "hosts.a.a: unknown key"),
        (f"hosts.edge.env.{levels}", r"hosts\.edge\.env.*: {'a': {'a': .*: must be a text"),
        (f"hosts.edge.command.{levels}", "hosts.edge.command: {'a': {'a': .*: must be a list"),
    ):
        with pytest.raises(SpecError, match=words) as caught:
            _read(tmp_path, text)
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["a", "A-1", "x" * 64, "a.b_c-d"])
def test_good_names(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "-a", "a-", ".", "x" * 65, "a b", "a/b", "a\n", "ä", "a\0"])
def test_bad_names(name: str) -> None:
    with pytest.raises(SpecError, match="must be 1 to 64 letters"):
        check_name(name)


def test_link_plans_are_distinct_and_fit() -> None:
    plans = [plan_link(number, "abcdef", 0, 0) for number in (0, 1, 63, 64, 255, 256, 16383)]
    ends = [end for plan in plans for end in (plan.first, plan.second)]
    for field in ("address", "mac", "wire_interface", "wire_index", "wire_mac"):
        assert len({getattr(end, field) for end in ends}) == len(ends)
    assert all(len(end.wire_interface) <= 15 for end in ends)  # IFNAMSIZ
    assert all(end.wire_mac not in {other.mac for other in ends} for end in ends)
    assert [plan.first.address for plan in plans[:4]] == ["10.77.0.1", "10.77.0.5", "10.77.0.253", "10.77.1.1"]
    assert plans[-1].second.address == "10.77.255.254"
    assert plan_link(3, "abcdef", 2, 5).first.interface == "eth2"
    assert plan_link(3, "abcdef", 2, 5).second.interface == "eth5"
    for number in (-1, MAX_LINKS):
        with pytest.raises(SpecError, match="at most 16384 links"):
            plan_link(number, "abcdef", 0, 0)


MEDIA = """
[hosts.a]
[hosts.b]
[media.ap]
rate = "20mbit"
[[link]]
ends = ["a", "b"]
medium = "ap"
"""


def test_media(tmp_path: Path) -> None:
    spec = _read(tmp_path, MEDIA)
    assert (spec.media["ap"].rate, spec.media["ap"].queue_packets, spec.link[0].medium) == ("20mbit", 1000, "ap")
    assert (
        _read(tmp_path, MEDIA.replace("[[link]]", "queue_packets = 200\n[[link]]")).media["ap"].queue_packets
        == 200
    )


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ('rate = "20mbit"', "", "media.ap", "the key 'rate' is missing"),
        ('rate = "20mbit"', "rate = 20", "media.ap.rate", "20: must be a text in quotes"),
        (
            '"20mbit"',
            '"20mbit"\nqueue_packets = 0',
            "media.ap.queue_packets",
            "0: must be a whole number, 1 or more",
        ),
        ('"20mbit"', '"20mbit"\nqueue = 5', "media.ap.queue", "unknown key"),
        ('medium = "ap"', 'medium = "app"', "link[0].medium", "'app' is no medium of this lab"),
        ("[media.ap]", '[media."a p"]', "media.a p", "must be 1 to 64 letters"),
        ("[media.ap]", "[[media]]", "media", "must be tables"),
        ('rate = "20mbit"', 'rate = "20"', "media.ap.rate", "20"),
        ('rate = "20mbit"', 'rate = "0bit"', "media.ap.rate", "rate_bps"),
    ],
)
def test_media_that_are_none(tmp_path: Path, old: str, new: str, key: str, words: str) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(MEDIA.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        LabBuilder(read_lab_spec(path), str(path))
    assert (caught.value.path, caught.value.key) == (str(path), key)
    assert words in str(caught.value)


def test_medium_plans_are_distinct_and_fit() -> None:
    plans = [plan_medium(number, "ap", "abcdef") for number in (0, 1, 9, 10, MAX_MEDIA - 1)]
    names = [name for plan in plans for name in (plan.entry, plan.exit)]
    indices = [index for plan in plans for index in (plan.entry_index, plan.exit_index)]
    assert len(set(names)) == len(set(indices)) == 2 * len(plans)
    assert all(len(name) <= 15 for name in names)  # IFNAMSIZ
    assert min(indices) > plan_link(MAX_LINKS - 1, "abcdef", 0, 0).second.wire_index
    for number in (-1, MAX_MEDIA):
        with pytest.raises(SpecError, match="at most 256 media"):
            plan_medium(number, "ap", "abcdef")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('name = "two-hosts"', 'name = ""', "name"),
        ('profile = "wifi-degraded@oneway"', 'profile = ""', "link[0].profile"),
        ("[hosts.agent]", '[hosts.agent]\noutput = ""', "hosts.agent.output"),
        ("[[link]]", '[[link]]\nmedium = ""', "link[0].medium"),
    ],
)
def test_a_text_that_says_nothing_is_refused(tmp_path: Path, old: str, new: str, key: str) -> None:
    text = (
        'name = "two-hosts"\n[hosts.edge]\n[hosts.agent]\n[[link]]\nends = ["edge", "agent"]\n'
        'profile = "wifi-degraded@oneway"\n'
    )
    path = tmp_path / "lab.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(SpecError, match="says nothing") as caught:
        read_lab_spec(path)
    assert caught.value.key == key


def test_a_variable_may_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text('[hosts.a]\nenv = { EMPTY = "" }\n')
    assert read_lab_spec(path).hosts["a"].env == {"EMPTY": ""}


@pytest.mark.parametrize("make", ["pipe", "folder", "device"])
def test_an_output_that_is_no_plain_file_is_refused_before_anything_waits(tmp_path: Path, make: str) -> None:
    output = tmp_path / "out"
    if make == "pipe":
        os.mkfifo(output)
    elif make == "folder":
        output.mkdir()
    else:
        output.symlink_to("/dev/null")
    path = tmp_path / "lab.toml"
    path.write_text('[hosts.a]\ncommand = ["true"]\noutput = "out"\n')
    with pytest.raises(SpecError, match="not a plain file") as caught:
        LabBuilder(read_lab_spec(path), str(path))
    assert caught.value.key == "hosts.a.output"


@pytest.mark.parametrize(("second", "words"), [("./out", "hosts.a.output"), ("lab.toml", "the spec")])
def test_one_file_for_two_outputs_or_the_spec_is_refused(tmp_path: Path, second: str, words: str) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(f'[hosts.a]\noutput = "out"\n[hosts.b]\noutput = "{second}"\n')
    with pytest.raises(SpecError, match=f"is {words} already") as caught:
        LabBuilder(read_lab_spec(path), str(path))
    assert caught.value.key == "hosts.b.output"
