"""Every layout that a source corrected is a row of the page of validation, and its test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTES = ROOT.parent / "shared" / "specs" / "real_layouts.md"
ROWS = [
    line
    for line in (ROOT / "docs" / "validation.md")
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
    assert name in names_of_tests(ROOT / place)


def test_every_layout_that_is_noted_as_corrected_has_its_row() -> None:
    if not NOTES.exists():
        pytest.skip("the notes on layouts are not beside the checkout")
    noted = len(re.findall(r"\*\*CONTRADICTION\*\*(?! marks)", NOTES.read_text(encoding="utf-8")))
    assert len(ROWS) == noted
