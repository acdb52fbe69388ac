from dataclasses import replace

import polars as pl
import pytest

from small_questions import answers, questions
from surgvalid import Response
from surgvalid.errors import Misuse
from surgvalid.scoring.run import score
from surgvalid.scoring.slices import context_names

REQUESTS, REFERENCES = questions()
RESPONSES = answers("moody", REQUESTS, REFERENCES, seed=1)


def codes(result) -> list[str]:
    return [finding.code for finding in result.findings]


def test_contexts_are_cut_where_the_user_says() -> None:
    result = score(REQUESTS, REFERENCES, RESPONSES, judges=["exact"], context_s=[700, 1000])
    names = result.summary.filter(pl.col("level") == "context")["name"].unique().to_list()
    assert sorted(names) == ["long (1000 s and more)", "medium (700 s to below 1000 s)", "short (below 700 s)"]
    assert context_names([60]) == ["below 60 s", "60 s and more"]


@pytest.mark.parametrize("edges", [[], [300, 30], [0, 30], [30, 30], [float("nan")]])
def test_lengths_that_cut_nothing_are_refused(edges: list[float]) -> None:
    with pytest.raises(Misuse, match="rising lengths"):
        score(REQUESTS, REFERENCES, RESPONSES, context_s=edges)


def test_without_a_clinical_question_there_is_no_clinical_headline_and_that_is_said() -> None:
    technical = [replace(reference, clinical=False) for reference in REFERENCES]
    result = score(REQUESTS, technical, RESPONSES, judges=["exact"])
    assert not result.summary["name"].str.contains("clinical questions").any()
    assert "no-clinical" in codes(result)
    assert "clinical-buckets" in codes(score(REQUESTS, REFERENCES, RESPONSES, judges=["exact"]))


def test_a_question_that_nobody_judged_stops_the_clinical_headline_only_where_it_is_clinical() -> None:
    judged = {one.case: one.clinical for one in REFERENCES if one.format in ("open_ended", "multiple_choice")}
    kept = [one for one in REFERENCES if not judged.get(one.case)]
    cases = {one.case for one in kept}
    asked = [one for one in REQUESTS if one.case in cases]
    result = score(asked, kept, [Response(one.case, one.answer) for one in kept])
    rows = {row["name"]: row for row in result.summary.filter(pl.col("level") == "headline").iter_rows(named=True)}
    assert rows["mean over buckets"]["accuracy"] != rows["mean over buckets"]["accuracy"]
    assert rows["clinical questions, mean over buckets"]["accuracy"] == 1
    assert result.tables["ood_gap"].is_empty()
    assert "no-ood-gap" not in codes(result)


def test_the_screen_shows_headlines_gap_slices_and_targeted_metrics() -> None:
    result = score(REQUESTS, REFERENCES, RESPONSES, model="m", judges=["exact"])
    shown = result.screen()
    assert "clinical questions, mean over buckets" in shown["m (profile native)"]["name"].to_list()
    assert {"out of distribution against in distribution", "by secondary capability and context length",
            "targeted metrics"} <= set(shown)  # fmt: skip
