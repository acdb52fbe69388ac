"""One accuracy has one interval, wherever it is shown: score, interval and report."""

from pathlib import Path

import polars as pl
import pytest

from small_questions import answers, questions
from surgvalid.report.inputs import read_inputs
from surgvalid.scoring.run import score
from surgvalid.stats.intervals.interval import interval


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    requests, references = questions()
    place = tmp_path_factory.mktemp("scored") / "net"
    given = answers("net", requests, references, seed=1)
    score(requests, references, given, model="net", missing="not_judged=drop-score").to_dir(place)
    return place


@pytest.mark.parametrize("estimand", ["rows", "videos"])
def test_the_summary_of_a_scoring_says_what_interval_says_of_its_table(folder: Path, estimand: str) -> None:
    summary = pl.read_csv(folder / "summary.csv")
    line = summary.filter(level="overall", estimand=estimand).row(0, named=True)
    row = interval(folder, metric="correct", estimand=estimand, missing="drop-score").table.row(0, named=True)
    assert row["low"] < row["value"] < row["high"]
    for ours, theirs in (("accuracy", "value"), ("low", "low"), ("high", "high"), ("df", "df"), ("method", "method")):
        assert line[ours] == row[theirs]


def test_the_report_shows_the_same_interval(folder: Path) -> None:
    line = pl.read_csv(folder / "summary.csv").filter(level="overall", estimand="rows").row(0, named=True)
    live = read_inputs(folder.parent).live
    assert live is not None
    shown = live.intervals[0].row(0, named=True)
    assert (shown["value"], shown["low"], shown["high"]) == (line["accuracy"], line["low"], line["high"])
