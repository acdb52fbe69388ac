"""How much single questions and single videos weigh in the headline score.

The headline gives every bucket the same weight, so one question in a bucket of its own can be worth a
third of the score. Leverage makes that visible: the weight of a question, and how far the headline
moves when a video is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from surgeval.results.tables import scoring as tables
from surgeval.schema.findings import Finding, Severity

TINY_VIDEOS = 13
"""Below this number of videos, twenty models can never be told apart at 5 % (Holm over 190 pairs)."""


def question_weights(buckets: Mapping[str, np.ndarray]) -> pl.DataFrame:
    """The weight of one question of each bucket in the headline."""
    sizes = {name: len(rows) for name, rows in buckets.items() if len(rows)}
    return tables.LEVERAGE_QUESTIONS.frame(
        {
            "bucket": list(sizes),
            "questions": list(sizes.values()),
            "weight_of_bucket": [1 / len(sizes)] * len(sizes),
            "weight_of_question": [1 / (len(sizes) * size) for size in sizes.values()],
        }
    )


def video_influence(
    values: np.ndarray, videos: np.ndarray, video_names: Sequence[str], buckets: Mapping[str, np.ndarray]
) -> pl.DataFrame:
    """How the headline changes when each video is left out, largest change first.

    Args:
        values: 1 right, 0 wrong, NaN not scored, per question.
        videos: Code of each question's video.
        video_names: The names behind the codes.
        buckets: Indices of the questions of each bucket.
    """
    scored = ~np.isnan(values)
    whole, without = [], []
    for rows in buckets.values():
        kept = rows[scored[rows]]
        right = np.bincount(videos[kept], weights=values[kept], minlength=len(video_names))
        count = np.bincount(videos[kept], minlength=len(video_names)).astype(float)
        if count.sum():
            whole.append(right.sum() / count.sum())
            left = count.sum() - count
            without.append(np.divide(right.sum() - right, left, out=np.full(len(left), np.nan), where=left > 0))
    if not whole:
        return tables.LEVERAGE_VIDEOS.frame([])
    stacked = np.stack(without)
    present = ~np.isnan(stacked)
    headline = np.where(present, stacked, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    headline = np.where(present.any(axis=0), headline, np.nan)
    table = tables.LEVERAGE_VIDEOS.frame(
        {
            "video": list(video_names),
            "questions": np.bincount(videos, minlength=len(video_names)),
            "headline_without": headline,
            "change": headline - float(np.mean(whole)),
        }
    )
    return table.sort(pl.col("change").abs(), descending=True, maintain_order=True)


def bucket_warnings(buckets: Mapping[str, np.ndarray], videos: np.ndarray, expected: Sequence[str]) -> list[Finding]:
    """Warnings on buckets that are missing, consist of one question, or rest on few videos."""
    sizes = {name: len(buckets.get(name, ())) for name in expected}
    in_videos = {name: len(np.unique(videos[buckets[name]])) for name in expected if sizes[name]}
    empty = [name for name in expected if not sizes[name]]
    orphans = [name for name in expected if sizes[name] == 1]
    tiny = [f"{name} ({in_videos[name]})" for name in in_videos if sizes[name] > 1 and in_videos[name] < TINY_VIDEOS]
    share = 1 / max(len(in_videos), 1)
    texts = {
        "unpopulated-bucket": (empty, "without a question; the headline is a mean over the other buckets"),
        "orphan-bucket": (orphans, f"with a single question, which carries {share:.0%} of the headline"),
        "tiny-bucket": (tiny, f"with fewer than {TINY_VIDEOS} videos, where differences can hardly show"),
    }
    return [
        Finding(code, Severity.WARNING, f"{len(names)} of {len(expected)} buckets {text}: {', '.join(names)}")
        for code, (names, text) in texts.items()
        if names
    ]
