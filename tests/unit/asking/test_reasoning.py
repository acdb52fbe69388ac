"""Reasoning is taken out of replies as a pattern would do it, in time that grows with the reply alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.asking.reading.cleaning import cleaned, without_blocks, without_reasoning
from surgvalid.judges._case import verdict_from_reply
from surgvalid.models._ask import _readable
from surgvalid.models._model import Outcome
from surgvalid.schema.outcomes import Status

NAMES = ("think", "thinking", "reasoning")
PIECES = st.sampled_from(
    ["<think>", "</think>", "<Thinking>", "</thinKING>", "<reasoning>", "</reasoning>", "<", "a\n"]
)
HOSTILE = {
    "begins for ever": "<think>" * 150_000,
    "ends as another": "<think>" * 150_000 + "</reasoning>",
    "begins and ends": "<think></think>" * 70_000 + "<think>" * 70_000,
}


@given(st.lists(PIECES, max_size=12).map("".join), st.booleans(), st.sampled_from(["", " "]))
def test_blocks_are_those_that_a_pattern_would_find(text: str, any_end: bool, put: str) -> None:
    either = "|".join(NAMES)
    pattern = rf"<(?:{either})>.*?</(?:{either})>" if any_end else rf"<({either})>.*?</\1>"
    expected = re.sub(pattern, put, text, flags=re.DOTALL | re.IGNORECASE | re.ASCII)
    assert without_blocks(text, NAMES, put=put, any_end=any_end) == expected


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_of_beginnings_is_read_by_all_who_read_replies(text: str) -> None:
    outcome = _readable(Outcome(Status.ANSWERED, text))
    assert outcome.status is Status.UNREADABLE
    assert "<think>" not in without_reasoning(cleaned(text)).text
    assert verdict_from_reply(text).correct is None
