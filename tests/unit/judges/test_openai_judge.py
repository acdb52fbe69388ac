"""The judge behind a chat server, against servers that misbehave in every way we know of."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from fake_server import Answer, Behaviour, comparing, completion, in_turn, says, serving, verdict
from judge_cases import a_case, always, some_cases
from repository import REPOSITORY
from surgvalid import judges
from surgvalid.asking.chat import ChatLimits
from surgvalid.asking.connections import Unreachable
from surgvalid.asking.replies import retry_after_s
from surgvalid.errors import Misuse, RunInterrupted
from surgvalid.judges import JudgeCase, Panel, Verdict, VerdictStore, open_judge, open_judges
from surgvalid.judges._prompt import prompt_of
from surgvalid.judges.openai import OpenAIJudge, build
from waiting import until

QUICK = ChatLimits(concurrency=4, attempts=3, timeout_s=5.0, deadline_s=10.0, backoff_s=0.001)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SURGVALID_API_KEY", "OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def asked(
    behaviour: Behaviour, *, limits: ChatLimits = QUICK, cases: list[JudgeCase] | None = None
) -> tuple[list[Verdict], int]:
    """Verdicts of a server with this behaviour, and how many requests it saw."""
    with serving(behaviour) as server:
        verdicts = OpenAIJudge("m", server.url, limits=limits).judge(cases or [a_case()])
        return verdicts, server.asked


def refusing_schema(number: int, body: dict[str, object]) -> Answer:
    if "response_format" in body:
        return Answer(b'{"error": {"message": "response_format is not supported"}}', 400)
    return completion("They agree.\nCORRECT")


def test_verdicts_come_in_the_order_of_the_cases_with_tokens_and_latency() -> None:
    verdicts, requests = asked(comparing, cases=some_cases(40))
    assert [v.correct for v in verdicts] == [i % 2 == 1 for i in range(40)]
    assert requests == 40
    assert all(v.state == "judged" and v.tokens == 7 and v.latency_s > 0 for v in verdicts)


def test_order_holds_when_early_cases_take_longest() -> None:
    def slow_at_first(number: int, body: dict[str, object]) -> Answer:
        return comparing(number, body)._replace(delay_s=0.1 if number < 4 else 0.0)

    verdicts, _ = asked(slow_at_first, cases=some_cases(12))
    assert [v.correct for v in verdicts] == [i % 2 == 1 for i in range(12)]


def test_the_request_asks_for_a_deterministic_structured_verdict() -> None:
    with serving(comparing) as server:
        OpenAIJudge("some/model", server.url).judge([a_case()])
        body = server.bodies[0]
    assert (body["model"], body["temperature"]) == ("some/model", 0)
    assert body["max_tokens"] == 128
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["verdict"]["enum"] == ["CORRECT", "INCORRECT", "UNSURE"]
    assert body["messages"] == prompt_of(a_case()).messages()


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions", "/chat/completions/"])
def test_the_url_may_end_in_the_path_or_not(ending: str) -> None:
    with serving(comparing) as server:
        judge = build(f"m@{server.url}{ending}")
        assert judge.judge([a_case()])[0].correct is True
        assert server.paths == ["/v1/chat/completions"]
        assert judge.name == f"openai:m@{server.url}"


def test_connections_stay_within_the_limit() -> None:
    with serving(lambda n, b: comparing(n, b)._replace(delay_s=0.02)) as server:
        OpenAIJudge("m", server.url, limits=QUICK).judge(some_cases(20))
        assert 2 <= server.most_at_once <= 4


# --- troubles: retried, then failed, never wrong -----------------------------------------------


def test_errors_of_the_server_are_retried_until_it_recovers() -> None:
    broken = Answer(b"oops", 503)
    verdicts, requests = asked(in_turn(broken, broken, verdict("CORRECT")))
    assert (verdicts[0].correct, requests) == (True, 3)


TROUBLES = {
    "500 for ever": Answer(b"oops", 500),
    "malformed JSON": Answer(b'{"choices": [{"mess'),
    "not UTF-8": Answer(b"\xff\xfe"),
    "an array": Answer(b"[]"),
    "nested without end": Answer(b"[" * 100_000),
    "empty choices": Answer(b'{"choices": []}'),
    "a rate limit as success": Answer(b'{"error": {"message": "rate limit CORRECT"}}'),
    "no message": Answer(b'{"choices": [{"finish_reason": "stop"}]}'),
    "disconnects": Answer(b"", hang_up=True),
}


@pytest.mark.parametrize("answer", TROUBLES.values(), ids=TROUBLES.keys())
def test_a_server_in_trouble_gives_failed_and_never_wrong(answer: Answer) -> None:
    verdicts, requests = asked(says(answer))
    assert (verdicts[0].correct, verdicts[0].state) == (None, "failed")
    assert verdicts[0].text
    assert requests == QUICK.attempts


@pytest.mark.parametrize(
    "answer",
    [
        completion(None),
        completion(None, reasoning_content="so it is CORRECT"),
        completion(None, tool_calls=[{"type": "function"}], finish="tool_calls"),
        completion([{"type": "image_url"}]),
    ],
)
def test_a_reply_without_words_is_an_abstention_after_one_further_question(answer: Answer) -> None:
    verdicts, requests = asked(says(answer))
    assert (verdicts[0].correct, verdicts[0].state, requests) == (None, "abstained", 2)


@pytest.mark.parametrize("answer", TROUBLES.values(), ids=TROUBLES.keys())
def test_a_passing_trouble_costs_no_verdict(answer: Answer) -> None:
    verdicts, requests = asked(in_turn(answer, verdict("INCORRECT")))
    assert (verdicts[0].correct, requests) == (False, 2)


def test_a_question_without_an_answer_in_time_is_asked_once_more_at_the_end() -> None:
    def slow_once(number: int, body: dict[str, object]) -> Answer:
        return comparing(number, body)._replace(delay_s=1.0 if number == 2 else 0.0)

    limits = ChatLimits(concurrency=1, timeout_s=0.4, backoff_s=0.001)
    with serving(slow_once) as server:
        verdicts = OpenAIJudge("m", server.url, limits=limits).judge(some_cases(6))
        prompts = [body["messages"] for body in server.bodies]
    assert [v.state for v in verdicts] == ["judged"] * 6
    assert len(prompts) == 7
    assert prompts[-1] == prompts[2]


def test_a_slow_server_is_asked_twice_and_no_more() -> None:
    limits = ChatLimits(attempts=10, timeout_s=0.1, deadline_s=0.35, backoff_s=0.001)
    verdicts, requests = asked(says(verdict("CORRECT")._replace(delay_s=0.5)), limits=limits)
    assert verdicts[0].state == "failed"
    assert "no answer within" in verdicts[0].text
    assert requests == 2


def test_a_reply_without_a_verdict_is_asked_for_once_more() -> None:
    with serving(in_turn(completion("Both name the duct, I think", tokens=5), verdict("CORRECT"))) as server:
        heard, body = OpenAIJudge("m", server.url, limits=QUICK).judge([a_case()])[0], server.bodies[-1]
    assert (heard.correct, heard.tokens) == (True, 12)
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert "JSON only" in body["messages"][-1]["content"]


@pytest.mark.parametrize("answer", [verdict("UNSURE"), completion("CORRECT", finish="content_filter")])
def test_a_chosen_or_filtered_abstention_is_not_asked_for_again(answer: Answer) -> None:
    verdicts, requests = asked(says(answer))
    assert (verdicts[0].correct, verdicts[0].state, requests) == (None, "abstained", 1)


@pytest.mark.parametrize(
    "cut_short",
    [
        completion(None, finish="length", reasoning_content="long thoughts"),
        completion("<think>so", finish="length"),
        completion("", finish="length"),
        completion(None, finish="length"),
    ],
    ids=["told beside", "told inside", "hidden", "hidden, null"],
)
def test_a_model_that_reasons_gets_more_room_once_it_was_cut(cut_short: Answer) -> None:
    with serving(in_turn(cut_short, verdict("CORRECT"))) as server:
        verdicts = OpenAIJudge("m", server.url, limits=QUICK).judge(some_cases(3))
        assert [body["max_tokens"] for body in server.bodies] == [128, 4096, 4096, 4096]
    assert {v.correct for v in verdicts} == {True}


def test_room_and_time_for_a_reply_are_options() -> None:
    with serving(comparing) as server:
        judge = open_judge(f"openai:m@{server.url}", tokens=9000, timeout_s=400)
        judge.judge([a_case()])
        assert server.bodies[0]["max_tokens"] == 9000
    assert isinstance(judge, OpenAIJudge)
    assert (judge.limits.timeout_s, judge.limits.deadline_s, judge.limits.reasoning_tokens) == (400, 800, 9000)
    assert judge.name == f"openai:m@{server.url}"
    for wrong in ({"tokens": 0}, {"timeout_s": float("nan")}, {"timeout_s": -1.0}):
        with pytest.raises(Misuse, match="must be more than 0"):
            open_judge(f"openai:m@{server.url}", **wrong)
    with pytest.raises(Misuse, match="for judges that ask a language model, got exact"):
        open_judges(["exact"], tokens=50)
    assert open_judges(["exact", f"openai:m@{server.url}"], tokens=50)[0].name == "exact"


def test_a_reply_that_talks_until_it_is_cut_is_asked_for_the_json() -> None:
    chatter = completion("The candidate names the duct, which is " * 9, finish="length")
    with serving(in_turn(chatter, verdict("INCORRECT"))) as server:
        heard = OpenAIJudge("m", server.url, limits=QUICK).judge([a_case()])[0]
        assert "JSON only" in server.bodies[1]["messages"][-1]["content"]
        assert server.bodies[1]["max_tokens"] == 128
    assert (heard.correct, heard.finish) == (False, "stop")


def test_a_second_reply_that_is_cut_or_refused_is_no_verdict() -> None:
    for second in (completion("CORRECT", finish="length"), completion("CORRECT", finish="content_filter")):
        heard, requests = asked(in_turn(completion("Hm."), second))
        assert (heard[0].correct, heard[0].state, heard[0].text, requests) == (None, "abstained", "Hm.", 2)
        assert heard[0].tokens == 14


def test_a_rate_limit_is_waited_out_as_long_as_the_server_asks() -> None:
    times: list[float] = []

    def limited(number: int, body: dict[str, object]) -> Answer:
        times.append(time.monotonic())
        return Answer(b"slow down", 429, (("Retry-After", "0.3"),)) if number == 0 else verdict("CORRECT")

    verdicts, requests = asked(limited)
    assert (verdicts[0].correct, requests) == (True, 2)
    assert times[1] - times[0] >= 0.3


def test_a_pause_beyond_the_deadline_is_not_waited_for() -> None:
    verdicts, requests = asked(says(Answer(b"", 429, (("Retry-After", "3600"),))), cases=some_cases(5))
    assert {v.state for v in verdicts} == {"failed"}
    assert requests == 1


def test_retry_after_may_be_a_date() -> None:
    assert 50 < retry_after_s(formatdate(time.time() + 60, usegmt=True)) <= 60
    assert retry_after_s(formatdate(time.time() - 60, usegmt=True)) == 0.0
    assert [retry_after_s(text) for text in ("", "-3", "soon", "٣", "1e9", "9" * 400)] == [0, 0, 0, 0, 0, float("inf")]


def test_a_server_that_is_not_there_fails_every_case_after_a_few_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = OpenAIJudge("m", "http://127.0.0.1:9/v1", limits=replace(QUICK, attempts=9))
    sent, send = [], judge.server._send
    monkeypatch.setattr(judge.server, "_send", lambda *a, **k: (sent.append(1), send(*a, **k))[1])
    verdicts = judge.judge(some_cases(200))
    assert len(sent) == 3
    assert {v.state for v in verdicts} == {"failed"}
    assert all("cannot be reached" in heard.text for heard in verdicts)
    assert all(heard.text.endswith("given up after 3 attempts: is the server running there?") for heard in verdicts)


def test_a_server_that_goes_away_for_a_while_is_tried_longer() -> None:
    with serving(comparing) as server:
        judge = OpenAIJudge("m", server.url, limits=replace(QUICK, concurrency=1, attempts=20))
        ask, calls = judge.server._send, []

        async def flaky(*arguments: Any, **options: Any) -> Any:
            calls.append(1)
            if 3 <= len(calls) < 9:
                raise Unreachable("gone")
            return await ask(*arguments, **options)

        judge.server._send = flaky  # type: ignore[method-assign]
        verdicts = judge.judge(some_cases(4))
    assert {v.state for v in verdicts} == {"judged"}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_lasting_refusal_is_met_once(status: int) -> None:
    verdicts, requests = asked(says(Answer(b"no", status)), cases=some_cases(30))
    assert {v.state for v in verdicts} == {"failed"}
    assert requests == 1
    advice = "check the model's name and the URL" if status == 404 else "no key was sent: set SURGVALID_API_KEY"
    assert f"HTTP {status}: no; {advice}" in verdicts[29].text


def test_an_answer_that_a_gateway_forbids_costs_its_own_verdict_and_no_other() -> None:
    verdicts, _ = asked(
        in_turn(*[verdict("CORRECT")] * 3, Answer(b"flagged", 403), verdict("CORRECT")), cases=some_cases(9)
    )
    assert [v.state for v in verdicts].count("failed") == 1
    assert [v.correct for v in verdicts].count(True) == 8


def test_an_answer_that_a_content_filter_stops_before_the_model_is_refused_not_failed() -> None:
    body = b'{"error": {"code": "content_filter", "message": "The prompt was filtered"}}'
    verdicts, requests = asked(says(Answer(body, 400)))
    assert (verdicts[0].correct, verdicts[0].state, verdicts[0].finish) == (None, "abstained", "content_filter")
    assert requests == 2, "once with and once without a schema"


SILENCES = {
    "500": Answer(b"oops", 500),
    "a page": Answer(b"<html><title>Sign in</title>"),
    "half a reply": Answer(b'{"choices": [{"mess'),
    "no choices": Answer(b'{"choices": []}'),
    "hangs": verdict("CORRECT")._replace(delay_s=0.6),
}


@pytest.mark.parametrize("answer", SILENCES.values(), ids=SILENCES.keys())
def test_a_server_that_never_gives_a_reply_is_given_up_after_a_few_questions(answer: Answer) -> None:
    limits = ChatLimits(concurrency=2, attempts=2, timeout_s=0.2, deadline_s=5.0, backoff_s=0.001)
    verdicts, requests = asked(says(answer), limits=limits, cases=some_cases(40))
    assert {v.state for v in verdicts} == {"failed"}
    assert requests <= 14
    assert "given up after 5 questions in a row without a reply (last: " in verdicts[39].text


def test_a_server_that_answers_now_and_then_is_not_given_up() -> None:
    limits = ChatLimits(concurrency=1, attempts=1, backoff_s=0.001)
    verdicts, requests = asked(lambda n, b: Answer(b"", 500) if n % 5 else comparing(n, b), limits=limits,
                               cases=some_cases(30))  # fmt: skip
    assert requests == 30
    assert sum(v.state == "judged" for v in verdicts) == 6


def test_what_a_server_sends_instead_of_json_is_shown() -> None:
    verdicts, _ = asked(says(SILENCES["a page"]))
    assert "not JSON (it begins '<html><title>Sign in</title>'); check the URL" in verdicts[0].text


def test_a_server_that_works_one_by_one_answers_everything_and_is_asked_little_twice() -> None:
    """Seen with a real one: 88 requests received, 8 answered, because many waited, timed out and were repeated."""
    alone = threading.Lock()

    def one_by_one(number: int, body: dict[str, object]) -> Answer:
        with alone:
            time.sleep(0.05)
            return comparing(number, body)

    limits = ChatLimits(concurrency=16, timeout_s=0.4, deadline_s=60.0, backoff_s=0.001)
    with serving(one_by_one) as server:
        verdicts = OpenAIJudge("m", server.url, limits=limits).judge(some_cases(40))
        assert server.asked <= 48
    assert {v.state for v in verdicts} == {"judged"}


def test_too_many_requests_halve_what_is_asked_at_once() -> None:
    busy, lock, most_after = [0], threading.Lock(), [0]

    def bears_three(number: int, body: dict[str, object]) -> Answer:
        with lock:
            busy[0] += 1
            now = busy[0]
        time.sleep(0.01)
        with lock:
            busy[0] -= 1
            most_after[0] = max(most_after[0], now if number > 60 else 0)
        return Answer(b"slow down", 429) if now > 3 else comparing(number, body)

    limits = ChatLimits(concurrency=16, attempts=9, backoff_s=0.001)
    verdicts, _ = asked(bears_three, limits=limits, cases=some_cases(120))
    assert {v.state for v in verdicts} == {"judged"}
    assert most_after[0] <= 8


def test_a_bad_request_about_one_case_fails_that_case_only() -> None:
    def too_long(number: int, body: dict[str, object]) -> Answer:
        return Answer(b"context overflow", 400) if "liver 2" in json.dumps(body) else comparing(number, body)

    verdicts, _ = asked(too_long, cases=some_cases(6))
    assert [v.state for v in verdicts] == ["judged", "judged", "failed", "judged", "judged", "judged"]


# --- what the model says -----------------------------------------------------------------------


def test_a_server_without_structured_output_refuses_once_and_is_then_asked_in_text() -> None:
    with serving(refusing_schema) as server:
        judge = OpenAIJudge("m", server.url, limits=QUICK)
        verdicts = judge.judge(some_cases(20)) + judge.judge(some_cases(2))
        assert {v.correct for v in verdicts} == {True}
        assert sum("response_format" in body for body in server.bodies) == 1
        assert server.asked == 23


@pytest.mark.parametrize(
    ("content", "correct", "state"),
    [
        ("<think>" + "It might be INCORRECT. " * 2000 + "</think>\n\nCORRECT", True, "judged"),
        ("Step by step. " * 500 + "\n\nINCORRECT", False, "judged"),
        ([{"type": "text", "text": '{"verdict": '}, {"type": "text", "text": '"CORRECT"}'}], True, "judged"),
        ("NOT CORRECT", None, "abstained"),
        ("partially correct", None, "abstained"),
        ("in correct", None, "abstained"),
        ('{"verdict": "UNSURE"}', None, "abstained"),
        ("", None, "abstained"),
    ],
)
def test_the_verdict_is_read_strictly(content: object, correct: bool | None, state: str) -> None:
    verdicts, requests = asked(says(completion(content)))
    assert (verdicts[0].correct, verdicts[0].state) == (correct, state)
    assert requests == (2 if state == "abstained" and "UNSURE" not in str(content) else 1)
    assert len(verdicts[0].text) < 600


def test_a_reply_cut_twice_at_the_token_limit_is_an_abstention_that_no_store_keeps(tmp_path: Path) -> None:
    """As a failure it would leave the mean under drop-score, and an answer that makes a judge ramble would gain."""
    with serving(says(completion("CORRECT", finish="length"))) as server:
        panel = Panel([OpenAIJudge("m", server.url, limits=QUICK)], store=VerdictStore(tmp_path / "store"))
        panel.decide([a_case()])
        assert server.asked == 2
    heard = panel.heard[0]
    assert (heard.correct, heard.state, heard.was_cut, heard.finish) == (None, "abstained", True, "length")
    assert len(VerdictStore(tmp_path / "store")) == 0


def test_a_refusal_is_an_abstention() -> None:
    verdicts, _ = asked(says(completion(None, refusal="I will not grade this.")))
    assert (verdicts[0].state, verdicts[0].text) == ("abstained", "I will not grade this.")


@pytest.mark.parametrize("usage", [None, "many", {"total_tokens": None}, {"total_tokens": -1}, {"total_tokens": True}])
def test_odd_usage_counts_as_no_tokens(usage: object) -> None:
    body = {"choices": [{"message": {"content": "CORRECT"}}], "usage": usage}
    verdicts, _ = asked(says(Answer(json.dumps(body).encode())))
    assert (verdicts[0].correct, verdicts[0].tokens) == (True, 0)


# --- keys, names, event loops ------------------------------------------------------------------


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("SURGVALID_API_KEY", "sk-secret")
    with serving(lambda n, b: Answer(b"bad key sk-secret", 401)) as server:
        judge = OpenAIJudge("m", server.url, limits=QUICK)
        text = judge.judge([a_case()])[0].text
        assert server.headers[0]["Authorization"] == "Bearer sk-secret"
        assert text.endswith("check SURGVALID_API_KEY")
    assert "sk-secret" not in text + judge.name + repr(judge) + repr(judge.server)
    assert "***" in text


def test_without_a_key_no_key_is_sent() -> None:
    with serving(comparing) as server:
        OpenAIJudge("m", server.url).judge([a_case()])
        assert "Authorization" not in server.headers[0]


def test_user_password_and_query_are_used_but_not_named() -> None:
    with serving(comparing) as server:
        judge = build(f"m@{server.url.replace('http://', 'http://me:pass@')}?version=3&code=hidden")
        judge.judge([a_case()])
        assert judge.name == f"openai:m@{server.url}"
        assert server.paths == ["/v1/chat/completions?version=3&code=hidden"]
        assert server.headers[0]["Authorization"].startswith("Basic ")


@pytest.mark.parametrize("spec", ["m", "m@", "m@localhost:8000/v1", "@http://x", "m@http://", "m@http://x:port"])
def test_a_specification_that_cannot_be_read_says_how_to_write_it(spec: str) -> None:
    with pytest.raises(Misuse, match="openai:MODEL@URL"):
        open_judge(f"openai:{spec}")


def test_it_works_inside_a_running_event_loop() -> None:
    async def notebook() -> list[Verdict]:
        return asked(comparing, cases=some_cases(6))[0]

    assert [v.correct for v in asyncio.run(notebook())] == [False, True] * 3


def test_no_cases_need_no_server() -> None:
    assert OpenAIJudge("m", "http://127.0.0.1:9/v1").judge([]) == []


# --- with a store ------------------------------------------------------------------------------


RUN = """
import sys
sys.path[:0] = [{tests!r}, {source!r}]
from judge_cases import some_cases
from surgvalid.judges import Panel, VerdictStore, open_judge
Panel([open_judge("openai:m@{url}")], store=VerdictStore({path!r})).decide(some_cases(60))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_resumes_and_asks_nothing_answered_again(tmp_path: Path, how: signal.Signals) -> None:
    path = tmp_path / "verdicts.jsonl"
    with serving(lambda n, b: comparing(n, b)._replace(delay_s=0.0 if n < 20 else 0.2)) as server:
        source, tests = str(Path(judges.__file__).parents[2]), str(REPOSITORY / "tests" / "support")
        code = RUN.format(url=server.url, path=str(path), source=source, tests=tests)
        with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
            until(lambda: server.asked >= 25 or process.poll() is not None, 60, "it did not ask")
            process.send_signal(how)
            process.wait(timeout=20)
        assert process.returncode != 0
        known = len(VerdictStore(path))
        assert 0 < known < 60

        # The key tells the runs apart: requests of the first may still arrive.
        panel = Panel([OpenAIJudge("m", server.url, api_key="second")], store=VerdictStore(path))
        decisions = panel.decide(some_cases(60))
        assert (panel.counts()["asked"], panel.counts()["reused"]) == (60 - known, known)
        assert sum("Authorization" in headers for headers in server.headers) == 60 - known

        Panel([OpenAIJudge("m", server.url, api_key="third")], store=VerdictStore(path)).decide(some_cases(60))
        assert sum("Authorization" in headers for headers in server.headers) == 60 - known
    assert [d.correct for d in decisions] == [i % 2 == 1 for i in range(60)]


