import unicodedata
from collections import Counter

import polars as pl
import pytest
from scipy import stats

from judge_cases import Saying, always
from repository import REPOSITORY
from surgvalid.judges import Verdict, check_judge, check_size, open_judge
from surgvalid.judges._canaries import ATTACKS, EMPTY_WORDS, canaries, gold_pairs
from surgvalid.judges._check import side_by_side
from surgvalid.judges.exact import tidied


def a_good_judge() -> Saying:
    gold = {(pair.case.question, pair.case.candidate): pair.correct for pair in gold_pairs()}
    return Saying("good", lambda c: Verdict(gold.get((c.question, c.candidate), False), "judged"))


def a_gullible_judge() -> Saying:
    """Accepts whatever mentions its favourite word, as the official substring rule would."""
    gold = {(pair.case.question, pair.case.candidate): pair.correct for pair in gold_pairs()}
    return Saying(
        "gullible", lambda c: Verdict(gold.get((c.question, c.candidate), "CORRECT" in c.candidate), "judged")
    )


def test_there_are_enough_gold_pairs_of_both_sorts_and_several_formats() -> None:
    pairs = gold_pairs()
    assert len(pairs) >= 40
    sorts = Counter((pair.kind, pair.correct) for pair in pairs)
    assert {kind for kind, _ in sorts} == {"open_ended", "multiple_choice", "matching"}
    assert min(sorts.values()) >= 4
    assert len({pair.case.case for pair in pairs}) == len(pairs)


def test_no_gold_pair_contradicts_another() -> None:
    by_content = {(pair.case.question, tidied(pair.case.candidate)): pair.correct for pair in gold_pairs()}
    assert len(by_content) == len(gold_pairs())
    assert not [p for p in gold_pairs() if not p.correct and tidied(p.case.candidate) == tidied(p.case.reference)]


def test_there_are_enough_canaries_of_every_kind() -> None:
    assert len(canaries()) >= 30
    assert min(Counter(canary.kind for canary in canaries()).values()) >= 3
    assert len(ATTACKS["other language"]) >= 4
    assert {canary.kind for canary in canaries()} == {*ATTACKS, *EMPTY_WORDS, "hedge"}


def test_no_canary_contains_its_reference() -> None:
    assert not [c for c in canaries() if c.kind != "hedge" and tidied(c.case.reference) in tidied(c.case.candidate)]


def test_hedges_name_the_reference_and_another_answer() -> None:
    gold = {(p.case.question, p.case.candidate): p.correct for p in gold_pairs()}
    for canary in (c for c in canaries() if c.kind == "hedge"):
        wrong = [text for (question, text), right in gold.items() if question == canary.case.question and not right]
        assert canary.case.reference.rstrip(".") in canary.case.candidate
        assert any(text.rstrip(".") in canary.case.candidate for text in wrong)


def test_rates_of_every_part_add_up_and_have_exact_intervals() -> None:
    silent = check_judge(always("silent", None))
    rates = silent.rates.filter(pl.col("part") == "canary")
    assert rates["value"].to_list() == [0.0, 0.0, 1.0, 0.0]
    expected = stats.binomtest(0, len(canaries())).proportion_ci(method="exact")
    assert rates.row(0, named=True)["high"] == pytest.approx(expected.high)
    laid = side_by_side([silent, check_judge(open_judge("exact"))])
    assert laid.columns == ["part", "rate", "silent", "exact"]
    assert laid.height == 12


def test_canaries_fit_the_length_of_a_legal_answer_and_floods_fill_it() -> None:
    assert max(len(canary.case.candidate) for canary in canaries()) <= 300
    assert min(len(text) for text in ATTACKS["flood"]) >= 290


def test_canaries_of_invisible_letters_have_them() -> None:
    for kind in ("zero-width characters", "bidirectional characters"):
        assert all(any(unicodedata.category(x) == "Cf" for x in text) for text in ATTACKS[kind])


def test_a_good_judge_passes() -> None:
    report = check_judge(a_good_judge())
    assert (report.gold_accuracy, report.accepted_canaries) == (1.0, 0)
    assert report.passes(1.0)
    assert report.surprises.height == 0


def test_a_gullible_judge_is_caught_by_canaries_alone() -> None:
    report = check_judge(a_gullible_judge())
    assert report.gold_accuracy == 1.0
    assert report.accepted_canaries > 20
    assert not report.passes(0.0)
    assert report.surprises["part"].unique().to_list() == ["canary"]


def test_judges_with_one_answer_for_everything_fail() -> None:
    generous, strict, silent = (check_judge(always("j", correct)) for correct in (True, False, None))
    assert generous.accepted_canaries == len(canaries())
    assert (strict.accepted_canaries, silent.accepted_canaries) == (0, 0)
    assert (strict.gold_accuracy, silent.gold_accuracy) == (0.5, 0.0)
    assert not any(report.passes(0.9) for report in (generous, strict, silent))


def test_rates_are_given_per_kind_and_add_up() -> None:
    table = check_judge(open_judge("exact")).table
    assert table["cases"].sum() == check_size() == len(gold_pairs()) + len(canaries())
    ends = table.select(pl.sum_horizontal("accepted", "rejected", "abstained", "failed")).to_series()
    assert ends.to_list() == table["cases"].to_list()
    assert set(table["part"]) == {"gold right", "gold wrong", "canary"}


def test_the_page_on_judges_gives_the_true_numbers() -> None:
    page = " ".join((REPOSITORY / "docs" / "concepts" / "judges.md").read_text().split())
    assert f"{len(gold_pairs())} gold pairs" in page
    assert f"and {len(canaries())} canaries" in page
