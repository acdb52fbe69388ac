"""Random draws: independent named streams, and resamples as counts instead of copies.

A resample of videos is a vector of counts, so every statistic of it is a weighted statistic of the
original rows and no resample is ever written out. All models share the counts, which makes every
comparison paired by construction.
"""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *purpose: str) -> np.random.Generator:
    """The random stream for one purpose, independent of every other purpose under the same seed.

    The name decides the stream, not the order of the calls: asking for one slice more never changes
    the result of another.

    Example:
        >>> stream(42, "bootstrap", "overall").integers(0, 100, 3).tolist()
        [77, 69, 68]
    """
    digest = hashlib.blake2b("\x1f".join(purpose).encode(), digest_size=16).digest()
    words = np.frombuffer(digest, dtype=np.uint32).tolist()
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))


def video_counts(videos: int, replicates: int, rng: np.random.Generator) -> np.ndarray:
    """How often each video is drawn in each replicate: `counts[replicate, video]`, rows sum to `videos`.

    Drawing `videos` times with replacement is one multinomial draw per replicate.

    Example:
        >>> video_counts(3, 2, stream(0, "example")).sum(axis=1).tolist()
        [3, 3]
    """
    return rng.multinomial(videos, np.full(videos, 1.0 / videos), size=replicates)
