"""The short report: verdict, limitations and methods, on few pages."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from surgvalid.report.figures import picture
from surgvalid.report.pdf import BROWSERS
from surgvalid.report.report import make_report
from surgvalid.report.section import Prose, ReportTable, Section
from surgvalid.report.templates import shortened
from verdict_texts import answers_table


def pages(data: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", data))


@pytest.mark.skipif(not any(shutil.which(name) for name in BROWSERS), reason="no browser that prints")
@pytest.mark.parametrize("models", [2, 100])
def test_so_does_that_of_any_number_of_models(models: int, tmp_path: Path) -> None:
    made = make_report(answers_table(tmp_path / "scores.parquet", models=models, videos=12, per_video=3))
    assert pages(made.to_pdf(tmp_path / "short.pdf").read_bytes()) <= (4 if models < 20 else 5)


def test_views_and_figures_are_left_to_the_page() -> None:
    chart = picture("value_intervals", pl.DataFrame({"model": ["a"], "value": [1.0], "low": [0.5], "high": [1.0]}))
    table = ReportTable("t", "T", pl.DataFrame({"a": [1]}))
    sections = [
        Section("verdict", "V", (Prose("x"),), layer="verdict"),
        Section("board", "B", (Prose("one"), Prose("two"), chart, chart, table), layer="explore", view="Final ranks"),
        Section("significance", "S", (chart,), layer="explore", view="Differences"),
        Section("methods", "M", (Prose("y"),), layer="appendix"),
    ]
    kept = shortened(sections)
    assert [section.name for section in kept] == ["verdict", "methods"]


def test_pages_without_layers_are_short_already() -> None:
    sections = [Section("a", "A", (Prose("x"),))]
    assert shortened(sections) == sections
