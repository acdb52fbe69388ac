"""What a report shows of the loop from weaknesses to the next algorithm."""

from __future__ import annotations

import polars as pl

from chart_examples_analysis import change_rows, curve_rows
from surgvalid.report.chart import Chart
from surgvalid.report.section import Note, Prose, ReportTable
from surgvalid.report.sections.failures import changed_blocks, next_steps
from surgvalid.results.reading import StoredResult
from surgvalid.results.request import VerbRequest
from surgvalid.results.tables import failures as tables


def stored(kind: str, **frames: pl.DataFrame) -> StoredResult:
    return StoredResult(kind=kind, tables=frames, records={}, request=VerbRequest(kind))


def advice(verdict: str) -> pl.DataFrame:
    row = dict.fromkeys(tables.RECOMMENDATIONS.columns)
    return tables.RECOMMENDATIONS.frame([
        {**row, "place": 1, "term": "smoke", "subgroup": "smoke = 1", "verdict": verdict, "frequency": 0.3, "cases": 4,
         "videos": 3, "advice": "smoke = 1: 20% of all that is lost goes with it."}
    ])  # fmt: skip


def test_established_advice_is_read_out_and_other_advice_is_not() -> None:
    firm = next_steps(stored("failures", recommendations=advice("established")))
    assert [type(block) for block in firm] == [Prose, ReportTable]
    loose = next_steps(stored("failures", recommendations=advice("not established")))
    assert [type(block) for block in loose] == [Note, ReportTable]
    assert next_steps(stored("failures")) == []


def test_every_number_among_the_properties_has_its_curve() -> None:
    steps = pl.concat([curve_rows(["A", "B"]), curve_rows(["A", "B"]).with_columns(property=pl.lit("distance_cm"))])
    blocks = next_steps(stored("failures", recommendations=advice("established"), property_curves=steps))
    drawn = [block for block in blocks if isinstance(block, Chart)]
    assert [chart.title for chart in drawn] == ["What is lost along contrast", "What is lost along distance cm"]
    assert len({chart.name for chart in drawn}) == 2
    one = next_steps(
        stored("failures", recommendations=advice("established"), property_curves=steps.filter(model="A").head(3))
    )
    (alone,) = [block for block in one if isinstance(block, Chart)]
    assert "shaded" in alone.caption
    assert "shaded" not in drawn[0].caption


def test_a_remedy_is_told_with_its_gains() -> None:
    row = {"term": "(all cases)", "side": "all", "subgroup": "all cases", "cases": 9, "videos": 6, "before": 0.5,
           "after": 0.6, "gain": 0.1, "low": 0.0, "high": 0.2, "p_value": 0.1, "p_holm": 0.1,
           "verdict": "no gain shown"}  # fmt: skip
    changes = change_rows(["smoke", "blood"])
    blocks = changed_blocks(stored("failure-change", effect_changes=changes, gains=tables.GAINS.frame([row])))
    assert [block.name for block in blocks if isinstance(block, ReportTable)] == ["gains", "effect-changes"]
    assert changed_blocks(stored("failure-change")) == []
