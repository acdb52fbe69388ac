import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgeval.judges._verdict_parser import parse_verdict, verdict_from_reply, without_reasoning

CLEAR = {
    '{"verdict": "CORRECT"}': True,
    '{"verdict": "incorrect"}': False,
    '  {"reason": "other duct", "verdict": "INCORRECT"}\n': False,
    '```json\n{"verdict": "CORRECT"}\n```': True,
    "CORRECT": True,
    "incorrect": False,
    "Correct.": True,
    "**INCORRECT**": False,
    '"CORRECT"': True,
    "Verdict: CORRECT": True,
    "**Final verdict:** INCORRECT": False,
    "They name the same duct.\nCORRECT": True,
    "If it said the artery it would be incorrect.\n\nIt does not.\n\n**CORRECT**": True,
    'The two agree.\n{"verdict": "CORRECT"}': True,
    "<think>Is it CORRECT or INCORRECT? INCORRECT!</think>\nCORRECT": True,
    "no opening tag, so: INCORRECT</think>CORRECT": True,
    "<THINKING>a</THINKING><think>b</think>incorrect": False,
    "CORRECT\nCORRECT": True,
    "Compare\n\nVerdict: incorrect!": False,
}

UNCLEAR = [
    "",
    "   \n ",
    "NOT CORRECT",
    "not correct.",
    "Not\nCORRECT",
    "in\ncorrect",
    "partially correct",
    "Partially CORRECT.",
    "in correct",
    "IN-CORRECT",
    "mostly\nCorrect",
    "CORRECT or INCORRECT",
    "CORRECT, INCORRECT",
    "CORRECT\nINCORRECT",
    "INCORRECT\n\nCORRECT",
    "Verdict: CORRECT\nVerdict: INCORRECT",
    "CORRECT?",
    "CORRECTED",
    "The candidate is correct",
    "CORRECT because both name the duct",
    "CORRECT\nbut I did not look",
    "UNSURE",
    '{"verdict": "UNSURE"}',
    '{"verdict": "PARTIALLY CORRECT"}',
    '{"verdict": "CORRECT", "verdict": "INCORRECT"}',
    '{"verdict": ["CORRECT"]}',
    '{"verdict": true}',
    '{"note": "CORRECT"}',
    '{"verdict": "CORRECT"',
    '[{"verdict": "CORRECT"}]',
    '{"outer": {"verdict": "CORRECT"}}',
    "<think>so it is\nCORRECT",
    "<think>CORRECT</think>",
    "СORRECT",  # the first letter is Cyrillic
    "ＣＯＲＲＥＣＴ",
    "true",
    "yes",
    '{"verdict": "INCORRECT"}\nCORRECT',
]


@pytest.mark.parametrize("text", CLEAR)
def test_a_clear_verdict_is_read(text: str) -> None:
    assert parse_verdict(text) is CLEAR[text]


@pytest.mark.parametrize("text", UNCLEAR)
def test_whatever_is_not_clear_is_an_abstention(text: str) -> None:
    assert parse_verdict(text) is None
    assert verdict_from_reply(text).state == "abstained"


def test_nesting_without_end_is_an_abstention_and_no_crash() -> None:
    assert parse_verdict('{"verdict":' + "[" * 100_000) is None


def test_a_reply_cut_at_the_token_limit_failed_even_if_it_ends_in_a_verdict() -> None:
    verdict = verdict_from_reply("Let me see.\nCORRECT", was_cut=True, tokens=9)
    assert (verdict.correct, verdict.state, verdict.tokens) == (None, "failed", 9)


def test_reasoning_is_removed_between_outside_and_around_tags() -> None:
    assert without_reasoning("a<think>b</think>c<think>d") == "ac"
    assert without_reasoning("a</think>b") == "b"


def test_a_long_reply_keeps_its_end_where_the_verdict_stands() -> None:
    verdict = verdict_from_reply("because. " * 1000 + "\nCORRECT")
    assert verdict.correct is True
    assert verdict.text.endswith("CORRECT")
    assert len(verdict.text) < 600


@given(st.text())
def test_no_text_ever_crashes_the_parser(text: str) -> None:
    assert parse_verdict(text) in (True, False, None)


@given(st.text(alphabet=st.characters(categories=["L", "N", "Zs"])), st.sampled_from(["CORRECT", "INCORRECT"]))
def test_a_word_on_the_same_line_takes_the_verdict_away(before: str, word: str) -> None:
    expected = None if before.strip() else word == "CORRECT"
    if "CORRECT" not in (before.strip() + word).removesuffix(word).upper() and before.strip().upper() != "IN":
        assert parse_verdict(f"{before} {word}") is expected


@given(st.sampled_from(["CORRECT", "INCORRECT", "UNSURE"]), st.dictionaries(st.text(), st.integers(), max_size=3))
def test_further_keys_do_not_change_a_json_verdict(word: str, more: dict[str, int]) -> None:
    expected = {"CORRECT": True, "INCORRECT": False, "UNSURE": None}[word]
    assert parse_verdict(json.dumps(more | {"verdict": word})) is expected
