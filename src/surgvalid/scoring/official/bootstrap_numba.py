"""The compiled twin of `bootstrap._Replicator`: the same words, the same counts, the same means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from surgvalid.scoring.official.summary import OfficialSlice, WordStream


def replicate_means(words: WordStream, questions: OfficialSlice, replicates: int) -> np.ndarray:
    """The mean of every drawn video: `means[replicate, draw]`."""
    videos = len(questions.counts)
    means = np.empty((replicates, videos))
    most_words = videos * (1 + int(questions.counts.max()))
    done = 0
    while done < replicates:
        done, words.at = _walk(
            words.buffer, words.at, questions.correct, questions.counts, questions.starts, means, done
        )
        if done < replicates:
            words.fill(len(words.buffer) - words.at + most_words)
    return means


@njit(cache=True, nogil=True)
def _index(buffer, at, bound):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """The next index below `bound`, and the position after it (past the end when starved)."""
    if bound == 1:
        return 0, at
    while at < len(buffer):
        product = np.uint64(buffer[at]) * np.uint64(bound)
        at += 1
        low = np.int64(product & np.uint64(0xFFFFFFFF))
        if low >= bound or low >= ((1 << 32) - bound) % bound:
            return np.int64(product >> np.uint64(32)), at
    return 0, len(buffer) + 1


@njit(cache=True, nogil=True)
def _walk(buffer, at, correct, counts, starts, means, first):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Replicates from `first` on, as far as the buffer reaches."""
    videos = len(counts)
    drawn = np.empty(videos, dtype=np.int64)
    for replicate in range(first, len(means)):
        begin = at
        for i in range(videos):
            drawn[i], at = _index(buffer, at, videos)
        if at > len(buffer):
            return replicate, begin
        for i in range(videos):
            video = drawn[i]
            right = 0
            for _ in range(counts[video]):
                pick, at = _index(buffer, at, counts[video])
                right += correct[starts[video] + pick]
            means[replicate, i] = right / counts[video]
            if at > len(buffer):
                return replicate, begin
    return len(means), at
