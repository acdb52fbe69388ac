import json
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from small_questions import questions
from surgvalid import agreement, results
from surgvalid.cli import build_app
from surgvalid.errors import Misuse, TableInvalid
from surgvalid.schema.questions.question_files import load_references
from surgvalid.schema.rows import write_json_rows
from surgvalid.stats.agreement.tolerance import RaterPairs
from surgvalid.stats.intervals.pooled_quantile import pooled_quantile_interval

ASKED = {"rater": "rater", "label": "seconds", "unit": "question", "video": "video", "scale": "interval"}


def ratings(videos: int, *, units: int = 2, raters: str = "abc", seed: int = 0, sd: float = 2.0) -> pl.DataFrame:
    """Times that raters gave to questions, each off by a whole number of seconds."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"v{video}", f"q{video}-{unit}", rater, float(100 * unit + round(rng.normal(0, sd))))
        for video in range(videos)
        for unit in range(units)
        for rater in raters
    ]
    return pl.DataFrame(rows, schema=["video", "question", "rater", "seconds"], orient="row")


def tolerance(table: pl.DataFrame, chance: float = 0.95) -> dict:
    return agreement(table, tolerance=chance, replicates=10, **ASKED).tables["tolerance"].row(0, named=True)


@pytest.mark.parametrize("seed", range(5))
def test_the_tolerance_is_the_least_distance_that_holds_for_the_share_asked_for(seed: int) -> None:
    table = ratings(50, seed=seed)
    found = tolerance(table)
    by_unit = table.group_by("question").agg("seconds")["seconds"].to_list()
    apart = sorted(abs(a - b) for unit in by_unit for a, b in combinations(unit, 2))
    held = [d for d in apart if sum(one <= d for one in apart) >= 0.95 * len(apart)]
    assert found["tolerance"] == held[0]
    assert (found["units"], found["pairs"], found["raters"], found["videos"]) == (100, 300, 3, 50)
    assert found["low"] <= found["tolerance"] <= found["high"]
    assert found["largest"] == apart[-1]


def test_a_unit_with_many_raters_counts_once() -> None:
    numbers = [np.array([0.0, 0.0])] * 3 + [np.arange(0, 100, 10.0)]
    assert RaterPairs.of(numbers).tolerance(0.75) == 0
    assert RaterPairs.of(numbers).weight.sum() == pytest.approx(4)


def test_weights_of_one_change_nothing_and_double_weights_are_double_rows() -> None:
    rng = np.random.default_rng(4)
    values, videos = rng.integers(30, size=300).astype(float), np.repeat(np.arange(30), 10)
    plain = pooled_quantile_interval(values, videos, 0.5)
    assert pooled_quantile_interval(values, videos, 0.5, weights=np.ones(300)) == plain
    double = np.where(videos < 10, 2, 1)
    copied = pooled_quantile_interval(np.repeat(values, double), np.repeat(videos, double), 0.5)
    assert pooled_quantile_interval(values, videos, 0.5, weights=double) == copied


def test_times_are_read_as_seconds() -> None:
    rows = [(f"q{i}", rater, f"00:{i:02}:0{5 if rater == 'b' else 1}") for i in range(30) for rater in "ab"]
    table = pl.DataFrame(rows, schema=["question", "rater", "time"], orient="row")
    found = agreement(table, rater="rater", label="time", unit="question", tolerance=0.9, replicates=10)
    assert found.tables["tolerance"]["tolerance"].item() == 4


def test_few_videos_leave_no_interval_and_two_raters_a_warning() -> None:
    found = agreement(ratings(10, units=3, raters="ab"), tolerance=0.95, replicates=10, **ASKED)
    row = found.tables["tolerance"].row(0, named=True)
    assert row["low"] is None
    assert row["tolerance"] is not None
    codes = [finding.code for finding in found.findings]
    assert "few-raters" in codes
    assert "thin-quantile" in codes
    assert "about 40 equally long ones are needed" in " ".join(found.warnings)


def test_what_cannot_show_a_tolerance_is_refused() -> None:
    with pytest.raises(Misuse, match=r"19 units .* at least 20 rated twice"):
        tolerance(ratings(19, units=1))
    with pytest.raises(Misuse, match="at least two raters"):
        tolerance(ratings(40, raters="a"))
    lonely = ratings(40).filter(pl.col("rater") == pl.col("question").str.slice(1, 1).replace_strict(
        {str(digit): "abc"[digit % 3] for digit in range(10)}))  # fmt: skip
    with pytest.raises(TableInvalid, match="no unit was rated by two"):
        tolerance(lonely)
    with pytest.raises(Misuse, match="between 0 and 1"):
        tolerance(ratings(40), 95)
    words = ratings(40).with_columns(seconds=pl.lit("soon"))
    with pytest.raises(TableInvalid, match="numbers or times"):
        agreement(words, tolerance=0.95, **{**ASKED, "scale": "nominal"})
    segments = pl.DataFrame({"v": ["a"], "r": ["x"], "l": ["p"], "s": [0], "e": [1]})
    with pytest.raises(Misuse, match="one number per unit"):
        agreement(segments, rater="r", label="l", video="v", start="s", end="e", tolerance=0.9)
    with pytest.raises(Misuse, match="with which chance"):
        agreement(ratings(40), into="references.json", **ASKED)


def test_the_tolerance_reaches_the_question_file_and_only_questions_of_its_format(tmp_path: Path) -> None:
    ratings(45).write_csv(tmp_path / "ratings.csv")
    _, references = questions()
    write_json_rows((reference.as_row() for reference in references), tmp_path / "references.json")
    words = [
        "analyse",
        "agreement",
        tmp_path / "ratings.csv",
        "--model-column",
        "rater",
        "--label",
        "seconds",
        "--case",
        "question",
    ]
    words += ["--unit", "video", "--scale", "interval", "--tolerance", "0.95", "--resamples", "10"]
    words += ["--references", tmp_path / "references.json", "--out", tmp_path / "agreed"]
    done = CliRunner().invoke(build_app(), [str(word) for word in words])
    assert done.exit_code == 0, done.output
    stored = results.read(tmp_path / "agreed")
    found = stored.tables["tolerance"]["tolerance"].item()
    new = {one.case: one for one in load_references(tmp_path / "agreed" / "references.json")}
    for old in references:
        same = dict(old.parameters)
        expected = {**same, "threshold_seconds": found} if old.format == "time" else same
        assert new[old.case].parameters == expected
        assert (new[old.case].answer, new[old.case].ood) == (old.answer, old.ood)
    assert stored.records["references"] == json.loads((tmp_path / "agreed" / "references.json").read_text())
    again = CliRunner().invoke(build_app(), ["tools", "rerun", str(tmp_path / "agreed")])
    assert again.exit_code == 0, again.output


def test_formats_without_a_tolerance_are_refused() -> None:
    with pytest.raises(Misuse, match="time and percentage have one"):
        agreement(ratings(45), tolerance=0.9, into=[], answer_format="number", replicates=10, **ASKED)
