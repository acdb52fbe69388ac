"""Names say the thing: words that could stand for anything name nothing in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import surgvalid

SOURCE = Path(surgvalid.__file__).parent
PLACEHOLDERS = frozenset({"found", "got", "own", "part", "said", "told"})
NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs


def named_in(tree: ast.AST) -> Iterator[str]:
    """Every name that a module gives: variables, arguments, attributes, functions, classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, NAMED) and node.name:
            yield node.name


def is_placeholder(name: str) -> bool:
    bare = name.strip("_")
    return bare in PLACEHOLDERS or (bare.isupper() and bare.lower() in PLACEHOLDERS)


def places() -> dict[str, list[str]]:
    """The files that have such names, and these."""
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    named = {path: sorted(set(filter(is_placeholder, named_in(tree)))) for path, tree in modules.items()}
    return {path.relative_to(SOURCE).as_posix(): names for path, names in named.items() if names}


def test_no_name_is_a_placeholder() -> None:
    assert places() == {}


def test_the_names_of_every_kind_are_seen() -> None:
    text = "def part(told):\n    said, self.own = [got for got in told], 1\n    def _found(): ..."
    assert {name.strip("_") for name in named_in(ast.parse(text))} == PLACEHOLDERS
