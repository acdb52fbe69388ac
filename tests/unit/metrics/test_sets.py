import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import Misuse
from surgvalid.metrics.answer_errors import exact, jaccard, memberships, set_f1

NAMES = ("Clip", "Mesh", "Needle", "Sponge")
SETS = st.frozensets(st.sampled_from(NAMES))


def scored(metric, reference, prediction) -> float:
    return metric(memberships([reference], names=NAMES), memberships([prediction], names=NAMES))[0]


def test_two_empty_sets_agree_and_one_empty_set_does_not() -> None:
    for metric in (jaccard, set_f1, exact):
        assert scored(metric, set(), set()) == 1
        assert scored(metric, {"Clip"}, set()) == 0
        assert scored(metric, set(), {"Clip"}) == 0


@given(SETS, SETS)
def test_the_three_follow_their_definitions(reference, prediction) -> None:
    both, either = len(reference & prediction), len(reference | prediction)
    index = both / either if either else 1.0
    assert scored(jaccard, reference, prediction) == index
    assert scored(set_f1, reference, prediction) == pytest.approx(2 * index / (1 + index))
    assert scored(exact, reference, prediction) == float(reference == prediction)


@given(SETS, SETS)
def test_writing_none_as_a_member_of_its_own_changes_nothing(reference, prediction) -> None:
    named = [s or frozenset({"None"}) for s in (reference, prediction)]
    arrays = [memberships([s], names=[*NAMES, "None"]) for s in named]
    for metric in (jaccard, set_f1, exact):
        assert metric(*arrays)[0] == scored(metric, reference, prediction)


def test_a_stranger_in_a_set_is_refused() -> None:
    with pytest.raises(Misuse, match="'Tack' not among the 4 names"):
        memberships([{"Tack"}], names=NAMES)


def test_arrays_of_different_shape_are_refused() -> None:
    with pytest.raises(Misuse, match="shapes"):
        jaccard([[1, 0]], [[1, 0, 0]])
