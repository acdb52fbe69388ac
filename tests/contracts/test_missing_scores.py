"""One rule for scores that are not there, obeyed by every verb; a row without a value is the same as no row."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.missing import DEFAULTS, missing_rules
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.aggregation import aggregate
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.comparing.ensembles import ensembles
from surgvalid.stats.comparing.profiles import profiles
from surgvalid.stats.comparing.strata import cooccurrence, strata
from surgvalid.stats.intervals.dependence import dependence
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.ranking import RULES, rank

MODELS, VIDEOS, EACH = ("A", "B", "C"), 9, 5
GIVEN = ("worst", "drop-case", "drop-score", 0.25)


def whole() -> pl.DataFrame:
    """A complete table of 0/1 answers with what every verb wants to see."""
    rng = np.random.default_rng(6)
    rows = [
        (model, f"q{video}{case}", f"v{video}", float(rng.random() < 0.35 + 0.2 * place), case % 2, "abc"[case % 3])
        for place, model in enumerate(MODELS)
        for video in range(VIDEOS)
        for case in range(EACH)
    ]
    frame = pl.DataFrame(rows, schema=["model", "case", "video", "value", "smoke", "phase"], orient="row")
    return frame.with_columns(
        metric=pl.lit("correct"),
        smoke=pl.col("smoke") == 1,
        response=pl.col("value").cast(pl.String),
        capability=pl.lit("object_recognition"),
        secondary=pl.col("phase"),
        ood=pl.col("phase") == "a",
        clinical=pl.lit(True),
    )


def holed() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The table with scores of two models gone: as empty cells, and as rows that are not there."""
    frame = whole()
    rng = np.random.default_rng(8)
    hole = pl.Series(rng.random(frame.height) < 0.12) & (frame["model"] != "A")
    empty = frame.with_columns(value=pl.when(hole).then(None).otherwise("value"))
    return empty.with_columns(response=pl.when(hole).then(None).otherwise("response")), frame.filter(~hole)


FEW = {"replicates": 30, "seed": 3}
VERBS: dict[str, Callable[[pl.DataFrame, Any], Any]] = {
    "interval": lambda t, m: interval(t, missing=m, **FEW).table,
    "interval by": lambda t, m: interval(t, missing=m, by=["phase"], **FEW).table,
    "compare": lambda t, m: compare(t, "B", "C", missing=m, **FEW).table,
    "strata": lambda t, m: strata(t, ["smoke", "phase"], missing=m, **FEW).table,
    "aggregate": lambda t, m: aggregate(t, missing=m).table,
    "dependence": lambda t, m: dependence(t, missing=m).table,
    "width ratio": lambda t, m: dependence(t, missing=m, **FEW).widths,
    "influence": lambda t, m: dependence(t, missing=m).influence,
    "profiles": lambda t, m: profiles(t, missing=m).table,
    "improvement": lambda t, m: profiles(t, missing=m).improvement,
    "adjusted": lambda t, m: failures(t, fixed=["smoke"], marginal=True, missing=m, covariance="CR1").table,
    "cooccurrence": lambda t, m: cooccurrence(t, missing=m, **FEW).table,
    "ensembles": lambda t, m: ensembles(t, missing=m, **FEW).table,
    "failures": lambda t, m: (
        failures(
            t, outcome="value", fixed=["smoke"], random=["model", "video", "case"], missing=m, family="gaussian"
        ).table
    ),
    **{
        f"rank {rule}": lambda t, m, rule=rule: rank(t, rule, replicates=20, missing=m).table
        for rule in RULES
        if rule != "aggregate-then-rank"
    },
}
CANNOT = {("rank focus", "drop-score"): Misuse, ("adjusted", 0.25): Misuse}
"""Verbs that refuse a rule, with a sentence that says why."""


@pytest.mark.parametrize("missing", GIVEN)
@pytest.mark.parametrize("verb", VERBS)
def test_an_empty_cell_and_an_absent_row_are_the_same_thing(verb: str, missing: str | float) -> None:
    empty, absent = holed()
    if (verb, missing) in CANNOT:
        for table in (empty, absent):
            with pytest.raises(CANNOT[verb, missing]):
                VERBS[verb](table, missing)
        return
    first, second = VERBS[verb](empty, missing), VERBS[verb](absent, missing)
    assert first.columns == second.columns
    keys = [name for name in first.columns if first.schema[name] in (pl.String, pl.Boolean)]
    first, second = first.sort(keys), second.sort(keys)
    for name in first.columns:
        if first.schema[name].is_float():
            np.testing.assert_allclose(first[name].to_numpy(), second[name].to_numpy(), rtol=1e-9, atol=1e-12)
        else:
            assert first[name].to_list() == second[name].to_list()


