"""The page of what statistics notice, from the code's own list."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent / "reference" / "findings.md"
_HEAD = """# Findings of statistics

Made by `make docs` from the code; a test keeps it true. A finding weighs the same in every verb that gives it: a
warning can make a reader conclude something that the data do not carry and stands among the limitations of a report; a
note is worth knowing. Findings about answer files are on the page
[lint an answer file](../how-to/lint-an-answer-file.md).

| code | severity | what it means |
|---|---|---|
"""


def page() -> str:
    """The page as the rules are now."""
    from surgvalid.schema.statistic_rules import STATISTIC_RULES

    rows = (f"| `{code}` | {rule.severity.value} | {rule.meaning} |\n" for code, rule in STATISTIC_RULES.items())
    return _HEAD + "".join(rows)
