"""Every kind of verdict, from the table that gives it to the words for it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.errors import Misuse, UnknownName
from surgvalid.report.verdict_page import evidence
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.units import Unit
from surgvalid.stats.verdict.contradictions import Condition, Stratum, predicted
from surgvalid.stats.verdict.grounds import why_of
from surgvalid.stats.verdict.sentences import evidence_of, sentences_of, title_of
from surgvalid.stats.verdict.who_is_better import KINDS, ModelVerdict, VerdictQuestion, kind_of, verdict

PATIENT = Unit("patient", "patient", "E2")


def table(gaps: np.ndarray, *, metric: str = "dice", **columns: list[str]) -> ScoreTable:
    """Models A and B on one case per patient; A is ahead by the gaps, around a level that varies."""
    level = 0.5 + 0.1 * np.sin(np.arange(len(gaps)))
    return rows_of({"A": level + gaps, "B": level}, metric=metric, **columns)


def rows_of(models: dict[str, np.ndarray], *, metric: str = "dice", **columns: list[str]) -> ScoreTable:
    frames = [
        pl.DataFrame({"model": [name] * len(values), "value": values, **columns}).with_row_index("place")
        for name, values in models.items()
    ]
    frame = pl.concat(frames).with_columns(
        case=pl.format("c{}", "place"), video=pl.format("P{}", pl.col("place").cast(pl.String).str.zfill(2))
    )
    return ScoreTable.of(frame.with_columns(metric=pl.lit(metric)).drop("place"), better="larger")


def asked(scores: ScoreTable, *, unit: Unit = PATIENT, **options: object) -> ModelVerdict:
    read = replace(scores, read_as=replace(scores.read_as, unit=unit))
    return verdict(read, VerdictQuestion(**options))  # type: ignore[arg-type]


def spread(mean: float, width: float, units: int = 12) -> np.ndarray:
    return mean + width * np.linspace(-1, 1, units)


@pytest.mark.parametrize(
    ("gaps", "margin", "kind", "title", "words"),
    [
        (spread(0.05, 0.02), None, "better", "A is better than B, by 0.050 dice",
         "A is better than B in dice by 0.050 ("),
        (spread(0.05, 0.02), 0.02, "better", "A is better than B", ": more than the margin 0.02."),
        (spread(0.05, 0.02), 0.05, "better_small", "A is better than B; whether by enough is open",
         "; whether by more than 0.05 is open."),
        (spread(0.01, 0.004), 0.05, "better_small", "A is better than B, but by too little to matter",
         ", but by less than the margin 0.05: equal for practice."),
        (spread(0.001, 0.01), 0.02, "equivalent", "A and B are equal for practice",
         "A and B are equivalent in dice to within 0.02: 0.001 apart ("),
        (spread(0.015, 0.06), 0.03, "non_inferior", "A is not worse than B by more than 0.03",
         "A is not worse than B in dice by more than 0.03: 0.015 apart ("),
        (spread(0.01, 0.2), None, "open", "Which model does better is open",
         "A has the highest dice, 0.010 above B (-0."),
        (spread(0.01, 0.2), 0.02, "open", "Which model does better is open",
         "): open, also whether the difference exceeds 0.02."),
        (np.zeros(12), None, "open", "A and B gave the same scores",
         "A and B gave the same scores: dice 0 apart in 12 patients."),
        (spread(0.05, 0.02, 5), None, "too_few", "Five patients are too few to say whether A does better",
         "A is ahead in 5 of 5 patients, by 0.030 to 0.070 each in dice: five patients cannot show more than "
         "p = 0.062, so no winner is named."),
        (spread(0.05, 0.02, 1), None, "too_few", "One patient is too few to say whether A does better",
         "A is ahead in 1 of 1 patient, by 0.030 in dice: one patient cannot "),
    ],
)  # fmt: skip
def test_a_kind_has_its_title_and_its_words(
    gaps: np.ndarray, margin: float | None, kind: str, title: str, words: str
) -> None:
    found = asked(table(gaps), margin=margin)
    assert found.kind == kind
    assert found.kind in KINDS
    assert title_of(found) == title
    assert len(title) <= 60
    assert words in sentences_of(found)[0]
    assert found.winner == ("A" if kind in ("better", "better_small") else None)
    assert ("is better" in sentences_of(found)[0]) == (found.winner is not None)


def test_the_table_of_margins() -> None:
    assert kind_of(0.03, 0.07, 0.02) == "better"
    assert kind_of(0.02, 0.07, 0.02) == "better_small"
    assert kind_of(0.0, 0.07, 0.02) == "non_inferior"
    assert kind_of(-0.02, 0.07, 0.02) == "open"
    assert kind_of(-0.01, 0.02, 0.02) == "non_inferior"
    assert kind_of(-0.01, 0.019, 0.02) == "equivalent"
    assert kind_of(-0.5, 0.001, None) == "open"


def test_where_no_unit_is_known_nobody_wins_and_nothing_is_tested() -> None:
    found = asked(table(spread(0.05, 0.02, 80)), unit=Unit("", "image", "E5"))
    assert (found.kind, found.winner, found.n) == ("no_unit", None, 80)
    assert title_of(found) == "A scores higher in 80 images; how many patients are they?"
    assert sentences_of(found) == (
        "A leads in 80 images by 0.050 dice; how many patients are they from? (--unit) Nobody said: no "
        "interval, no p-value, no winner.",
    )
    assert "p =" not in evidence_of(found)


def test_what_the_unit_rests_on_is_said_in_the_sentence() -> None:
    case = asked(table(spread(0.05, 0.02)), unit=Unit("case", "case", "E3", True))
    assert "; 12 cases, if each case is another patient)." in sentences_of(case)[0]
    read = asked(table(spread(0.05, 0.02)), unit=Unit("case", "patient", "E4"))
    assert "; 12 patients read from the names)." in sentences_of(read)[0]


def test_centres_that_contradict_each_other_decide() -> None:
    """Seen: two centres that contradict each other give "nothing can be concluded" and the advice "649 videos"."""
    gaps = np.concatenate([spread(0.05, 0.02, 16), spread(-0.08, 0.02, 8)])
    found = asked(table(gaps, centre=["north"] * 16 + ["south"] * 8))
    assert (found.kind, found.winner) == ("depends", None)
    assert title_of(found) == "It depends on centre"
    assert sentences_of(found)[0] == (
        "It depends on centre: in dice A does better where it is north (by 0.050; 16 patients), B where it is south "
        "(by 0.080; 8)."
    )
    assert evidence(found).endswith("differences by centre, p < 0.001")


def test_centres_that_differ_without_contradiction_are_a_second_line() -> None:
    gaps = np.concatenate([spread(0.2, 0.02, 12), spread(0.02, 0.02, 12)])
    found = asked(table(gaps, centre=["north"] * 12 + ["south"] * 12))
    assert found.winner == "A"
    assert any(re.fullmatch(r"By how much depends on centre \(p < 0\.001\)\.", one) for one in sentences_of(found))


def test_classes_within_patients_may_contradict_each_other() -> None:
    patients = 12
    names = np.repeat([f"P{i:02d}" for i in range(patients)], 2)
    organ = ["liver", "vessel"] * patients
    gap = np.where(np.array(organ) == "liver", 0.06, -0.05) + 0.01 * np.sin(np.arange(2 * patients))
    frame = pl.concat(
        pl.DataFrame({"model": model, "video": names, "class": organ, "value": 0.6 + share * gap}).with_row_index(
            "place"
        )
        for model, share in (("A", 1), ("B", 0))
    )
    scores = ScoreTable.of(frame.with_columns(case=pl.format("c{}", "place"), metric=pl.lit("dice")).drop("place"))
    found = asked(scores)
    assert found.kind == "depends"
    assert sentences_of(found)[0].startswith("It depends on class: in dice A does better where it is liver (by 0.06")


def test_a_pair_asked_about_alone_says_so_and_is_not_corrected() -> None:
    level = 0.5 + 0.1 * np.sin(np.arange(10))
    scores = rows_of({"A": level + spread(0.05, 0.1, 10), "B": level, "C": level - 0.01, "D": level[::-1]})
    alone, together = asked(scores, models=("A", "B")), asked(scores)
    assert "Asked about this pair alone, of 4 models in the table." in sentences_of(alone)
    pair = next(one for one in together.pairs if "B" in (one.model, one.other))
    assert alone.pairs[0].p_adjusted <= pair.p_adjusted
    with pytest.raises(UnknownName, match="'X'"):
        asked(scores, models=("A", "X"))
    with pytest.raises(Misuse, match="itself"):
        asked(scores, models=("A", "A"))


def test_units_that_carry_a_verdict_are_named_and_without_them_it_is_open() -> None:
    gaps = np.array([0.001, 0.3, -0.02, 0.25, 0.01, 0.012, -0.015, 0.02, 0.015, 0.01])
    scores = table(gaps)
    found = asked(scores)
    if found.winner is None:
        gaps[2] = 0.005
        scores = table(gaps)
        found = asked(scores)
    assert found.winner == "A"
    assert found.overturned_by
    kept = ScoreTable.of(scores.frame.filter(~pl.col("video").is_in(found.overturned_by)), better="larger")
    assert asked(kept).winner is None
    named = " and ".join(found.overturned_by) if len(found.overturned_by) < 3 else found.overturned_by[0]
    assert any(one.startswith(f"Without {named}") and one.endswith("it would be open.") for one in sentences_of(found))
    firm = asked(table(spread(0.05, 0.01, 16)))
    assert firm.overturned_by is None
    assert "No three patients carry it." in sentences_of(firm)


def test_failures_seen_and_perhaps_unseen_are_said() -> None:
    clean = asked(table(spread(0.05, 0.01, 12)))
    assert clean.unseen == pytest.approx(0.221, abs=1e-3)
    assert "A failure in up to 22 % of patients could have gone unseen in 12." in sentences_of(clean)
    level = 0.8 + 0.02 * np.sin(np.arange(14))
    poor = level + 0.02
    poor[[3, 7]] = 0.12, 0.15
    failing = asked(rows_of({"A": level, "B": poor}))
    assert failing.winner is None
    assert "B fails in 2 of 14 patients (P03 and P07)." in sentences_of(failing)
    winner = level + 0.1
    winner[3] = 0.05
    beaten = np.where(np.arange(14) == 3, 0.04, level)
    both = sentences_of(asked(rows_of({"A": winner, "B": beaten})))
    assert any(one.startswith("With 1 of 14 patients failing, up to ") for one in both)


def test_the_number_needed_is_a_class_and_only_for_the_margin() -> None:
    assert not [one for one in sentences_of(asked(table(spread(0.01, 0.2)))) if "needed" in one]
    stated = sentences_of(asked(table(spread(0.01, 0.2)), margin=0.09))
    assert "To show a difference of 0.09 four times in five, under 20 patients like these are needed." in stated
    tiny = sentences_of(asked(table(spread(0.01, 0.2)), margin=0.005))
    assert any(one.endswith("more than 500 patients like these are needed: not worth it.") for one in tiny)


def test_missing_scores_that_change_nothing_are_left_out_and_said() -> None:
    scores = table(spread(0.0, 0.2, 12))
    hole = (pl.col("model") == "B") & (pl.col("video") == "P03")
    frame = scores.frame.with_columns(value=pl.when(hole).then(None).otherwise("value")).drop("status")
    scores = ScoreTable.of(frame, better="larger")
    found = asked(replace(scores, read_as=replace(scores.read_as, says_why=False)))
    assert found.n == 11
    assert "Compared on 11 of 12 patients; B has no scores in 1." in sentences_of(found)
    assert "1 missing score of B is left out; counted as worst, it is no clearer." in sentences_of(found)


def test_one_model_ahead_by_another_metric_is_enough_to_depend_on_it() -> None:
    """By dice A leads B and C; by iou it is behind B, however far it is ahead of C."""
    noise, level = 0.003 * np.cos(np.arange(12)), 0.5 + 0.1 * np.sin(np.arange(12))
    dice = rows_of({"C": level, "B": level + spread(0.05, 0.01), "A": level + spread(0.1, 0.01)})
    iou = rows_of({"C": level, "B": level + 0.1 + noise, "A": level + 0.05 - noise}, metric="iou")
    found = asked(ScoreTable.of(pl.concat([dice.frame, iou.frame])), metric="dice")
    assert (found.kind, found.winner) == ("depends", None)
    assert "by dice A does better" in sentences_of(found)[0]
    assert "by iou B (by 0.050)" in sentences_of(found)[0]


def test_a_metric_beside_an_open_one_says_whom_it_names() -> None:
    dice, iou = table(spread(0.0, 0.2)), table(spread(0.05, 0.01), metric="iou")
    found = asked(ScoreTable.of(pl.concat([dice.frame, iou.frame])), metric="dice")
    assert found.winner is None
    assert any(one.startswith("By iou A does better than B, by 0.050 (") for one in sentences_of(found))


def test_every_sentence_has_its_rule_numbers_and_source() -> None:
    found = asked(table(spread(0.05, 0.02)), margin=0.02)
    rows = why_of(found)
    assert [row["sentence"] for row in rows] == list(sentences_of(found))
    assert "low = 0.0" in rows[0]["numbers"]
    assert all(row["rule"] and row["source"] for row in rows)


def test_a_single_model_is_no_comparison() -> None:
    found = asked(rows_of({"A": np.linspace(0.5, 0.6, 9)}))
    assert sentences_of(found) == ("A is the only model with dice: there is none to compare with.",)
    assert title_of(found) == "A: no other model to compare with"


def test_an_amount_is_never_printed_as_zero_where_it_is_none() -> None:
    found = asked(table(spread(0.0004, 0.0003)))
    assert found.winner == "A"
    low = float(re.search(r"by 0\.\d+ \((0\.\d+) to", sentences_of(found)[0])[1])  # type: ignore[index]
    assert low > 0


def test_a_metric_without_a_bad_end_fails_far_from_its_median() -> None:
    facts = MetricFacts("hd95", 0, float("inf"), "smaller", unit="mm")
    values = np.array([5.0, 6.0, 5.5, 4.0, 60.0, 5.0, 5.2, 4.8, 6.1, 5.3])
    frame = pl.concat(
        pl.DataFrame({"model": model, "value": values + add, "case": [f"c{i}" for i in range(10)]})
        for model, add in (("A", 0.0), ("B", 0.5))
    ).with_columns(video=pl.col("case"), metric=pl.lit("hd95"))
    found = asked(ScoreTable.of(frame, facts={"hd95": facts}))
    assert any(one.startswith("A fails in 1 of 10 patients (c4)") for one in sentences_of(found))
    assert " mm" in sentences_of(found)[0]


def test_the_verb_compare_takes_its_words_and_its_favour_from_the_verdict() -> None:
    gaps = np.concatenate([spread(0.05, 0.02, 16), spread(-0.02, 0.01, 8)])
    scores = table(gaps, centre=["north"] * 16 + ["south"] * 8)
    result = surgvalid.compare(scores, "A", "B", margin=0.01, why=True)
    assert result.table["p_value"][0] <= 0.05
    assert result.table["favours"][0] is None, "centres contradict each other"
    assert result.verdict[0].startswith("It depends on centre")
    assert "Why" in result.screen()
    assert result.facts()["kind"] == "depends"


@pytest.mark.parametrize(
    ("centres", "words"),
    [
        (2, "Two centres say nothing about a third."),
        (4, "Four centres say nothing about a fifth."),
        (6, "With another centre like these 6, A may lie -0."),
    ],
)
def test_another_centre_is_spoken_of_from_five_on(centres: int, words: str) -> None:
    gaps = 0.02 + 0.05 * np.sin(np.arange(24))
    spoken = sentences_of(asked(table(gaps, Centre=[f"h{unit % centres}" for unit in range(24)])))
    assert any(one.startswith(words) for one in spoken), spoken
    assert any(", positive where it does better (95% prediction interval)" in one for one in spoken) == (centres > 4)


def test_another_centre_lies_within_its_interval_as_often_as_said() -> None:
    rng = np.random.default_rng(2)
    inside = []
    for _ in range(2000):
        *seen, new = rng.normal(0.01, 0.03, 7).tolist()
        strata = tuple(Stratum(str(place), gap, 6, 1.0) for place, gap in enumerate(seen))
        low, high = predicted(Condition("centre", 1.0, strata, within=False)) or (0.0, 0.0)
        inside.append(low <= new <= high)
    assert abs(np.mean(inside) - 0.95) < 0.015


@pytest.mark.parametrize("verb", ["compare", "study", "rank"])
def test_a_margin_as_wide_as_the_scale_is_refused(verb: str) -> None:
    percent = pl.DataFrame(
        {"patient": [f"P{n}" for n in range(12)] * 2, "model": ["A"] * 12 + ["B"] * 12}
    ).with_columns(pl.Series("Dice [%]", [*(80.0 + n / 10 for n in range(12)), *(75.0 + n / 7 for n in range(12))]))
    asked_of = {"compare": ("A", "B"), "study": (), "rank": ("mean-then-rank",)}[verb]
    with pytest.raises(Misuse, match=r"0 to 100, as written"):
        getattr(surgvalid, verb)(percent, *asked_of, margin=100.0)
    judged = getattr(surgvalid, verb)(percent, *asked_of, margin=2.0).judged
    assert judged.margin == pytest.approx(0.02)
