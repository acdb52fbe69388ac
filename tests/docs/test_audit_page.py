"""The page on printed tables lists the rules that the source has, and no others."""

import ast
import re
from pathlib import Path

import surgvalid
from repository import REPOSITORY

SOURCE = Path(surgvalid.__file__).parent / "audit" / "tables" / "rules"
PAGE = REPOSITORY / "docs" / "how-to" / "audit-printed-tables.md"
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def codes_in(path: Path) -> set[str]:
    """The codes that a file gives its findings: words that it explains in its first lines and passes to a call."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    explained = set(re.findall(r"`([a-z0-9-]+)`", ast.get_docstring(tree) or ""))
    constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {text for text in constants if isinstance(text, str) and CODE.fullmatch(text)} & explained


def test_the_page_has_exactly_the_rules_of_the_source() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \| .+ \| (?:impossible|inconsistent|suspicious)", PAGE.read_text(), re.MULTILINE)
    named = re.findall(r"`([a-z0-9-]+)`", " ".join(rows))
    assert len(named) == 21
    assert sorted(named) == sorted(set().union(*(codes_in(path) for path in SOURCE.glob("[a-z]*.py"))))
