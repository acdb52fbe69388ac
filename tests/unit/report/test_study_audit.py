"""The audit as a result: tables, badge and page, and its section in a report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from docs.planted_studies import clean_study, frames_as_units

import surgeval
from nested_tables import nested_frame
from surgeval.errors import UnknownName
from surgeval.report.audit_sections import audit_sections
from surgeval.report.chart import Chart
from surgeval.report.report import make_report
from surgeval.report.section import Table
from surgeval.results import read


def test_a_failing_audit_shows_its_evidence_on_the_page(tmp_path: Path) -> None:
    study = replace(frames_as_units(clean_study(0)), name="<script>bad</script> study")
    audit = surgeval.audit_study(study, pitfalls=["P3.1", "P3.2", "P2.4"])
    assert not audit.passes
    audit.to_dir(tmp_path / "audit")
    page = (tmp_path / "audit" / "audit.html").read_text(encoding="utf-8")
    assert "<script>bad" not in page
    assert "The design effect is" in page
    assert page.count("<svg") + page.count("vega") > 0
    badge = (tmp_path / "audit" / "badge.svg").read_text(encoding="utf-8")
    assert "1 fail" in badge
    assert [finding.code for finding in audit.findings] == ["pitfall"]


def test_an_audit_reads_back_and_stands_in_a_report(tmp_path: Path) -> None:
    nested_frame(videos=4).write_csv(tmp_path / "scores.csv")
    audit = surgeval.audit_study(tmp_path / "scores.csv", pitfalls=["P1.2", "P3.4"])
    audit.to_dir(tmp_path / "audit")
    assert read(tmp_path / "audit").frame("checks").rows() == audit.table.rows()
    report = make_report(tmp_path)
    section = next(section for section in report.sections if section.name == "audit")
    assert "With fewer than 6 no difference" in json.dumps([str(block) for block in section.blocks])


def test_pictures_follow_the_numbers() -> None:
    tables = surgeval.audit_study(clean_study(0), pitfalls=["P1.5", "P2.6", "P3.1", "P3.2"]).tables
    names = [block.name for section in audit_sections(tables, "") for block in section.blocks if hasattr(block, "name")]
    assert {"p1-5-intervals", "p2-6-curves", "p3-1-widths", "p3-2-strategies"} <= set(names)


def test_a_pitfall_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'P1\.6'"):
        surgeval.audit_study(clean_study(0), pitfalls=["P1.66"])


def test_the_page_says_evidence_once_and_draws_a_picture_once() -> None:
    tables = surgeval.audit_study(frames_as_units(clean_study(0)), pitfalls=["P1.3", "P3.1"]).tables
    sections = audit_sections(tables, "")
    assert [block.frame.columns for block in sections[0].blocks if isinstance(block, Table)] == [
        ["pitfall", "title", "outcome", "severity"]
    ]
    blocks = [block for section in sections for block in section.blocks]
    drawn = [str(block.data.rows()) for block in blocks if isinstance(block, Chart)]
    assert drawn
    assert len(drawn) == len(set(drawn))