@pytest.mark.parametrize("missing", ["worst", "drop-case", 0.25])
@pytest.mark.parametrize("verb", VERBS)
def test_a_rule_is_what_it_says_written_out_by_hand(verb: str, missing: str | float) -> None:
    empty, _ = holed()
    if missing == "drop-case":
        gone = empty.filter(pl.col("value").is_null())["case"].unique()
        by_hand = empty.filter(~pl.col("case").is_in(gone.implode()))
    else:
        by_hand = empty.with_columns(pl.col("value").fill_null(0.0 if missing == "worst" else missing))
    if (verb, missing) in CANNOT:
        return
    first, second = VERBS[verb](empty, missing), VERBS[verb](by_hand, "error")
    for name in first.columns:
        if first.schema[name].is_float():
            np.testing.assert_allclose(first[name].to_numpy(), second[name].to_numpy(), rtol=1e-9, atol=1e-12)
        elif name != "note":
            assert first[name].to_list() == second[name].to_list()


@pytest.mark.parametrize("verb", VERBS)
def test_an_error_is_raised_by_every_verb_for_empty_cells_and_absent_rows(verb: str) -> None:
    for table in holed():
        with pytest.raises(TableInvalid, match="scores are not there"):
            VERBS[verb](table, "error")


@pytest.mark.parametrize("verb", VERBS)
def test_without_a_rule_empty_cells_and_absent_rows_count_as_worst(verb: str) -> None:
    for table in holed():
        first, second = VERBS[verb](table, None), VERBS[verb](table, "worst")
        for name in first.columns:
            if first.schema[name].is_float():
                np.testing.assert_allclose(first[name].to_numpy(), second[name].to_numpy(), rtol=1e-9, atol=1e-12)
            else:
                assert first[name].to_list() == second[name].to_list()


def test_failures_count_what_is_not_there_without_being_asked() -> None:
    options = {"outcome": "value", "fixed": ["smoke"], "random": ["model", "video", "case"], "family": "gaussian"}
    for table in holed():
        told = [one.message for one in failures(table, **options).findings if one.code == "scores-not-there"]
        gone = 45 - table.filter(pl.col("model") == "B")["value"].drop_nulls().len()
        assert f"{gone} scores of 'B' are not there (missing: {gone}): counted as worst, 0." in told
    absent = holed()[1].with_columns(metric=pl.lit("nobody's"))
    with pytest.raises(TableInvalid, match=r"worst value of .nobody's. is unknown"):
        failures(absent, **options)


def test_rows_of_other_outcomes_that_only_other_models_have_are_counted() -> None:
    _, absent = holed()
    rows = absent.rename({"value": "hits"}).drop("metric")
    options = {"outcome": "hits", "fixed": ["smoke"], "random": ["model", "video", "case"]}
    told = [one for one in failures(rows, **options).findings if one.code == "rows-absent"]
    counts = {model: 45 - rows.filter(pl.col("model") == model).height for model in "BC"}
    assert f"(B: {counts['B']}, C: {counts['C']}, of 45 that other models have)" in told[0].message
    table = failures(
        rows, form="symbols", outcomes={"hits": "hits"}, **{k: v for k, v in options.items() if k != "outcome"}
    )
    assert "rows-absent" in [one.code for one in table.findings]
    assert "rows-absent" not in [one.code for one in failures(whole().rename({"value": "hits"}), **options).findings]


@pytest.mark.long
def test_a_failure_table_counts_absent_scores_within_each_group() -> None:
    for table in holed():
        options = {"outcomes": {"right": "value"}, "fixed": ["smoke"], "random": ["model", "video", "case"]}
        asked = failures(table, form="symbols", split="phase", missing="worst", **options)
        made = failures(table, form="symbols", split="phase", **options)
        assert made.table.equals(asked.table)
        assert any(one.code == "scores-not-there" for one in made.findings)


def test_scores_left_out_leave_the_values_of_that_model_alone() -> None:
    empty, _ = holed()
    found = interval(empty, missing="drop-score", **FEW).table
    by_hand = {row[0]: row[1] for row in empty.group_by("model").agg(pl.col("value").mean()).iter_rows()}
    assert dict(found.select("model", "value").iter_rows()) == pytest.approx(by_hand)


