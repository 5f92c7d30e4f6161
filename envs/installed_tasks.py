"""Installed tasks: those that other packages declare, in the entry point group ``netlab.tasks``.

::

    my_robot's pyproject.toml  [project.entry-points."netlab.tasks"]  "my-robot/Swing-v0" = "my_robot:SWING"
    find_installed("my-robot/Swing-v0") --imports my_robot--> SWING

A name comes from anywhere, a policy file's card included, so it is never taken for a module to import: what is
imported is what a package that somebody has installed says for it, in a group that is for this alone. What a task
is made of is ``registry.py``'s business.
"""

from __future__ import annotations

import functools
import sys
from importlib.metadata import EntryPoint, entry_points

from netlab.errors import SpecError

__all__ = ["GROUP", "find_installed", "installed_names"]

GROUP = "netlab.tasks"


def installed_names() -> tuple[str, ...]:
    """Return the names of the tasks that installed packages declare."""
    return tuple(sorted({one.name for one in _declared(tuple(sys.path))}))


def find_installed(name: str) -> object | None:
    """Return what an installed package declares under this name; None where none does.

    Raises:
        SpecError: It cannot be imported, or two packages declare it.
    """
    found = sorted({one.value: one for one in _declared(tuple(sys.path)) if one.name == name}.items())
    if not found:
        return None
    if len(found) > 1:
        problem = f"{name!r:.100} is declared twice: as {' and as '.join(value for value, _ in found):.200}"
        raise SpecError(problem, key="task", hint="give one of them another name, or uninstall a package")
    return _loaded(found[0][1])


@functools.lru_cache(maxsize=1)
def _declared(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return what the packages on this path declare: read once, as a task may be made a hundred times over."""
    return tuple(entry_points(group=GROUP))


def _loaded(declared: EntryPoint) -> object:
    try:
        return declared.load()
    except Exception as error:  # whatever somebody's module raises as it is imported
        problem = f"{declared.name!r:.100} is {declared.value} of an installed package, which cannot be imported: "
        words = f"{type(error).__name__}: {error}"
        hint = f'see where it fails: python -c "import {declared.module}"'
        raise SpecError(f"{problem}{words:.300}", key="task", hint=hint) from error
