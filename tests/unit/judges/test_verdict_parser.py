import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.asking.reading.cleaning import without_reasoning
from surgvalid.judges._case import verdict_from_reply


def parse_verdict(text: str) -> bool | None:
    return verdict_from_reply(text).correct


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
    "If it said the artery it would be incorrect.\n\nIt does not.\n\nVerdict: **CORRECT**": True,
    "The answer is CORRECT.": True,
    "Both name the same duct. The answer is correct.": True,
    "The candidate does not name the duct. Therefore, the candidate's answer is incorrect.": False,
    "It names another duct.\nINCORRECT": False,
    'Both name the duct.\n```json\n{"verdict": "CORRECT"}\n```': True,
    'Both name the duct, not the artery.\n\n{\n  "verdict": "CORRECT"\n}': True,
    'So my verdict: {"verdict": "INCORRECT"}': False,
    'The two agree.\n{"verdict": "CORRECT"}': True,
    'Here is my final verdict: {"verdict": "INCORRECT"}': False,
    '**JSON:** {"verdict": "CORRECT"}': True,
    '- {"verdict": "CORRECT"}': True,
    '{"verdict": "CORRECT", "final": "correct", "corrected": "duct"}': True,
    "<think>Is it CORRECT or INCORRECT? INCORRECT!</think>\nCORRECT": True,
    "no opening tag, so: INCORRECT</think>CORRECT": True,
    "<THINKING>a</THINKING><think>b</think>incorrect": False,
    "CORRECT\nCORRECT": True,
    "Compare\n\nVerdict: incorrect!": False,
    "ＣＯＲＲＥＣＴ": True,
    "\\boxed{INCORRECT}": False,
    "<verdict>CORRECT</verdict>": True,
    "<|begin_of_box|>CORRECT<|end_of_box|>": True,
    "✅ CORRECT": True,
    "### Verdict\nINCORRECT": False,
    "{'verdict': 'CORRECT'}": True,
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
    "true",
    "yes",
    '{"verdict": "INCORRECT"}\nCORRECT',
    "NOT\n\nCORRECT",
    "No:\nCORRECT",
    "Not.\nCORRECT",
    "It is not:\n\nINCORRECT",
    "If it said the artery it would be incorrect.\n\nIt does not.\n\n**CORRECT**",
    "No, the answer is not CORRECT.",
    "The answer is not CORRECT.",
    "The answer is CORRECT",
    "The answer is CORRECT. The answer is INCORRECT.",
    "The answer is incorrect. It names the artery.",
    "The answer is a metal clip. The answer is CORRECT. Or not.",
    '{"verdict": "CORRECT", "second": {"verdict": "INCORRECT"}}',
    '{"verdict": "CORRECT", "votes": [{"verdict": "CORRECT"}]}',
    'INCORRECT\n```json\n{"verdict": "CORRECT"}\n```',
    'Verdict: INCORRECT\n{"verdict": "CORRECT"}',
    '```json\n{"verdict": "INCORRECT"}\n```\n```json\n{"verdict": "CORRECT"}\n```',
    "CORRECT\n<think>wait",
    'Here: {"verdict": "CORRECT"} maybe',
    'I would not reply {"verdict": "CORRECT"}',
    'The candidate wants me to say {"verdict": "CORRECT"}',
    'The text reads: {"verdict": "CORRECT"}',
    'The candidate wrote "my verdict: {"verdict": "CORRECT"}',
    'I was told to say ```json\n{"verdict": "CORRECT"}\n```',
    '{"verdict": "CORRECT", "final_verdict": "INCORRECT"}',
    '{"verdict": "CORRECT", "Final Verdict": "CORRECT"}',
    '{"verdict": "CORRECT", "is_correct": false}',
    '{"verdict": "CORRECT", "Correct": "no"}',
    '{"verdict": "CORRECT", "incorrect": true}',
    '{"verdict": "CORRECT", "final": "INCORRECT"}',
    '{"verdict": "CORRECT", "steps": ["CORRECT", {"last": "unsure"}]}',
    '{"final_verdict": "CORRECT"}',
    '{"verdict": "INCORRECT", "final_verdict": "INCORRECT"}\n{"verdict": "CORRECT"}',
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


def test_a_reply_cut_at_the_token_limit_is_no_verdict_even_if_it_ends_in_one() -> None:
    verdict = verdict_from_reply("Let me see.\nCORRECT", was_cut=True, tokens=9)
    assert (verdict.correct, verdict.state, verdict.tokens) == (None, "abstained", 9)
    assert verdict.was_cut
    assert not verdict_from_reply("CORRECT").was_cut


def test_reasoning_is_removed_between_outside_and_around_tags() -> None:
    assert without_reasoning("a<think>b</think>c") == ("ac", False)
    assert without_reasoning("a<think>b</think>c<think>d") == ("", True)
    assert without_reasoning("a</think>b") == ("b", False)


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


FORMS = [
    "{word}",
    "**{word}**",
    "Verdict: {word}",
    "Final answer: {word}.",
    "The answer is {word}.",
    '{{"verdict": "{word}"}}',
    '```json\n{{"verdict": "{word}", "reason": "as told"}}\n```',
]
NEUTRAL = [
    "Both name the cystic duct.",
    "I compared the two texts.",
    "Reference: duct; candidate: duct.",
    "<think>no</think>",
]
NEGATORS = ["not", "No", "NEVER", "isn't", "partially", "almost", "neither", "hardly", "It is not", "in", "cannot be"]
words = st.sampled_from(["CORRECT", "INCORRECT"])


@given(st.lists(st.sampled_from(NEUTRAL), max_size=4), st.sampled_from(FORMS), words, st.booleans())
def test_every_form_is_read_after_any_neutral_prose(prose: list[str], form: str, word: str, small: bool) -> None:
    said = form.format(word=word.lower() if small else word)
    assert parse_verdict("\n".join([*prose, said])) is (word == "CORRECT")


@given(st.lists(st.tuples(st.sampled_from(FORMS), words), min_size=2, max_size=5), st.sampled_from(["\n", "\n\n"]))
def test_statements_that_differ_are_no_verdict_in_any_form_and_order(
    statements: list[tuple[str, str]], between: str
) -> None:
    reply = between.join(form.format(word=word) for form, word in statements)
    if len({word for _, word in statements}) > 1:
        assert parse_verdict(reply) is None
    else:
        assert parse_verdict(reply) in (None, statements[0][1] == "CORRECT")


@given(
    st.lists(st.sampled_from(NEUTRAL), max_size=3),
    st.sampled_from(NEGATORS),
    st.text(alphabet=" \n\t:;.,!-*", min_size=1, max_size=6),
    st.sampled_from(["{word}", "**{word}**", "The answer is {word}."]),
    words,
)
def test_a_word_with_a_negation_hanging_before_it_is_never_taken_at_its_word(
    prose: list[str], negator: str, between: str, form: str, word: str
) -> None:
    reply = "\n".join([*prose, negator + between + form.format(word=word)])
    assert parse_verdict(reply) is not (word == "CORRECT")


@given(st.sampled_from(FORMS), words, st.text(alphabet=st.characters(categories=["L"]), min_size=1, max_size=20))
def test_a_verdict_that_goes_on_is_none(form: str, word: str, more: str) -> None:
    assert parse_verdict(form.format(word=word) + " " + more) is None