def test_case_ranks_of_scores_left_out_are_those_of_deleted_rows() -> None:
    empty, _ = holed()
    wide = empty.to_pandas().pivot(index="case", columns="model", values="value")
    ranks = wide.rank(axis=1, ascending=False, method="min")
    for operator in ("mean", "median"):
        found = rank(empty, f"rank-then-{operator}", replicates=0, missing="drop-score").ranks
        assert dict(found.select("model", "value").iter_rows()) == pytest.approx(ranks.agg(operator).to_dict())


def test_every_status_has_a_default_and_only_what_is_not_the_models_fault_is_an_error() -> None:
    assert set(DEFAULTS) == set(Status)
    ours = {Status.NOT_ASKED, Status.NOT_JUDGED, Status.INFRASTRUCTURE}
    assert {status for status, rule in DEFAULTS.items() if rule == "error"} == ours
    assert set(DEFAULTS.values()) == {"error", "worst"}


def of_status(status: Status) -> ScoreTable:
    columns = {"model": ["A", "A", "B", "B"], "case": ["p", "q"] * 2, "video": ["u", "w"] * 2}
    rows = {**columns, "value": [1, 1, 1, None], "metric": ["correct"] * 4, "status": ["answered"] * 3 + [status.value]}
    return ScoreTable.of(rows)


@pytest.mark.parametrize("status", list(Status))
def test_the_status_decides_what_a_missing_score_counts_as(status: Status) -> None:
    table = of_status(status)
    named = "answered but empty" if status is Status.ANSWERED else status.value
    if DEFAULTS[status] == "error":
        with pytest.raises(TableInvalid, match=re.escape(f"1 score is not there (B: {named}: 1)")):
            table.matrix()
    else:
        matrix = table.matrix()
        assert matrix.values.tolist() == [[1.0, 1.0], [1.0, 0.0]]
        assert matrix.notes == [f"1 score of 'B' is not there ({named}: 1): counted as worst, 0."]
    assert table.matrix(missing={status.value: 0.5}).values[1, 1] == 0.5
    assert table.matrix(missing=[f"{status.value}=drop-case"]).cases["case"].to_list() == ["p"]
    assert np.isnan(table.matrix(missing=["0", f"{status.value}=drop-score"]).values[1, 1])


def test_the_old_word_and_what_is_no_rule_are_refused() -> None:
    with pytest.raises(Misuse, match="'drop-case'"):
        missing_rules("drop")
    with pytest.raises(UnknownName, match="did you mean 'worst'"):
        missing_rules("wrst")
    with pytest.raises(UnknownName, match="unknown status 'refuse'; did you mean 'refused'"):
        missing_rules("refuse=0")
    with pytest.raises(Misuse, match="each status has one rule"):
        missing_rules(["worst", "error"])
    for number in (float("nan"), "inf", True):
        with pytest.raises(Misuse):
            missing_rules(number)


def test_a_worst_value_that_nobody_knows_is_asked_for() -> None:
    rows = {"model": ["A", "A", "B"], "case": ["p", "q", "p"], "value": [3.0, 1.0, 2.0], "metric": ["hd95_px"] * 3}
    with pytest.raises(TableInvalid, match=r"the worst value of 'hd95_px' is unknown \(its range has no end there\)"):
        ScoreTable.of(rows).matrix()
    with pytest.raises(TableInvalid, match="nobody said which values are better"):
        ScoreTable.of({**rows, "metric": ["score"] * 3}).matrix()
    assert ScoreTable.of(rows).matrix(missing=99).values.tolist() == [[3.0, 2.0], [1.0, 99.0]]


def test_many_models_are_told_about_together() -> None:
    rows = [(f"m{m}", f"q{q}", 1.0) for m in range(9) for q in range(9) if m != q]
    frame = pl.DataFrame(rows, schema=["model", "case", "value"], orient="row").with_columns(metric=pl.lit("correct"))
    assert ScoreTable.of(frame).matrix().notes == [
        "9 scores of 9 models are not there (missing: 9): counted as worst, 0."
    ]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_number_that_the_metric_cannot_take_is_refused(verb: str) -> None:
    for table in holed():
        with pytest.raises(Misuse, match=r"7 lies outside the range of 'correct', \[0, 1\]"):
            VERBS[verb](table, 7)


