"""The tree keeps to design/budget.toml: who adds takes away, and a raised number says for what."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from typing import Any

import pytest
from docs.house_page import SOURCE, rooms

from repository import REPOSITORY

BUDGET = tomllib.loads((REPOSITORY / "design" / "budget.toml").read_text(encoding="utf-8"))
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if "__pycache__" not in path.parts]
FORMER_SIZE = {"tokens": 1_098_932, "modules": 1_063}


def longest_string() -> int:
    """Characters of the longest text in code; code could hide there from being counted."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in MODULES)
    texts = [
        node.value for tree in trees for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]  # fmt: skip
    return max(map(len, texts))


def other_bytes() -> int:
    """Bytes of everything in the package that is no Python."""
    files = (path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sum(path.stat().st_size for path in files if path.suffix not in (".py", ".pyc"))


@pytest.mark.parametrize("room", rooms(), ids=lambda room: room.name)
def test_a_subpackage_is_no_larger_than_its_budget(room: Any) -> None:
    assert room.tokens <= BUDGET["tokens"][room.name]
    assert room.modules <= BUDGET["modules"][room.name]


def test_every_number_of_the_budget_is_of_a_subpackage() -> None:
    names = {room.name for room in rooms()}
    assert set(BUDGET["tokens"]) == set(BUDGET["modules"]) == names


def test_the_whole_is_no_larger_than_its_budget() -> None:
    total = BUDGET["total"]
    due = sum(row["tokens"] for row in BUDGET.get("due", ()))
    assert sum(room.tokens for room in rooms()) <= total["tokens"] < FORMER_SIZE["tokens"] + due
    assert sum(room.modules for room in rooms()) <= total["modules"] < FORMER_SIZE["modules"]
    assert other_bytes() <= total["other_bytes"]
    assert longest_string() <= total["longest_string"]


def test_no_folder_holds_more_files_than_one_can_read() -> None:
    folders = Counter(path.parent.relative_to(SOURCE).as_posix() for path in MODULES)
    crowded = {folder: count for folder, count in folders.items() if count > BUDGET["total"]["files_in_a_folder"]}
    assert crowded == {}


def test_the_formatter_lays_out_all_but_data_tables() -> None:
    skips = sum(path.read_text(encoding="utf-8").count("# fmt: skip") for path in MODULES)
    assert skips <= BUDGET["total"]["fmt_skips"]


def test_every_change_says_for_what_and_what_was_taken_away() -> None:
    for change in BUDGET["changes"]:
        assert set(change) >= {"what", "tokens", "modules", "for", "taken_away"}, change
