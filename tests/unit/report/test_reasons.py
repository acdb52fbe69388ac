"""Why each model fails: a rule for every sentence, and facts that are corrected for how much was looked at."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from surgvalid.report.inputs import ReportInputs
from surgvalid.report.sections.failures import marked_title
from surgvalid.report.verdict.frequencies import CaseGroup, Contrasts, WeakAndElsewhere, contrasts
from surgvalid.report.verdict.leads import Measure
from surgvalid.report.verdict.reasons import reasons, spoken_kind, unlisted
from surgvalid.report.verdict.weaknesses import (
    Behind,
    Effect,
    Examined,
    Lost,
    Weaknesses,
    corrected_over_all,
    weaknesses,
)
from surgvalid.report.words import spoken_term
from surgvalid.results.reading import StoredResult
from surgvalid.results.request import VerbRequest
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.score_table import ScoreTable

ACCURACY = Measure(MetricFacts("correct"))
SMOKE = Effect("smoke[yes]", 0.08, -2.5, 0.03, 0.22, 0.0001)
COUNTING = Behind("aggregation", 0.388, 0.313, 0.466, 0.001)


def said(
    one: Weaknesses, *, column: str = "group", measure: Measure = ACCURACY, counted: Contrasts | None = None
) -> str:
    [reason] = reasons(Examined((one,), 63, 40, column, 0), measure, counted or {})
    assert reason.is_known == bool(one.effects or one.behind or [lost for lost in one.lost if lost.share >= 0.05])
    return reason.sentence


def counts(there: float, elsewhere: float, *, cases: int = 46, key: str = "smoke[yes]") -> Contrasts:
    """How many of a hundred are right."""
    return {("m", key): WeakAndElsewhere(CaseGroup(there, cases, 27), CaseGroup(elsewhere, 983, 106))}


def test_a_harmful_property_is_told_in_cases_and_not_in_odds() -> None:
    weak = Weaknesses("m", effects=(SMOKE,))
    assert said(weak, counted=counts(0.3, 0.77)) == (
        "it fails on smoke: of 100 such questions it gets 70 wrong, of 100 others 23 (46 and 983 questions)."
    )
    assert said(weak, counted=counts(2 / 7, 0.77, cases=7)) == "it fails on smoke (5 of 7 questions wrong)."
    assert said(weak) == "it fails on smoke."
    [reason] = reasons(Examined((weak,), 63, 40, "group", 0), ACCURACY, counts(0.3, 0.77))
    assert reason.dots == ((70, "smoke"), (23, "elsewhere"))


def test_counts_that_do_not_show_the_weakness_are_no_evidence_of_it() -> None:
    weak = Weaknesses("m", effects=(SMOKE,))
    assert said(weak, counted=counts(0.8, 0.77)) == "it fails on smoke, once other properties are held fixed."
    for few in (counts(0.8, 0.77), counts(0.3, 0.77, cases=7)):
        [reason] = reasons(Examined((weak,), 63, 40, "group", 0), ACCURACY, few)
        assert reason.dots == ()


def test_a_property_of_a_continuous_score_has_its_values() -> None:
    weak = Weaknesses("m", effects=(SMOKE._replace(odds_ratio=None, low=None, high=None),))
    assert said(weak, measure=Measure(MetricFacts("dsc")), counted=counts(0.61, 0.75)) == (
        "it fails on smoke (0.610 there, 0.750 elsewhere)."
    )


def test_a_kind_of_question_is_named_with_its_gap() -> None:
    weak = Weaknesses("m", behind=(COUNTING,), kinds=5)
    assert said(weak, counted=counts(0.3, 0.7, key="aggregation")) == (
        "it is behind the mean of the other models on counting (by 38.8 points): of 100 such questions it gets 70"
        " wrong, of 100 others 30 (46 and 983 questions)."
    )
    assert said(weak._replace(behind=(COUNTING, COUNTING._replace(kind="temporal_grounding")))) == (
        "it is behind the mean of the other models on counting (by 38.8 points) and times and durations"
        " (by 38.8 points)."
    )


def test_a_model_that_is_behind_on_everything_is_not_given_a_weakness() -> None:
    assert said(Weaknesses("m", behind=(COUNTING, COUNTING._replace(difference=0.1)), kinds=2)) == (
        "it is behind the mean of the other models on both kinds of question examined, by 10.0 points at least and 38.8"
        " points at most."
    )
    assert "both conditions examined, by 38.8 points." in said(
        Weaknesses("m", behind=(COUNTING, COUNTING), kinds=2), column="phase"
    )


def test_of_two_models_one_is_behind_the_other_and_not_behind_a_mean() -> None:
    two = Examined((Weaknesses("m", behind=(COUNTING,), kinds=5), Weaknesses("n")), 0, 40, "group", 0)
    assert reasons(two, ACCURACY, {})[0].sentence.startswith("it is behind the other model on counting")
    four = two._replace(more=2)
    assert reasons(four, ACCURACY, {})[0].sentence.startswith("it is behind the mean of the other models on counting")


@pytest.mark.parametrize(("status", "words"), [
    (Status.TIMED_OUT, "came too late"), (Status.REFUSED, "were refused"), (Status.UNREADABLE, "could not be read"),
    (Status.FAILED, "ended in a failure of the model"), (Status.MISSING, "are missing"),
    (Status.NOT_ASKED, "were never asked for"), (Status.INFRASTRUCTURE, "were lost with the machine"),
])  # fmt: skip
def test_answers_that_never_came_are_a_reason(status: Status, words: str) -> None:
    lost = Weaknesses("m", lost=(Lost(status, 0.1, 0.35),), wrong=0.3)
    assert said(lost) == f"10 % of its answers {words} (35 % of all it has wrong)."
    assert said(lost._replace(wrong=None)) == f"10 % of its answers {words}."


def test_a_few_lost_answers_are_no_reason() -> None:
    assert "late" not in said(Weaknesses("m", lost=(Lost(Status.TIMED_OUT, 0.04, 0.9),)))


def test_where_nothing_stands_out_that_is_said_with_what_was_examined() -> None:
    assert said(Weaknesses("m", properties=9, kinds=5, wrong=0.24)) == (
        "it shows no weakness of its own (9 properties and 5 kinds of question examined)."
    )
    assert said(Weaknesses("m", properties=1)) == "it shows no weakness of its own (1 property examined)."


def test_where_nothing_was_examined_nothing_is_concluded() -> None:
    assert said(Weaknesses("m")) == "why it fails is not known: nothing in the folder explains it."


def test_several_causes_make_one_sentence() -> None:
    text = said(Weaknesses("m", (Lost(Status.TIMED_OUT, 0.2, 0.5),), (SMOKE,), (COUNTING,), 9, 5, 0.4))
    assert text.startswith("20 % of its answers came too late")
    assert ". " not in text
    assert "it fails on smoke" in text
    assert "it is behind the mean of the other models on counting" in text


def test_models_beyond_the_first_are_counted() -> None:
    assert unlisted(Examined((Weaknesses("m"),), 0, 0, "", 92)) == (
        "The first 1 models by final rank; 92 more are in the tables below."
    )
    assert unlisted(Examined((Weaknesses("m"),), 0, 0, "", 0)) == ""


def test_words_of_properties_and_kinds_need_no_explanation() -> None:
    assert spoken_term("background_smoke[yes]") == "background smoke"
    assert spoken_term("ood") == "cases unlike the training data"
    assert spoken_kind("object_recognition", "group") == "recognising objects"
    assert spoken_kind("B", "center") == "center B"


def cells(**p_values: float) -> pl.DataFrame:
    """One effect per name `model_term`, all harmful."""
    rows = [(*name.split("_"), -1.0, p, 0.4, 0.2, 0.8) for name, p in p_values.items()]
    return pl.DataFrame(
        rows, schema=["model", "term", "estimate", "p_value", "odds_ratio", "low", "high"], orient="row"
    )


def test_effects_are_corrected_over_all_models_and_properties() -> None:
    corrected = corrected_over_all(cells(a_smoke=0.0004, a_blood=0.02, b_smoke=0.03, b_blood=0.9))
    assert corrected["p_corrected"].to_list() == pytest.approx([0.0016, 0.06, 0.06, 0.9])
    assert marked_title(corrected) == "What harms single models, after correction over 4 effects: a on smoke"
    assert marked_title(corrected.head(0)) == "No property harms a single model after correction over 0 effects"


def inputs_of(table: pl.DataFrame, *parts: StoredResult) -> ReportInputs:
    return ReportInputs(Path("folder"), parts, ScoreTable.of(table, better="larger"))


def scores(*, weak_on: str = "count", videos: int = 12) -> pl.DataFrame:
    """Three models; `weak` misses every question of one kind, in every video."""
    rows = [
        (model, f"{video}-{kind}-{n}", f"v{video}", kind, float(not (model == "weak" and kind == weak_on) and n > 0))
        for model in ("weak", "good", "fair")
        for video in range(videos)
        for kind in ("find", "count")
        for n in range(4)
    ]
    return pl.DataFrame(rows, schema=["model", "case", "video", "group", "value"], orient="row")


def test_the_kind_of_question_that_a_model_misses_is_found() -> None:
    examined = weaknesses(inputs_of(scores()))
    found = {one.model: one for one in examined.models}
    assert [kind.kind for kind in found["weak"].behind] == ["count"]
    assert found["weak"].behind[0].difference == pytest.approx(0.75)
    assert (found["weak"].kinds, examined.comparisons, examined.column) == (2, 6, "group")
    assert found["good"].behind == found["fair"].behind == ()


def test_so_few_videos_that_nothing_could_show_are_not_examined() -> None:
    examined = weaknesses(inputs_of(scores(videos=5)))
    assert examined.comparisons == 0
    assert all(one.kinds == 0 for one in examined.models)


def test_an_analysis_of_another_outcome_or_without_convergence_explains_nothing() -> None:
    table = cells(weak_smoke=0.0001, good_smoke=0.5)
    for options, fit in (({"outcome": "seconds"}, {}), ({"outcome": "value"}, {"converged": False})):
        part = StoredResult(kind="failures", tables={"per_model": table}, records={"fit": fit},
                            request=VerbRequest("failures", options))  # fmt: skip
        assert weaknesses(inputs_of(scores(), part)).effects == 0
    part = StoredResult(kind="failures", tables={"per_model": table}, records={"fit": {}},
                        request=VerbRequest("failures", {"outcome": "value"}))  # fmt: skip
    examined = weaknesses(inputs_of(scores(), part))
    assert examined.effects == 2
    assert [effect.term for effect in examined.models[-1].effects or examined.models[0].effects] == ["smoke"]


def test_a_kind_without_any_answer_is_called_that_and_not_a_weakness() -> None:
    table = scores(weak_on="nothing").filter(~((pl.col("model") == "weak") & (pl.col("group") == "count")))
    examined = weaknesses(inputs_of(table))
    weak = next(one for one in examined.models if one.model == "weak")
    assert weak.behind == ()
    assert weak.skipped == ("count",)
    assert [(lost.status, lost.share) for lost in weak.lost] == [(Status.MISSING, 0.5)]
    assert said(weak._replace(wrong=None)) == "50 % of its answers are missing, among them all on count."
    assert [one.skipped for one in examined.models if one.model != "weak"] == [(), ()]


def test_a_track_in_which_a_model_took_no_part_is_not_missing() -> None:
    whole = scores(weak_on="nothing").with_columns(track=pl.col("group"))
    table = whole.filter(~((pl.col("model") == "weak") & (pl.col("track") == "count")))
    weak = next(one for one in weaknesses(inputs_of(table)).models if one.model == "weak")
    assert (weak.lost, weak.skipped) == ((), ())
    assert weak.elsewhere == ("count",)
    assert said(weak._replace(wrong=None, kinds=1)).startswith("it took no part in count; ")


def test_cases_are_counted_where_a_model_is_weak_and_elsewhere() -> None:
    given = inputs_of(scores())
    found = contrasts(given, weaknesses(given))
    there, elsewhere = found["weak", "count"]
    assert (there.value, there.cases, there.units) == (0.0, 48, 12)
    assert (elsewhere.value, elsewhere.cases) == (0.75, 48)
