"""Every layout that a source corrected is a row of the page of validation, and its test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from repository import REPOSITORY
from shared_data import shared

ROWS = [
    line
    for line in (REPOSITORY / "docs" / "validation.md")
    .read_text(encoding="utf-8")
    .partition("## Layouts that their sources corrected")[2]
    .splitlines()
    if line.startswith("| ") and "`tests/" in line
]


def names_of_tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split(" | ")[0].strip("| "))
def test_the_test_that_a_row_names_exists(row: str) -> None:
    place, name = re.findall(r"`(tests/\S+\.py)::(\w+)` \|$", row)[0]
    assert name in names_of_tests(REPOSITORY / place)


def test_every_layout_that_is_noted_as_corrected_has_its_row() -> None:
    notes = shared("specs", "real_layouts.md").read_text(encoding="utf-8")
    noted = len(re.findall(r"\*\*CONTRADICTION\*\*(?! marks)", notes))
    assert len(ROWS) == noted
