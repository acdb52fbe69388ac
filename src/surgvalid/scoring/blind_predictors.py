"""Input-blind predictors: the best constant of a group, and a prior of the words of a question.

The one answer that is right for most questions of a group, also without each video in turn.

The best constant maximises the number of questions the format's own comparison accepts:
    yes/no, counts, class sets, free text    the most common reference
    percentages, single timestamps           the point that lies in most tolerance intervals; of the
                                             whole best stretch its middle
    several timestamps                       the list, among the references, that is close enough to most
Ties go to the smallest answer. The constant without video v is a function of the other videos alone:
counts of v are subtracted, and an answer that only v gives is no candidate.

The text-only prior: what the words of a question and its procedure say about the answer.

Multinomial naive Bayes (McCallum and Nigam 1998) per answer format over the words of the template and
the procedure, with one added to every word count (Laplace). The classes are the answers seen; a
percentage is learnt as its nearest multiple of 5, a single time as its distance from the start of
the question's window in steps of 5 s, which any system may read from the request.

Words and answers that only occur in what is left out are unknown to the model, so it cannot leak.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from surgvalid.scoring.blind_questions import BlindQuestion, canonical, clock

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


STEP_S = 5
"""Times are learnt in steps of this many seconds from the start of the window."""
STEP_PP = 5
"""Percentages are learnt in steps of this many points."""

Label = int | str
_WORD = re.compile(r"<\w+>|\w+")


class TextPrior:
    """A model of answers that reads questions only. Formats it was never shown stay unanswered."""

    def __init__(self, questions: Sequence[BlindQuestion]) -> None:
        by_format: dict[str, list[tuple[BlindQuestion, Label]]] = {}
        for question in questions:
            if (label := _label(question)) is not None:
                by_format.setdefault(question.format, []).append((question, label))
        self._models = {name: _NaiveBayes(pairs) for name, pairs in by_format.items()}

    def answers(self, questions: Sequence[BlindQuestion]) -> list[str | None]:
        """The most probable answer to each question; equal texts are looked at once."""
        texts: list[str | None] = [None] * len(questions)
        for name, model in self._models.items():
            rows = [row for row, question in enumerate(questions) if question.format == name]
            for row, label in zip(rows, model.labels_of([questions[row] for row in rows]), strict=True):
                texts[row] = _text(questions[row], label)
        return texts


class _NaiveBayes:
    def __init__(self, pairs: Sequence[tuple[BlindQuestion, Label]]) -> None:
        self.labels: list[Label] = sorted({label for _, label in pairs}, key=str)
        place = {label: index for index, label in enumerate(self.labels)}
        codes = [place[label] for _, label in pairs]
        documents = [_words(question.template, question.procedure) for question, _ in pairs]
        self.vocabulary = {word: i for i, word in enumerate(sorted({w for words in documents for w in words}))}
        members = sparse.csr_array(
            (np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(len(self.labels), len(codes))
        )
        counts = (members @ self._matrix(documents)).toarray() + 1.0
        self.word_logs = np.log(counts) - np.log(counts.sum(axis=1, keepdims=True))
        self.prior_logs = np.log(np.bincount(codes)) - np.log(len(codes))

    def labels_of(self, questions: Sequence[BlindQuestion]) -> list[Label]:
        if not questions:
            return []
        texts = [(question.template, question.procedure) for question in questions]
        known = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        scores = self._matrix([_words(*text) for text in known]) @ self.word_logs.T + self.prior_logs
        # Rounded, so that equal scores stay ties (which go to the first label) whatever the order of summation.
        best: npt.NDArray[np.intp] = np.round(np.asarray(scores), 9).argmax(axis=1)
        return [self.labels[best[known[text]]] for text in texts]

    def _matrix(self, documents: Sequence[Sequence[str]]) -> sparse.csr_array:
        ends = np.cumsum([0, *(sum(w in self.vocabulary for w in words) for words in documents)])
        columns = [self.vocabulary[w] for words in documents for w in words if w in self.vocabulary]
        shape = (len(documents), len(self.vocabulary))
        return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=shape)


@lru_cache(maxsize=65_536)
def _words(template: str, procedure: str) -> tuple[str, ...]:
    return (*_WORD.findall(template), f"procedure={procedure}")


def _label(question: BlindQuestion) -> Label | None:
    value = question.value
    if value is None:
        return None
    if question.format == "time":
        return int((value[0] - question.start_s) // STEP_S) if len(value) == 1 else None
    if question.format == "percentage":
        return round(min(float(value), 1e6) / STEP_PP)
    return canonical(question.format, value)


def _text(question: BlindQuestion, label: Label) -> str:
    if question.format == "time":
        return clock([question.start_s + STEP_S * int(label) + STEP_S // 2])
    return f"{STEP_PP * int(label)}%" if question.format == "percentage" else str(label)
