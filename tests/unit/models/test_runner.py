"""Nothing is asked twice, nothing beyond the money, and no failure is an answer."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_server import completion, serving
from model_prompts import asked, picture, questions
from surgvalid.asking.meter import Meter
from surgvalid.asking.store import ContentStore
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.models import (
    Can,
    ModelTrouble,
    Outcome,
    Prompt,
    ask_all,
    check_consent,
    check_prompts,
    estimate,
    open_model,
)
from surgvalid.models._baselines import Baseline
from surgvalid.models._estimate import tokens_in_of
from surgvalid.models._model import Done, Price
from surgvalid.schema.outcomes import Status


class Counting(Baseline):
    """Answers with the number of the question, and counts what it was asked."""

    stored = True
    price = Price(1.0, 2.0)

    def __init__(self, **fails: Outcome) -> None:
        super().__init__("counting", self.outcome_of)
        self.calls: list[str] = []
        self.fails = fails

    def outcome_of(self, prompt: Prompt) -> Outcome:
        self.calls.append(prompt.id)
        return self.fails.get(prompt.id) or Outcome(Status.ANSWERED, f"to {prompt.id}", tokens_in=100, tokens_out=50)


FAILED = Outcome(Status.INFRASTRUCTURE, trouble=ModelTrouble.TRANSIENT, reason="nobody there")
REFUSED = Outcome(Status.REFUSED, "I cannot", trouble=ModelTrouble.REFUSAL)


def test_an_answer_is_never_asked_again_and_a_failure_is(tmp_path: Path) -> None:
    first = Counting(q1=FAILED, q2=REFUSED)
    outcomes, counts = asked(first, questions(4), store=tmp_path / "store")
    assert (counts.answered, counts.refused, counts.transient, counts.asked) == (2, 1, 1, 4)
    assert counts.first_reason == "nobody there"
    assert not outcomes["q1"].answered
    second = Counting()
    again, counts = asked(second, questions(4), store=tmp_path / "store")
    assert second.calls == ["q1"]
    assert (counts.reused, counts.asked, counts.cost) == (3, 1, pytest.approx(200e-6))
    assert again["q0"].text == "to q0"
    assert again["q0"].reused
    assert again["q2"].status is Status.REFUSED


@pytest.mark.parametrize(
    "change",
    [{"max_tokens": 9}, {"seed": 1}, {"labels": ("a",)}, {"schema": {"type": "object"}}, {"system": "Be brief."}],
)
def test_whatever_can_change_an_answer_is_part_of_its_key(change: dict[str, object], tmp_path: Path) -> None:
    asked(Counting(), questions(1), store=tmp_path / "store")
    other = Counting()
    asked(other, questions(1, **change), store=tmp_path / "store")
    assert other.calls == ["q0"]


def test_the_content_of_a_picture_counts_and_its_path_does_not(tmp_path: Path) -> None:
    shown = picture(tmp_path)
    asked(Counting(), questions(1, shown), store=tmp_path / "store")
    moved = Counting()
    elsewhere = type(shown)(tmp_path / "elsewhere.jpg", shown.digest, 3.0)
    asked(moved, questions(1, elsewhere), store=tmp_path / "store")
    assert moved.calls == []
    other = Counting()
    asked(other, questions(1, type(shown)(shown.path, "another digest")), store=tmp_path / "store")
    assert other.calls == ["q0"]


def test_another_revision_is_another_model(tmp_path: Path) -> None:
    asked(Counting(), questions(1), store=tmp_path / "store")
    newer = Counting()
    newer.revision = "2"
    asked(newer, questions(1), store=tmp_path / "store")
    assert newer.calls == ["q0"]


def test_what_is_asked_twice_in_one_run_is_asked_once(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(f"reply {number}")._replace(delay_s=0.05)) as server:
        model = open_model(f"openai:m@{server.url}")
        same = [Prompt(f"q{i}", ("the same?",)) for i in range(6)]
        outcomes, counts = asked(model, same, store=tmp_path / "store")
        assert server.asked == 1
    assert {outcome.text for outcome in outcomes.values()} == {"reply 0"}
    assert (counts.asked, counts.reused) == (1, 5)


def test_money_is_never_exceeded_and_the_rest_is_not_asked(tmp_path: Path) -> None:
    model = Counting()
    outcomes, counts = asked(model, questions(200, max_tokens=50), store=tmp_path / "store", max_cost=0.001)
    assert counts.cost is not None
    assert 0 < counts.cost <= 0.001
    assert counts.not_asked == 200 - counts.asked > 0
    left = [outcome for outcome in outcomes.values() if outcome.status is Status.NOT_ASKED]
    assert {outcome.trouble for outcome in left} == {ModelTrouble.BUDGET}
    _again, counts = asked(Counting(), questions(200, max_tokens=50), store=tmp_path / "store", max_cost=0.0)
    assert (counts.asked, counts.reused) == (0, len(model.calls))


class Busy(Counting):
    """Has several requests under way, which end in any order and take any share of what was reserved for them.

    A strict one takes the first end of the prompts for the last; another one asks for more when something has ended.
    """

    def __init__(self, at_once: int, shares: list[float], *, strict: bool, seed: int) -> None:
        super().__init__()
        self.at_once, self.shares, self.strict, self.random = at_once, shares, strict, random.Random(seed)

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        source, under_way, ended = iter(enumerate(prompts)), [], False
        while True:
            while len(under_way) < self.at_once and not ended:
                if (item := next(source, None)) is None:
                    ended = self.strict
                    break
                under_way.append(item)
            if not under_way:
                return
            position, prompt = under_way.pop(self.random.randrange(len(under_way)))
            self.calls.append(prompt.id)
            share = self.shares[len(self.calls) % len(self.shares)]
            tokens = int(share * tokens_in_of(prompt)), int(share * prompt.max_tokens)
            done(position, Outcome(Status.ANSWERED, "yes", tokens_in=tokens[0], tokens_out=tokens[1]))


@settings(max_examples=150, deadline=None)
@given(
    shares=st.lists(st.floats(0.05, 1.0), min_size=1, max_size=9), at_once=st.integers(1, 20), strict=st.booleans(),
    rooms=st.lists(st.integers(1, 400), min_size=1, max_size=60), limit=st.floats(0.0, 1.2), seed=st.integers(0, 9),
)  # fmt: skip
def test_asking_goes_on_while_money_is_left_and_never_beyond_it(shares, at_once, strict, rooms, limit, seed) -> None:
    prompts = [Prompt(f"q{i}", ("Which? " * 30, str(i)), max_tokens=room) for i, room in enumerate(rooms)]
    most = {prompt.id: Price(1.0, 2.0).of(tokens_in_of(prompt), prompt.max_tokens) for prompt in prompts}
    max_cost = limit * sum(most.values())
    model = Busy(at_once, shares, strict=strict, seed=seed)
    outcomes, counts = asked(model, iter(prompts), max_cost=max_cost)
    assert counts.cost is not None
    assert counts.cost <= max_cost
    assert outcomes.keys() == most.keys()
    assert counts.asked == len(model.calls) == len(set(model.calls))
    for name, outcome in outcomes.items():
        if outcome.status is Status.NOT_ASKED:
            assert counts.cost + most[name] > max_cost, "money was left for it"


def test_a_model_that_gives_up_is_not_asked_for_ever() -> None:
    class Lazy(Counting):
        def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
            self.calls.append("once")

    model = Lazy()
    assert ask_all(model, questions(3), done=lambda *_: None).prompts == 0
    assert model.calls == ["once"]


def test_money_that_comes_back_is_spent_with_many_requests_under_way() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 1}
    with serving(lambda number, body: completion("yes", usage=usage)._replace(delay_s=0.005)) as server:
        model = open_model(f"openai:m@{server.url}", price=Price(1.0, 2.0), concurrency=16)
        one = Price(1.0, 2.0).of(tokens_in_of(questions(1)[0]), 400)
        counts = ask_all(model, questions(60, max_tokens=400), done=lambda *_: None, max_cost=5 * one)
    assert (counts.asked, counts.not_asked) == (60, 0)


def test_tokens_of_a_reply_that_was_thrown_away_are_paid() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 100}

    def reply(number: int, body: dict[str, Any]) -> Any:
        if number == 0:
            return completion("<think>still at it", usage=usage, finish="length")
        return completion("yes", usage=usage)

    with serving(reply) as server:
        model = open_model(f"openai:m@{server.url}", price=Price(1.0, 2.0), concurrency=1)
        counts = ask_all(model, questions(1, max_tokens=100), done=lambda *_: None)
        assert server.asked == 2
    assert (counts.tokens_in, counts.tokens_out) == (40, 200)


def test_the_line_of_a_run_says_failures_and_money() -> None:
    model, meter = Counting(q1=FAILED), Meter("asking")
    model.price = Price(1000.0, 2000.0)
    asked(model, questions(5), progress=meter)
    assert meter.line().startswith("asking: 5, 1 failed, ")
    assert meter.line().endswith("0.80 spent")


def test_no_money_is_guessed_for_what_costs_nothing() -> None:
    counts = ask_all(open_model("constant:clip"), questions(3), done=lambda *_: None)
    assert (counts.answered, counts.cost, counts.guessed) == (3, 0.0, 0)


def test_a_limit_without_a_price_is_refused() -> None:
    with pytest.raises(Misuse, match="has no known price, so a limit of 1 cannot be kept"):
        asked(open_model("openai:m@http://localhost"), questions(1), max_cost=1.0)


@pytest.mark.parametrize("limit", [float("nan"), -1.0])
def test_a_limit_that_is_no_money_is_refused_in_place_of_never_reached(limit: float) -> None:
    model = Counting()
    with pytest.raises(Misuse, match=f"a limit of {limit:g} is none; give money, 0 or more"):
        asked(model, questions(1), max_cost=limit)
    assert model.calls == []


def test_what_a_model_cannot_do_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    model = Counting()
    model.can = Can(images=True, most_frames=1)
    shown = picture(tmp_path)
    too_many = questions(2, shown, shown) + questions(1, wants_boxes=True)
    with pytest.raises(
        InputInvalid, match=r"2 problems: \[q0\] it takes at most 1 images at once, 2 are shown; \[q0\]"
    ):
        check_prompts(model, too_many)
    outcomes, counts = asked(model, questions(1, shown, shown))
    assert model.calls == []
    assert outcomes["q0"].trouble is ModelTrouble.PERMANENT
    assert counts.all_failed


def test_memory_does_not_grow_with_the_number_of_prompts() -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        prompts = (Prompt(f"q{i}", (f"{i} " + "x" * 200,)) for i in range(count))
        ask_all(open_model("constant:yes"), prompts, done=lambda prompt, outcome: None)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(100)
    assert peak(20_000) < 2 * peak(1_000)


def test_a_damaged_line_of_the_store_costs_one_question(tmp_path: Path) -> None:
    asked(Counting(), questions(5), store=tmp_path / "store")
    segment = next((tmp_path / "store").glob("segment-*.jsonl"))
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(
        b"".join([lines[0], lines[1][:30] + b"\n", lines[2].replace(b'"answered"', b'"bananas!"'), *lines[3:]])
    )
    model = Counting()
    outcomes, counts = asked(model, questions(5), store=tmp_path / "store")
    assert model.calls == ["q1", "q2"]
    assert counts.answered == 5
    assert len(counts.damaged) == 2
    assert all(outcome.answered for outcome in outcomes.values())


def test_two_runs_at_once_share_a_store_and_lose_nothing(tmp_path: Path) -> None:
    models = [Counting(), Counting()]
    threads = [
        threading.Thread(target=asked, args=(model, questions(300)), kwargs={"store": tmp_path / "store"})
        for model in models
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    late = Counting()
    _, counts = asked(late, questions(300), store=tmp_path / "store")
    assert (late.calls, counts.reused) == ([], 300)


ONE_RUN = """
from surgvalid.models import Prompt, ask_all, open_model
prompts = [Prompt(f"q{{i}}", (f"Question {{i}}?",)) for i in range({count})]
model = open_model("openai:m@{url}", concurrency=8)
counts = ask_all(model, prompts, done=lambda prompt, outcome: None, store={store!r})
print(counts.answered, counts.asked, counts.reused)
"""


def started(url: str, store: Path, count: int) -> subprocess.Popen[str]:
    code = ONE_RUN.format(url=url, store=str(store), count=count)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", ["store", "store.jsonl"])
def test_two_processes_at_once_ask_nothing_twice(tmp_path: Path, name: str) -> None:
    with serving(lambda number, body: completion(f"reply {number}")._replace(delay_s=0.02)) as server:
        runs = [started(server.url, tmp_path / name, 120) for _ in range(2)]
        printed = [[int(number) for number in run.communicate(timeout=120)[0].split()] for run in runs]
        assert server.asked == 120
    assert [answered for answered, _, _ in printed] == [120, 120]
    assert sum(asked for _, asked, _ in printed) == 120
    assert sum(reused for _, _, reused in printed) == 120


def test_what_a_killed_run_was_asking_is_asked_by_the_other(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(f"reply {number}")._replace(delay_s=0.05)) as server:
        with started(server.url, tmp_path / "store", 200) as killed:
            while server.asked < 12:
                time.sleep(0.01)
            other = started(server.url, tmp_path / "store", 40)
            while server.asked < 24:
                time.sleep(0.01)
            killed.send_signal(signal.SIGKILL)
        answered, *_ = other.communicate(timeout=120)[0].split()
    assert int(answered) == 40


def test_what_another_run_failed_to_answer_is_asked_here(tmp_path: Path) -> None:
    with ContentStore(tmp_path / "store") as store:
        waits = threading.Event()

        class Failing(Counting):
            def outcome_of(self, prompt: Prompt) -> Outcome:
                waits.set()
                until = time.monotonic() + 20
                while meter.elsewhere == 0 and time.monotonic() < until:
                    time.sleep(0.001)
                return FAILED

        meter, here = Meter("asking"), Counting()
        other = threading.Thread(target=asked, args=(Failing(), questions(1)), kwargs={"store": tmp_path / "store"})
        other.start()
        waits.wait()
        outcomes, counts = asked(here, questions(3), store=store, progress=meter)
        other.join()
    assert (here.calls[0], sorted(here.calls)) == ("q1", ["q0", "q1", "q2"])
    assert (counts.answered, counts.asked, meter.elsewhere) == (3, 3, 0)
    assert outcomes["q0"].answered


def test_the_line_of_a_run_says_what_another_one_asks() -> None:
    meter = Meter("asking")
    meter.expect(3)
    meter.elsewhere = 2
    assert "2 wait for another run that asks them" in meter.line()


def test_what_another_run_answered_meanwhile_is_not_asked_again(tmp_path: Path) -> None:
    with ContentStore(tmp_path / "store") as opened_before:
        asked(Counting(), questions(5), store=tmp_path / "store")
        model = Counting()
        asked(model, questions(6), store=opened_before)
        assert model.calls == ["q5"]
        other = Counting()
        asked(other, questions(7), store=tmp_path / "store")
        assert other.calls == ["q6"]
        opened_before.refresh()
        assert len(opened_before) == 7


def test_a_kill_loses_what_was_under_way_and_nothing_else(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(f"reply {number}")._replace(delay_s=0.02)) as server:
        code = textwrap.dedent(f"""
            from surgvalid.models import Prompt, ask_all, open_model
            prompts = [Prompt(f"q{{i}}", (f"Question {{i}}?",)) for i in range(400)]
            model = open_model("openai:m@{server.url}", concurrency=4)
            tell = lambda prompt, outcome: print(prompt.id, flush=True)
            ask_all(model, prompts, done=tell, store={str(tmp_path / "store")!r})
            """)
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = [process.stdout.readline().strip() for _ in range(20)]
            process.send_signal(signal.SIGKILL)
        received = server.asked
        with ContentStore(tmp_path / "store") as store:
            kept = len(store)
            assert store.problems == []
        assert kept >= len(told)
        assert received - kept <= 4 + 4, "more was lost than was under way"
        model = open_model(f"openai:m@{server.url}")
        _, counts = asked(model, questions(60), store=tmp_path / "store")
        assert counts.answered == 60
        assert counts.reused >= 20


def test_a_store_that_cannot_be_written_ends_the_run_with_the_reason(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        (tmp_path / "store").write_text("not a store\n")
    with pytest.raises(InputInvalid, match="is no store of replies"):
        asked(Counting(), questions(1), store=tmp_path / "store")


# --- before anything is sent ---------------------------------------------------------------------


def test_media_go_nowhere_that_nobody_agreed_to() -> None:
    there = open_model("openai:m@https://models.example.org/v1")
    here = open_model("openai:m@http://127.0.0.1:8000/v1")
    assert check_consent([here]) == []
    with pytest.raises(Misuse, match=r"would be sent to models.example.org.*--send-media-to models.example.org"):
        check_consent([here, there])
    assert check_consent([there], ["Models.Example.org"]) == ["models.example.org"]
    asked_about: list[str] = []
    assert check_consent([there, there], ask=lambda host: asked_about.append(host) is None) == ["models.example.org"]
    assert asked_about == ["models.example.org"]
    assert check_consent([open_model("blind:openai:m@https://models.example.org/v1")]) == []


@pytest.mark.parametrize(
    "spec", ["middle-frame:openai:m@https://models.example.org/v1", "gemini:m@https://models.example.org"]
)
def test_whoever_stands_before_a_server_sends_there_too(spec: str) -> None:
    assert open_model(spec).host == "models.example.org"


def test_an_estimate_counts_what_the_store_has_and_sends_nothing(tmp_path: Path) -> None:
    shown = picture(tmp_path)
    model = Counting()
    asked(model, questions(3, shown), store=tmp_path / "store")
    guess = estimate(model, questions(10, shown, max_tokens=512), store=tmp_path / "store")
    assert (guess.requests, guess.reused, guess.pictures, guess.most_tokens_out) == (7, 3, 7, 7 * 512)
    assert guess.most_cost is not None
    assert guess.most_cost > 7 * 512 * 2e-6
    assert len(model.calls) == 3
    assert "money: not known" in "\n".join(estimate(open_model("openai:m@http://localhost"), questions(1)).lines())


def test_an_estimate_covers_what_a_run_then_costs(tmp_path: Path) -> None:
    model, prompts = Counting(), questions(20, picture(tmp_path))
    guess = estimate(model, prompts)
    _, counts = asked(model, prompts)
    assert counts.cost is not None
    assert guess.most_cost is not None
    assert counts.cost <= guess.most_cost
