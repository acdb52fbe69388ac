import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.schema.questions.formats import BadParameters, Matching, Unreadable, build_format
from surgvalid.schema.questions.formats._pattern import Unsupported, matches

ATOMS = [
    "a",
    "b",
    ".",
    r"\w",
    r"\d",
    "[ab]",
    "[^a]",
    "[a-c1]",
    r"\b",
    "^",
    "$",
    "",
    "(?i:A)",
    "(?=a)",
    "(?!b)",
    r"(?<=a)",
]
REPEATS = ["", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "*?", "{2,}"]


def _grown(smaller: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    row = st.lists(smaller, min_size=1, max_size=3).map("".join)
    choice = st.lists(smaller, min_size=1, max_size=3).map("|".join)
    group = st.tuples(st.one_of(row, choice), st.sampled_from(REPEATS)).map(lambda pair: f"(?:{pair[0]}){pair[1]}")
    return st.one_of(row, group)


PATTERNS = st.recursive(st.sampled_from(ATOMS), _grown, max_leaves=6)
TEXTS = st.text(alphabet="abAc1 \n", max_size=6)


@given(PATTERNS, TEXTS)
def test_a_text_matches_as_in_the_standard_library(pattern: str, text: str) -> None:
    assert matches(pattern, text) == (re.fullmatch(pattern, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a+)+", "a" * 299 + "!"),
        (r"(a|a|a)*", "a" * 299 + "!"),
        (r"(a*)*(a*)*(a*)*b", "a" * 299),
        (r"(.*)(.*)(.*)(.*)(.*)(.*)x", "y" * 300),
        (r"((a{0,50}){0,50}){0,50}b", "a" * 299),
        (r"(\w+\s?)+:", "word " * 60),
    ],
)
def test_patterns_that_never_end_elsewhere_end_here(pattern: str, text: str) -> None:
    question = build_format("matching", {"pattern": pattern})
    with pytest.raises(Unreadable):
        question.parse(text)
    why = question.why(text)
    assert why is not None
    assert why.rule == "no-match"


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        (r"(?:x?){1000000000}", "xxx", True),
        (r"(?:xy){1000000000}", "xyxy", False),
        (r"(?i)äb+", "ÄBb", True),
        (r"(?s).+", "two\nlines", True),
        (r".+", "two\nlines", False),
        (r"(?m)a$\nb", "a\nb", True),
        (r"(?a)\w", "ä", False),
        (r"[\d\-\]^]+", "4-]^", True),
        (r"\d+(, \d+)*", "1, 22, 333", True),
        ("", "", True),
        (r"a(?!)", "a", False),
    ],
)
def test_counts_flags_and_classes_mean_what_they_do_in_python(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) is fits


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?>a)b", "a*+b", "(a)?(?(1)b|c)", "(" * 60 + "a" + ")*" * 60])
def test_what_depends_on_the_order_of_ways_is_refused(pattern: str) -> None:
    with pytest.raises(Unsupported):
        matches(pattern, "a")
    with pytest.raises(BadParameters, match="without back-references, atomic groups or possessive repeats"):
        build_format("matching", {"pattern": pattern})


def test_where_parameters_are_not_checked_such_a_pattern_is_left_to_python() -> None:
    assert Matching(pattern=r"(a)\1").parse(" aa ") == "aa"
    with pytest.raises(Unreadable):
        Matching(pattern=r"(a)\1").parse("ab")
