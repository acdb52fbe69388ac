"""How often an input-blind system is right: simple predictors, fitted per template on the training split.

Each reads what anybody can read without the video: the wording, the type of procedure, the window and the times that
a question quotes.
    constant        the most frequent answer of the template
    class, type     the most frequent answer for the same named classes in the same type of procedure
    text and options  what a model learns from wording, options, type, phase and window (`text_only`)
    start + c       a time a fixed while after the start of the window
    end - c         a time a fixed while before its end
    quoted + c      a time a fixed while after a time that the question quotes
    share of window a fixed part of the window's length, for durations; a fixed part of the hundred, for percentages
Where a template is not asked in training, they are fitted on the other videos of the same split, one half on the other.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from surgvalid.questions.drafts import Draft
from surgvalid.questions.template import clock, second_of
from surgvalid.questions.text_only import logit, possible_answers
from surgvalid.schema.questions.formats import Percentage, Time, time_tolerance_s
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS, mean_interval

CLOSED_FORMATS = frozenset({"time", "percentage"})
"""Formats whose answers lie close together or not; others are equal or not."""

Guess = Callable[[Draft], str | None]
"""What a fitted predictor answers, or None where it has no answer."""
Types = Mapping[str, str]
"""The type of procedure of every video."""


class Leak(NamedTuple):
    """How one predictor does on one template."""

    split: str
    track: str
    template: str
    predictor: str
    questions: int
    accuracy: float
    low: float | None
    """Of the interval over videos; none below three."""
    high: float | None
    limit: float


WHOLE_LIMIT = 0.3
"""The share of all questions of a split and track that the best predictors of their templates may get right."""
LIMITS = {2: 0.7, 3: 0.55, 4: 0.45}
"""By how many answers there are to choose from: the largest share that a predictor may get right."""


def limit_for(drafts: Sequence[Draft], blind_share: float) -> float:
    """The largest share of a template's questions that a predictor may get right.

    Times and percentages: `blind_share`. Where something is chosen from, by the number of options; of answers without
    options, those that occur are what there is to choose from, or the two classes that a question names.
    """
    if drafts[0].template.format in CLOSED_FORMATS:
        return blind_share
    occur = len({draft.answer_group for draft in drafts})
    numbers = [len(possible_answers(draft)) or (2 if _names_two(draft) else occur) for draft in drafts]
    return sum(LIMITS[min(max(number, 2), 4)] for number in numbers) / len(numbers)


def _names_two(draft: Draft) -> bool:
    return draft.template.format == "fo_class" and {"object", "other"} <= set(draft.slots)


def fitted(given: Sequence[Draft], types: Types) -> dict[str, Guess]:
    """The predictors of one template, fitted on some of its questions, in whichever order these come."""
    drafts = sorted(given, key=lambda draft: draft.case)
    guesses: dict[str, Guess] = {"constant": _most_frequent(drafts, lambda _: ())}
    guesses["class, type"] = _most_frequent(drafts, lambda draft: _named(draft, types))
    if drafts and drafts[0].template.format not in CLOSED_FORMATS and (guess := logit(drafts, types)):
        guesses["text and options"] = guess
    single = [draft for draft in drafts if "," not in draft.answer]
    if single and single[0].template.format == Time.name:
        for name, base in _BASES.items():
            if all(base(draft) is not None for draft in single):
                guesses[name] = _shifted(single, base)
        guesses["share of window"] = _share_of_window(single)
    elif single and single[0].template.format == Percentage.name:
        guesses["share of window"] = _percentage(single)
    return guesses


def is_right(draft: Draft, answer: str | None) -> bool:
    """Whether an answer is right, by the tolerance of the question's format."""
    if answer is None:
        return False
    name = draft.template.format
    if name == Time.name:
        kind = Time(threshold_seconds=time_tolerance_s(draft.window.length_s))
        return kind.compare(kind.parse(draft.answer), kind.parse(answer))
    if name == Percentage.name:
        return abs(int(answer.rstrip("%")) - int(draft.answer.rstrip("%"))) <= Percentage().threshold_pp
    return answer == draft.answer


# --- predictors ----------------------------------------------------------------------------------


def _named(draft: Draft, types: Types) -> tuple[object, ...]:
    slots = draft.slots
    return types[draft.video], *(slots.get(key) for key in ("object", "other", "event", "phase", "nth", "attribute"))


def _most_frequent(drafts: Iterable[Draft], key: Callable[[Draft], tuple[object, ...]]) -> Guess:
    answers: dict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
    for draft in drafts:
        answers[key(draft)][draft.answer] += 1

    def guess(draft: Draft) -> str | None:
        counted = answers.get(key(draft), Counter())
        offered = possible_answers(draft) or sorted(counted)
        return max(offered, key=lambda text: counted[text]) if counted else None

    return guess


def _quoted(draft: Draft) -> int | None:
    """The last time that the question quotes."""
    return max((int(v) for k, v in draft.slots.items() if k in ("at_s", "then_s", "event_s", "to_s")), default=None)


