"""Limitations are found where they are, and only there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from ranking_tables import focus_frame
from surgvalid.report.inputs import ReportInputs, StoredResult, read_inputs
from surgvalid.report.limits import gravest, limitations, section
from surgvalid.results.reading import KEPT_WRONG, in_short
from surgvalid.results.tables.ranking import BUCKET_TOO_SMALL, UNREACHABLE
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.ranking import rank


def found(inputs: ReportInputs) -> str:
    return "\n".join(note.sentence for note in limitations(inputs))


def part(verb: str, *, tables: dict[str, pl.DataFrame] | None = None, **records: Any) -> StoredResult:
    return StoredResult(label=f"my {verb}", kind=verb, tables=tables or {}, records=records)


def scores(videos: int, *, unscored: int = 0, named: bool = True) -> ScoreTable:
    rows = [
        ("m", f"q{n}", f"v{n}", None if n < unscored else float(n % 2))
        for n in range(videos)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["model", "case", "video", "value"], orient="row")
    return ScoreTable.of(frame if named else frame.drop("video"))


def test_sound_results_have_none() -> None:
    assert limitations(ReportInputs(Path("x"), scores=scores(40))) == []


def test_the_section_says_how_far_the_list_can_be_trusted() -> None:
    sound = section(ReportInputs(Path("x"), scores=scores(40)))
    assert "None of the limitations that can be found automatically shows in these results." in str(sound.blocks)
    assert "they are no complete list of what can be wrong" in str(
        section(ReportInputs(Path("x"), scores=scores(5))).blocks
    )


def test_few_videos_or_none_are_said() -> None:
    assert "Only 5 videos" in found(ReportInputs(Path("x"), scores=scores(5)))
    assert "names no videos" in found(ReportInputs(Path("x"), scores=scores(40, named=False)))


def test_unscored_answers_are_counted_and_what_stands_for_them_is_said() -> None:
    told = found(ReportInputs(Path("x"), scores=scores(100, unscored=1)))
    assert "1.0 % of the answers have no score (missing: 1)." in told
    assert "1 score is not there (m: missing: 1), and the worst value of 'value' is unknown" in told
    decided = ReportInputs(Path("x"), scores=scores(100, unscored=1), options={"missing": "drop-case"})
    assert "1 score of 'm' is not there (missing: 1): those cases are left out for every model." in found(decided)


def test_what_a_result_of_statistics_warned_of_is_a_limitation_of_the_page() -> None:
    warned = (
        Finding("few-videos", Severity.WARNING, "Only 4 videos."),
        Finding("tie", Severity.NOTE, "Two are equal."),
    )
    text = found(ReportInputs(Path("x"), (replace(part("compare"), findings=warned),)))
    assert text == "Compare: my compare: Only 4 videos."


def test_judges_that_disagree_are_counted() -> None:
    said = [("a", "q1", True), ("b", "q1", False), ("a", "q2", True), ("b", "q2", True)]
    votes = [{"judge": j, "qID": q, "candidate": "x", "verdict": v} for j, q, v in said]
    text = found(ReportInputs(Path("x"), (part("score", verdicts=in_short(votes)),)))
    assert "The judges disagree on 1 of 2 free-text answers (50 %)" in text
    one = found(ReportInputs(Path("x"), (part("score", verdicts=in_short(votes[::2])),)))
    assert "single judge (a)" in one


def test_of_many_verdicts_only_a_few_are_kept() -> None:
    rows = ({"judge": "a", "qID": str(n), "candidate": "x", "verdict": False} for n in range(1000))
    short = in_short(rows)
    assert (short.answers, short.apart, len(short.wrong)) == (1000, 0, KEPT_WRONG)


def test_floors_that_models_do_not_exceed_are_named() -> None:
    rows = [("m", "bucket", "a_id", -0.1), ("m", "bucket", "a_ood", 0.2), ("n", "headline", "h", -0.5)]
    margins = pl.DataFrame(rows, schema=["model", "level", "name", "margin"], orient="row")
    inputs = ReportInputs(Path("x"), (part("floors", tables={"margins": margins}),))
    assert "On some kinds of question an input-blind system does as well as a model." in gravest(inputs)
    text = found(inputs)
    assert "Models that in some buckets do not exceed an input-blind baseline (number of buckets)" in text
    assert "m (1)" in text
    assert "n (" not in text


def test_empty_and_heavy_buckets_are_named() -> None:
    weights = pl.DataFrame(
        {"bucket": ["aggregation_id", "aggregation_ood"], "questions": [1, 99], "weight_of_question": [0.5, 0.005]}
    )
    text = found(ReportInputs(Path("x"), (part("score", tables={"leverage_questions": weights}),)))
    assert "only 2 of 10 buckets have one" in text
    assert "2 % or more of the primary result: Aggregation, ID." in text


def test_a_ranking_without_any_significant_difference_says_so() -> None:
    pairs = pl.DataFrame({"significant": [False, False]})
    assert "rests on tie-breaks" in found(ReportInputs(Path("x"), (part("rank", tables={"pairs": pairs}),)))
    pairs = pl.DataFrame({"significant": [False, True]})
    assert "tie-breaks" not in found(ReportInputs(Path("x"), (part("rank", tables={"pairs": pairs}),)))


def test_a_fit_that_did_not_converge_must_not_be_used() -> None:
    assert "must not be used" in found(ReportInputs(Path("x"), (part("failures", fit={"converged": False}),)))
    assert found(ReportInputs(Path("x"), (part("failures", fit={"converged": True}),))) == ""


def test_what_the_tests_of_a_fit_rest_on_is_a_limitation() -> None:
    few = {"code": "few-videos", "severity": "warning", "message": "few videos: p values of blood rest on df = 6"}
    note = {"code": "few-videos", "severity": "note", "message": "a note"}
    text = found(ReportInputs(Path("x"), (part("failures", fit={"converged": True, "findings": [few, note]}),)))
    assert "p values of blood rest on df = 6" in text
    assert "a note" not in text


def test_what_could_not_be_read_is_a_limitation_too(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"verb": "failures"}))
    (tmp_path / "fit.json").write_text("{")
    assert "fit.json: is no JSON" in found(read_inputs(tmp_path))


def test_what_a_ranking_found_is_told_by_its_code_and_not_by_its_words() -> None:
    """A message may be worded anew, and a model may be called like a bucket, without a report saying something else."""
    few = Finding(BUCKET_TOO_SMALL, Severity.WARNING, "hardly any video", subject="technical leaderboard, counting ID")
    odd = Finding(
        "tie-unresolved", Severity.WARNING, "x leaderboard, y: only 3 videos stay tied", subject="clinical leaderboard"
    )
    text = "models dominate each other in a circle"
    cycle = Finding("cycle", Severity.WARNING, text, subject="technical leaderboard (A, B)")
    ranking = StoredResult(label="rank", kind="rank", findings=(few, odd, cycle))
    text = found(ReportInputs(Path("x"), (ranking,)))
    assert "hardly any video" not in text
    assert "X leaderboard, y: only 3 videos stay tied: clinical leaderboard" in text
    assert "Models dominate each other in a circle: technical leaderboard (A, B)" in text


def test_findings_of_a_ranking_reach_the_report_through_its_folder(tmp_path: Path) -> None:
    result = rank(focus_frame(4, videos=6), replicates=0)
    small = [finding for finding in result.findings if finding.code == UNREACHABLE]
    assert len(small) == 8
    result.to_dir(tmp_path / "rank")
    inputs = read_inputs(tmp_path)
    assert inputs.parts[0].findings == result.findings
    text = found(inputs)
    assert not any(finding.message in text for finding in small)
    assert "no difference in these buckets could be significant" in text
    assert "technical leaderboard 4 buckets" in text
    assert text.lower().count("rest on the tie-break alone") == 1
    assert "No rule was named" not in text


def test_what_a_ranking_noted_of_missing_scores_is_a_limitation_and_renamed_columns_are_none() -> None:
    said = (
        Finding("scores-not-there", Severity.NOTE, "2 scores of 'A' are not there"),
        Finding("note", Severity.NOTE, "x"),
    )
    noticed = (Finding("older-columns", Severity.NOTE, "columns of an older version were read"),)
    text = found(ReportInputs(Path("x"), (replace(part("rank"), findings=said),), findings=noticed))
    assert "2 scores of 'A' are not there." in text
    assert "X." not in text
    assert "older version" not in text
