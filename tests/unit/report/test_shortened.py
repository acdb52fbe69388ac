"""The short report: verdict, main figures, limitations and methods, on at most eight pages."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from surgeval.report.chart import Chart
from surgeval.report.report import make_report
from surgeval.report.section import Note, Prose, Section, Table
from surgeval.report.sections._pictures import picture
from surgeval.report.shortened import shortened
from verdict_texts import answers_table


def pages(data: bytes) -> int:
    return data.count(b"/Type /Page\n") + data.count(b"/Type /Page ") + data.count(b"/Type/Page/")


@pytest.mark.parametrize("models", [2, 100])
def test_so_does_that_of_any_number_of_models(models: int, tmp_path: Path) -> None:
    made = make_report(answers_table(tmp_path / "scores.parquet", models=models, videos=12, per_video=3))
    assert pages(made.to_pdf(tmp_path / "short.pdf").read_bytes()) <= 8


def test_what_is_left_out_is_counted() -> None:
    chart = picture("value_intervals", pl.DataFrame({"model": ["a"], "value": [1.0], "low": [0.5], "high": [1.0]}))
    table = Table("t", "T", pl.DataFrame({"a": [1]}))
    sections = [
        Section("verdict", "V", (Prose("x"),), layer="verdict"),
        Section("board", "B", (Prose("one"), Prose("two"), chart, chart, table), layer="explore", view="Places"),
        Section("stability", "S", (chart,), layer="explore", view="How firm"),
        Section("methods", "M", (Prose("y"),), layer="appendix"),
    ]
    kept = shortened(sections)
    assert [section.name for section in kept] == ["verdict", "board", "methods"]
    assert [type(block) for block in kept[1].blocks] == [Prose, Chart]
    assert kept[-1].blocks[-1] == Note("2 figures and 1 table are on the page; --full prints them too.", "hint")


def test_pages_without_layers_are_short_already() -> None:
    sections = [Section("a", "A", (Prose("x"),))]
    assert shortened(sections) == sections
