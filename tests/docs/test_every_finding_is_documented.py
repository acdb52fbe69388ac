"""The table of findings, the rules and the source must name the same codes."""

import ast
import re
from pathlib import Path

import surgvalid
from repository import REPOSITORY
from surgvalid.schema.finding_log import OFFICIAL_ABORTS, RULES

SOURCE = Path(surgvalid.__file__).parent
PAGE = REPOSITORY / "docs" / "how-to" / "lint-an-answer-file.md"
PLACES = [*sorted((SOURCE / "schema").rglob("*.py")), *sorted((SOURCE / "scoring").glob("lint*.py"))]
ELSEWHERE = ("findings.py", "missing.py", "score_matrix.py", "score_table.py", "statistics_table.py")
FILES = [path for path in PLACES if path.name not in ELSEWHERE]
"""Where answers are checked: `findings.py` only says what a finding is, the others look at tables of scores."""
SPEAKERS = {"Finding", "complain", "note", "noticed", "Odd"}
"""Functions whose first argument is the code of a finding."""
PLACED = {"notice"}
"""Functions that are told the place first, and then the code."""


def codes_in(path: Path) -> set[str]:
    """The codes that a file gives, read from its calls; every one must be spelt out there."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in SPEAKERS | PLACED:
                code = node.args[name in PLACED]
                found |= {c.value for c in _constants(code) if isinstance(c.value, str)}
    return found


def _constants(node: ast.expr) -> list[ast.Constant]:
    return [node] if isinstance(node, ast.Constant) else []


def assigned_codes(path: Path) -> set[str]:
    """The codes that a file picks into a variable called `code`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "code" for t in node.targets):
            branches = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
            found |= {b.value for b in branches if isinstance(b, ast.Constant)}
    return found


def emitted() -> set[str]:
    return {code for path in FILES for code in codes_in(path) | assigned_codes(path)}


def table() -> dict[str, tuple[str, str, str]]:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+) \| (.+?) \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len({row[0] for row in rows}) == len(rows)
    return {code: (severity, meaning, official) for code, severity, meaning, official in rows}


def spelt_out() -> set[str]:
    """Every text that stands in a file by itself; codes of batches are handed on before a finding is made of them."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in FILES if path.name != "finding_log.py"]
    return {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def test_every_code_in_the_source_is_a_rule_and_every_rule_is_in_the_source() -> None:
    assert emitted() - set(RULES) == set()
    pieces = [text for text in spelt_out() if isinstance(text, str) and re.fullmatch(r"[a-z]+-|-[a-z]+", text)]
    made = {code for code in RULES if any(code.startswith(one) or code.endswith(one) for one in pieces)}
    assert set(RULES) - spelt_out() - made - emitted() == set()


def test_the_page_has_exactly_the_rules() -> None:
    assert table() == {code: (rule.severity.value, rule.meaning, rule.official) for code, rule in RULES.items()}


def test_the_page_says_where_the_official_toolkit_stops() -> None:
    assert {code for code, (_, _, official) in table().items() if official != "no"} == OFFICIAL_ABORTS


def test_codes_are_never_made_up_on_the_fly() -> None:
    """A code built from parts could not be looked up; only `code` and pass-through names may stand there."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and getattr(node.func, "id", "") in SPEAKERS:
                assert isinstance(node.args[0], ast.Constant | ast.Name), f"{path.name} line {node.lineno}"
