"""The printed tables of two papers, audited: every finding that the page on auditing names, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import surgvalid
from printed_pdf import printed_pdf
from shared_data import needs_shared, shared
from surgvalid.audit.tables.files import text_grids

pytestmark = needs_shared("seeds")
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
    return next(shared("seeds").glob(f"{number}_*.txt")).read_text(encoding="utf-8")


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
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> surgvalid.TableAudit:
    text = text_of("002")
    path = tmp_path_factory.mktemp("paper") / "tables.txt"
    path.write_text(text[text.index("\nTable S7.") :], encoding="utf-8")
    return surgvalid.audit_tables(path, facts=pair_facts(text))


def places(audit: surgvalid.TableAudit, rule: str) -> list[tuple[str, str]]:
    """Number of the table and row of every finding of a rule."""
    rows = audit.table.filter(rule=rule).select("table", "row").rows()
    return sorted((table.split()[0], row) for table, row in rows)


def test_the_tables_of_the_benchmark_are_read_whole(benchmark: surgvalid.TableAudit) -> None:
    assert (benchmark.cells["table"].n_unique(), benchmark.cells.height) == (39, 1742)
    assert benchmark.counts == {"impossible": 0, "inconsistent": 15, "suspicious": 37, "note": 4}


def test_the_findings_in_the_benchmark_are_these(benchmark: surgvalid.TableAudit) -> None:
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


def test_the_same_is_noticed_in_the_tables_without_a_stated_kind(tmp_path: Path) -> None:
    text = text_of("002")
    (tmp_path / "tables.txt").write_text(text[text.index("\nTable S7.") :], encoding="utf-8")
    audit = surgvalid.audit_tables(tmp_path / "tables.txt")
    assert places(audit, "accuracy-recall") == [("S20", "PaliGemma"), ("S33", "PaliGemma")]
    kinds = {fact["table"]: fact["kind"] for fact in pair_facts(text)}
    inferred = {one.subject.split(maxsplit=1)[1] for one in audit.findings if one.code == "kind-inferred"}
    assert {kinds.get(name, "MCC") for name in inferred} == {"MCC"}
    assert len(inferred) > 15


def pdf_of(text: str, path: Path) -> Path:
    pytest.importorskip("pdfplumber")
    pytest.importorskip("typst")
    return printed_pdf(path, [grid for grid in text_grids(text) if grid.caption], width=1400)


def test_the_tables_of_the_benchmark_are_read_from_a_pdf(tmp_path: Path, benchmark: surgvalid.TableAudit) -> None:
    text = text_of("002")
    path = pdf_of(text[text.index("\nTable S7.") :], tmp_path / "paper.pdf")
    audit = surgvalid.audit_tables(path, facts=pair_facts(text))
    name = pl.col("table").str.replace(r" \(page \d+\)$", "")
    assert audit.cells.with_columns(name).equals(benchmark.cells)
    assert audit.counts == benchmark.counts


def split_facts() -> list[dict[str, str]]:
    return [
        {"table": table, "column": column, "cases": str(cases)}
        for table, columns in SPLITS.items()
        for column, cases in columns.items()
    ]


def test_the_contradictions_of_the_data_description_are_read_from_a_pdf(tmp_path: Path) -> None:
    audit = surgvalid.audit_tables(pdf_of(text_of("004"), tmp_path / "paper.pdf"), facts=split_facts())
    grave = audit.table.filter(severity="inconsistent")
    values = grave["printed"].str.extract(r"= ([\d.]+)$").to_list()
    assert list(zip(grave["rule"], values, strict=True)) == [
        ("total", "11090"), ("average", "52.1"), ("average", "69.7"), ("average", "72.3"),
    ]  # fmt: skip
    assert audit.cells["table"].n_unique() == 8


def test_the_findings_in_the_data_description_are_these(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text(text_of("004"), encoding="utf-8")
    facts = split_facts()
    audit = surgvalid.audit_tables(tmp_path / "paper.md", facts=facts)
    assert audit.cells["table"].n_unique() == 8
    assert [finding.code for finding in audit.findings] == ["table-contradicts"], "every fact found its table"
    assert audit.table.select("severity", "rule", "printed").rows() == [
        ("inconsistent", "total", "# Annotations / Total = 11090"),
        ("inconsistent", "average", "CVS mAP / Avg = 52.1"),
        ("inconsistent", "average", "CVS mAP / Avg = 69.7"),
        ("inconsistent", "average", "CVS Bacc / Avg = 72.3"),
        ("note", "average", "Frame / Train = 5.3"),
    ]
