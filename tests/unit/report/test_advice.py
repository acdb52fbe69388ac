"""What to do next: a rule for every sentence, at most three of them, and one where nothing follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from surgvalid.report.inputs import ReportInputs
from surgvalid.report.limits import gravest, limitations
from surgvalid.report.section import Points
from surgvalid.report.sections import verdict
from surgvalid.report.verdict.advice import MOST_ADVICE, advice
from surgvalid.report.verdict.weaknesses import Effect, Examined, Lost, Weaknesses
from surgvalid.results.reading import StoredResult
from surgvalid.results.request import VerbRequest
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.score_table import ScoreTable

NO_MODELS = Examined((), 0, 0, "", 0)


class Verdicts(NamedTuple):
    judges: tuple[str, ...] = ("exact",)
    apart: int = 0
    answers: int = 10
    wrong: tuple[Any, ...] = ()


def table(videos: int = 40, **columns: str) -> ReportInputs:
    names = [f"{n}" for n in range(videos)]
    rows = {"model": ["a"] * videos, "case": names, "video": names, "value": [1.0] * videos}
    frame = pl.DataFrame(rows).with_columns(pl.Series(name, [f"{kind}{n % 2}" for n in range(videos)])
                                            for name, kind in columns.items())  # fmt: skip
    return ReportInputs(Path("folder"), (), ScoreTable.of(frame, better="larger"))


def test_a_property_that_harms_sends_the_reader_to_its_cases() -> None:
    one = Weaknesses("m", effects=(Effect("smoke[yes]", 0.1, -2, 0.05, 0.2, 0.001),))
    [sentence] = advice(table(), Examined((one,), 9, 0, "", 0))
    assert sentence == (
        "Look at the wrong answers of m on smoke, and collect more such cases before relying on a model there."
    )


def test_a_late_model_needs_time() -> None:
    one = Weaknesses("m", lost=(Lost(Status.TIMED_OUT, 0.1, 0.3),))
    [sentence] = advice(table(), Examined((one,), 9, 0, "", 0))
    assert sentence == "Give m (10 % late) a faster machine or more time before judging what it knows."


def test_text_compared_letter_by_letter_needs_a_judge() -> None:
    part = StoredResult(kind="score", records={"verdicts": Verdicts()})
    inputs = table()
    judged = ReportInputs(inputs.source, (part,), inputs.scores)
    assert advice(judged, NO_MODELS)[0].startswith("Have free text judged by people or by a model")


def test_without_a_failure_analysis_the_verb_is_named_with_columns() -> None:
    assert advice(table(phase="p"), NO_MODELS) == [
        "Ask why models fail: run surgvalid analyse failures with properties of the cases, such as phase."
    ]


def test_questions_that_need_no_eyes_are_pointed_out() -> None:
    margins = pl.DataFrame({"level": ["bucket"], "model": ["a"], "margin": [-0.1]})
    part = StoredResult(kind="floors", tables={"margins": margins})
    inputs = table()
    [sentence] = advice(ReportInputs(inputs.source, (part,), inputs.scores), NO_MODELS)
    assert sentence.startswith("Look at the questions that a system without eyes answers as well")


def test_few_videos_ask_for_more() -> None:
    assert advice(table(8), NO_MODELS) == [
        "Collect more videos, from more than one hospital, before a claim is made for others than these."
    ]


def test_at_most_three_things_are_asked_for_those_of_the_verdict_first() -> None:
    inputs = table(8, phase="p")
    [steps] = [block for block in verdict.section(inputs).blocks if isinstance(block, Points) and block.name == "next"]
    assert len(steps.points) == MOST_ADVICE
    assert steps.points[-1].text in advice(inputs, NO_MODELS)


def test_eight_videos_are_a_limitation_of_a_study() -> None:
    inputs = table(8)
    assert gravest(inputs)[0] == "Only 8 videos: rare conditions are not represented."
    assert any("Only 8 videos" in note.text for note in limitations(inputs))


def test_the_gravest_limitations_name_where_they_hold_and_need_no_jargon() -> None:
    pairs = pl.DataFrame({"significant": [False], "board": ["technical"]})
    part = StoredResult(kind="rank", label="rank", tables={"pairs": pairs})
    inputs = table(8)
    grave = gravest(ReportInputs(inputs.source, (part,), inputs.scores))
    assert grave[0] == "Only 8 videos: rare conditions are not represented."
    assert grave[1] == ("No two models differ clearly on any kind of question (every leaderboard).")
    assert not any("bucket" in text for text in grave)


@pytest.mark.parametrize(("mean", "told"), [
    (0.577, "Counted question by question it is 62.5 %, because some kinds are asked more often."), (0.625, ""),
])  # fmt: skip
def test_one_model_has_one_value_and_the_other_is_explained(mean: float, told: str) -> None:
    inputs = table(8)
    assert inputs.scores is not None
    rows = inputs.scores.frame.with_columns(metric=pl.lit("correct"), value=pl.Series([1.0] * 5 + [0.0] * 3))
    summary = pl.DataFrame(
        {"level": ["headline"], "name": ["headline"], "accuracy": [mean], "low": [0.5], "high": [0.7]}
    )
    part = StoredResult(kind="score", tables={"summary": summary}, request=VerbRequest("score", {"model": "a"}))
    section = verdict.section(ReportInputs(inputs.source, (part,), ScoreTable.of(rows, better="larger")))
    assert section.title == f"a answers {100 * mean:.1f} % of the questions rightly"
    assert section.lead.startswith("The 95 % interval is 50.0 to 70.0 %; every kind of question counts the same.")
    assert "There is no other model to compare with." in section.lead
    assert section.lead.endswith(told)
    assert ("Counted" in section.lead) == bool(told)
