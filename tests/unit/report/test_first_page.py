"""The first page: what stands around the verdict, and what it says where there is nothing to conclude from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from surgvalid.report.inputs import ReportInputs
from surgvalid.report.limits import gravest, limitations
from surgvalid.report.section import LeaderboardCell, Standings
from surgvalid.report.sections import verdict
from surgvalid.report.standings_table import standings_frame, standings_html
from surgvalid.report.verdict.leads import Lead
from surgvalid.report.verdict.overturning import overturning
from surgvalid.results.reading import StoredResult, in_short
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.tables.score_table import ScoreTable
from verdict_texts import section_text


def part(verb: str, *, tables: dict[str, pl.DataFrame] | None = None, **records: Any) -> StoredResult:
    return StoredResult(label=f"my {verb}", kind=verb, tables=tables or {}, records=records)


def scores(values: list[float | None], *, videos: int = 8, models: int = 2, **columns: Any) -> ScoreTable:
    """A value per model in every video."""
    rows = [(f"m{m}", f"q{v}", f"v{v}", "correct", values[m]) for m in range(models) for v in range(videos)]
    frame = pl.DataFrame(rows, schema=["model", "case", "video", "metric", "value"], orient="row")
    return ScoreTable.of(frame.with_columns(**columns), better="larger")


def inputs(*parts: StoredResult, table: ScoreTable | None = None, **options: Any) -> ReportInputs:
    return ReportInputs(Path("folder"), parts, table, options=options)


def page(*parts: StoredResult, table: ScoreTable | None = None, **options: Any) -> str:
    return section_text(verdict.section(inputs(*parts, table=table, **options)))


def told(*parts: StoredResult, table: ScoreTable | None = None) -> tuple[str, list[str]]:
    """All limitations, and those of the first page."""
    given = inputs(*parts, table=table)
    return "\n".join(note.sentence for note in limitations(given)), gravest(given, most=20)


def test_a_folder_without_scores_concludes_nothing() -> None:
    text = page(part("plan"))
    assert text.startswith("# There are no scores here\n\nNo scores are here, but what plan")
    assert "None that can be found automatically; how cases were chosen cannot be seen from here." in text
    last = "Nothing further follows from these results alone; confirm them on videos of another hospital before use."
    assert last in text


def test_a_folder_of_places_alone_says_whom_it_covers() -> None:
    consensus = pl.DataFrame({"model": ["a", "b"], "rank": [1, 2]})
    assert "By the rule, a is first." in page(part("rank-tasks", tables={"consensus": consensus}))


def test_runs_on_tasks_point_to_their_board_and_unfinished_ones_are_to_be_run_again() -> None:
    unfinished = Finding("run-unfinished", Severity.WARNING, "the server went away")
    run = replace(part("task", run={"model": "m", "task": "phases"}), findings=(unfinished,))
    text = page(run)
    assert text.startswith("# 1 run of models on 1 task\n")
    assert "Their values stand under Models on tasks; surgvalid task leaderboard sets them beside each other." in text
    assert "- m on phases: the server went away" in text
    assert "- Run m again with the same command: what was answered is kept, and only the rest is asked." in text


def test_values_that_are_not_there_at_all_conclude_nothing() -> None:
    text = page(table=scores([None, None]), missing="drop-score")
    assert text.startswith("# No verdict\n")
    assert "There is no number to judge by (table: the models were scored on different videos" in text
    alone = page(table=scores([None], models=1), missing="drop-score")
    assert alone.startswith("# No verdict\n")


def test_values_that_leave_scores_out_say_which() -> None:
    text = page(table=scores([1.0, None], videos=8), missing="drop-score")
    assert "8 scores of 'm1' are not there (missing: 8)" in text


def test_limitations_beyond_the_first_page_are_counted() -> None:
    fit = part("failures", fit={"singular": True})
    assert "Limitations found lists all 2." in page(fit, table=scores([1.0, 0.0]))
    assert ": a variance of the mixed model is estimated as zero." in told(fit)[0]


def boards(*names: str) -> StoredResult:
    """A ranking of three models whose final ranks are the same on every leaderboard."""
    rows = [(board, model, place, 4 - 2 * place, None, False, 1 - place / 10) for board in names
            for place, model in enumerate("abc", 1)]  # fmt: skip
    kinds = ["board", "model", "place", "copeland", "win_rate", "baseline", "macro_accuracy"]
    places = pl.DataFrame(rows, schema=kinds, orient="row", schema_overrides={"win_rate": pl.Float64})
    spread = [(board, model, 1 if model == "a" else 2, 3.0, 0.6, 0.8) for board in names for model in "abc"]
    kinds = ["board", "model", "rank_low", "rank_width", "macro_low", "macro_high"]
    return part("rank", tables={"places": places, "summary": pl.DataFrame(spread, schema=kinds, orient="row")})


def test_leaderboards_are_one_table_of_models_and_what_they_may_be() -> None:
    section = verdict.section(inputs(boards("one", "two", "three")))
    [table] = [block for block in section.blocks if isinstance(block, Standings)]
    assert [head for head, _ in table.columns] == ["one", "two", "three"]
    first = table.rows[0]
    assert (first.model, first.note) == ("a", "may be first on 3 of 3")
    assert first.cells[0] == LeaderboardCell(0.9, 0.6, 0.8, 1, 1, None, True)
    assert [row.cells[0].may_be_first for row in table.rows] == [True, False, False]
    assert table.beside == ()
    shown = standings_html(table, lambda model: "")
    assert shown.count('<td class="first"') == 3
    assert standings_frame(table).height == 9


def test_baselines_stand_below_without_a_rank() -> None:
    ranked = boards("one")
    places = ranked.frame("places").with_columns(baseline=pl.col("model") == "c")
    section = verdict.section(inputs(replace(ranked, tables={**ranked.tables, "places": places})))
    [table] = [block for block in section.blocks if isinstance(block, Standings)]
    assert [row.model for row in table.rows] == ["a", "b"]
    assert [(row.model, row.cells[0].rank) for row in table.beside] == [("c", None)]
    assert "For comparison, without a rank" in standings_html(table, lambda model: "")


def test_what_would_overturn_a_ranking_is_said_of_all_leaderboards_at_once() -> None:
    ranked = boards("one", "two")
    rows = [("one", "video", "v1", True), ("one", "video", "v2", True), ("one", "center", "A", True),
            ("two", "video", "v1", False), ("two", "video", "v2", False)]  # fmt: skip
    influence = pl.DataFrame(rows, schema=["board", "left_out", "name", "first_changes"], orient="row")
    ways = pl.DataFrame([(b, m, 1 if m == "a" else 2, 1 if m == "b" else 2) for b in ("one", "two") for m in "ab"],
                        schema=["board", "model", "pairwise", "wins"], orient="row")  # fmt: skip
    given = inputs(replace(ranked, tables={**ranked.tables, "influence": influence, "sensitivity": ways}))
    assert overturning(given, "patient") == [
        "Without a single patient another model ranks first on one of the two leaderboards (2 such patients on each).",
        "Of two ways of counting pairs, some put another model first on two of two leaderboards.",
    ]
    few = influence.with_columns(first_changes=pl.col("name").is_in(["v1"]) & (pl.col("board") == "one"))
    given = inputs(replace(ranked, tables={**ranked.tables, "influence": few}))
    assert overturning(given, "video")[0].endswith("on one of the two leaderboards (1 such video on each).")
    given = inputs(replace(boards("one"), tables={**boards("one").tables, "influence": few.filter(board="one")}))
    assert overturning(given, "video") == ["Without a single video another model ranks first (1 such video)."]
    steady = influence.with_columns(first_changes=pl.lit(False))
    given = inputs(replace(ranked, tables={**ranked.tables, "influence": steady}))
    assert overturning(given, "video") == ["No single video decides who ranks first on any of the two leaderboards."]
    assert overturning(inputs(ranked), "video") == []


def test_a_leaderboard_of_a_track_is_named_with_it() -> None:
    lead = Lead("technical", ("a",), 3, also=("b",), next_best="b", gap=0.1, track="frame")
    assert lead.where == "the technical leaderboard of the frame track"


def test_a_ranking_on_few_videos_has_intervals_that_are_too_narrow() -> None:
    whole, first = told(boards("one"), table=scores([1.0, 0.0]))
    narrow = ", and intervals of the ranking, which resample so few units, are somewhat too narrow."
    assert f"Only 8 videos: rare conditions are not represented{narrow}" in whole
    assert "Only 8 videos: rare conditions are not represented." in first


def test_places_that_could_be_anywhere_are_said_and_who_may_be_the_best() -> None:
    wide = boards("one")
    whole, first = told(wide)
    assert (
        "Final ranks that span half of the field or more when videos are resampled: one leaderboard 3 of 3 models"
        in whole
    )
    assert "Many final ranks could be anywhere in half of the field had other videos been drawn." in first
    summary = wide.frame("summary").with_columns(rank_low=pl.lit(1))
    whole, _ = told(replace(wide, tables={"summary": summary}))
    assert (
        "Over all buckets together, which model is the best is open: one leaderboard any of 3 of 3 (a, b and c)"
        in whole
    )


def test_small_buckets_of_a_ranking_and_of_a_scoring_are_said() -> None:
    sizes = pl.DataFrame({"board": ["one"], "capability": ["aggregation"], "ood": [True], "videos": [4]})
    whole, first = told(part("rank", tables={"buckets": sizes}))
    assert (
        "Buckets that rest on fewer than 13 videos, where differences can hardly show: one leaderboard 1 of 1" in whole
    )
    assert (
        "Some kinds of question rest on so few videos that differences between models can hardly show there." in first
    )
    summary = pl.DataFrame({"level": ["bucket"], "name": ["aggregation_id"], "estimand": ["rows"], "videos": [4]})
    whole, first = told(part("score", tables={"summary": summary}))
    assert "1 bucket rests on fewer than 13 videos: Aggregation, ID (4)" in whole
    assert "1 kind of question rests on fewer than 13 videos." in first
    whole, first = told(part("score", tables={"summary": pl.concat([summary, summary])}))
    assert "2 buckets rest on fewer than 13 videos" in whole
    assert "2 kinds of question rest on fewer than 13 videos." in first


def test_kinds_that_are_absent_or_rare_are_said_in_words_that_need_no_explanation() -> None:
    weights = pl.DataFrame({"bucket": ["aggregation_id"], "questions": [1], "weight_of_question": [0.5]})
    whole, first = told(part("score", tables={"leverage_questions": weights}))
    assert (
        "The primary result is a mean over the buckets that have a question, so it is not comparable with that of"
        in whole
    )
    assert "Single questions carry 2 % or more of the primary result" in whole
    assert "Not every kind of question is asked, so the mean over kinds cannot be compared with another set." in first
    heavy = "Some kinds of question are so rare that a single question carries 2 % or more of the value of a model."
    assert heavy in first


def test_a_single_judge_and_one_that_compares_letters_are_said() -> None:
    votes = [{"judge": "exact", "qID": "q", "candidate": "x", "verdict": True}]
    [sentence] = told(part("score", verdicts=in_short(votes)))[1]
    assert sentence == (
        "All free text was judged by a single judge (exact), so its errors cannot be seen."
        " It accepts equal text only, so free text is scored too low."
    )


def test_defects_of_a_data_card_are_counted() -> None:
    assert told(part("questions", data_card={"defects": [1, 2]}))[1] == [
        "The data card of my questions lists 2 defects."
    ]


@pytest.mark.parametrize("code", ["nothing-came", "other"])
def test_what_a_run_warned_of_is_a_limitation(code: str) -> None:
    run = replace(part("task", run={"model": "m", "task": "t"}), findings=(Finding(code, Severity.WARNING, "odd"),))
    assert told(run)[1] == ["m on t: odd"]
