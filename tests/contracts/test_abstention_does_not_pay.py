"""The same knowledge, once answered wrongly and once so that judges abstain, has the same score in every verb."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from judge_cases import Saying
from small_questions import answers, questions
from surgvalid import Response, aggregate, compare, diff, interval, rank, strata
from surgvalid.judges import JudgeCase, Verdict
from surgvalid.judges._case import verdict_from_reply
from surgvalid.report.live import Live
from surgvalid.schema.tables.score_table import read_score_table
from surgvalid.scoring.run import score

REQUESTS, REFERENCES = questions()
FREE = {reference.case for reference in REFERENCES if reference.format == "open_ended"}
FEW = {"replicates": 30, "seed": 3}


def said(text: str, model: str = "steady") -> list[Response]:
    """The model's answers, with this text for every second free-text question."""
    given = answers(model, REQUESTS, REFERENCES, seed=1)
    unknown = sorted(FREE)[::2]
    return [Response(one.case, text, one.latency_s) if one.case in unknown else one for one in given]


def opinion(case: JudgeCase) -> Verdict:
    if "not sure" in case.candidate:
        return Verdict(None, "abstained", "UNSURE")
    if "unheard" in case.candidate:
        return Verdict(None, "failed", "no answer")
    return Verdict(case.candidate == case.reference, "judged")


def other(case: JudgeCase) -> Verdict:
    return Verdict("not sure" in case.candidate or case.candidate == case.reference, "judged")


def rambling(case: JudgeCase) -> Verdict:
    return verdict_from_reply("The answer says", was_cut=True) if "not sure" in case.candidate else opinion(case)


PANELS = {
    "abstained": [Saying("a", opinion)],
    "cut at the token limit": [Saying("e", rambling)],
    "tied": [Saying("c", lambda case: Verdict(case.candidate == case.reference, "judged")), Saying("d", other)],
}


@pytest.fixture(scope="module", params=list(PANELS))
def folders(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    base, panel = tmp_path_factory.mktemp("abstention"), PANELS[request.param]
    texts = {"wrong": "on the moon", "unsure": "I am not sure", "moody": "on the moon"}
    for name, text in texts.items():
        responses = said(text, "moody" if name == "moody" else "steady")
        model = "other" if name == "moody" else "same"
        score(REQUESTS, REFERENCES, responses, model=model, judges=panel, **FEW).to_dir(base / name)
    return base / "wrong", base / "unsure", base / "moody"


VERBS: dict[str, Callable[[Path, Path], pl.DataFrame]] = {
    "interval": lambda one, _: interval(one, metric="correct", **FEW).table,
    "strata": lambda one, _: strata(one, ["format", "clinical"], metric="correct", **FEW).table,
    "compare": lambda one, two: compare([one, two], "same", "other", metric="correct", **FEW).table,
    "aggregate": lambda one, two: aggregate([one, two], metric="correct").table,
    "rank": lambda one, two: rank([one, two], "mean-then-rank", metric="correct", replicates=20).table,
    "rank focus": lambda one, two: rank([one, two], "focus", metric="correct", replicates=20).table,
    "report": lambda one, _: Live(read_score_table(one), "correct").intervals[0],
}


@pytest.mark.parametrize("verb", list(VERBS))
def test_an_abstention_counts_as_a_wrong_answer(folders: tuple[Path, Path, Path], verb: str) -> None:
    wrong, unsure, another = folders
    assert VERBS[verb](unsure, another).equals(VERBS[verb](wrong, another), null_equal=True)


def test_score_and_diff_count_it_alike(folders: tuple[Path, Path, Path]) -> None:
    summaries = [pl.read_csv(folder / "summary.csv").filter(pl.col("level") != "bound") for folder in folders[:2]]
    assert summaries[0].equals(summaries[1], null_equal=True)
    verdicts = [pl.read_csv(folder / "results.csv")["correctness"] for folder in folders[:2]]
    assert verdicts[0].equals(verdicts[1])
    bounds = pl.read_csv(folders[1] / "summary.csv").filter(pl.col("level") == "bound")["accuracy"].to_list()
    headline = pl.read_csv(folders[1] / "summary.csv").filter(pl.col("level") == "headline")["accuracy"][0]
    assert bounds[0] == pytest.approx(headline)
    assert bounds[1] > headline
    assert "flipped" not in diff(*folders[:2]).changes["kind"].to_list()


def test_who_says_so_leaves_abstentions_out_everywhere() -> None:
    result = score(REQUESTS, REFERENCES, said("I am not sure"), judges=PANELS["abstained"],
                   missing="judge_abstained=drop-score", **FEW)  # fmt: skip
    kept = result.scores.matrix("correct", missing="judge_abstained=drop-score").values
    overall = result.summary.filter((pl.col("level") == "overall") & (pl.col("estimand") == "rows"))
    assert overall["accuracy"].item() == pytest.approx(float(kept[kept == kept].mean()))
    assert overall["not_scored"].item() == len(FREE) - len(sorted(FREE)[1::2])


def test_failures_of_judges_leave_no_headline_unless_allowed() -> None:
    responses = said("unheard")
    result = score(REQUESTS, REFERENCES, responses, judges=PANELS["abstained"], **FEW)
    assert result.headline["accuracy"] != result.headline["accuracy"]
    assert "no-headline" in [finding.code for finding in result.findings]
    closed = result.summary.filter(pl.col("level") == "answer_format")
    assert closed.filter(pl.col("name") == "binary")["accuracy"].is_not_nan().all()
    assert closed.filter(pl.col("name") == "open_ended")["accuracy"].is_nan().all()
    worst = score(REQUESTS, REFERENCES, responses, judges=PANELS["abstained"], missing={"not_judged": "worst"}, **FEW)
    wrong = score(REQUESTS, REFERENCES, said("on the moon"), judges=PANELS["abstained"], **FEW)
    assert worst.headline == wrong.headline


def test_a_judge_that_cannot_be_read_leaves_no_headline_unless_allowed() -> None:
    deaf = [Saying("f", lambda _: verdict_from_reply("The candidate names a structure"))]
    result = score(REQUESTS, REFERENCES, said("on the moon"), judges=deaf, **FEW)
    assert result.headline["accuracy"] != result.headline["accuracy"]
    codes = [finding.code for finding in result.findings]
    assert {"no-headline", "judge-unreadable"} <= set(codes)
    assert {row["state"] for row in result.verdicts} == {"abstained"}
    worst = score(REQUESTS, REFERENCES, said("on the moon"), judges=deaf, missing={"not_judged": "worst"}, **FEW)
    assert worst.headline["accuracy"] == worst.headline["accuracy"]
    left_out = score(REQUESTS, REFERENCES, said("x"), judges=deaf, missing={"not_judged": "drop-score"}, **FEW)
    assert "judge-unreadable" in [finding.code for finding in left_out.findings]
