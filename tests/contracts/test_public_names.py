"""A room's `__init__` names what others may use; nothing else of it is imported from another room.

The names of `__all__` are public: things, or modules whose every public name may be used. A folder inside a room says
the same of itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from repository import REPOSITORY

ROOT = REPOSITORY
SOURCE = ROOT / "src" / "surgvalid"
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
FOR_DJANGO = {"migrations", "templatetags"}
PACKAGES = sorted(
    path.parent
    for path in SOURCE.glob("*/**/__init__.py")
    if "/_" not in str(path.parent.relative_to(SOURCE)) and path.parent.name not in FOR_DJANGO
)
"""Rooms and the folders in them that are not private and not read by a framework alone."""


@cache
def imported(path: Path) -> list[list[str]]:
    """Every name of ours that a file imports, as its steps from `surgvalid` down."""
    return list(_imported(path))


def _imported(path: Path) -> Iterator[list[str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("surgvalid."):
            home = (node.module or "").split(".")[1:]
            yield from ([*home, name.name] for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1:] for name in node.names if name.name.startswith("surgvalid."))


@cache
def public(package: Path) -> list[str] | None:
    """What `__all__` of a package lists; None where it lists nothing."""
    for node in ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and "__all__" in [getattr(target, "id", "") for target in node.targets]:
            return list(ast.literal_eval(node.value))
    return None


def hidden(steps: list[str]) -> str:
    """Why a name may not be imported from another room, or nothing."""
    here = SOURCE
    for number, step in enumerate(steps):
        if step.startswith("_"):
            return f"{step} is private"
        if number and step not in (public(here) or ()):
            return f"{here.relative_to(SOURCE)}/__init__.py does not list {step!r} in __all__"
        if not (here / step / "__init__.py").exists():  # a thing, or a module, whose public names are all public
            return next((f"{name} is private" for name in steps[number + 1 :] if name.startswith("_")), "")
        here /= step
    return ""


def users() -> list[Path]:
    return [*SOURCE.rglob("*.py"), SOURCE / "__init__.pyi", *(ROOT / "examples").rglob("*.py")]


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_hidden_of_a_room_is_imported_from_another(room: str) -> None:
    problems = {
        f"{path.relative_to(ROOT)}: {'.'.join(steps)}: {why}"
        for path in users()
        if SOURCE / room not in path.parents
        for steps in imported(path)
        if steps[0] == room and (why := hidden(steps))
    }
    assert sorted(problems) == []


def defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module has."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from (name.asname or name.name for name in node.names)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.relative_to(SOURCE)))
def test_every_folder_says_what_is_public_and_has_it(package: Path) -> None:
    listed = public(package)
    assert listed is not None, "__all__ is missing"
    modules = {path.stem for path in (*package.glob("*.py"), *(init.parent for init in package.glob("*/__init__.py")))}
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    assert sorted(set(listed) - modules - set(defined(tree))) == []


def test_a_private_or_unlisted_name_is_noticed() -> None:
    assert hidden(["judges", "_case", "VERDICT_STATES"]) == "_case is private"
    assert "does not list 'cached'" in hidden(["judges", "cached"])
    assert hidden(["judges", "open_judge"]) == ""
