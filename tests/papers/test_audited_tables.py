"""The printed tables of two papers, audited: every finding that the page on auditing names, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import surgeval

ABOVE = Path(__file__).resolve().parents[2].parents
SEEDS = next((folder / "shared" / "seeds" for folder in ABOVE if (folder / "shared" / "seeds").is_dir()), None)
pytestmark = pytest.mark.skipif(SEEDS is None, reason="no shared/seeds beside the repository")
CLASSES = {
    "Tool C80": 7, "Tool HC": 7, "Anat Rec DS": 11, "Inst C45": 7, "Verb C45": 10, "Target C45": 15, "Action HC": 4,
    "CVS IM": 3, "CVS ES": 3,
}  # fmt: skip
"""Of the multi-label tables, as many as the prompts list."""
TEST_PREVALENCE = "24.0;17.1;27.1"
SPLITS = {
    "4": {"Frame / Train": 6970, "Frame / Val": 2331, "Frame / Test": 1799, "Video / Train": 120, "Video / Val": 41,
          "Video / Test": 40},
    "5": {f"Dataset and Split / Endoscapes-{name} / {split}": cases
          for name, counts in {"BBox201": (1212, 409, 312), "Seg50": (343, 76, 74)}.items()
          for split, cases in zip(("Train", "Val", "Test"), counts, strict=True)},
}  # fmt: skip


def text_of(number: str) -> str:
    assert SEEDS is not None
    return next(SEEDS.glob(f"{number}_*.txt")).read_text(encoding="utf-8")


def pair_facts(text: str) -> list[dict[str, str]]:
    """Kind and cases of each task from the paper's own list."""
    rows = [line.split("\t") for line in text.splitlines()]
    facts = [
        {"table": row[0], "kind": row[1], "classes": str(CLASSES.get(row[0], "")), "cases": row[-1]}
        for row in rows
        if len(row) == 5 and row[1] in ("MLC", "MCC")
    ]
    kept = [fact if re.fullmatch(r"[\d,]+", fact["cases"]) else {**fact, "cases": ""} for fact in facts]
    return [{**fact, "prevalence": TEST_PREVALENCE if fact["table"] == "CVS ES" else ""} for fact in kept]


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> surgeval.TableAudit:
    text = text_of("002")
    path = tmp_path_factory.mktemp("paper") / "tables.txt"
    path.write_text(text[text.index("\nTable S7.") :], encoding="utf-8")
    return surgeval.audit_tables(path, facts=pair_facts(text))


def places(audit: surgeval.TableAudit, rule: str) -> list[tuple[str, str]]:
    """Number of the table and row of every finding of a rule."""
    rows = audit.table.filter(rule=rule).select("table", "row").rows()
    return sorted((table.split()[0], row) for table, row in rows)


def test_the_tables_of_the_benchmark_are_read_whole(benchmark: surgeval.TableAudit) -> None:
    assert (benchmark.cells["table"].n_unique(), benchmark.cells.height) == (39, 1742)
    assert benchmark.counts == {"impossible": 0, "inconsistent": 15, "suspicious": 37, "note": 4}


def test_the_findings_in_the_benchmark_are_these(benchmark: surgeval.TableAudit) -> None:
    assert places(benchmark, "accuracy-recall") == [("S20", "PaliGemma"), ("S33", "PaliGemma")]
    assert places(benchmark, "single-label-scoring") == [(t, "Med-Gemini") for t in ("S11", "S12", "S23", "S9")]
    assert places(benchmark, "no-solution") == [("S29", "PaliGemma"), ("S9", "PaliGemma")]
    assert places(benchmark, "repeated-table") == [("S32", "")]
    counts = [table for table, _ in places(benchmark, "whole-counts")]
    assert {table: counts.count(table) for table in counts} == {"S10": 1, "S14": 5, "S28": 3, "S30": 3, "S31": 1}
    best = {table for table, _ in places(benchmark, "degenerate-best")}
    assert best == {"S11", "S18", "S21", "S22", "S24", "S26", "S34"}
    assert {table for table, _ in places(benchmark, "degenerate")} == best | {"S8", "S14", "S17", "S23", "S27", "S32"}
    silent = "jaccard-f1 f1-harmonic jaccard-bound bold-not-best prevalence labelwise-accuracy range"
    assert [rule for rule in silent.split() if places(benchmark, rule)] == []


def test_the_findings_in_the_data_description_are_these(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text(text_of("004"), encoding="utf-8")
    facts = [
        {"table": table, "column": column, "cases": str(cases)}
        for table, columns in SPLITS.items()
        for column, cases in columns.items()
    ]
    audit = surgeval.audit_tables(tmp_path / "paper.md", facts=facts)
    assert audit.cells["table"].n_unique() == 8
    assert [finding.code for finding in audit.findings] == ["table-contradicts"], "every fact found its table"
    assert audit.table.select("severity", "rule", "printed").rows() == [
        ("inconsistent", "total", "# Annotations / Total = 11090"),
        ("inconsistent", "average", "CVS mAP / Avg = 52.1"),
        ("inconsistent", "average", "CVS mAP / Avg = 69.7"),
        ("inconsistent", "average", "CVS Bacc / Avg = 72.3"),
        ("note", "average", "Frame / Train = 5.3"),
    ]
