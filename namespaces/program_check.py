"""What no program can be started with, refused before anything is made for it. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from netlab.errors import SpecError

__all__ = ["check_arguments", "check_streams", "check_variables"]


def check_arguments(argv: object, where: str) -> None:
    """Refuse a program and arguments that are none.

    Args:
        argv: What is asked for.
        where: For messages: a phrase such as ``for a program in host edge``.

    Raises:
        SpecError: It is no list of texts, or one of them holds what the kernel cannot take.
    """
    if isinstance(argv, str | bytes) or not isinstance(argv, Sequence):
        hint = 'give a list, such as ["ls", "-l"]; no shell splits words'
        raise SpecError(f"{argv!r:.80} {where}: must be a list of texts", key="argv", hint=hint)
    for argument in argv:
        _check_text(argument, where, "argv")


def check_variables(env: object, where: str) -> None:
    """Refuse variables that are none.

    Raises:
        SpecError: They are no mapping of names to texts, or hold what the kernel cannot take.
    """
    if env is None:
        return
    if not isinstance(env, Mapping):
        raise SpecError(f"{env!r:.80} {where}: must be a mapping of names to texts", key="env")
    for name, value in env.items():
        _check_text(name, where, "env")
        if not name or "=" in name:
            rule = "a variable's name is not empty and has no '='"
            raise SpecError(f"{name!r:.80} {where}: {rule}", key="env")
        _check_text(value, where, f"env.{name}"[:80])


def check_streams(cwd: object, stdin: object, stdout: object, where: str) -> None:
    """Refuse a folder, a descriptor or a file that is none.

    Raises:
        SpecError: The folder or the file is no path, or stdin no descriptor.
    """
    for key, path in (("cwd", cwd), ("stdout", stdout)):
        if path is None:
            continue
        if not isinstance(path, str | os.PathLike):
            raise SpecError(f"{path!r:.80} {where}: must be a path", key=key)
        _check_text(os.fspath(path), where, key)
    if stdin is not None and (not isinstance(stdin, int) or isinstance(stdin, bool) or stdin < 0):
        hint = "open the file and give its fileno()"
        raise SpecError(f"{stdin!r:.80} {where}: must be an open descriptor", key="stdin", hint=hint)


def _check_text(text: object, where: str, key: str) -> None:
    if not isinstance(text, str):
        raise SpecError(f"{text!r:.80} {where}: must be text, not {type(text).__name__}", key=key)
    if "\0" in text:
        raise SpecError(f"{text!r:.80} {where}: holds a null byte", key=key)
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        rule = f"cannot be encoded as {error.encoding}"
        raise SpecError(f"{text!r:.80} {where}: {rule}", key=key) from error