@pytest.mark.parametrize("work", [interval, lambda t, **o: compare(t, "A", "B", **o), lambda t, **o: rank(t, **o)])
def test_missing_scores_are_noted_and_wrong_rules_refused_in_one_way(work: Callable[..., Any]) -> None:
    result = work(holed()[0], **FEW)
    assert any("not there" in note for note in result.notes)
    assert not any("not there" in str(warning) for warning in result.warnings)
    with pytest.raises(UnknownName, match=r"^unknown status 'refuse'"):
        work(whole(), missing="refuse=0")
    with pytest.raises(Misuse, match=r"^missing: each status has one rule"):
        work(whole(), missing=["worst", "drop-case"])
    with pytest.raises(Misuse, match=r"^missing: no status stands before '=' in '=worst'"):
        work(whole(), missing=["=worst"])


def test_a_comparison_says_that_a_case_left_out_goes_for_both_models() -> None:
    notes = " ".join(compare(holed()[1], "A", "B", missing="drop-score", **FEW).notes)
    assert "the comparison is paired, so those cases are left out for both models" in notes
    assert "of that model alone" not in notes
    assert "of that model alone" in " ".join(interval(holed()[1], missing="drop-score", **FEW).notes)


def with_scores(value: float) -> pl.DataFrame:
    """The whole table in which two rows of B were refused and have a score."""
    refused = (pl.col("model") == "B") & pl.col("case").is_in(["q00", "q01"])
    return whole().with_columns(
        status=pl.when(refused).then(pl.lit("refused")).otherwise(pl.lit("answered")),
        value=pl.when(refused).then(value).otherwise("value"),
    )


def test_a_rule_for_a_status_whose_rows_have_scores_is_said_to_have_no_effect() -> None:
    said = "2 rows of status 'refused' have a score; the rule for missing scores (drop-case) does not apply there."
    result = interval(with_scores(0.0), missing=["refused=drop-case"], **FEW)
    assert said in result.notes
    assert not result.warnings
    assert not interval(with_scores(0.0), **FEW).notes
    assert not interval(with_scores(0.0), missing=["refused=0"], **FEW).notes
    assert said not in compare(with_scores(0.0), "A", "C", missing=["refused=drop-case"], **FEW).notes


def test_credit_for_a_case_that_nobody_answered_is_a_warning() -> None:
    said = "2 rows of status 'refused' have a score, 2 of them better than the worst (0): nothing was answered there."
    assert said in interval(with_scores(1.0), **FEW).warnings


def two_tracks() -> pl.DataFrame:
    """Two tracks of the same videos; model C took part in the first alone."""
    first = whole().with_columns(track=pl.lit("frame"))
    second = whole().with_columns(track=pl.lit("procedure"), case=pl.col("case") + "p").filter(pl.col("model") != "C")
    return pl.concat([first, second])


def test_a_model_is_not_wrong_on_the_questions_of_a_track_it_did_not_take_part_in() -> None:
    table = two_tracks()
    alone = interval(table.filter(pl.col("track") == "frame")).table.filter(pl.col("model") == "C")
    result = interval(table)
    assert result.table.filter(pl.col("model") == "C")["value"].item() == alone["value"].item()
    assert [one.subject for one in result.findings if one.code == "other-tracks"] == ["C"]
    options: dict[str, Any] = {"outcome": "value", "fixed": ["smoke"], "random": ["model", "video", "case"]}
    fitted = failures(table, **options)
    assert fitted.fit.design.rows == table.height
    assert "other-tracks" in [one.code for one in fitted.findings]
    assert failures(table, missing="worst", **options).fit.design.rows == table.height + VIDEOS * EACH


def test_a_case_that_was_not_asked_in_ones_own_track_still_needs_a_decision() -> None:
    unasked = two_tracks().with_columns(
        status=pl.when(pl.col("model").eq("A") & pl.col("case").eq("q00")).then(pl.lit("not_asked")).otherwise(None)
    )
    unasked = unasked.with_columns(value=pl.when(pl.col("status").is_null()).then("value"))
    with pytest.raises(TableInvalid, match="not_asked"):
        interval(unasked)


def test_an_order_over_several_tracks_needs_models_that_took_part_in_all() -> None:
    with pytest.raises(Misuse, match="rank each track by itself"):
        rank(two_tracks(), "focus", **FEW)
