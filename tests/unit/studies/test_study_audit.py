"""The audit as a result: tables and page, and its section in a report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from docs.planted_studies import clean_study, frames_as_units
from typer.testing import CliRunner

import surgvalid
from nested_tables import nested_frame
from surgvalid.cli import build_app
from surgvalid.errors import UnknownName
from surgvalid.report.audit_sections import audit_sections
from surgvalid.report.chart import Chart
from surgvalid.report.report import make_report
from surgvalid.report.section import ReportTable
from surgvalid.results import read


def test_a_failing_audit_shows_its_evidence_on_the_page(tmp_path: Path) -> None:
    study = replace(frames_as_units(clean_study(0)), name="<script>bad</script> study")
    audit = surgvalid.audit_study(study, pitfalls=["P3.1", "P3.2", "P2.4"])
    assert not audit.passes
    audit.to_dir(tmp_path / "audit")
    page = (tmp_path / "audit" / "audit.html").read_text(encoding="utf-8")
    assert "<script>bad" not in page
    assert "The design effect is" in page
    assert "Numbers of P3.1" in page
    files = {path.name for path in (tmp_path / "audit").iterdir()}
    assert files == {"audit.html", "checks.csv", "evidence.csv", "numbers.csv", "methods.txt", "manifest.json"}
    assert [finding.code for finding in audit.findings] == ["pitfall"]


def test_patients_of_the_scores_are_not_the_videos_of_other_tables(tmp_path: Path) -> None:
    """A video in two splits is no patient in two splits, and a name in quotes stays what it is."""
    rows = [
        {
            "patient": f"p{p}",
            "video": f"p{p}v{v}",
            "case": f"p{p}v{v}",
            "model": model,
            "dice": 0.7 + (p * 3 + v) % 7 / 50,
        }
        for p in range(8)
        for v in range(3)
        for model in ("A", "video net")
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "scores.csv")
    splits = [("train", "v0", "p20"), ("train", "v1", "p21"), ("test", "v0", "p2"), ("test", "v3", "p3")]
    pl.DataFrame(splits, schema=["split", "video", "patient"], orient="row").write_csv(tmp_path / "splits.csv")
    (tmp_path / "study.toml").write_text(
        'title = "video study"\n[data]\nscores = "scores.csv"\nsplits = "splits.csv"\n'
    )
    audit = surgvalid.audit_study(tmp_path)
    assert "video: test and train share 1 (v0)." in audit.tables["evidence"]["sentence"].to_list()
    assert "8 patients with 24 cases." in audit.tables["evidence"]["sentence"].to_list()
    assert [one.message for one in audit.findings] == ["video: test and train share 1 (v0)."]
    assert "'video study' was held against" in audit.prose
    assert "'video net' 0." in surgvalid.dependence(tmp_path / "scores.csv").prose


def test_an_audit_reads_back_and_stands_in_a_report(tmp_path: Path) -> None:
    nested_frame(videos=4).write_csv(tmp_path / "scores.csv")
    audit = surgvalid.audit_study(tmp_path / "scores.csv", pitfalls=["P1.2", "P3.4"])
    audit.to_dir(tmp_path / "audit")
    assert read(tmp_path / "audit").frame("checks").rows() == audit.table.rows()
    report = make_report(tmp_path)
    section = next(section for section in report.sections if section.name == "audit")
    assert "With fewer than 6 no difference" in json.dumps([str(block) for block in section.blocks])


def test_a_plain_table_is_audited_and_the_page_leads_with_what_is_open(tmp_path: Path) -> None:
    rows = [
        {"patient": f"P{p:02d}", "unet": 0.7 + 0.01 * ((p * 7 + f) % 9), "swin": 0.72 + 0.01 * ((p * 5 + f) % 9)}
        for p in range(12)
        for f in range(4)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "dice.csv")
    audit = surgvalid.audit_study(tmp_path / "dice.csv")
    assert audit.title.startswith("dice: 12 of 18 checks wait for an answer and 5 are not assessable; of the 1 that")
    first, *_ = audit_sections(audit.tables, "")[0].blocks
    assert "wait for an answer" in str(first)
    (tmp_path / "study.toml").write_text(
        'title = "Dice"\n[data]\nscores = ["dice.csv"]\n[answers]\ntuned_on = "validation"\nethics = "waived"\n'
    )
    kept = surgvalid.audit_study(tmp_path / "dice.csv")
    assert set(audit.questions["key"]) - set(kept.questions["key"]) == {"tuned_on", "ethics"}
    other = surgvalid.audit_study(tmp_path / "dice.csv", better="larger")
    assert other.questions.height == kept.questions.height


def test_a_study_is_audited_first_with_the_answers_that_are_kept_beside_its_table(tmp_path: Path) -> None:
    nested_frame(videos=12).write_csv(tmp_path / "scores.csv")
    first, *_ = surgvalid.study(tmp_path / "scores.csv", better="larger").findings
    assert (first.code, first.severity) == ("audited", "note")
    assert "11 of 18 checks wait for an answer" in first.text
    answers = 'intervals = "single frames"\ntuned_on = "validation"\n'
    (tmp_path / "study.toml").write_text(f'[data]\nscores = ["scores.csv"]\n[answers]\n{answers}')
    study = surgvalid.study([tmp_path / "scores.csv"], better="larger")
    assert "8 of 18 checks wait for an answer" in study.findings[0].text
    (failing,) = (one for one in study.findings if one.code == "pitfall")
    assert failing.text.startswith("P3.1 Frames counted as independent: Units of intervals and tests: single frames.")
    assert failing.text.removeprefix("P3.1 ") in study.html()


def test_answers_beside_a_table_count_on_the_command_line_too(tmp_path: Path) -> None:
    nested_frame(videos=12).write_csv(tmp_path / "scores.csv")
    (tmp_path / "study.toml").write_text('[data]\nscores = "scores.csv"\n[answers]\nethics = "waived"\n')
    done = CliRunner().invoke(build_app(), ["audit", str(tmp_path / "scores.csv"), "--json"])
    assert "ethics" not in [row["key"] for row in json.loads(done.stdout)["questions"]]


def test_every_check_has_its_numbers_and_raters_a_picture() -> None:
    tables = surgvalid.audit_study(clean_study(0), pitfalls=["P1.5", "P2.6", "P3.1", "P3.2"]).tables
    names = [block.name for section in audit_sections(tables, "") for block in section.blocks if hasattr(block, "name")]
    assert {"p1-5-intervals", "p1-5-numbers", "p2-6-numbers", "p3-1-numbers", "p3-2-numbers"} <= set(names)


def test_a_pitfall_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'P1\.6'"):
        surgvalid.audit_study(clean_study(0), pitfalls=["P1.66"])


def test_the_page_says_evidence_once_and_draws_a_picture_once() -> None:
    tables = surgvalid.audit_study(frames_as_units(clean_study(0)), pitfalls=["P1.3", "P3.1"]).tables
    sections = audit_sections(tables, "")
    assert [block.frame.columns for block in sections[0].blocks if isinstance(block, ReportTable)] == [
        ["pitfall", "title", "outcome", "severity"]
    ]
    blocks = [block for section in sections for block in section.blocks]
    drawn = [str(block.data.rows()) for block in blocks if isinstance(block, Chart)]
    assert drawn
    assert len(drawn) == len(set(drawn))
