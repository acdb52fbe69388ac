"""`surgvalid audit tables`: what was interpreted as what, what was not looked at, exit codes, files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import surgvalid
from surgvalid.audit.tables.metric_names import metric_named
from surgvalid.cli import build_app
from surgvalid.errors import Misuse, TableInvalid, UnknownName

GOOD = "Table 1. Phases\n\n| Model | A | wR |\n|---|---|---|\n| CLIP | 0.40 | 0.40 |\n"
BAD = GOOD.replace("0.40 | 0.40", "0.09 | 0.40")


@pytest.fixture
def run(tmp_path: Path) -> object:
    def invoke(text: str, *words: str) -> Result:
        (tmp_path / "paper.md").write_text(text)
        return CliRunner().invoke(build_app(), ["audit", "tables", str(tmp_path / "paper.md"), *words])

    return invoke


@pytest.mark.parametrize(
    ("heading", "metric"),
    [
        ("A", "accuracy"),
        ("Acc.", "accuracy"),
        ("Accuracy (%)", "accuracy"),
        ("IoU ↑", "jaccard"),
        ("mIoU", "jaccard"),
        ("DSC", "f1"),
        ("Macro F1", "f1"),
        ("F1-macro", "f1"),
        ("weighted F1", "weighted_f1"),
        ("F1 (weighted)", "weighted_f1"),
        ("F1 (micro)", ""),
        ("mean accuracy", ""),
        ("wJ", "weighted_jaccard"),
        ("Sensitivity", "recall"),
        ("mAP@[0.5:0.95]", "average_precision"),
        ("wAP@0.50:0.95", "weighted_average_precision"),
        ("Params (M)", ""),
        ("C1", ""),
        ("Overall", ""),
        ("Weight", ""),
    ],
)
def test_headings_name_metrics(heading: str, metric: str) -> None:
    assert metric_named(heading) == metric


def test_the_exit_code_tells_whether_something_is_grave(run) -> None:
    assert run(GOOD, "--facts", "kind=multi-class").exit_code == 0
    done = run(BAD, "--facts", "kind=MCC")
    assert done.exit_code == 1
    assert "accuracy-recall" in done.stdout
    assert "1 findings in 1 tables are impossible or inconsistent" in done.stderr


def test_what_nobody_said_is_asked_for(run) -> None:
    done = run(BAD)
    assert done.exit_code == 0
    assert "nobody said the kind" in done.stderr


def test_json_has_the_findings_and_what_columns_were_taken_for(run) -> None:
    data = json.loads(run(BAD, "--facts", "kind=multi-class", "--json").stdout)
    assert (data["passes"], data["counts"]["inconsistent"]) == (False, 1)
    assert data["findings"][0]["printed"] == "A = 0.09, wR = 0.40"
    assert [(row["column"], row["metric"]) for row in data["columns"]] == [("A", "accuracy"), ("wR", "weighted_recall")]


def test_the_cells_that_are_written_can_be_audited_again(run, tmp_path: Path) -> None:
    run(BAD, "--facts", "kind=multi-class", "--out", str(tmp_path / "out"))
    again = surgvalid.audit_tables(tmp_path / "out" / "cells.csv", kind="multi-class")
    assert again.table["rule"].to_list() == ["accuracy-recall"]
    assert (tmp_path / "out" / "manifest.json").is_file()


def test_a_repeated_run_gives_the_same(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "facts.csv").write_text("table,kind,cases\nPhases,MCC,292\n")
    run(BAD, "--facts", str(tmp_path / "facts.csv"), "--out", str(tmp_path / "out"))
    done = CliRunner().invoke(build_app(), ["tools", "rerun", str(tmp_path / "out")])
    assert (done.exit_code, "4 of 4 files are equal" in done.stdout) == (0, True)


def test_facts_find_their_table_by_number_or_title(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text(BAD)
    for name in ("1", "Table 1", "phases", "1 Phases"):
        result = surgvalid.audit_tables(tmp_path / "t.md", facts=[{"table": name, "kind": "MCC"}])
        assert not result.passes
    result = surgvalid.audit_tables(tmp_path / "t.md", facts=[{"table": "S1", "kind": "MCC"}])
    assert [finding.code for finding in result.findings] == ["fact-missing", "fact-missing", "facts-unused"]


def test_everything_wrong_with_facts_is_listed(tmp_path: Path) -> None:
    facts = "table,kind,cases,prevalence,color\n1,several,x,0.1;y,red\n"
    (tmp_path / "facts.csv").write_text(facts)
    (tmp_path / "t.md").write_text(GOOD)
    with pytest.raises(TableInvalid) as error:
        surgvalid.audit_tables(tmp_path / "t.md", facts=tmp_path / "facts.csv")
    assert [problem.split(" ")[:3] for problem in error.value.problems] == [
        ["column", "'color'", "is"], ["row", "1:", "unknown"], ["row", "1:", "cases"], ["row", "1:", "prevalence"],
    ]  # fmt: skip


def test_two_columns_of_one_metric_are_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text("| M | F1 | Dice | J |\n|---|---|---|---|\n| A | 0.5 | 0.9 | 0.1 |\n")
    result = surgvalid.audit_tables(tmp_path / "t.md")
    assert result.table.is_empty()
    assert "columns 'F1' and 'Dice' both read as f1" in result.warnings[0]
    for columns in ({"other": "Dice"}, {"Dice": "other"}):
        assert surgvalid.audit_tables(tmp_path / "t.md", columns=columns).table["rule"].to_list() == ["jaccard-f1"]


def test_a_single_letter_alone_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text("| M | P | Years |\n|---|---|---|\n| A | 1.5 | 3 |\n")
    assert "column 'P' may be precision" in surgvalid.audit_tables(tmp_path / "t.md").warnings[0]


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text(GOOD)
    with pytest.raises(UnknownName, match="unknown metric 'acuracy'; did you mean 'accuracy'"):
        surgvalid.audit_tables(tmp_path / "t.md", columns={"A": "acuracy"})
    with pytest.raises(UnknownName, match="unknown kind of classification"):
        surgvalid.audit_tables(tmp_path / "t.md", kind="several")
    with pytest.raises(Misuse, match="cases must be at least 1, got 0"):
        surgvalid.audit_tables(tmp_path / "t.md", cases=0)


def test_a_choice_of_columns_that_cannot_be_read_is_refused(run) -> None:
    done = run(GOOD, "--headings", "A")
    assert isinstance(done.exception, Misuse)
    assert "'A' is not HEADING=METRIC; write for example A=accuracy,P=other" in str(done.exception)


def test_cases_without_a_kind_are_said_to_be_of_no_use(tmp_path: Path) -> None:
    place = tmp_path / "table.csv"
    place.write_text("Model,Accuracy\nOne,0.805\nTwo,0.834\n", encoding="utf-8")
    silent = surgvalid.audit_tables(place, cases=36)
    assert silent.table.is_empty()
    assert [one.message for one in silent.findings] == [
        "nobody said the kind (multi-class, multi-label or binary), so accuracy was not held against whole counts, "
        "nor an interval against its width"
    ]
    captioned = tmp_path / "captioned.csv"
    captioned.write_text("Table 1. Test set (n = 36)\n" + place.read_text(encoding="utf-8"), encoding="utf-8")
    told = surgvalid.audit_tables(captioned).findings
    assert [one.message for one in told] == [one.message for one in silent.findings], "the cases stand in the caption"
    assert surgvalid.audit_tables(place, cases=36, kind="multi-class").table["rule"].to_list() == ["whole-counts"]
