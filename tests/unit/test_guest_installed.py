"""Kernels in the cache: what is not exactly what its manifest says is not used."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import msgspec
import pytest

from netlab.errors import GuestError
from netlab.namespaces.guest import installed
from netlab.namespaces.guest.installed import (
    GuestKernel,
    default_guest_kernel,
    file_sha256,
    guest_cache,
    list_guest_kernels,
    read_kernel,
    ready_made_kernel,
    time_travel_kernel,
    verify_kernel,
    version_key,
)
from netlab.namespaces.guest.kernel_store import built_folder_name, built_folder_names, kernel_folder_name
from netlab.namespaces.guest.manifest import MANIFEST_NAME, FileRecord, Manifest, parse_manifest

DIGEST = "0" * 64


def manifest(**changes: object) -> Manifest:
    whole: dict[str, object] = {
        "format": 1, "release": "7.2.7", "sha256": DIGEST, "time_travel": False, "patched": True,
        "kernel": "linux",
        "modules": ("modules/veth.ko",),
        "files": {name: FileRecord(sha256=DIGEST, bytes=1) for name in ("linux", "modules/veth.ko")},
    }  # fmt: skip
    return Manifest(**{**whole, **changes})  # type: ignore[arg-type]


def install(cache: Path, name: str, release: str = "7.2.7", **changes: object) -> Path:
    folder = cache / name
    (folder / "modules").mkdir(parents=True)
    (folder / "linux").write_bytes(b"kernel " + release.encode())
    (folder / "modules" / "veth.ko").write_bytes(b"module")
    files = {
        path: FileRecord(sha256=file_sha256(folder / path), bytes=(folder / path).stat().st_size)
        for path in ("linux", "modules/veth.ko")
    }
    (folder / MANIFEST_NAME).write_bytes(msgspec.json.encode(manifest(release=release, files=files, **changes)))
    return folder


def test_a_whole_kernel(tmp_path: Path) -> None:
    folder = install(tmp_path, "debian-7.2um1")
    kernel = read_kernel(folder)
    verify_kernel(kernel)
    assert kernel.identity == f"7.2.7 sha256:{DIGEST}"
    assert kernel.binary == folder / "linux"
    assert kernel.module_paths == (folder / "modules/veth.ko",)
    assert list_guest_kernels(tmp_path) == [kernel]
    assert default_guest_kernel(tmp_path) == kernel


def test_the_newest_whole_one_is_the_default(tmp_path: Path) -> None:
    install(tmp_path, "a", "7.2.7")
    install(tmp_path, "b", "7.10.1")
    (install(tmp_path, "c", "8.0.0") / "linux").write_bytes(b"cut")
    install(tmp_path, ".staging-x", "9.0.0")
    default = default_guest_kernel(tmp_path)
    assert default is not None
    assert default.release == "7.10.1"
    assert [(kernel.release, bool(kernel.problem)) for kernel in list_guest_kernels(tmp_path)] == [
        ("8.0.0", True),
        ("7.10.1", False),
        ("7.2.7", False),
    ]


def test_real_time_gets_the_ready_made_one_and_virtual_time_the_newest_built(tmp_path: Path) -> None:
    install(tmp_path, "built-1", "7.3.0-netlab", time_travel=True)
    assert default_guest_kernel(tmp_path) == time_travel_kernel(tmp_path) == read_kernel(tmp_path / "built-1")
    assert ready_made_kernel(tmp_path) is None
    install(tmp_path, "debian", "7.2.7")
    newest = install(tmp_path, "built-2", "7.10.0-netlab", time_travel=True)
    assert default_guest_kernel(tmp_path) == ready_made_kernel(tmp_path) == read_kernel(tmp_path / "debian")
    assert time_travel_kernel(tmp_path) == read_kernel(newest)
    (newest / "linux").write_bytes(b"cut")
    assert time_travel_kernel(tmp_path) == read_kernel(tmp_path / "built-1")


def test_of_two_builds_of_a_release_the_last_counts(tmp_path: Path) -> None:
    for moment, name in ((3, "built-a"), (2, "built-b")):
        folder = install(tmp_path, name, time_travel=True)
        os.utime(folder / MANIFEST_NAME, (moment, moment))
    assert time_travel_kernel(tmp_path) == read_kernel(tmp_path / "built-a")


def test_the_cure_for_a_damaged_kernel_fits_its_kind(tmp_path: Path) -> None:
    folder = install(tmp_path, "k", time_travel=True)
    (folder / "linux").write_bytes(b"x")
    with pytest.raises(GuestError) as caught:
        verify_kernel(read_kernel(folder))
    assert caught.value.hint == "netlab guest build --again"


def test_a_built_kernels_folder_says_version_and_key(tmp_path: Path) -> None:
    name = built_folder_name("7.2.12", "3f0c5d2a9e17" + "0" * 52)
    assert f"|- {name}/ " in str(installed.__doc__)
    (tmp_path / name).mkdir()
    assert built_folder_names(tmp_path, "3f0c5d2a9e17" + "0" * 52) == [name]
    assert built_folder_names(tmp_path, "0" * 64) == []
    assert built_folder_name("7.2-rc1/../x", "a" * 64) == "built-7.2-rc1_.._x-aaaaaaaaaaaa"


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    folder = install(tmp_path, "k")
    (folder / "modules" / "veth.ko").write_bytes(b"mOdule")
    with pytest.raises(GuestError, match=r"modules/veth\.ko: its SHA-256") as caught:
        verify_kernel(read_kernel(folder))
    assert "guest fetch" in caught.value.hint
    assert "SHA-256" in list_guest_kernels(tmp_path)[0].problem


def test_a_missing_file_is_found(tmp_path: Path) -> None:
    folder = install(tmp_path, "k")
    (folder / "linux").unlink()
    assert "No such file" in read_kernel(folder).problem


def test_no_manifest_no_kernel(tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    assert read_kernel(tmp_path / "k") == GuestKernel(
        path=tmp_path / "k", problem="manifest.json: No such file or directory"
    )


def test_no_cache_no_kernels(tmp_path: Path) -> None:
    assert list_guest_kernels(tmp_path / "none") == []
    assert default_guest_kernel(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": 2}, "format 2"),
        ({"kernel": "other"}, "'other' is used but not among the files"),
        ({"modules": ("m.ko",)}, "'m.ko' is used but"),
        ({"files": {"../linux": FileRecord(sha256=DIGEST, bytes=1)}}, "not a path within"),
        ({"files": {"/linux": FileRecord(sha256=DIGEST, bytes=1)}}, "not a path within"),
        ({"sha256": "xyz"}, "not a manifest"),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(GuestError, match=says):
        parse_manifest(msgspec.json.encode(manifest(**changes)))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"format": 1}', bytes(2 << 20)])
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(GuestError, match="not a manifest"):
        parse_manifest(data)


def test_the_cache_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/cache")
    assert guest_cache() == Path("/some/cache/netlab/guest")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert guest_cache() == Path("/home/me/.cache/netlab/guest")


def test_versions_compare_as_numbers() -> None:
    assert version_key("7.10.1") > version_key("7.2.7") > version_key("6.18")


def test_a_folders_name_says_what_is_in_it_as_the_documentation_shows() -> None:
    patched, plain = kernel_folder_name("7.2um1", "2.43-7"), kernel_folder_name("7.2um1")
    assert f"|- {patched}/ " in str(installed.__doc__)
    assert f"|- {plain}/ " in str(installed.__doc__)
    assert kernel_folder_name("1:7.2/../x", "2 3") == "debian-1_7.2_.._x-libc-2_3"


@pytest.mark.parametrize("home", ["", "relative"])
def test_a_home_that_is_no_full_path_is_not_used(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    expected = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    assert guest_cache() == expected / ".cache" / "netlab" / "guest"


def test_a_user_without_any_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(GuestError, match="no home folder") as caught:
        guest_cache()
    assert "XDG_CACHE_HOME" in caught.value.hint


@pytest.mark.parametrize("name", [MANIFEST_NAME, "linux"])
def test_a_named_pipe_in_the_cache_is_a_problem_and_no_wait(tmp_path: Path, name: str) -> None:
    folder = install(tmp_path, "debian-7.2um1")
    if name == "linux":  # as long as the manifest says
        content = msgspec.json.decode((folder / MANIFEST_NAME).read_bytes())
        content["files"]["linux"]["bytes"] = 0
        (folder / MANIFEST_NAME).write_bytes(msgspec.json.encode(content))
    (folder / name).unlink()
    os.mkfifo(folder / name)
    (kernel,) = list_guest_kernels(tmp_path)
    assert kernel.problem == f"{name}: not a plain file"
