"""What counts as an answer, and that nothing else does."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.asking.messages import (
    MOST_EXTRA_BYTES,
    NotAnAnswer,
    ProtocolQuestion,
    read_answer,
    read_health,
    strict_object,
)

QUESTION = ProtocolQuestion("a1", "v1", "/input/f.mp4", 0, 512, "cholecystectomy", "Größe?\u2028", "procedure", 30)


def test_the_question_is_sent_as_the_protocol_says() -> None:
    assert json.loads(QUESTION.as_bytes()) == {
        "protocol": "1",
        "qID": "a1",
        "videoID": "v1",
        "video": "/input/f.mp4",
        "start_time": 0.0,
        "end_time": 512.0,
        "procedure_type": "cholecystectomy",
        "question": "Größe?\u2028",
        "track": "procedure",
        "budget_s": 30.0,
    }


def test_an_answer_is_read() -> None:
    answer = read_answer(b'{"qID": "a1", "content": "3 clips", "extra": {"frames": 64}}', "a1")
    assert (answer.content, answer.extra, answer.note) == ("3 clips", {"frames": 64}, "")


def test_keys_that_nobody_asked_for_change_nothing() -> None:
    assert read_answer(b'{"qID": "a1", "content": "", "latency": 0.1}', "a1").content == ""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"qID": "a2", "content": "x"}', "another question"),
        (b'{"qID": 1, "content": "x"}', "another question"),
        (b'{"content": "x"}', "no 'qID'"),
        (b'{"qID": "a1"}', "must be text"),
        (b'{"qID": "a1", "content": null}', "must be text"),
        (b'{"qID": "a1", "content": 3}', "must be text"),
        (b'{"qID": "a1", "content": ["x"]}', "must be text"),
        (b'{"qID": "a2", "qID": "a1", "content": "x"}', "twice"),
        (b'{"qID": "a1", "content": "x", "extra": {"k": 1, "k": 2}}', "twice"),
        (b'{"qID": "a1", "content": "x", "extra": {"k": NaN}}', "NaN"),
        (b'{"qID": "a1", "content": "x", "extra": {"k": -Infinity}}', "Infinity"),
        (b'{"qID": "a1", "content": "x", "extra": {"k": 1e999}}', "beyond any range"),
        (b'{"qID": "a1", "content": "x", "extra": {"k": ' + b"9" * 5000 + b"}}", "no reader converts"),
        (b'{"qID": "a1", "content": "\\ud800"}', "surrogate"),
        (b'{"qID": "a1", "content": "x", "extra": {"k": ["\\udfff"]}}', "surrogate"),
        (b'{"qID": "a1", "content": "\xff"}', "not UTF-8"),
        (b'\xef\xbb\xbf{"qID": "a1", "content": "x"}', "not JSON"),
        (b'["qID"]', "must be a JSON object"),
        (b"", "not JSON"),
        (b'{"qID": "a1", "content": "x"} trailing', "not JSON"),
        (b'{"qID": "a1", "content": "x", "extra": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested"),
        (b"[" * 65_000, "nested"),
        (b'{"a":' * 10_000, "nested"),
        (b" " * 70_000, "bytes"),
    ],
)
def test_what_is_no_answer_is_refused_with_its_reason(body: bytes, reason: str) -> None:
    with pytest.raises(NotAnAnswer, match=reason):
        read_answer(body, "a1")


def test_brackets_within_text_are_not_nesting() -> None:
    content = "[" * 500 + '"' + "{" * 500
    assert read_answer(json.dumps({"qID": "a1", "content": content}).encode(), "a1").content == content


def test_too_much_extra_is_left_out_and_the_answer_kept() -> None:
    body = json.dumps({"qID": "a1", "content": "x", "extra": {"k": "y" * MOST_EXTRA_BYTES}}).encode()
    answer = read_answer(body, "a1")
    assert (answer.content, answer.extra) == ("x", None)
    assert str(MOST_EXTRA_BYTES) in answer.note


def test_extra_that_is_no_object_is_left_out() -> None:
    assert read_answer(b'{"qID": "a1", "content": "x", "extra": [1]}', "a1").extra is None


def test_health_must_speak_this_protocol() -> None:
    assert read_health(b'{"protocol": "1", "name": "mine"}') == "mine"
    assert read_health(b'{"protocol": "1", "name": 7}') == ""
    with pytest.raises(NotAnAnswer, match="protocol '2'"):
        read_health(b'{"protocol": "2"}')


@given(st.text(max_size=200).filter(lambda text: text.isprintable()), st.booleans())
def test_every_text_survives(content: str, escaped: bool) -> None:
    body = json.dumps({"qID": "a1", "content": content}, ensure_ascii=escaped).encode()
    assert read_answer(body, "a1").content == content


@given(st.binary(max_size=200) | st.text(alphabet='{}[]":,\\ut0e9N"aI-', max_size=200).map(str.encode))
def test_any_bytes_are_an_object_or_refused(body: bytes) -> None:
    with suppress(NotAnAnswer):
        assert isinstance(strict_object(body), dict)
