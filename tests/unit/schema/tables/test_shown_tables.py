"""Tables as people read them, and the form a notebook shows."""

from __future__ import annotations

import polars as pl
import pytest

from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.shown_tables import notebook_table, shown_column
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.ranking import rank

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, None], ["0.500", "–"]),
        ([1.0, 3.0], ["1", "3"]),
        ([float("nan"), 0.25], ["–", "0.250"]),
        ([0.00012, 0.5], ["1.2e-04", "0.500"]),
        ([123456.7, 0.5], ["123,457", "0.500"]),
        ([float("inf"), float("-inf"), 0.5], ["∞", "-∞", "0.500"]),
        ([True, False, None], ["yes", "no", "–"]),
        ([1, 2_000_000], ["1", "2,000,000"]),
        (["a\n b", None], ["a b", "–"]),
        ([["x", "y"], []], ["x, y", ""]),
    ],
)
def test_values_are_shown_as_people_write_them(values: list[object], expected: list[str]) -> None:
    assert shown_column(pl.Series(values, strict=False)) == expected


def test_long_text_is_cut() -> None:
    (text,) = shown_column(pl.Series(["x" * 1000]))
    assert len(text) == 400
    assert text.endswith("…")


def test_what_a_notebook_shows_is_escaped_and_bounded() -> None:
    frame = pl.DataFrame({HOSTILE: [HOSTILE] * 50})
    text = notebook_table(frame, title=HOSTILE, prose=HOSTILE, warnings=[HOSTILE])
    assert "<img" not in text
    assert text.count("<tr>") == 31
    assert "30 of 50 rows" in text
    assert "1 to know" in text


def table() -> ScoreTable:
    rows = [(m, f"q{q}", f"v{q % 4}", float((q + i) % 3 > 0)) for i, m in enumerate(("A", HOSTILE)) for q in range(24)]
    return ScoreTable.of(pl.DataFrame(rows, schema=["model", "case", "video", "value"], orient="row"))


def test_results_show_themselves_in_notebooks_without_running_anything() -> None:
    ranked = rank(table(), "mean-then-rank", better="larger", replicates=20)
    valued = interval(table(), replicates=20)
    frame = table().frame.with_columns(hard=pl.col("case").str.ends_with("1"))
    found = failures(frame, outcome="value", fixed=["hard"], random=["video"])
    for result in (ranked, valued, found):
        text = result._repr_html_()
        assert "<table>" in text
        assert "<img" not in text
    assert "Ranking by &#x27;mean-then-rank&#x27;" in ranked._repr_html_()
    assert "&lt;img" in valued._repr_html_()
    assert "hard" in found._repr_html_()
