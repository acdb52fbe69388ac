import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import Misuse
from surgvalid.stats.mixed.model.formula import ModelFormula, random_terms


def test_a_formula_names_outcome_trials_fixed_and_random_terms() -> None:
    model = ModelFormula.parse("tp / reference ~ smoke + blood + (1 | algorithm) + (1 | algorithm:instance)")
    assert (model.outcome, model.trials) == ("tp", "reference")
    assert model.fixed == ("smoke", "blood")
    assert model.random == ("algorithm", "algorithm:instance")


def test_a_star_is_both_effects_and_their_interaction() -> None:
    assert ModelFormula.parse("y ~ a * b").fixed == ("a", "b", "a:b")


def test_a_slash_nests_the_second_group_in_the_first() -> None:
    assert ModelFormula.parse("y ~ 1 + (1 | patient / image)").random == ("patient", "patient:image")


def test_names_may_hold_spaces_and_numbers_may_be_categories() -> None:
    assert ModelFormula.parse("y ~ dirty lens + C(phase)").fixed == ("dirty lens", "C(phase)")
    assert ModelFormula.parse("y ~ dirty lens + C(phase)").columns == ("y", "dirty lens", "phase")


def test_offset_is_kept_apart_from_fixed_terms() -> None:
    model = ModelFormula.parse("y ~ a + offset(exposure)", family="poisson")
    assert (model.fixed, model.offset) == (("a",), "exposure")


def test_correlated_slopes_are_refused_with_what_to_do_instead() -> None:
    with pytest.raises(Misuse, match=r"correlated with the intercepts.*\(smoke \|\| patient\)"):
        ModelFormula.parse("y ~ smoke + (smoke | patient)")
    with pytest.raises(Misuse, match="correlated with the intercepts"):
        random_terms(["1 + smoke | patient"])


@pytest.mark.parametrize("text", ["y", "y ~ a ~ b", "y ~ (1 | a", "y ~ 0 + a", "y ~ a(b", "a/b/c ~ d", "y ~ a +"])
def test_what_cannot_be_read_is_refused_or_harmless(text: str) -> None:
    if text == "y ~ a +":
        assert ModelFormula.parse(text).fixed == ("a",)
    else:
        with pytest.raises(Misuse):
            ModelFormula.parse(text)


@pytest.mark.parametrize("term", ["1*1", "a:1", "C(1)"])
def test_the_intercept_is_part_of_no_term(term: str) -> None:
    with pytest.raises(Misuse, match="'1' is the intercept"):
        ModelFormula.parse(f"y ~ {term}")


@pytest.mark.parametrize("term", ["a*a", "a:b:a", "a:C(a)"])
def test_a_column_has_no_interaction_with_itself(term: str) -> None:
    with pytest.raises(Misuse, match="'a' twice"):
        ModelFormula.parse(f"y ~ {term}")


@given(st.text(alphabet="ab~|()+*:/ 1", max_size=25))
def test_any_text_is_a_model_or_a_misuse(text: str) -> None:
    try:
        model = ModelFormula.parse(text)
    except Misuse:
        return
    assert ModelFormula.parse(str(model)) == model
