"""The threat model page names every attack, and every test that it names exists."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from repository import REPOSITORY

ROOT = REPOSITORY
PAGE = (ROOT / "docs" / "concepts" / "threat-model.md").read_text(encoding="utf-8")
ATTACKS = range(1, 50)
"""Of images, containers, the protocol, scoring and the web service."""


def rows() -> list[list[str]]:
    """The cells of every table row of the page."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line[:2] == "| "]


FILES = {row[0].strip("`| "): re.findall(r"`(tests/[\w/]+\.py)`", row[1]) for row in rows() if "`tests/" in row[1]}
NAMED = {
    int(row[0].strip("| ")): re.findall(r"`(\w+):(test_[\w*]*)`", row[3])
    for row in rows()
    if row[0].strip("| ").isdigit()
}


def functions_of(file: Path) -> list[str]:
    return [node.name for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]


def test_every_attack_is_on_the_page_once() -> None:
    numbers = [row[0].strip("| ") for row in rows() if row[0].strip("| ").isdigit()]
    assert numbers == [str(number) for number in ATTACKS]


@pytest.mark.parametrize("number", ATTACKS)
def test_an_attack_is_tested_where_the_page_says(number: int) -> None:
    assert NAMED[number], "no test is named"
    for short, name in NAMED[number]:
        (file,) = FILES[short]
        found = [test for test in functions_of(ROOT / file) if test.startswith("test_") and fnmatchcase(test, name)]
        assert found, f"{file} has no {name}"


def test_a_test_that_carries_a_number_belongs_to_that_attack() -> None:
    for short, (file,) in FILES.items():
        for test in functions_of(ROOT / file):
            numbers = re.match(r"test_((?:\d\d_)+)", test)
            for number in numbers.group(1).strip("_").split("_") if numbers else ():
                patterns = [name for alias, name in NAMED[int(number)] if alias == short]
                assert any(fnmatchcase(test, pattern) for pattern in patterns), f"attack {number} does not name {test}"
