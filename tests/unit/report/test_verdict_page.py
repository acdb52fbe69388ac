"""The page of a verdict: its figure never denies its sentence, its words are plain, and six questions are answered."""

from __future__ import annotations

import random
import re
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from surgvalid.report.chart import Chart
from surgvalid.report.drawing.rows import RowsImage
from surgvalid.report.drawing.slopes import SlopesAndRows
from surgvalid.report.report import make_report
from surgvalid.report.verdict_page import figure_of
from surgvalid.stats.ranking import rank
from surgvalid.stats.verdict.sentences import sentences_of, title_of
from surgvalid.studies.study import StudyResult, study

NOT_SAID = (
    "board", "bucket", "odds", "Copeland", "macro accuracy", "aggregation", "estimand", "redraw", "resampl",
    "jackknife", "cannot be told apart", "nothing can be concluded", "significant", "outperform", "robust", "trend",
    "not_asked", "timed_out", "video", "film", "_",
)  # fmt: skip
"""Words that a verdict on patients does not use."""


def planted(seed: int, gains: tuple[float, ...], patients: int, unit: str = "patient", frames: int = 3) -> pl.DataFrame:
    """A table whose models differ by these gains in Dice on average, patient by patient a little otherwise."""
    draw = random.Random(seed)
    rows = []
    for patient in range(patients):
        base = draw.gauss(0.7, 0.06)
        skill = [base + gain + draw.gauss(0, 0.008) for gain in gains]
        for frame in range(frames):
            shared = draw.gauss(0, 0.03)
            values = {name: round(min(1.0, one + shared + draw.gauss(0, 0.01)), 4)
                      for name, one in zip("ABCDE", skill, strict=False)}  # fmt: skip
            rows.append({unit: f"P{patient:02d}", "frame": frame, **values})
    return pl.DataFrame(rows)


def cases_of(result: StudyResult) -> pl.DataFrame:
    return result.scores.frame.select("model", "case", "value")


