"""The one answer that is right for most questions of a group, also without each video in turn.

The best constant maximises the number of questions the format's own comparison accepts:
    yes/no, counts, class sets, free text    the most common reference
    percentages, single timestamps           the point that lies in most tolerance intervals; of the
                                             whole best stretch its middle
    several timestamps                       the list, among the references, that is close enough to most
Ties go to the smallest answer. The constant without video v is a function of the other videos alone:
counts of v are subtracted, and an answer that only v gives is no candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.scoring.blind_questions import BlindQuestion, canonical, clock

Ints = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]

_CELLS_AT_ONCE = 4_000_000
"""Videos by answers that stand in memory together."""


class Constant(NamedTuple):
    """An answer and how many questions of its group it gets right."""

    text: str
    support: int


@dataclass(frozen=True, slots=True)
class GroupConstants:
    """The best constants of one group of questions."""

    overall: Constant | None
    without: dict[str, Constant | None] = field(default_factory=dict)
    """Per video of the group: the best constant of all its other videos, None when there is none."""


def best_constants(questions: Sequence[BlindQuestion]) -> GroupConstants:
    """The best constants of questions that share one format."""
    usable = [question for question in questions if question.value is not None]
    if not usable:
        return GroupConstants(None)
    names = sorted({question.video for question in usable})
    code = {name: index for index, name in enumerate(names)}
    videos = np.array([code[question.video] for question in usable], dtype=np.intp)
    finder = _FINDERS.get(usable[0].format, _most_common)
    *without, overall = finder(usable, videos, len(names))
    return GroupConstants(overall, dict(zip(names, without, strict=True)))


def _most_common(questions: Sequence[BlindQuestion], videos: Ints, count: int) -> list[Constant | None]:
    answers = [canonical(question.format, question.value) for question in questions]
    texts = sorted(set(answers))
    place = {text: index for index, text in enumerate(texts)}
    codes = np.array([place[answer] for answer in answers], dtype=np.intp)
    total = np.bincount(codes, minlength=len(texts))
    constants: list[Constant | None] = []
    for in_video in _own_counts(videos, codes, np.ones(len(codes)), count, len(texts)):
        rest = total - in_video
        best = rest.argmax(axis=1)
        constants += [_constant(texts[b], rest[row, b]) for row, b in enumerate(best)]
    return [*constants, _constant(texts[int(total.argmax())], total.max())]


def _best_shares(questions: Sequence[BlindQuestion], videos: Ints, count: int) -> list[Constant | None]:
    values = np.array([question.value for question in questions], dtype=np.float64)
    tolerance = np.array([question.tolerance for question in questions], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        low, high = np.maximum(values - tolerance, 0.0), values + tolerance
    return _best_points(low, high, videos, count, lambda a, b: canonical("percentage", (a + b) / 2))


def _best_times(questions: Sequence[BlindQuestion], videos: Ints, count: int) -> list[Constant | None]:
    sizes = np.array([len(question.value or ()) for question in questions])
    best: list[Constant | None] = [None] * (count + 1)
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size).tolist()
        times = np.array([questions[row].value for row in rows], dtype=np.float64)
        tolerance = np.array([questions[row].tolerance for row in rows], dtype=np.float64)
        if size == 1:
            with np.errstate(invalid="ignore"):
                low = np.ceil(np.maximum(times[:, 0] - tolerance, 0))
                high = np.floor(np.minimum(times[:, 0] + tolerance, 359_999))
            constants = _best_points(low, high, videos[rows], count, lambda a, b: clock([(a + b) // 2]))
        else:
            constants = _best_lists(times, tolerance, videos[rows], count)
        best = [_better(old, new) for old, new in zip(best, constants, strict=True)]
    return best


_FINDERS: dict[str, Callable[[Sequence[BlindQuestion], Ints, int], list[Constant | None]]] = {
    "percentage": _best_shares,
    "time": _best_times,
}
"""Formats with a tolerance; each finder gives one constant without each video, then the overall one."""


def _best_points(
    low: Floats, high: Floats, videos: Ints, count: int, text: Callable[[float, float], str]
) -> list[Constant | None]:
    """The middle of the stretch that lies in most intervals [low, high], without each video and overall.

    Steps up at each `low` and down just after each `high`, in order, give the coverage along the line.
    Coverage by the other videos first reaches its maximum at one of their own lows, and first leaves
    it after one of their own highs: the steps of the video left out change neither.
    """
    sound = np.isfinite(low) & np.isfinite(high) & (low <= high)
    low, high, videos = low[sound], high[sound], videos[sound]
    if not low.size:
        return [None] * (count + 1)
    where = np.concatenate((low, high))
    kind = np.repeat([0, 1], len(low))
    order = np.lexsort((kind, where))
    fresh = np.append(True, (np.diff(where[order]) != 0) | (np.diff(kind[order]) != 0))
    places = np.empty(len(where), dtype=np.intp)
    places[order] = np.cumsum(fresh) - 1
    line, steps = where[order][fresh], np.where(kind == 0, 1.0, -1.0)
    total = np.cumsum(np.bincount(places, weights=steps, minlength=len(line))).astype(np.float64)
    constants: list[Constant | None] = []
    for in_video in _own_counts(np.tile(videos, 2), places, steps, count, len(line)):
        constants += _stretches(total - np.cumsum(in_video, axis=1), line, text)
    return constants + _stretches(total[None, :], line, text)


def _stretches(coverage: Floats, line: Floats, text: Callable[[float, float], str]) -> list[Constant | None]:
    start = coverage.argmax(axis=1)
    most = coverage[np.arange(len(coverage)), start]
    after = np.arange(len(line))[None, :] > start[:, None]
    end = ((coverage < most[:, None]) & after).argmax(axis=1)
    rows = zip(start, end, most, strict=True)
    return [Constant(text(line[s], line[e]), round(m)) if m > 0.5 else None for s, e, m in rows]


def _best_lists(times: Floats, tolerance: Floats, videos: Ints, count: int) -> list[Constant | None]:
    """The reference list that is close enough to most lists of its length."""
    candidates, code = np.unique(times, axis=0, return_inverse=True)
    right = np.zeros((count + 1, len(candidates)))
    given = np.zeros_like(right)
    np.add.at(given, (videos, code.ravel()), 1.0)
    for index, candidate in enumerate(candidates):
        close = (np.abs(times - candidate) <= tolerance[:, None]).all(axis=1)
        right[:, index] = np.bincount(videos, weights=close, minlength=count + 1)
    rest = np.where(given.sum(axis=0) - given > 0, right.sum(axis=0) - right, 0.0)
    best = rest.argmax(axis=1)
    return [_constant(clock(candidates[b]), rest[row, b]) for row, b in enumerate(best)]


def _own_counts(videos: Ints, codes: Ints, weights: Floats, count: int, width: int) -> Iterator[Floats]:
    """Sums of weights per video and code, a block of videos at a time."""
    step = max(1, _CELLS_AT_ONCE // width)
    for first in range(0, count, step):
        size = min(step, count - first)
        inside = (videos >= first) & (videos < first + size)
        cells = (videos[inside] - first) * width + codes[inside]
        sums = np.bincount(cells, weights=weights[inside], minlength=size * width)
        yield sums.reshape(size, width).astype(np.float64, copy=False)


def _better(old: Constant | None, new: Constant | None) -> Constant | None:
    return new if old is None or (new is not None and new.support > old.support) else old


def _constant(text: str, support: float) -> Constant | None:
    return Constant(text, int(support)) if support >= 1 else None
