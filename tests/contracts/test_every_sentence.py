"""Every sentence that the first page of a report or study can say is made in a test too, by its words.

Sentences are found in the code that makes them: every text of three words or more between two values, errors apart. A
sentence is covered where a test or a reviewed page quotes such a piece of it, or enough of one to know it by.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import surgvalid
from repository import REPOSITORY

ROOMS = (
    "report/verdict/leads.py", "report/verdict/reasons.py", "report/verdict/advice.py",
    "report/sections/verdict.py", "report/limits.py", "report/verdict_page.py",
    "stats/verdict/sentences.py", "stats/verdict/study.py",
)  # fmt: skip
"""Files whose texts stand on a first page."""
FEWEST_WORDS = 3
KNOWN_BY = 12
"""Letters by which a quotation is known."""
SOURCE, TESTS = Path(surgvalid.__file__).parent, REPOSITORY / "tests"


def texts(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """The texts of some code with their lines, in pieces where values stand between; docstrings and errors are none."""
    everything = list(ast.walk(tree))
    errors = [node for node in everything if isinstance(node, ast.Raise)]
    alone = [node.value for node in everything if isinstance(node, ast.Expr)]
    docstrings = [node for node in alone if isinstance(node, ast.Constant)]
    seen = {id(inner) for node in (*errors, *docstrings) for inner in ast.walk(node)}
    for node in everything:
        if id(node) in seen or not isinstance(node, ast.JoinedStr | ast.Constant):
            continue
        parts = [one for one in getattr(node, "values", [node]) if isinstance(one, ast.Constant)]
        seen |= {id(one) for one in parts}
        yield node.lineno, [" ".join(one.value.split()) for one in parts if isinstance(one.value, str)]


def sentences() -> list[tuple[str, list[str]]]:
    """Where a sentence is made, and the pieces of it that are long enough to know it by."""
    found = [
        (f"{room}:{line}", [piece for piece in pieces if len(piece.split()) >= FEWEST_WORDS])
        for room in ROOMS
        for line, pieces in texts(ast.parse((SOURCE / room).read_text()))
    ]
    return [(where, pieces) for where, pieces in found if pieces]


@cache
def quoted() -> tuple[str, ...]:
    """All that tests and reviewed pages quote."""
    files = [
        path
        for folder in ("unit/report", "unit/stats/verdict", "golden", "e2e")
        for path in (TESTS / folder).rglob("*.py")
    ]
    words = [piece for path in files for _, pieces in texts(ast.parse(path.read_text())) for piece in pieces]
    pages = [" ".join(path.read_text().split()) for path in (TESTS / "golden" / "report").glob("*.txt")]
    return (*pages, *(text for text in dict.fromkeys(words) if len(text) >= KNOWN_BY and " " in text))


def is_tested(pieces: list[str]) -> bool:
    """Whether a test quotes a piece, or a part of it that is long enough to know it by."""
    return any(piece.strip(" ,.:;()") in text or text in piece for piece in pieces for text in quoted())


def test_every_sentence_of_a_first_page_is_made_in_a_test() -> None:
    untested = [f"{where}: {' ... '.join(pieces)}" for where, pieces in sentences() if not is_tested(pieces)]
    assert not untested, "sentences that no test makes:\n" + "\n".join(untested)


def test_a_sentence_that_no_test_makes_is_noticed() -> None:
    assert not is_tested(["no test of ours has", "said this of a model"[::-1]])
    assert is_tested(["No clear winner on"])
    assert len(sentences()) > 80
