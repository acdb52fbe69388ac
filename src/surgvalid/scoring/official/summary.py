"""The toolkit's summary: two estimators side by side, and a bootstrap on one shared stream.

`pre_evaluation` is the flat mean per (group, ood) bucket, then the mean of the buckets. All other
rows are the mean of per-video means with a two-level percentile bootstrap. The slices share one
random stream in the order leaf, group, answer format, overall, so each interval depends on the
slices before it; the native profile does not have that property.

The toolkit's two-level bootstrap on its own random stream, bit for bit.

There, every replicate draws videos and then, for each drawn video, its questions, through
`numpy.random.Generator.choice`. Each such draw takes one 32-bit word of the PCG64 stream and maps it
to an index by Lemire's method, with a rare rejection; a choice among one takes no word at all. So the
whole bootstrap is a walk along a sequence of 32-bit words, which can be produced in bulk and consumed
by array operations (numpy) or a compiled loop (numba) instead of ten million Python calls.

Equality holds to the last bit because the counts of right answers are whole numbers and the only
floating-point sum, over the videos of a replicate, is left to the same numpy reduction.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from surgvalid.errors import OfficialAborts
from surgvalid.scoring.official.decisions import OfficialResults

Kernel = Literal["auto", "numpy", "numba"]
WORTH_COMPILING = 60_000_000
"""Draws above which loading the compiled kernel pays off."""
_ROUND = 3_000
"""Draws that take as long as one replicate of a slice takes besides its draws."""

_WORDS = np.uint64(1 << 32)
_LAST = (1 << 64) - 1
_HALF = np.uint64(32)
_LOW_HALF = slice(0 if sys.byteorder == "little" else 1, None, 2)


class OfficialSlice(NamedTuple):
    """The questions of one slice, sorted by video."""

    correct: np.ndarray
    """0 or 1 per question, videos one after the other."""
    counts: np.ndarray
    starts: np.ndarray


class OfficialBootstrap:
    """Intervals for one slice after the other, all from one stream, as in the toolkit."""

    def __init__(self, *, seed: int = 42, replicates: int = 1000, kernel: Kernel = "numpy") -> None:
        self.replicates, self.kernel = replicates, kernel
        self.words = WordStream(seed)

    def interval(self, correct: np.ndarray, videos: Sequence[Any]) -> tuple[float, float, float]:
        """Mean of video means, with the 2.5 and 97.5 percentiles of its bootstrap."""
        questions = sorted_by_video(correct, videos)
        if not len(questions.counts):
            return np.nan, np.nan, np.nan
        sums = np.add.reduceat(questions.correct, questions.starts, dtype=np.int64)
        point = float(np.mean(sums / questions.counts))
        means = self._replicates(questions).mean(axis=1)
        low, high = np.percentile(means, [2.5, 97.5])
        return point, float(low), float(high)

    def _replicates(self, questions: OfficialSlice) -> np.ndarray:
        """The mean of every drawn video: `means[replicate, draw]`."""
        if self.kernel == "numba":
            from surgvalid.scoring.official.bootstrap_numba import replicate_means

            return replicate_means(self.words, questions, self.replicates)
        replicator = _Replicator(self.words, questions)
        return np.array([replicator.means() for _ in range(self.replicates)])


def sorted_by_video(correct: np.ndarray, videos: Sequence[Any]) -> OfficialSlice:
    """The questions grouped by video, videos in order of appearance; questions without one left out."""
    code: dict[Any, int] = {}
    codes = np.array([-1 if v is None else code.setdefault(v, len(code)) for v in videos], dtype=np.int64)
    order = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
    counts = np.bincount(codes[codes >= 0], minlength=len(code))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(code) else np.zeros(0, dtype=np.int64)
    return OfficialSlice(correct[order].astype(np.uint8), counts.astype(np.int64), starts.astype(np.int64))


class WordStream:
    """The 32-bit words of `numpy.random.default_rng(seed)`: low half first, then high half."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self.buffer = np.zeros(0, dtype=np.uint32)
        self.at = 0

    def fill(self, words: int) -> None:
        """Make sure that at least `words` unread words are in the buffer."""
        unread = self.buffer[self.at :]
        if len(unread) < words:
            pairs = (max(words - len(unread), 1 << 16) + 1) // 2
            fresh = self._generator.integers(0, _LAST, size=pairs, endpoint=True, dtype=np.uint64)
            halves = fresh.astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)
            self.buffer = np.concatenate([unread, halves])
            self.at = 0

    def peek(self, words: int) -> np.ndarray:
        """The next words, without moving on."""
        self.fill(words)
        return np.asarray(self.buffer[self.at : self.at + words])


def indices_below(words: WordStream, bounds: np.ndarray, largest: int) -> np.ndarray:
    """One index below each bound (uint64, at least 2), consuming words as `Generator.integers` does.

    A word whose product with the bound falls below the rejection threshold is skipped, which shifts
    all later draws. That happens about once in 2^32 / bound draws and is then done one by one.
    """
    products = words.peek(len(bounds)) * bounds
    low = products.view(np.uint32)[_LOW_HALF]
    if low.min() < largest and bool((low < (_WORDS - bounds) % bounds).any()):
        return _one_by_one(words, bounds)
    words.at += len(bounds)
    products >>= _HALF
    return np.asarray(products.view(np.int64))


