"""What is missing for a build is named, with the command that installs it."""

from __future__ import annotations

import shutil

import pytest

from netlab.errors import FeatureMissing
from netlab.namespaces.guest import toolchain
from netlab.namespaces.guest.toolchain import BUILD_TOOLS, check_toolchain, missing_packages


def test_missing_programs_and_their_packages() -> None:
    needed = {"a": "one", "b": "two", "c": "two", "d": "three"}
    assert missing_packages(needed, lambda name: name == "a") == (["b", "c", "d"], ["two", "three"])


@pytest.mark.parametrize("absent", [("gcc",), ("flex", "bison"), ("xz",)])
def test_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, absent: tuple[str, ...]) -> None:
    packages = {**BUILD_TOOLS, "xz": "xz-utils"}
    monkeypatch.setattr(shutil, "which", lambda name: None if name in absent else f"/usr/bin/{name}")
    monkeypatch.setattr(toolchain, "_can_compile", lambda: True)
    with pytest.raises(FeatureMissing) as caught:
        check_toolchain([("xz", "xz-utils")])
    assert all(name in caught.value.message for name in absent)
    assert caught.value.hint == "apt-get install " + " ".join(packages[name] for name in absent)


def test_a_compiler_without_header_files_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(toolchain, "_can_compile", lambda: False)
    with pytest.raises(FeatureMissing, match="header files") as caught:
        check_toolchain()
    assert caught.value.hint == "apt-get install libc6-dev"
