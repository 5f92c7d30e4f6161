"""Each name is imported from the module that owns it: none passes another's names on."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    path
    for folder in ("namespaces", "traces", "netlab")
    for path in (ROOT / folder).glob("*.py")
    if folder != "netlab" or path.name.startswith(("lab", "closers", "foreground"))
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_module_offers_its_own_names_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    offered: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            offered = set(ast.literal_eval(node.value))
    assert offered & imported == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_room_of_the_lab_is_imported_late(path: Path) -> None:
    """An import inside a function hides a cycle; only the lab's roof loads late, and in cli/ alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = [
        child.module
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.walk(node)
        if isinstance(child, ast.ImportFrom) and (child.module or "").startswith("netlab.lab")
    ]
    assert late == []
