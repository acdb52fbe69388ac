"""What statistics notice: every code is declared once, weighs the same in every verb, and is documented."""

from __future__ import annotations

import ast
from pathlib import Path

import polars as pl
import pytest
from docs.findings_page import PAGE, page

import surgvalid
from surgvalid.results.tables import statistics
from surgvalid.schema.finding_log import RULES
from surgvalid.schema.findings import Severity
from surgvalid.schema.statistic_rules import STATISTIC_RULES
from surgvalid.schema.tables.shown_tables import P_VALUES

SOURCE = Path(surgvalid.__file__).parent
FILES = [
    *sorted((SOURCE / "stats").rglob("*.py")),
    *(
        SOURCE / name
        for name in (
            "schema/tables/missing.py",
            "schema/tables/score_matrix.py",
            "results/registration.py",
            "studies/preregistration.py",
            "evaluation/sites.py",
        )
    ),
]
CODES = {"NOT_THERE": "scores-not-there", "BUCKET_TOO_SMALL": "bucket-too-small",
         "NOTHING_SIGNIFICANT": "nothing-significant"}  # fmt: skip


def calls(name: str) -> list[tuple[Path, ast.Call]]:
    found = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                found.append((path, node))
    return found


def code_of(node: ast.expr) -> str:
    return CODES[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)


def test_no_verb_of_statistics_chooses_a_severity() -> None:
    assert [f"{path.name} line {node.lineno}" for path, node in calls("Finding")] == []


def test_every_code_in_the_source_is_a_rule_and_every_rule_is_in_the_source() -> None:
    assert {code_of(node.args[0]) for _, node in calls("remark")} == set(STATISTIC_RULES)


def test_a_code_that_questions_have_too_weighs_the_same() -> None:
    both = set(RULES) & set(STATISTIC_RULES)
    assert {code: RULES[code].severity for code in both} == {code: STATISTIC_RULES[code].severity for code in both}


def test_the_page_of_findings_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("verb", ["interval", "compare", "strata", "aggregate", "rank", "dependence", "adjusted"])
def test_a_table_without_videos_is_warned_of_by_every_verb(verb: str) -> None:
    rows = {"model": ["A"] * 24 + ["B"] * 24, "case": [f"c{i:02d}" for i in range(24)] * 2,
            "correct": [float(i % 3 > 0) for i in range(24)] + [float(i % 2) for i in range(24)],
            "smoke": [i % 4 == 0 for i in range(24)] * 2}  # fmt: skip
    table = surgvalid.ScoreTable.of(pl.DataFrame(rows), columns={"value": "correct"})
    call = {
        "compare": lambda: surgvalid.compare(table, "A", "B"),
        "strata": lambda: surgvalid.strata(table, ["smoke"]),
        "adjusted": lambda: surgvalid.failures(table, fixed=["smoke"], marginal=True),
        "rank": lambda: surgvalid.rank(table, "mean-then-rank", replicates=20),
    }.get(verb, lambda: getattr(surgvalid, verb)(table))
    severities = {one.severity for one in call().findings if one.code == "no-videos"}
    assert severities == {Severity.WARNING}


def test_every_column_of_p_values_is_shown_as_one() -> None:
    from surgvalid.results.tables import failures, ranking, studies

    tables = [one for module in (failures, ranking, statistics, studies) for one in vars(module).values()
              if type(one).__name__ == "Table"]  # fmt: skip
    shares = {"p_first", "p_top3"}
    named = {name for one in tables for name in one.columns if name.startswith("p_") or name.endswith("_p")}
    assert named - shares <= P_VALUES