def visible(page: str) -> str:
    """What is read before anything is opened: heading, lead, facts and the verdict, without styles and images."""
    text = page.partition("<body>")[2].partition('<section id="appendix">')[0]
    text = re.sub(r"<svg.*?</svg>|<script.*?</script>", " ", text, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


STUDIES = [
    (seed, gains, patients, margin)
    for seed, (gains, patients, margin) in enumerate(
        (gains, patients, margin)
        for gains in ((0.0, 0.03), (0.0, 0.001), (0.0, 0.04, 0.05), (0.01, 0.0, 0.0, 0.002))
        for patients in (4, 9, 14)
        for margin in (None, 0.02)
    )
]


@pytest.mark.parametrize(("seed", "gains", "patients", "margin"), STUDIES)
def test_the_figure_never_denies_the_sentence(seed: int, gains: tuple, patients: int, margin: float | None) -> None:
    result = study(planted(seed, gains, patients), metric="dice", margin=margin)
    judged, [chart] = result.judged, figure_of(result.judged, result.tables, cases_of(result))
    assert isinstance(chart, Chart)
    rows = chart.image.rows if isinstance(chart.image, SlopesAndRows) else chart.image
    assert isinstance(rows, RowsImage)
    assert (rows.band is None) == (margin is None)
    shown = rows.marks[:1] if len(gains) == 2 else rows.marks
    for mark, pair in zip(shown, judged.leading, strict=True):
        assert mark.x == pair.difference
        if judged.kind == "too_few":
            assert mark.hollow
            assert mark.low is None or len(gains) > 2
        else:
            assert (mark.low, mark.high) == (pair.low, pair.high)
    if judged.kind in ("better", "better_small"):
        assert "is better than" in title_of(judged)
        assert all((mark.low or -1) > (margin or 0) * (judged.kind == "better") for mark in shown)
    else:
        assert "is better than" not in title_of(judged)
        assert any(mark.hollow or (mark.low or 0) <= 0 for mark in shown)
    if len(gains) == 2:
        assert rows.labels[0] == f"All {patients} patients"
        assert rows.sides == (f"{judged.deciding.other} better", f"{judged.deciding.model} better")
    assert f"{patients} patients" in sentences_of(judged)[0]


def test_every_patient_is_drawn_at_its_difference() -> None:
    frame = planted(7, (0.0, 0.03), 12)
    result = study(frame, metric="dice")
    [chart] = figure_of(result.judged, result.tables, cases_of(result))
    gaps = frame.group_by("patient").agg(gap=pl.col("B").mean() - pl.col("A").mean())
    drawn = sorted(
        float(value) for value in re.findall(r'data-v="([^"]+)"', chart.image.rows.draw(900).svg(title="", alt=""))
    )
    assert drawn == pytest.approx(sorted([*gaps["gap"], result.judged.deciding.difference]))


def test_where_smaller_is_better_the_winner_still_stands_on_the_right() -> None:
    frame = planted(8, (0.0, 0.05), 12).with_columns(A=30 * (1 - pl.col("A")), B=30 * (1 - pl.col("B")))
    result = study(frame, metric="hd95")
    [chart] = figure_of(result.judged, result.tables, cases_of(result))
    assert result.judged.winner == "B"
    assert chart.image.rows.axis == "difference in hd95, A \u2212 B"
    assert all((mark.x or 0) > 0 for mark in chart.image.rows.marks[:3])


def test_without_a_unit_images_are_grey_and_nobody_is_called_better() -> None:
    result = study(planted(9, (0.0, 0.05), 30, unit="image", frames=1).drop("frame"), metric="dice")
    assert result.judged.kind == "no_unit"
    [chart] = figure_of(result.judged, result.tables, cases_of(result))
    rows = chart.image.rows
    assert {mark.look for mark in rows.marks} == {"quiet"}
    assert rows.sides is None
    assert len(rows.marks) == 30
    assert "Name the column that holds the patient (--unit): without it no winner can be named." in visible(
        result.html()
    )
    assert "No interval: nobody said which images are of one patient" in chart.caption


def test_equal_scores_and_a_single_model_have_a_page_too() -> None:
    frame = planted(3, (0.0, 0.0), 8)
    same = study(frame.with_columns(B="A"), metric="dice")
    assert figure_of(same.judged, same.tables, cases_of(same)) == []
    advice = "Make sure that two models were run: equal scores in every case are mostly one file under two names."
    assert advice in visible(same.html())
    alone = study(frame.drop("B").rename({"A": "unet"}), metric="dice", models=("unet",))
    assert "<svg" in alone.html()


@pytest.mark.parametrize("seed", range(20))
def test_six_questions_are_answered_by_what_is_seen_without_opening_anything(seed: int) -> None:
    better, margin = ("A", "B")[seed % 2], (0.01, 0.2)[seed // 2 % 2]
    gains = (0.05, 0.0) if better == "A" else (0.0, 0.05)
    page = study(planted(100 + seed, gains, 10 + seed % 5), metric="dice", margin=margin).html()
    text = visible(page)
    who = re.search(r"(\w) is better than (\w)", text)
    assert who, text
    assert who[1] == better
    amount = re.search(r"by (0\.\d+) \((0\.\d+) to (0\.\d+); (\d+) patients\)", text)
    assert amount, text
    size, low, high = (float(amount[number]) for number in (1, 2, 3))
    assert low < size < high
    assert abs(size - 0.05) < 0.02
    assert int(amount[4]) == 10 + seed % 5
    matters = "equal for practice" not in text and "more than the margin" in text
    assert matters == (margin == 0.01)
    worst = text.partition("hardest cases")[2]
    assert re.search(r"P\d\d/\d: 0\.\d+ in the median of 2 models", worst)
    assert len(text.partition("What to do next")[2].split()) > 5
    assert len(page.encode()) < 120_000


@pytest.mark.parametrize(("seed", "gains", "patients", "margin"), STUDIES[::2])
def test_the_words_are_plain(seed: int, gains: tuple, patients: int, margin: float | None) -> None:
    text = visible(study(planted(seed, gains, patients), metric="dice", margin=margin).html())
    assert [word for word in NOT_SAID if word in text] == []
    assert len(text.split()) < 440


def test_what_it_says_next_fits_the_finding() -> None:
    clear = visible(study(planted(1, (0.0, 0.05), 12), metric="dice").html())
    assert "Say what difference matters to a patient (--margin): then the page says whether this one does." in clear
    assert re.search(
        r"Look at patient P\d\d before choosing: patients differ by up to 0\.\d+ in dice, the models by", clear
    )
    few = visible(study(planted(1, (0.0, 0.05), 4), metric="dice").html())
    assert "Plan how many patients an answer takes: surgvalid plan size." in few
    assert "One metric on one set of 4 patients: other hospitals may differ." in few
    assert re.search(r"4 patients · 12 scores per model · .* · their range is an exact interval of level 0\.875", few)
    assert "4 patients cannot show a difference." in few  # of ": intervals rest on .*" the methods tell
    assert ": intervals rest on " not in few
    three = visible(study(planted(1, (0.0, 0.04, 0.05), 12), metric="dice").html())
    assert "the first two models by" in three
    assert "How far C is ahead of each other model" in three


def test_groups_that_differ_are_to_be_reported_apart() -> None:
    north = planted(5, (0.06, 0.0), 12).with_columns(center=pl.lit("north"))
    south = planted(6, (0.0, 0.06), 12).with_columns(center=pl.lit("south"), patient=pl.format("S{}", "patient"))
    result = study(pl.concat([north, south]), metric="dice", models=("A", "B"))
    assert result.judged.kind == "depends"
    text = visible(result.html())
    assert "Report the groups apart: one number for all of them hides what differs." in text
    assert re.search(r" · differences by center, p [<=] ", text)
    assert "Who is ahead, by center" in text
    assert "before choosing" not in text, "of models that change sides the mean difference says nothing"


def test_the_interval_of_a_single_model_is_drawn() -> None:
    alone = study(planted(3, (0.0,), 12).rename({"A": "unet"}), metric="dice", models=("unet",))
    [chart] = figure_of(alone.judged, alone.tables, cases_of(alone))
    row = alone.table.row(0, named=True)
    assert [mark[1:4] for mark in chart.image.marks if mark.shape == "tick"] == [
        (row["value"], row["low"], row["high"])
    ]
    assert "Tick and bar: the value of the model with its interval." in chart.caption


def test_what_missing_scores_mean_is_asked_among_the_steps_in_plain_words() -> None:
    frame = planted(7, (0.0, 0.01), 14).with_columns(B=pl.when(pl.col("frame") == 0).then(None).otherwise("B"))
    result = study(frame, metric="dice")
    text = visible(result.html())
    assert "--missing worst" in result.verdict[0]
    assert "say it with" not in text
    assert "Say what a score that is not there means, as the next study will count it (--missing)." in text


def test_metrics_that_disagree_are_to_be_chosen_from() -> None:
    frame = planted(7, (0.0, 0.05), 14).unpivot(("A", "B"), index=("patient", "frame"), variable_name="model")
    frame = frame.rename({"value": "dice"}).with_columns(hd95=30 - 25 * (1 - pl.col("dice")))
    text = visible(study(frame).html())
    assert "Say which metric matters to a patient (--metric), and report the others beside it." in text


def test_what_is_not_the_finding_is_folded_below_under_its_name() -> None:
    frame = planted(1, (0.0, 0.05), 12)
    hard = frame.with_columns(A=pl.when(pl.col("patient") == "P03").then(0.1).otherwise("A"), B="A")
    page = study(frame.with_columns(center=pl.Series(["x", "y"] * 18)), metric="dice", models=("A", "B")).html()
    below = page.partition('<section id="appendix">')[2]
    titles = re.findall(r'<h3 class="view">([^<]*)</h3>', below)
    assert titles == [
        "Values of each model", "Differences of pairs", "All patients", "Which cases are hard",
        "Under which conditions", "Methods, and how this table was read", "Why each sentence is said",
    ]  # fmt: skip
    assert "<details open" not in below
    for words in ("Hardest for the typical model", "Median over models.", "Rule and source"):
        assert words in below
    assert "What would overturn it" in visible(page)
    assert "The three hardest cases are all of patient P03" in visible(study(hard, metric="dice").html())


def test_a_finding_that_asks_nothing_more_points_to_the_next_study() -> None:
    frame = planted(1, (0.0, 0.05), 12).with_columns(A=0.5 + 0.001 * pl.col("frame"))
    text = visible(study(frame.with_columns(B=pl.col("A") + 0.3), metric="dice", margin=0.02).html())
    assert "Write down the next question before its data are there: surgvalid plan register." in text


def test_a_study_of_cases_has_its_page(tmp_path: Path) -> None:
    rows = {"case_id": [f"c{n}" for n in range(9) for _ in "ab"], "model": ["a", "b"] * 9}
    rows["dice"] = [0.7 + 0.01 * n + 0.05 * (name == "b") for n in range(9) for name in "ab"]  # type: ignore[misc]
    made = study(rows, better="larger")
    assert made.judged.unit.word == "case"
    assert "Every case" in (made.to_dir(tmp_path / "out") / "study.html").read_text(encoding="utf-8")


def test_the_report_of_a_folder_that_study_and_rank_wrote_says_what_study_says(tmp_path: Path) -> None:
    rows = {
        "patient": [f"p{n}" for n in range(12)] * 2,
        "model": ["A"] * 12 + ["B"] * 12,
        "dice": [0.6 + n / 99 for n in range(12)] + [0.7 + n / 90 for n in range(12)],
    }
    studied = study(rows)
    studied.to_dir(tmp_path / "study")
    rank(rows).to_dir(tmp_path / "rank")
    page = make_report(tmp_path).html()
    assert studied.verdict[0] in page
    assert "There are no scores here" not in page


def test_the_first_page_leaves_options_and_statistics_of_its_sentences_to_those_who_ask() -> None:
    draw, rows = random.Random(3), []
    for patient in range(14):
        level = 0.5 + 0.03 * patient
        for frame in range(3 + 6 * patient):
            for model, gain in (("A", 0.05), ("B", 0.0)):
                value = round(level + gain + draw.gauss(0, 0.01), 4)
                rows.append({"patient": f"P{patient:02d}", "frame": frame, "model": model, "dice": value})
    result = study(pl.DataFrame(rows))
    assert any(" (rank correlation " in finding.text for finding in result.findings)
    text = visible(result.html())
    assert ": every case counts alike here, so long videos weigh more." in text.replace(
        "patients weigh", "videos weigh"
    )
    assert " (rank correlation " not in text
    assert " (--unit)" not in text
    assert "; say it with " not in text
