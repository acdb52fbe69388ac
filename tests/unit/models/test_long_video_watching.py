"""One pass before its deadline on a simulated clock: never late, time well used, windows share what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from surgvalid.models._long_video.watching import LongVideo, Spoken, VideoQuestion
from surgvalid.schema.questions.formats import build_format

BINARY = "Is a sponge visible? Answer with yes or no."
QUESTIONS = {
    "binary": BINARY,
    "number": "How many clips are there? Answer with a number.",
    "time": "When is it first seen? Answer with a time (hh:mm:ss).",
    "open_ended": "What happens? Answer in a few words.",
}


class Machine:
    """A clock, and an engine and a video file that move it as an engine of these rates would."""

    height_px, width_px, start_s = 252, 448, 0.0

    def __init__(
        self,
        end_s: float = 7200.0,
        *,
        frame: float = 0.0,
        token: float = 1e-5,
        pair: float = 0.0,
        start: float = 0.0,
        question: float = 0.01,
        answer: float = 0.005,
        owes: bool = False,
        uneven: float = 0.0,
        context: int = 10**9,
    ) -> None:
        self.name, self.end_s, self.owes, self.context = "film", end_s, owes, context
        self.frame, self.token, self.pair, self.start = frame, token, pair, start
        self.question, self.answer, self.uneven = question, answer, uneven
        self.now, self.asked_for, self.told = 0.0, [], []  # type: ignore[var-annotated]
        self.room = self.most_asked = inf
        self.calls: list[int] = []
        self.chance = np.random.default_rng(0)

    def __call__(self) -> float:
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds * float(self.chance.uniform(1 - self.uneven, 1 + self.uneven))

    def frames(
        self, times_s: Sequence[float], height_px: int, width_px: int, *, slack_s: float = 0.0
    ) -> tuple[list[float], Any]:
        self.spend(self.frame * len(times_s))
        self.asked_for += times_s
        return list(times_s), np.zeros((len(times_s), height_px // 28, width_px // 28, 3), np.uint8)

    def tokens(self, height_px: int, width_px: int) -> int:
        return height_px // 28 * (width_px // 28)

    def begin(self) -> Any:
        return ()

    def extend(self, prefix: Any, times_s: Sequence[float], frames: Any, *, after: int | None = None) -> Any:
        each = int(np.prod(frames.shape[1:3]))
        longer = (*prefix[:after], *((second, each) for second in times_s))
        if len(longer) > self.room:
            raise MemoryError
        if not self.owes:
            self.see(len(times_s) * each, sum(tokens for _, tokens in prefix[:after]))
        return longer, sum(tokens for _, tokens in longer)

    def see(self, tokens: int, before: int) -> None:
        self.spend(self.start + tokens * self.token + tokens * (before + tokens / 2) * self.pair)

    def replies(self, prefix: Any, frames: int, asked: Any, deadline: float) -> list[Spoken]:
        """All read in the time of one; a step is one token of each."""
        if len(asked) > self.most_asked:
            raise MemoryError
        begin = self.now
        self.calls.append(len(asked))
        if self.owes and prefix not in [shown for shown, *_ in self.told]:
            self.see(sum(tokens for _, tokens in prefix), 0)
        self.spend(self.question)
        read_s = self.now - begin
        self.told += [(prefix, frames, text) for text, _ in asked]
        forms = [form for _, form in asked]
        if self.owes and self.now > deadline:
            self.now = deadline
            return [Spoken(form.finished(form.start), True, deadline - begin) for form in forms]
        steps = [20 if form.is_free else len(form.finished(form.start)) // 2 for form in forms]
        taken = 0
        while taken < max(steps) and self.now + 1.2 * self.answer <= deadline:
            self.spend(self.answer)
            taken += 1
        return [
            Spoken(
                form.finished(form.start) or "words" * (taken >= most), taken < most, read_s, spent, spent * self.answer
            )
            for form, most in zip(forms, steps, strict=True)
            for spent in (min(taken, most),)
        ]


def planner(machine: Machine, **options: Any) -> LongVideo:
    return LongVideo(machine, clock=machine, **options)


def asked(machine: Machine, text: str = BINARY, start_s: float = 0.0, end_s: float | None = None) -> VideoQuestion:
    return VideoQuestion(text, start_s, machine.end_s if end_s is None else end_s)


RATES = {
    "end_s": st.sampled_from([20.0, 300.0, 3600.0, 10800.0]),
    "frame": st.floats(0.0, 0.1),
    "token": st.floats(1e-6, 2e-4),
    "pair": st.sampled_from([0.0, 4e-10, 4e-9]),
    "start": st.floats(0.0, 0.1),
    "answer": st.floats(0.0, 0.02),
    "uneven": st.sampled_from([0.0, 0.1]),
}


@settings(max_examples=20, deadline=None)
@given(**RATES, budget_s=st.floats(0.5, 60.0), question=st.sampled_from(sorted(QUESTIONS)), owes=st.booleans())
def test_no_answer_is_late_and_time_is_used_while_there_are_frames(
    budget_s: float, question: str, owes: bool, **rates: Any
) -> None:
    """The third video counts for what is used: by then the engine is known. A budget holds
    a frame with its answer ten times; below that, whether one more frame fits decides about a tenth of it.
    """
    machine = Machine(owes=owes, **rates)
    one = machine.frame + machine.start + 144 * machine.token + machine.question + 24 * machine.answer
    assume(budget_s > 10 * one)
    engine = planner(machine)
    for name in ("a", "b", "c"):
        machine.name, begin = name, machine.now
        answer = engine.answer(machine, asked(machine, QUESTIONS[question]), begin + budget_s)
        assert machine.now - begin <= budget_s + 1e-9
        build_format(question).parse(answer.text)
    more = min(768, int(machine.end_s * 2) + 1)
    if answer.frames < more and not answer.looked_twice and not owes:
        assert machine.now - begin >= 0.85 * budget_s


def test_a_slow_file_leaves_no_time_unused() -> None:
    """0.02 s for a frame and 30 s: once 415 frames were read and 21 s left over. A budget of 1.5 s was missed."""
    machine = Machine(10800.0, frame=0.05, token=3e-5, pair=4e-10, start=0.06, question=0.05)
    answer = planner(machine).answer(machine, asked(machine), 30.0)
    assert 25.5 <= machine.now <= 30.0
    assert 400 < answer.frames < 768
    quick = Machine(10800.0, frame=0.02, token=3e-5, pair=4e-10, start=0.06, question=0.05)
    for name in ("a", "b"):
        quick.name, begin = name, quick.now
        planner(quick).answer(quick, asked(quick), begin + 1.5)
        assert 1.2 <= quick.now - begin <= 1.5


def test_frames_go_on_to_the_end_of_the_video_and_are_given_up_evenly() -> None:
    machine = Machine(7200.0, frame=0.2, start=0.05)
    engine = planner(machine)
    for name in ("a", "b"):
        machine.name, machine.asked_for = name, []
        answer = engine.answer(machine, asked(machine), machine.now + 15.0)
    assert answer.is_reduced
    assert machine.asked_for[-1] > 7000
    assert max(np.diff(machine.asked_for)) < 3 * 7200 / answer.frames


def test_without_any_time_the_answer_can_still_be_read() -> None:
    machine = Machine(question=1.0)
    engine = planner(machine)
    engine.pace.per_question = 1.0
    answer = engine.answer(machine, asked(machine, QUESTIONS["time"]), 0.5)
    assert (answer.is_cut, answer.frames) == (True, 1)
    assert machine.now < 0.5, "not even the question is read"
    assert build_format("time").parse(answer.text)


def test_windows_of_a_video_share_what_was_seen() -> None:
    machine = Machine(3600.0)
    engine = planner(machine)
    windows = [(0.0, 60.0), (100.0, 160.0), (150.0, 200.0), (0.0, 50.0)]
    given = engine.answers(machine, [asked(machine, BINARY, *window) for window in windows])
    assert [answer.reused for answer in given] == [True, True, True, False], "the one that ends first begins"
    assert machine.asked_for == sorted(set(machine.asked_for)), "no second is read twice"
    assert not any(60 < second < 100 for second in machine.asked_for), "nobody asked about it"
    for (prefix, frames, _), end_s in zip(machine.told, sorted(end for _, end in windows), strict=True):
        assert max(second for second, _ in prefix[:frames]) <= end_s


def test_a_question_sees_nothing_behind_its_end() -> None:
    machine = Machine(40.0)
    engine = planner(machine)
    engine.answer(machine, asked(machine))
    early = engine.answer(machine, asked(machine, BINARY, 0.0, 33.3))
    prefix, frames, _ = machine.told[-1]
    assert early.reused
    assert prefix[frames - 1][0] <= 33.3 < prefix[frames][0]


def test_what_was_seen_too_coarsely_is_watched_anew() -> None:
    machine = Machine(7200.0)
    engine = planner(machine)
    assert engine.answer(machine, asked(machine)).frames == 768
    early = engine.answer(machine, asked(machine, BINARY, 0.0, 60.0))
    assert not early.reused, "of its first minute six frames were shown"
    assert early.frames > 100
    assert engine.answer(machine, asked(machine)).reused, "both are kept"
    assert engine.answer(machine, asked(machine, BINARY, 0.0, 60.0)).reused


def test_every_question_of_a_group_has_its_own_budget_and_the_pass_has_one() -> None:
    machine = Machine(7200.0, frame=0.05, question=0.05)
    given = planner(machine).answers(machine, [asked(machine)] * 10, 8.0)
    assert [answer.reused for answer in given] == [False] + [True] * 9
    assert machine.now <= 8.0 + 9 * 1.0, "once all of 80 s went into frames"


def test_questions_that_need_nothing_new_are_answered_together() -> None:
    machine = Machine(600.0, question=0.05)
    engine = planner(machine)
    engine.answers(machine, [asked(machine)] * 10, 8.0)
    assert machine.calls == [1, 9], "the first has the pass"
    ends = [300.0, 600.0, 600.0, 300.0]
    given = engine.answers(
        machine, [asked(machine, text, 0.0, end) for text, end in zip(QUESTIONS.values(), ends, strict=True)]
    )
    assert machine.calls[2:] == [2, 2], "what ends earlier sees fewer frames"
    assert [answer.format for answer in given] == list(QUESTIONS)
    assert given[0].frames < given[1].frames


def test_questions_that_do_not_fit_together_are_answered_one_by_one() -> None:
    machine = Machine(600.0)
    machine.most_asked = 2
    given = planner(machine).answers(machine, [asked(machine)] * 4, 8.0)
    assert machine.calls == [1] * 4
    assert [answer.is_cut for answer in given] == [False] * 4


def test_nothing_is_answered_together_where_nothing_may_be_kept() -> None:
    machine = Machine(60.0)
    planner(machine, state="per_question").answers(machine, [asked(machine)] * 3)
    assert machine.calls == [1] * 3


@pytest.mark.parametrize(("state", "again"), [("per_question", False), ("per_video", False), ("free", True)])
def test_what_is_kept_follows_the_rule(state: str, again: bool) -> None:
    machine = Machine(20.0)
    engine = planner(machine, state=state)
    for name in ("a", "b"):
        machine.name = name
        assert not engine.answer(machine, asked(machine)).reused
    assert engine.answer(machine, asked(machine)).reused == (state != "per_question")
    machine.name = "a"
    assert engine.answer(machine, asked(machine)).reused == again


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="per_question, per_video, free, got 'always'"):
        planner(Machine(), state="always")


def test_a_second_look_is_taken_where_a_time_is_at_stake() -> None:
    machine = Machine(600.0)
    engine = planner(machine, most_frames=8)
    text = "Is it seen at {}? Answer with yes or no."
    assert engine.answer(machine, asked(machine, text.format("00:04:58"), 0.0, 300.0)).looked_twice
    assert 290 <= min(machine.asked_for[-16:]) < max(machine.asked_for) <= 300
    shown, frames, _ = machine.told[-1]
    assert len(shown) == frames == 8 + 16
    for outside in ("00:05:20", "00:59:00"):
        assert not engine.answer(machine, asked(machine, text.format(outside), 0.0, 300.0)).looked_twice
    assert not engine.answer(machine, asked(machine, BINARY, 0.0, 300.0)).looked_twice
    long = "The question is about 00:00:00 to 00:10:00 of the video. When? Answer with a time (hh:mm:ss)."
    machine.name = "other"
    assert not engine.answer(machine, asked(machine, long)).looked_twice, "the answer is the window's first second"


def test_memory_that_runs_out_halves_the_frames() -> None:
    machine = Machine(600.0)
    machine.room = 100
    assert 60 <= planner(machine, most_frames=256).answer(machine, asked(machine)).frames <= 100
    machine.room = 0
    with pytest.raises(MemoryError, match="does not even hold a prefix of one frame"):
        planner(machine).answer(machine, asked(machine))


def test_the_context_is_never_overrun() -> None:
    machine = Machine(3600.0, context=1600)
    answer = planner(machine).answer(machine, asked(machine))
    assert answer.tokens + 1024 <= 1600
    machine.context = 1030
    with pytest.raises(ValueError, match="tokens are left for frames"):
        planner(machine).answer(machine, asked(machine))


def test_an_engine_that_nobody_knows_is_asked_with_few_frames_first() -> None:
    """A server that turns out slow: what it said to eight frames is the answer."""
    machine = Machine(3600.0, token=1e-5, owes=True)
    answer = planner(machine).answer(machine, asked(machine), 10.0)
    assert [len(prefix) for prefix, *_ in machine.told] == [8, answer.frames]
    slow = Machine(3600.0, token=1e-6, pair=1e-6, owes=True)
    late = planner(slow).answer(slow, asked(slow), 10.0)
    assert (late.frames, late.is_cut, slow.now) == (8, False, 10.0)