def test_a_store_that_fails_meanwhile_stops_the_run_with_its_own_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with serving(comparing) as server:
        panel = Panel([OpenAIJudge("m", server.url)], store=VerdictStore(tmp_path / "file" / "verdicts.jsonl"))
        with pytest.raises(RunInterrupted, match="cannot be written"):
            panel.decide(some_cases(30))


def test_scoring_again_with_a_second_judge_asks_only_the_second(tmp_path: Path) -> None:
    cases, path = some_cases(10), tmp_path / "verdicts.jsonl"
    with serving(comparing) as first, serving(says(verdict("CORRECT"))) as second:
        judges = [OpenAIJudge("a", first.url), OpenAIJudge("b", second.url)]
        Panel(judges[:1], store=VerdictStore(path)).decide(cases)
        decisions = Panel(judges, store=VerdictStore(path)).decide(cases)
        assert (first.asked, second.asked) == (10, 10)
    assert [d.state for d in decisions] == ["tie", "judged"] * 5


def test_failed_cases_are_asked_again_by_the_next_run(tmp_path: Path) -> None:
    def half(number: int, body: dict[str, object]) -> Answer:
        return Answer(b"", 400) if "liver" in json.dumps(body) else comparing(number, body)

    path = tmp_path / "verdicts.jsonl"
    with serving(half) as server:
        Panel([OpenAIJudge("m", server.url)], store=VerdictStore(path)).decide(some_cases(10))
    assert len(VerdictStore(path)) == 5


def test_a_panel_of_a_server_and_others_keeps_every_vote() -> None:
    with serving(comparing) as server:
        panel = Panel([OpenAIJudge("m", server.url), open_judge("exact"), always("third", None)])
        decisions = panel.decide(some_cases(2))
        assert panel.counts()["tokens"] == 14
    assert [len(d.votes) for d in decisions] == [3, 3]
    assert [d.correct for d in decisions] == [False, True]