def _one_by_one(words: WordStream, bounds: np.ndarray) -> np.ndarray:
    drawn = np.empty(len(bounds), dtype=np.int64)
    for i, bound in enumerate(bounds.tolist()):
        threshold = ((1 << 32) - bound) % bound
        while True:
            product = int(words.peek(1)[0]) * bound
            words.at += 1
            if product % (1 << 32) >= threshold:
                break
        drawn[i] = product >> 32
    return drawn


class _Replicator:
    """Draws replicates of one slice; what does not change between replicates is prepared once."""

    def __init__(self, words: WordStream, questions: OfficialSlice) -> None:
        self.words, self.questions = words, questions
        self.bounds = questions.counts.astype(np.uint64)
        self.largest = int(questions.counts.max())
        self.lone = bool((questions.counts == 1).any())
        self.videos = np.full(len(questions.counts), len(questions.counts), dtype=np.uint64)

    def means(self) -> np.ndarray:
        """The mean of every video drawn in the next replicate."""
        drawn = self._videos()
        counts = self.questions.counts[drawn]
        picks = self._questions(drawn, counts)
        picks += np.repeat(self.questions.starts[drawn], counts)
        ends = counts.cumsum()
        right = np.add.reduceat(self.questions.correct[picks], ends - counts, dtype=np.int64)
        return np.asarray(right / counts)

    def _videos(self) -> np.ndarray:
        if len(self.videos) == 1:
            return np.zeros(1, dtype=np.int64)
        return indices_below(self.words, self.videos, len(self.videos))

    def _questions(self, drawn: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """A position within its video for every question drawn; a lone question takes no word."""
        bounds = self.bounds[drawn].repeat(counts)
        if not self.lone:
            return indices_below(self.words, bounds, self.largest)
        picks = np.zeros(len(bounds), dtype=np.int64)
        if (several := bounds > 1).any():
            picks[several] = indices_below(self.words, bounds[several], self.largest)
        return picks


NAN = math.nan


class SummaryRow(NamedTuple):
    """One line of `summary.csv`; the last column is called `count` there."""

    level: str
    name: str
    accuracy: float
    ci_low: float
    ci_high: float
    questions: int


def summarise(
    results: OfficialResults,
    *,
    limit_s: float | None,
    replicates: int = 1000,
    seed: int = 42,
    kernel: Kernel = "auto",
) -> list[SummaryRow]:
    """The lines of `summary.csv` for these results."""
    videos = [video if _is_named(video) else None for video in results.video]
    correct = np.array(results.correctness, dtype=bool)
    labels = {
        "leaf": results.primary,
        "group": results.groups,
        "answer_format": results.answer_format,
        "overall": ["MEAN"] * len(correct),
    }
    slices = [(level, name, members) for level, names in labels.items() for name, members in _slices(names)]
    if kernel == "auto":
        draws = replicates * sum(len(members) + _ROUND for _, _, members in slices)
        kernel = "numba" if _is_worth_compiling(draws) else "numpy"
    bootstrap = OfficialBootstrap(seed=seed, replicates=replicates, kernel=kernel)
    lines = []
    for level, name, members in slices:
        of_members = [videos[i] for i in members]
        _check_keys(of_members)
        point, low, high = bootstrap.interval(correct[members], of_members)
        lines.append(SummaryRow(level, name, point, low, high, len(members)))
    if limit_s is not None:
        lines.append(SummaryRow("latency", "timed_out", NAN, NAN, NAN, sum(results.timed_out)))
    score, buckets = pre_evaluation(results)
    return [*lines, SummaryRow("pre_evaluation", "SCORE", score, NAN, NAN, len(buckets))]


def _is_worth_compiling(draws: int) -> bool:
    """Whether the compiled kernel is quicker, which takes a third of a second to load."""
    if "numba" in sys.modules:
        return True
    return draws > WORTH_COMPILING and importlib.util.find_spec("numba") is not None


def pre_evaluation(results: OfficialResults) -> tuple[float, dict[tuple[str, bool], tuple[float, int]]]:
    """The primary result, and accuracy and size of every populated (group, ood) bucket.

    A row belongs to a bucket when its `ood` equals the truth value, in Python's sense: 1 is True,
    the text "true" is neither.
    """
    members: dict[tuple[str, bool], list[bool]] = {}
    for group, stated, correct in zip(results.groups, results.ood, results.correctness, strict=True):
        for ood in (False, True):
            if stated == ood:
                members.setdefault((group, ood), []).append(correct)
    buckets = {key: (sum(members[key]) / len(members[key]), len(members[key])) for key in sorted(members)}
    if not buckets:
        return NAN, {}
    accuracies = np.array([accuracy for accuracy, _ in buckets.values()])
    return float(accuracies.sum() / len(accuracies)), buckets


def _slices(keys: list[Any]) -> list[tuple[str, list[int]]]:
    members: dict[Any, list[int]] = {}
    for index, key in enumerate(keys):
        if key is not None and key == key:
            members.setdefault(key, []).append(index)
    ordered = sorted(members, key=lambda key: (isinstance(key, str), key))
    return [(str(key), members[key]) for key in ordered]


def _check_keys(videos: Sequence[Any]) -> None:
    """Stop where the toolkit looks up a drawn video under a changed name (numbers turned into text)."""
    known = {video for video in videos if video is not None}
    if not set(map(type, known)) <= {str} and any(drawn not in known for drawn in np.array(list(known)).tolist()):
        problem = "video identifiers change when drawn, because they mix text and numbers (KeyError in the toolkit)"
        raise OfficialAborts("the official toolkit stops on this input", [problem])


def _is_named(video: Any) -> bool:
    return video is not None and video == video
