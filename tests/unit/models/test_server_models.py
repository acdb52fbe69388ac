"""Models behind servers, against servers that misbehave in every way we know of."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from fake_server import Answer, Behaviour, completion, in_turn, says, serving
from misbehaving_server import WAYS
from model_prompts import JPEG, asked, picture, questions
from surgvalid.errors import Misuse
from surgvalid.models import Clip, ModelTrouble, Outcome, Prompt, RunCounts, open_model
from surgvalid.schema.outcomes import Status

KEYS = ("SURGVALID_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def heard(
    behaviour: Behaviour, prompts: list[Prompt], kind: str = "openai", **options: Any
) -> tuple[dict[str, Outcome], RunCounts, list[dict[str, Any]]]:
    """Outcomes of a server with this behaviour, their counts and the bodies that it saw."""
    with serving(behaviour) as server:
        base = server.url if kind == "openai" else server.url.removesuffix("/v1")
        outcomes, counts = asked(open_model(f"{kind}:m@{base}", **options), prompts)
        return outcomes, counts, server.bodies


# --- what goes out ---------------------------------------------------------------------------------


def test_pictures_go_out_as_they_are_and_in_the_order_of_the_prompt(tmp_path: Path) -> None:
    one, two = picture(tmp_path, "a.jpg"), picture(tmp_path, "b.png", data=b"\x89PNG\r\n\x1a\n two")
    prompt = Prompt("q", ("before", one, "between", two, "after"), system="Be brief.", max_tokens=77, seed=5)
    _, _, bodies = heard(says(completion("yes")), [prompt])
    system, user = bodies[0]["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert [block.get("text") for block in user["content"]] == ["before", None, "between", None, "after"]
    urls = [block["image_url"]["url"] for block in user["content"] if block["type"] == "image_url"]
    assert [url.split(",")[0] for url in urls] == ["data:image/jpeg;base64", "data:image/png;base64"]
    assert base64.b64decode(urls[0].split(",")[1]) == JPEG
    assert (bodies[0]["max_tokens"], bodies[0]["temperature"], bodies[0]["seed"]) == (77, 0, 5)


def test_nothing_in_a_prompt_can_stand_for_a_picture(tmp_path: Path) -> None:
    from surgvalid.models._server import _MARK

    hostile = f'{_MARK[:-1]} media-0- \\ " \u0000'
    _, _, bodies = heard(says(completion("yes")), [Prompt("q", (hostile, picture(tmp_path)))])
    assert bodies[0]["messages"][0]["content"][0]["text"] == hostile


def test_a_clip_goes_to_servers_that_take_one(tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").write_bytes(b"\0\0\0\x18ftypmp42")
    prompt = Prompt("q", (Clip(tmp_path / "clip.mp4", "c"), "What happens?"))
    _outcomes, _, bodies = heard(says(completion("yes")), [prompt], video=True)
    assert bodies[0]["messages"][0]["content"][0]["video_url"]["url"].startswith("data:video/mp4;base64,")
    refused, _, none = heard(says(completion("yes")), [prompt])
    assert (none, refused["q"].reason) == ([], "not asked: it takes no video; show it frames")


def test_a_schema_is_sent_where_the_server_takes_it_and_left_out_where_not() -> None:
    def refusing(number: int, body: dict[str, Any]) -> Answer:
        return (
            Answer(b'{"error": "response_format is not supported"}', 400)
            if "response_format" in body
            else completion("1")
        )

    wanted = questions(6, schema={"type": "object"})
    _, counts, bodies = heard(says(completion("{}")), wanted)
    assert all(body["response_format"]["json_schema"]["schema"] == {"type": "object"} for body in bodies)
    _, counts, bodies = heard(refusing, wanted)
    assert (counts.answered, len(bodies)) == (6, 7)


def test_newer_names_of_limits_are_learnt_once() -> None:
    def newer(number: int, body: dict[str, Any]) -> Answer:
        if "max_tokens" in body:
            return Answer(b"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", 400)
        return Answer(b"Unsupported value: 'temperature'", 400) if "temperature" in body else completion("yes")

    _, counts, bodies = heard(newer, questions(4))
    assert (counts.answered, len(bodies)) == (4, 6)


def test_log_probabilities_become_scores_of_labels() -> None:
    top = [{"token": "Clip", "logprob": -0.1}, {"token": " sp", "logprob": -2.5}, {"token": "s", "logprob": -1.0}]
    choice = {"message": {"content": "Clip"}, "finish_reason": "stop", "logprobs": {"content": [{"top_logprobs": top}]}}
    answer = Answer(json.dumps({"choices": [choice]}).encode())
    outcomes, _, bodies = heard(says(answer), questions(1, labels=("clip", "sponge", "scissors")), logprobs=True)
    assert bodies[0]["logprobs"] is True
    assert outcomes["q0"].scores == pytest.approx({"clip": 0.905, "sponge": 0.082, "scissors": 0.0}, abs=1e-3)


@pytest.mark.parametrize("name", WAYS)
def test_no_misbehaviour_is_an_answer_or_an_exception(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surgvalid.asking.chat.random.uniform", lambda low, high: 0.0)
    answer, kind = WAYS[name]
    outcomes, counts, bodies = heard(says(answer), questions(2), concurrency=1, timeout_s=0.3)
    kinds = {
        "reply": counts.answered,
        "refused": counts.refused,
        "case": counts.overflow + counts.permanent,
        "server": counts.unfinished,
    }
    assert {word: number for word, number in kinds.items() if number} == {kind: 2}, outcomes
    assert len(bodies) <= 10
    assert len(bodies) == 2 or kind == "server", "only failures of the server are asked for again"
    assert all(one.text in ("", "yes", "ye", "? yes", "\x00\x1b[2Jyes") for one in outcomes.values() if one.answered)


# --- what comes back -------------------------------------------------------------------------------

OVERFLOW = Answer(b'{"error": {"message": "This model\'s maximum context length is 4096 tokens"}}', 400)
ENDS = {
    "answered": (completion("yes"), Status.ANSWERED, None),
    "cut": (completion("yes bec", finish="length"), Status.ANSWERED, ModelTrouble.CUT),
    "refusal": (completion(None, refusal="I cannot look at patients"), Status.REFUSED, ModelTrouble.REFUSAL),
    "filter": (completion("", finish="content_filter"), Status.REFUSED, ModelTrouble.REFUSAL),
    "overflow": (OVERFLOW, Status.FAILED, ModelTrouble.OVERFLOW),
    "too large": (Answer(b"", 413), Status.FAILED, ModelTrouble.OVERFLOW),
    "no such thing": (
        Answer(b"image input is not supported by this model", 400),
        Status.FAILED,
        ModelTrouble.PERMANENT,
    ),
    "no access": (Answer(b"who are you?", 401), Status.INFRASTRUCTURE, ModelTrouble.TRANSIENT),
    "down": (Answer(b"", 503), Status.INFRASTRUCTURE, ModelTrouble.TRANSIENT),
    "nonsense": (Answer(b"<html>"), Status.INFRASTRUCTURE, ModelTrouble.TRANSIENT),
    "hangs up": (Answer(b"", hang_up=True), Status.INFRASTRUCTURE, ModelTrouble.TRANSIENT),
}


@pytest.mark.parametrize("name", ENDS)
def test_every_end_has_its_status_and_no_failure_is_an_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surgvalid.asking.chat.random.uniform", lambda low, high: 0.0)
    answer, status, trouble = ENDS[name]
    outcomes, _, _ = heard(says(answer), questions(1))
    outcome = outcomes["q0"]
    assert (outcome.status, outcome.trouble) == (status, trouble)
    assert outcome.answered == (status is Status.ANSWERED)
    assert bool(outcome.reason) == (status in (Status.FAILED, Status.INFRASTRUCTURE))


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_pictures_that_a_server_cannot_read_cost_their_cases_only(status: int) -> None:
    unreadable = Answer(b"image is truncated", status)
    outcomes, counts, bodies = heard(in_turn(*[unreadable] * 5, completion("yes")), questions(16), concurrency=1)
    assert (counts.answered, counts.failed, counts.unfinished, len(bodies)) == (11, 5, 0, 16)
    assert "image is truncated" in outcomes["q0"].reason


def test_failures_of_the_server_in_a_row_close_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surgvalid.asking.chat.random.uniform", lambda low, high: 0.0)
    outcomes, counts, bodies = heard(says(Answer(b"oops", 500)), questions(300), concurrency=1)
    assert len(bodies) == 25
    assert counts.unfinished == 300
    assert "given up after 5 questions in a row without a reply" in outcomes["q299"].reason


OUT_OF_MONEY = b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'
ENDED = {
    "quota as 429": (OUT_OF_MONEY, 429),
    "payment": (b"top up your account", 402),
    "credit": (b"Your credit balance is too low to access the API", 400),
    "unknown model": (b'{"error": {"code": "model_not_found"}}', 400),
    "no such model": (b"The model `m` does not exist", 404),
}


@pytest.mark.parametrize("name", ENDED)
def test_an_end_is_asked_for_once_and_says_its_message(name: str) -> None:
    body, status = ENDED[name]
    outcomes, counts, bodies = heard(says(Answer(body, status)), questions(40), concurrency=1)
    assert (len(bodies), counts.unfinished) == (1, 40)
    assert body.decode() in outcomes["q39"].reason


def test_a_limit_that_names_a_wait_is_no_end() -> None:
    limited = Answer(OUT_OF_MONEY, 429, headers=(("Retry-After", "0.1"),))
    assert heard(in_turn(limited, completion("yes")), questions(3))[1].answered == 3


@pytest.mark.parametrize(
    "reply",
    [
        completion(None),
        completion(None, tool_calls=[{"type": "function"}], finish="tool_calls"),
        completion(None, reasoning_content="Hm."),
    ],
)
def test_a_reply_without_words_is_a_reply_and_not_asked_for_again(reply: Answer) -> None:
    outcomes, counts, bodies = heard(says(reply), questions(3))
    assert (len(bodies), counts.unfinished) == (3, 0)
    assert outcomes["q0"].text == ""


def test_a_reply_of_30_mb_is_a_failed_case() -> None:
    huge = completion("a" * (30 << 20))
    outcomes, counts, bodies = heard(in_turn(huge, completion("yes")), questions(3), concurrency=1)
    assert (counts.answered, counts.permanent, len(bodies)) == (2, 1, 3)
    assert "at most 8 MB are" in outcomes["q0"].reason


def _naming(*names: str) -> Behaviour:
    def answer(number: int, body: dict[str, Any]) -> Answer:
        content = json.loads(completion("yes").body) | {"model": names[number % len(names)]}
        return Answer(json.dumps(content).encode())

    return answer


@pytest.mark.parametrize(
    ("names", "codes"),
    [
        (("m",), []),
        (("m-2024-08-06",), ["model-alias"]),
        (("org/m",), ["model-alias"]),
        (("other",), ["other-model"]),
        (("m", "m-2024-08-06"), ["other-model"]),
    ],
)
def test_who_answered_is_kept_and_compared_with_who_was_asked(names: tuple[str, ...], codes: list[str]) -> None:
    outcomes, counts, _bodies = heard(_naming(*names), questions(4), concurrency=1)
    assert outcomes["q0"].model == names[0]
    assert Outcome.of_row(outcomes["q0"].as_row()).model == names[0]
    assert counts.answered_by == {name: 4 // len(names) for name in names}
    assert [one.code for one in counts.notices()] == codes


def test_prompts_that_are_too_long_do_not_end_the_run() -> None:
    _outcomes, counts, _bodies = heard(in_turn(*[OVERFLOW] * 12, completion("yes")), questions(30), concurrency=1)
    assert (counts.overflow, counts.answered) == (12, 18)


def test_a_rate_limit_is_waited_for_and_costs_no_answer() -> None:
    limited = Answer(b"slow down", 429, headers=(("Retry-After", "0.2"),))
    start = time.monotonic()
    _, counts, _bodies = heard(in_turn(limited, completion("yes")), questions(5))
    assert counts.answered == 5
    assert time.monotonic() - start >= 0.2


def test_no_more_requests_go_out_in_a_minute_than_allowed() -> None:
    start = time.monotonic()
    _, counts, _ = heard(says(completion("yes")), questions(6), per_minute=1200)
    assert counts.answered == 6
    assert time.monotonic() - start >= 5 * 60 / 1200


def test_each_answer_belongs_to_its_question_however_slow_the_others_are() -> None:
    def echoing(number: int, body: dict[str, Any]) -> Answer:
        return completion(body["messages"][0]["content"])._replace(delay_s=0.1 if number in (1, 3) else 0.0)

    outcomes, _, _ = heard(echoing, questions(20))
    assert {name: outcome.text for name, outcome in outcomes.items()} == {f"q{i}": f"Question {i}?" for i in range(20)}


def test_a_late_answer_is_asked_once_more_at_the_end_and_then_timed_out() -> None:
    outcomes, _counts, bodies = heard(says(completion("yes")._replace(delay_s=0.5)), questions(1), timeout_s=0.15)
    assert (outcomes["q0"].status, len(bodies)) == (Status.TIMED_OUT, 2)


def test_a_picture_that_is_gone_or_none_costs_its_question_only(tmp_path: Path) -> None:
    gone, none, good = picture(tmp_path, "gone.jpg"), picture(tmp_path, "none.jpg", data=b"text"), picture(tmp_path)
    gone.path.unlink()
    prompts = [Prompt(name, (shown, "?")) for name, shown in (("gone", gone), ("none", none), ("good", good))]
    outcomes, counts, _ = heard(says(completion("yes")), prompts)
    assert counts.answered == 1
    assert "cannot be read (No such file or directory)" in outcomes["gone"].reason
    assert "none.jpg: is none of image/jpeg, image/png, image/webp" in outcomes["none"].reason
    assert {outcomes[name].trouble for name in ("gone", "none")} == {ModelTrouble.PERMANENT}


def test_a_key_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving(says(Answer(b'{"error": "bad key sk-secret"}', 401))) as server:
        url = server.url.replace("http://", "http://me:password@")
        model = open_model(f"openai:m@{url}")
        outcomes, counts = asked(model, questions(1), store=tmp_path / "store")
    everything = f"{model.name} {model.parameters} {outcomes} {counts}"
    assert "sk-secret" not in everything
    assert "password" not in everything
    assert "check SURGVALID_API_KEY" in outcomes["q0"].reason


def test_a_key_that_a_server_echoes_in_its_answer_is_stored_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-ours-123")
    with serving(says(completion("clip, asked with sk-secret-of-ours-123"))) as server:
        outcomes, _ = asked(open_model(f"openai:m@{server.url}"), questions(1), store=tmp_path / "store")
    assert outcomes["q0"].text == "clip, asked with ***"
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and b"sk-secret-of-ours-123" in path.read_bytes()
    ]


def test_a_key_that_is_a_common_word_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    outcomes, _, _ = heard(says(completion('{"tool": "none"}')), questions(1))
    assert outcomes["q0"].text == '{"tool": "none"}'


def test_pictures_do_not_follow_a_redirect_and_one_of_them_is_enough_to_learn_of_it(tmp_path: Path) -> None:
    prompts = [Prompt(f"q{number}", (picture(tmp_path), f"Frame {number}?")) for number in range(40)]
    with serving(says(completion("yes"))) as other:
        elsewhere = other.url.replace("127.0.0.1", "127.0.0.2")
        away = Answer(b"", 307, headers=(("Location", f"{elsewhere}/chat/completions?token=abc"),))
        outcomes, counts, bodies = heard(says(away), prompts)
        assert other.bodies == []
    assert (len(bodies), counts.transient, counts.answered) == (1, 40, 0)
    host = elsewhere.removeprefix("http://").split("/")[0]
    assert (
        outcomes["q39"].reason
        == f"HTTP 307; it sends on to {host}, where nothing is sent: name that URL if it is meant"
    )


@pytest.mark.parametrize("claimed", [10**30, -5, "many", True, 2.5])
def test_tokens_that_cannot_be_are_as_if_nothing_was_said(claimed: object) -> None:
    reply = {"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": 9, "completion_tokens": claimed}}
    outcomes, counts, _ = heard(says(Answer(json.dumps(reply).encode())), questions(1))
    assert (outcomes["q0"].tokens_in, outcomes["q0"].tokens_out, counts.tokens_out) == (9, 0, 0)


def test_half_a_letter_in_an_answer_can_be_written_and_is_read_from_the_store_alike(tmp_path: Path) -> None:
    with serving(says(Answer(b'{"choices": [{"message": {"content": "clip \\ud83d"}}]}'))) as server:
        model = open_model(f"openai:m@{server.url}")
        texts = [asked(model, questions(1), store=tmp_path / "store")[0]["q0"].text for _ in range(2)]
    assert texts == ["clip ?", "clip ?"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            "anthropic:m",
            "api.anthropic.com wants a key and none is set; put it into the environment as ANTHROPIC_API_KEY",
        ),
        ("gemini:m", "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("openai:m@https://api.openai.com/v1", "SURGVALID_API_KEY or OPENAI_API_KEY"),
        ("openai:m", "write openai:MODEL@URL"),
        ("openai:m@ftp://x", "write openai:MODEL@URL"),
        ("openai:m@http://x:port/v1", "cannot be read"),
    ],
)
def test_what_is_missing_is_said_before_the_first_request(spec: str, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        open_model(spec)


def test_boxes_in_pixels_that_nobody_knows_are_refused() -> None:
    with pytest.raises(Misuse, match="does not say at which size"):
        open_model("openai:m@http://localhost", boxes="xyxy-shown")


# --- other protocols -------------------------------------------------------------------------------


def test_anthropic_is_asked_and_read_in_its_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    reply = {
        "content": [{"type": "text", "text": "yes"}],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 9, "output_tokens": 2},
    }
    refusal = {"content": [], "stop_reason": "refusal"}
    with serving(in_turn(Answer(json.dumps(reply).encode()), Answer(json.dumps(refusal).encode()))) as server:
        model = open_model(f"anthropic:m@{server.url.removesuffix('/v1')}", concurrency=1)
        outcomes, _ = asked(model, questions(2, picture(tmp_path), system="Be brief."))
        assert server.paths[0] == "/v1/messages"
        headers = {name.lower(): value for name, value in server.headers[0].items()}
        assert (headers["x-api-key"], headers["anthropic-version"]) == ("key", "2023-06-01")
        shown, text = server.bodies[0]["messages"][0]["content"]
        assert (server.bodies[0]["system"], text["text"]) == ("Be brief.", "Question 0?")
        assert base64.b64decode(shown["source"]["data"]) == JPEG
    assert (outcomes["q0"].trouble, outcomes["q0"].tokens_in, outcomes["q0"].tokens_out) == (ModelTrouble.CUT, 9, 2)
    assert outcomes["q1"].status is Status.REFUSED


def test_gemini_is_asked_and_read_in_its_protocol(tmp_path: Path) -> None:
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 30}
    thought = {"text": "hm", "thought": True}
    good = {
        "candidates": [{"content": {"parts": [thought, {"text": "yes"}]}, "finishReason": "STOP"}],
        "usageMetadata": usage,
    }
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    unsafe = {"candidates": [{"finishReason": "PROHIBITED_CONTENT"}]}
    with serving(in_turn(*(Answer(json.dumps(body).encode()) for body in (good, blocked, unsafe)))) as server:
        model = open_model(f"gemini:m x@{server.url.removesuffix('/v1')}", concurrency=1)
        outcomes, _ = asked(model, questions(3, picture(tmp_path), schema={"type": "object"}))
        assert server.paths[0] == "/v1beta/models/m%20x:generateContent"
        body = server.bodies[0]
    assert body["generationConfig"]["responseJsonSchema"] == {"type": "object"}
    assert base64.b64decode(body["contents"][0]["parts"][0]["inlineData"]["data"]) == JPEG
    assert (outcomes["q0"].text, outcomes["q0"].tokens_out) == ("yes", 32)
    assert {outcomes[name].status for name in ("q1", "q2")} == {Status.REFUSED}
    assert model.can.boxes == "yxyx-1000"
