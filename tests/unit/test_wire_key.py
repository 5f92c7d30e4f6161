"""Keys and their files."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import stat
from pathlib import Path

import pytest

from netlab.errors import AuthError
from netlab.wire.key import KEY_BYTES, OPEN_KEY, Key


def test_write_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "key"
    key = Key.new()
    key.write(path)
    assert Key.read(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_size == KEY_BYTES


def test_mode_does_not_depend_on_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Key.new().write(tmp_path / "open")
        os.umask(0o277)
        Key.new().write(tmp_path / "closed")
    finally:
        os.umask(before)
    for name in ("open", "closed"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_two_new_keys_differ() -> None:
    assert Key.new() != Key.new()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666, 0o610, 0o644])
def test_file_that_others_may_use_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    Key.new().write(path)
    path.chmod(mode)
    with pytest.raises(AuthError, match=f"{mode:04o}") as caught:
        Key.read(path)
    assert f"chmod 600 {path}" in caught.value.hint


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_private_modes_are_read(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    Key.new().write(path)
    path.chmod(mode)
    Key.read(path)


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64, 1 << 20])
def test_wrong_size_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "key"
    path.write_bytes(bytes(size))
    path.chmod(0o600)
    with pytest.raises(AuthError, match=f"{size} bytes"):
        Key.read(path)


def test_symbolic_link_is_fine(tmp_path: Path) -> None:
    Key.new().write(tmp_path / "key")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    assert Key.read(tmp_path / "link") == Key.read(tmp_path / "key")


def test_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(AuthError, match="No such file") as caught:
        Key.read(tmp_path / "none")
    assert "netlab key new" in caught.value.hint


def test_what_is_not_a_plain_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(AuthError, match=r"not a plain file"):
            Key.read(path)


def test_name_with_a_null_byte_is_an_auth_error() -> None:
    with pytest.raises(AuthError, match="null"):
        Key.read("a\0b")


def test_write_never_overwrites_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "key"
    first, second = Key.new(), Key.new()
    first.write(path)
    with pytest.raises(AuthError, match="exists") as caught:
        second.write(path)
    assert caught.value.hint
    assert Key.read(path) == first
    second.write(path, overwrite=True)
    assert Key.read(path) == second
    assert [entry.name for entry in tmp_path.iterdir()] == ["key"]


def test_write_does_not_follow_a_link_to_a_place_of_others(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuthError):
        Key.new().write(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


def test_overwrite_replaces_the_link_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    Key.new().write(tmp_path / "link", overwrite=True)
    assert (tmp_path / "target").read_bytes() == b"theirs"


def test_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(AuthError):
        Key.new().write(tmp_path / "no" / "key")
    (tmp_path / "folder").mkdir()
    with pytest.raises(AuthError):
        Key.new().write(tmp_path / "folder", overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_disk_that_takes_half_a_key_leaves_nothing_and_the_next_try_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    path = tmp_path / "key"
    write = os.write
    for failing in (lambda fd, data: write(fd, data[:7]), lambda fd, data: write(fd, data[:7]) and _no_space()):
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", failing)
            with pytest.raises(AuthError, match="No space left"):
                Key.new().write(path, overwrite=overwrite)
        assert list(tmp_path.iterdir()) == []
    key = Key.new()
    key.write(path, overwrite=overwrite)
    assert Key.read(path) == key


def _no_space() -> int:
    raise OSError(errno.ENOSPC, "")


def test_a_key_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between any two steps, the name is free or leads to a whole key."""
    path = tmp_path / "key"
    fsync = os.fsync

    def look(fd: int) -> None:
        assert not path.exists()
        fsync(fd)

    monkeypatch.setattr(os, "fsync", look)
    Key.new().write(path)
    assert path.stat().st_size == KEY_BYTES
    assert path.stat().st_nlink == 1


def test_file_of_another_user_is_refused_and_roots_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    Key.new().write(path)
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    if us == 0:
        Key.read(path)  # root's
    real = os.fstat

    def owned_by_a_third(fd: int) -> os.stat_result:
        fields = list(real(fd))
        fields[stat.ST_UID] = us + 2
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", owned_by_a_third)
    with pytest.raises(AuthError, match=f"belongs to user {us + 2}") as caught:
        Key.read(path)
    assert f"chown {us + 1}" in caught.value.hint


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_what_names_no_file_is_refused(name: str) -> None:
    with pytest.raises(AuthError):
        Key.new().write(name)


def test_nothing_prints_the_secret() -> None:
    secret = bytes(range(65, 65 + KEY_BYTES))
    key = Key(secret)
    for text in (repr(key), str(key), f"{key}", f"{key!r}", repr([key])):
        assert "ABCD" not in text
        assert secret.hex()[:8] not in text
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(TypeError):
        copy.deepcopy(key)


def test_size_is_checked_in_memory_too() -> None:
    with pytest.raises(AuthError, match="31"):
        Key(bytes(31))


def test_open_key_is_known_as_such() -> None:
    assert OPEN_KEY.is_open
    assert "open" in repr(OPEN_KEY)
    assert not Key.new().is_open
    assert Key(OPEN_KEY.reveal()).is_open


def test_file_of_the_user_who_called_sudo_is_taken_by_root_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    Key.new().write(path)
    real = os.fstat

    def owned_by_1234(fd: int) -> os.stat_result:
        fields = list(real(fd))
        fields[stat.ST_UID] = 1234
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", owned_by_1234)
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    Key.read(path)
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    with pytest.raises(AuthError, match="belongs to user 1234"):
        Key.read(path)


@pytest.mark.parametrize(
    ("guest", "user", "effective", "taken"),
    [
        ("7.2.7 sha256:0", "1234", 0, True),
        ("7.2.7 sha256:0", "1234", 4321, False),  # not the guest's root
        ("7.2.7 sha256:0", "4321", 0, False),  # another one's guest
        ("7.2.7 sha256:0", "root", 0, False),
        ("", "1234", 0, False),  # no guest
    ],
)
def test_file_of_the_user_who_started_the_guest_is_taken_by_its_root_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guest: str, user: str, effective: int, taken: bool
) -> None:
    path = tmp_path / "key"
    Key.new().write(path)
    real = os.fstat

    def owned_by_1234(fd: int) -> os.stat_result:
        fields = list(real(fd))
        fields[stat.ST_UID] = 1234
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", owned_by_1234)
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.setenv("NETLAB_GUEST", guest)
    monkeypatch.setenv("NETLAB_GUEST_USER", user)
    monkeypatch.setattr(os, "geteuid", lambda: effective)
    if taken:
        Key.read(path)
    else:
        with pytest.raises(AuthError, match="belongs to user 1234"):
            Key.read(path)
