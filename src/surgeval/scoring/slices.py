"""The slices every FOCUS number is made of: buckets, formats, overall, and the headline over buckets.

A bucket is a capability group, in or out of distribution; its name is the platform's payload key
without the prefix (`object_recognition_id`). The headline is the unweighted mean over the populated
buckets of their accuracies (focus specification 4.5). A question that does not say whether it is out
of distribution counts as in distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from surgeval.schema.taxonomy import Capability

HEADLINE = ("headline", "headline")
OVERALL = ("overall", "overall")
Slice = tuple[str, str]
"""Level (`headline`, `overall`, `bucket`, `format`) and name."""


class SliceValue(NamedTuple):
    """The accuracy in a slice under both estimands."""

    rows: float
    """Mean over questions; for the headline, over buckets of these."""
    videos: float
    """Mean over videos of their means; for the headline, over buckets of these."""
    right: int
    questions: int
    video_count: int


def bucket_name(capability: Capability, ood: bool | None) -> str:
    """The bucket of a question.

    Example:
        >>> bucket_name(Capability.OBJECT_IDENTIFICATION, None)
        'object_recognition_id'
    """
    return f"{capability.group.value}_{'ood' if ood else 'id'}"


class Slices:
    """Questions sorted into slices once, so that any number of score columns can be averaged.

    Example:
        >>> slices = Slices(["v1", "v1", "v2"], ["a_id", "a_id", "a_ood"], ["time", "time", "number"])
        >>> slices.values([1, 0, 1])["headline", "headline"].rows
        0.75
    """

    def __init__(self, videos: Sequence[str], buckets: Sequence[str], formats: Sequence[str]) -> None:
        self._video = np.unique(np.asarray(videos, dtype=object).astype(str), return_inverse=True)[1]
        self._members: dict[Slice, npt.NDArray[np.intp]] = {OVERALL: np.arange(len(videos))}
        self._members |= {("bucket", name): rows for name, rows in rows_of(buckets).items()}
        self._members |= {("format", name): rows for name, rows in rows_of(formats).items()}

    @property
    def names(self) -> list[Slice]:
        """Every slice, headline first."""
        return [HEADLINE, *self._members]

    def values(self, scores: npt.ArrayLike) -> dict[Slice, SliceValue]:
        """The accuracy in every slice. NaN means not scored: left out of the mean, and of the counts."""
        column = np.asarray(scores, dtype=np.float64)
        by_slice = {name: self._value(column[rows], self._video[rows]) for name, rows in self._members.items()}
        return {HEADLINE: _headline(by_slice), **by_slice}

    @staticmethod
    def _value(scores: npt.NDArray[np.float64], videos: npt.NDArray[np.intp]) -> SliceValue:
        scored = ~np.isnan(scores)
        scores, videos = scores[scored], videos[scored]
        if not scores.size:
            return SliceValue(math.nan, math.nan, 0, 0, 0)
        counts = np.bincount(videos)
        present = counts > 0
        means = np.bincount(videos, weights=scores)[present] / counts[present]
        right = int(scores.sum())
        return SliceValue(float(scores.mean()), float(means.mean()), right, len(scores), int(present.sum()))


def _headline(by_slice: Mapping[Slice, SliceValue]) -> SliceValue:
    buckets = [value for (level, _), value in by_slice.items() if level == "bucket" and value.questions]
    whole = by_slice[OVERALL]
    if not buckets:
        return SliceValue(math.nan, math.nan, 0, 0, 0)
    rows, videos = (math.fsum(v[i] for v in buckets) / len(buckets) for i in (0, 1))
    return SliceValue(rows, videos, whole.right, whole.questions, whole.video_count)


def rows_of(labels: Sequence[str] | pl.Series) -> dict[str, npt.NDArray[np.intp]]:
    """The indices that carry each label, labels sorted.

    Example:
        >>> {label: rows.tolist() for label, rows in rows_of(["b", "a", "b"]).items()}
        {'a': [1], 'b': [0, 2]}
    """
    names, codes = codes_of(pl.Series(labels, dtype=pl.String))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]
    return dict(zip(names, np.split(order, ends), strict=True)) if names else {}


def codes_of(labels: pl.Series) -> tuple[list[str], npt.NDArray[np.intp]]:
    """The different labels, sorted, and for each row the place of its label among them."""
    names = labels.unique().sort()
    codes = labels.replace_strict(names, pl.int_range(len(names), eager=True), return_dtype=pl.Int64)
    return names.to_list(), codes.to_numpy().astype(np.intp, copy=False)