_BASES: dict[str, Callable[[Draft], int | None]] = {
    "start + c": lambda draft: draft.window.start_s,
    "end - c": lambda draft: draft.window.end_s,
    "quoted + c": _quoted,
}


def _shifted(drafts: Sequence[Draft], base: Callable[[Draft], int | None]) -> Guess:
    """A fixed distance from a time that is known: the one that most answers lie near."""
    far = np.array([second_of(draft.answer) - (base(draft) or 0) for draft in drafts])
    near = np.array([math.floor(time_tolerance_s(draft.window.length_s)) for draft in drafts])
    shifts = np.unique(far)
    begun = np.sort(far - near).searchsorted(shifts, side="right")
    over = np.sort(far + near).searchsorted(shifts, side="left")
    shift = int(shifts[np.argmax(begun - over)])

    def guess(draft: Draft) -> str | None:
        known = base(draft)
        return None if known is None or known + shift < 0 else clock(known + shift)

    return guess


def _share_of_window(drafts: Sequence[Draft]) -> Guess:
    """A fixed share of the window's length: the one that most answers lie near."""
    rows = [(second_of(d.answer), d.window.frames, time_tolerance_s(d.window.length_s)) for d in drafts]
    long, whole, near = np.array(rows, dtype=np.float64).T
    shares = [percent / 100 for percent in range(0, 101, 2)]
    best = max(shares, key=lambda share: int(np.count_nonzero(np.abs(share * whole - long) <= near)))
    return lambda draft: clock(round(best * draft.window.frames))


def _percentage(drafts: Sequence[Draft]) -> Guess:
    values, near = [int(draft.answer.rstrip("%")) for draft in drafts], Percentage().threshold_pp
    best = max(range(101), key=lambda share: sum(abs(share - value) <= near for value in values))
    return lambda _: f"{best}%"


# --- tables --------------------------------------------------------------------------------------


def leaks_of(
    split: str,
    drafts: Sequence[Draft],
    train: Sequence[Draft],
    types: Types,
    blind_share: float,
    *,
    patients: Mapping[str, str] = {},
) -> list[Leak]:
    """How every predictor does on every template of a split, fitted on the training questions where there are any.

    Intervals are over patients, by video; a video of which nobody knows the patient is one of its own.
    """
    learnt = by_template(train)
    leaks = []
    for (track, name), asked in sorted(by_template(drafts).items()):
        known = [] if split == "train" else learnt.get((track, name), [])
        for predictor, hits in hits_of(asked, known, types).items():
            units = (patients.get(draft.video, draft.video) for draft in asked)
            shares = share_over_videos(zip(units, hits, strict=True))
            leaks.append(Leak(split, track, name, predictor, len(asked), *shares[1:], limit_for(asked, blind_share)))
    return leaks


def share_over_videos(right: Iterable[tuple[str, float]]) -> tuple[int, float, float | None, float | None]:
    """Videos, share of what is right in them, and its interval (a jackknife over whole videos; none below three)."""
    of_video: dict[str, list[float]] = defaultdict(list)
    for video, share in right:
        of_video[video].append(share)
    totals, sizes = np.array([[sum(s)] for s in of_video.values()]), np.array([len(s) for s in of_video.values()])
    value = float(totals.sum() / sizes.sum())
    if len(sizes) < FEWEST_VIDEOS:
        return len(sizes), value, None, None
    spread = mean_interval(totals, sizes, low=0, high=1)
    return len(sizes), value, float(spread.low[0]), float(spread.high[0])


def hits_of(asked: Sequence[Draft], train: Sequence[Draft], types: Types) -> dict[str, list[bool]]:
    """By predictor, which of the questions of one template it gets right.

    It is fitted on the training questions; without any, on the half of the videos to which a question does not belong.
    """
    if train:
        return {name: [is_right(d, guess(d)) for d in asked] for name, guess in fitted(train, types).items()}
    place = {video: at % 2 for at, video in enumerate(sorted({draft.video for draft in asked}))}
    halves = [[draft for draft in asked if place[draft.video] == side] for side in (0, 1)]
    if not all(halves):
        return {}
    guesses = [fitted(half, types) for half in halves]
    names = [name for name in guesses[0] if name in guesses[1]]
    return {name: [is_right(d, guesses[1 - place[d.video]][name](d)) for d in asked] for name in names}


def by_template(drafts: Iterable[Draft]) -> dict[tuple[str, str], list[Draft]]:
    """The drafts by track and template."""
    groups: dict[tuple[str, str], list[Draft]] = defaultdict(list)
    for draft in drafts:
        groups[draft.track.value, draft.template.name].append(draft)
    return groups


def leak_table(leaks: Sequence[Leak]) -> pl.DataFrame:
    """The leaks as a table."""
    kinds = {
        "split": pl.String,
        "track": pl.String,
        "template": pl.String,
        "predictor": pl.String,
        "questions": pl.Int64,
        **dict.fromkeys(("accuracy", "low", "high", "limit"), pl.Float64),
    }
    return pl.DataFrame(leaks, schema=kinds, orient="row")
