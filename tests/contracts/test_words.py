"""One word per idea: help texts, messages, docstrings, templates and pages use the field's words.

The vocabulary once grew a dialect of its own (a board, a floor, a film). Forbidden are its words, not the names of
files, columns, keys, options and code, which results of earlier versions carry: those stand in code spans, in
identifiers or in quotes, and are not read here.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from repository import REPOSITORY
from surgvalid.cli import build_app

FORBIDDEN = {
    "board": (r"boards?", "leaderboard"),
    "doubt": (r"doubts?", "ambiguity"),
    "entrant": (r"entrants?", "participant"),
    "film": (r"films?|filmed", "video file, video clip"),
    "first place": (r"first places?|final places?|mean places?|place \d", "final rank"),
    "floor": (r"floors?", "trivial baseline"),
    "gate": (r"gates?|gated", "qualification criterion"),
    "headline": (r"headlines?", "primary metric, primary result"),
    "never looks": (r"(?:systems?|predictors?) that (?:never looks?|does not look|do not look)", "input-blind"),
    "picture": (r"pictures?", "image"),
    "respects videos": (r"respects? (?:videos|patients|clusters)", "clustered by video"),
    "seed study": (r"seed 00\d|seed (?:stud(?:y|ies)|papers?|documents?)", "the paper, cited"),
    "shelf": (r"shel(?:f|ves)", "frame cache"),
    "taken for": (r"(?:is|are|was|were|be|been|not|never) taken for", "interpreted as"),
}
"""Word: what is looked for, and what to write instead."""

ALLOWED = [
    ("board", "ethics board", "what a hospital calls it"),
    ("board", "table rule board", "the name of an argument"),
    ("board", "task board", "a verb"),
    ("board", "intake, scoring, board", "a worker's duty, as its token names it"),
    ("doubt", "drafts in doubt", "a key of data_card.json"),
    ("doubt", "score and doubt within", "fields of the thresholds"),
    ("gate", "passed a gate", "a column of the table of authors"),
    ("headline", "headline, bound", "values of the column level"),
    ("picture", "groups? of pictures", "the codec's term"),
    ("picture", r"\(\?:image\|(?:frame\|)?picture", "what replies call it"),
    ("doubt", r"doubt\|doubts\|unlikely", "what replies say"),
    ("doubt", r"doute\|doubt\|zweifel", "what replies say"),
    ("picture", "of the picture does the needle leave", "a canary that was asked before, word for word"),
]
"""Word, the phrase in which it may stand, and why."""

CODE = re.compile(
    r"```.*?```|`[^`\n]*`|\]\([^)\s]*\)|https?://\S+|\{[{%].*?[%}]\}|<[^<>]*>|\{[^{}\n]*\}|'[^'\s]*'|\"[^\"\s]*\""
    r"|--[a-z][\w-]*|[\w.-]+/[\w./-]*|\b[\w-]+\.(?:csv|json|toml|html|py|md|parquet|png|svg|jpg)\b|\b\w+_\w+\b"
    r"|^##+ [a-z_]+$|^[ \t]*[a-z_]+: |^[ \t]*(?:>>>|\.\.\.) .*$|\b\w+(?= = )|\b\w+-\w[\w-]*",
    re.DOTALL | re.MULTILINE,
)
"""What is no prose: blocks and spans of code, addresses, tags, options, file names, identifiers, names of arguments."""


def faults(text: str) -> Iterator[str]:
    """The forbidden words of a text, each with some words around it and what to write instead."""
    prose = CODE.sub(" ", text)
    for word, (pattern, instead) in FORBIDDEN.items():
        kept = prose
        for allowed in (phrase for name, phrase, _ in ALLOWED if name == word):
            kept = re.sub(allowed, " ", kept, flags=re.IGNORECASE)
        for found in re.finditer(rf"\b(?:{pattern})\b", kept, re.IGNORECASE):
            around = " ".join(kept[max(0, found.start() - 40) : found.end() + 30].split())
            yield f"{around!r}: write {instead}"


def helps(command: Any, path: str) -> Iterator[tuple[str, str]]:
    """The text of every verb and of every option."""
    yield path, command.help or ""
    for option in command.params:
        yield f"{path} {max(option.opts, key=len)}", getattr(option, "help", None) or ""
    for name in getattr(command, "commands", {}) and command.list_commands(None):
        yield from helps(command.get_command(None, name), f"{path} {name}")


@cache
def literals(path: Path) -> tuple[tuple[int, str], ...]:
    """Texts of several words in a module, docstrings among them; lists of names that are split are none."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "split"
        for part in ast.walk(node.value)
    }
    return tuple(
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip()
        if id(node) not in names
    )


ROOT = REPOSITORY / "src" / "surgvalid"
ROOMS = sorted(path for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
TEMPLATES = sorted(path for ending in ("html", "typ") for path in ROOT.rglob(f"*.{ending}"))
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def named(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.name)
def test_messages_and_docstrings_use_the_words_of_the_field(room: Path) -> None:
    modules = [room] if room.suffix else sorted(room.rglob("*.py"))
    wrong = [
        f"{named(path)}:{line}: {fault}" for path in modules for line, text in literals(path) for fault in faults(text)
    ]
    assert not wrong, "\n".join(wrong)


def test_help_uses_the_words_of_the_field() -> None:
    command = typer.main.get_command(build_app())
    wrong = [f"{where}: {fault}" for where, text in helps(command, "surgvalid") for fault in faults(text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", [*TEMPLATES, *PAGES], ids=named)
def test_templates_and_pages_use_the_words_of_the_field(path: Path) -> None:
    wrong = [f"{named(path)}: {fault}" for fault in faults(path.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text", ["The best floor", "who leads the Board", "as in seed 001", "it was taken for empty"])
def test_a_forbidden_word_is_found(text: str) -> None:
    assert list(faults(text))


@pytest.mark.parametrize("text", ["`floor` is a column", "see headlines.csv", "board: The rows.", "an ethics board"])
def test_names_and_allowed_phrases_are_left_alone(text: str) -> None:
    assert not list(faults(text))


def test_every_allowed_phrase_is_in_use() -> None:
    texts = [text for path in sorted(ROOT.rglob("*.py")) for _, text in literals(path)]
    texts += [path.read_text(encoding="utf-8") for path in PAGES]
    unused = [phrase for _, phrase, _ in ALLOWED if not any(re.search(phrase, text, re.IGNORECASE) for text in texts)]
    assert not unused
