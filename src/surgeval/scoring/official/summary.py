"""The toolkit's summary: two estimators side by side, and a bootstrap on one shared stream.

`pre_evaluation` is the flat mean per (group, ood) bucket, then the mean of the buckets. All other
rows are the mean of per-video means with a two-level percentile bootstrap. The slices share one
random stream in the order leaf, group, answer format, overall, so each interval depends on the
slices before it; the native profile does not have that property.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from surgeval.errors import OfficialAborts
from surgeval.schema.taxonomy import Capability
from surgeval.scoring.official.bootstrap import Kernel, OfficialBootstrap
from surgeval.scoring.official.decisions import OfficialRow

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
    rows: Sequence[OfficialRow],
    *,
    limit_s: float | None,
    replicates: int = 1000,
    seed: int = 42,
    kernel: Kernel = "auto",
) -> list[SummaryRow]:
    """The lines of `summary.csv` for these results."""
    videos = [row.video if _is_named(row.video) else None for row in rows]
    correct = np.array([row.correctness for row in rows], dtype=bool)
    bootstrap = OfficialBootstrap(seed=seed, replicates=replicates, kernel=kernel)
    lines = []
    for level, key in _LEVELS:
        for name, members in _slices([key(row) for row in rows]):
            of_members = [videos[i] for i in members]
            _check_keys(of_members)
            point, low, high = bootstrap.interval(correct[members], of_members)
            lines.append(SummaryRow(level, name, point, low, high, len(members)))
    if limit_s is not None:
        late = sum(row.timed_out for row in rows)
        lines.append(SummaryRow("latency", "timed_out", NAN, NAN, NAN, late))
    score, buckets = pre_evaluation(rows)
    return [*lines, SummaryRow("pre_evaluation", "SCORE", score, NAN, NAN, len(buckets))]


def pre_evaluation(rows: Sequence[OfficialRow]) -> tuple[float, dict[tuple[str, bool], tuple[float, int]]]:
    """The headline score, and accuracy and size of every populated (group, ood) bucket.

    A row belongs to a bucket when its `ood` equals the truth value, in Python's sense: 1 is True,
    the text "true" is neither.
    """
    members: dict[tuple[str, bool], list[bool]] = {}
    for row in rows:
        for ood in (False, True):
            if row.ood == ood:
                members.setdefault((_group(row), ood), []).append(row.correctness)
    buckets = {key: (sum(members[key]) / len(members[key]), len(members[key])) for key in sorted(members)}
    if not buckets:
        return NAN, {}
    accuracies = np.array([accuracy for accuracy, _ in buckets.values()])
    return float(accuracies.sum() / len(accuracies)), buckets


def _group(row: OfficialRow) -> str:
    return Capability(row.primary).group.value


_LEVELS: tuple[tuple[str, Callable[[OfficialRow], Any]], ...] = (
    ("leaf", lambda row: row.primary),
    ("group", _group),
    ("answer_format", lambda row: row.answer_format),
    ("overall", lambda _row: "MEAN"),
)


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
    if any(drawn not in known for drawn in np.array(list(known)).tolist()):
        problem = "video identifiers change when drawn, because they mix text and numbers (KeyError in the toolkit)"
        raise OfficialAborts("the official toolkit stops on this input", [problem])


def _is_named(video: Any) -> bool:
    return video is not None and video == video
