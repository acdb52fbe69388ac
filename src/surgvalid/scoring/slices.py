"""The slices of questions: which there are, their accuracies, and what single questions and videos weigh.

The slices every FOCUS number is made of: buckets, formats, overall, and the primary result over buckets.

A bucket is a capability group, in or out of distribution; its name is the platform's payload key
without the prefix (`object_recognition_id`). The primary result is the unweighted mean over the populated
buckets of their accuracies (focus specification 4.5). A question that does not say whether it is out
of distribution counts as in distribution.

The slices of the questions that a native summary reports: level and name to the questions in each.

| level | slices |
|---|---|
| `overall` | all questions |
| `bucket`, `clinical_bucket` | capability group, in or out of distribution; of all and of the clinical questions |
| `group`, `leaf`, `answer_format`, `clinical` | what a question is, once each |
| `secondary` | further capabilities; a question with two of them lies in both, one without any in `(none)` |
| `context` | how long the stretch is that a question is about |

How much single questions and single videos weigh in the primary result.

The primary result gives every bucket the same weight, so one question in a bucket of its own can be worth a
third of the score. Leverage makes that visible: the weight of a question, and how far the primary result
moves when a video is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from surgvalid.errors import Misuse
from surgvalid.results.tables import scoring as tables
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.stats.intervals.slices import labels_of

HEADLINE = ("headline", "headline")
OVERALL = ("overall", "overall")
Slice = tuple[str, str]
"""Level (`headline`, `overall`, `bucket`, `format`) and name."""


class SliceValue(NamedTuple):
    """The accuracy in a slice under both estimands."""

    rows: float
    """Mean over questions; for the primary result, over buckets of these."""
    videos: float
    """Mean over videos of their means; for the primary result, over buckets of these."""
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
        """Every slice, primary result first."""
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


TINY_VIDEOS = 13
"""Below this number of videos, twenty models can never be told apart at 5 % (Holm over 190 pairs)."""


def question_weights(buckets: Mapping[str, np.ndarray]) -> pl.DataFrame:
    """The weight of one question of each bucket in the primary result."""
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
    """How the primary result changes when each video is left out, largest change first.

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
        "unpopulated-bucket": (empty, "without a question; the primary result is a mean over the other buckets"),
        "orphan-bucket": (orphans, f"with a single question, which carries {share:.0%} of the primary result"),
        "tiny-bucket": (tiny, f"with fewer than {TINY_VIDEOS} videos, where differences can hardly show"),
    }
    return [
        Finding(code, Severity.WARNING, f"{len(names)} of {len(expected)} buckets {text}: {', '.join(names)}")
        for code, (names, text) in texts.items()
        if names
    ]


CONTEXT_S = (30.0, 300.0)
"""Lengths between which a context is medium: the design names short, medium and long, and no lengths."""
NO_SECONDARY = "(none)"


def question_slices(frame: pl.DataFrame, context_s: Sequence[float] = CONTEXT_S) -> dict[Slice, np.ndarray]:
    """Every slice of the questions of `results`, in the order of the summary."""
    slices: dict[Slice, np.ndarray] = {("overall", "all questions"): np.arange(frame.height)}
    buckets, clinical = bucket_rows(frame), frame["clinical"].fill_null(False).to_numpy()
    slices |= {("bucket", name): rows for name, rows in buckets.items()}
    slices |= {("clinical_bucket", n): rows[clinical[rows]] for n, rows in buckets.items() if clinical[rows].any()}
    whose = pl.when("clinical").then(pl.lit("clinical")).otherwise(pl.lit("technical only"))
    keys = frame.select("group", "answer_format", leaf="primary", clinical=whose)
    for level in ("group", "leaf", "answer_format", "clinical"):
        slices |= {(level, name): rows for name, rows in rows_of(keys[level]).items()}
    slices |= {("secondary", name): rows for name, rows in _secondary(frame).items()}
    slices |= {("context", name): rows for name, rows in _context(frame, context_s).items()}
    return slices


def bucket_rows(frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """The questions of every bucket."""
    ood = frame["ood"].fill_null(False).to_numpy()
    rows: dict[str, list[np.ndarray]] = {}
    for leaf, members in rows_of(frame["primary"]).items():
        for side in (False, True):
            rows.setdefault(bucket_name(Capability(leaf), side), []).append(members[ood[members] == side])
    joined = {name: np.sort(np.concatenate(rows[name])) for name in sorted(rows)}
    return {name: members for name, members in joined.items() if len(members)}


def context_names(edges: Sequence[float]) -> list[str]:
    """What the stretches between these lengths are called.

    Example:
        >>> context_names([30, 300])
        ['short (below 30 s)', 'medium (30 s to below 300 s)', 'long (300 s and more)']
    """
    ends = [
        f"below {edges[0]:g} s",
        *(f"{low:g} s to below {high:g} s" for low, high in pairwise(edges)),
        f"{edges[-1]:g} s and more",
    ]
    words = ("short", "medium", "long")
    return [f"{word} ({end})" for word, end in zip(words, ends, strict=True)] if len(ends) == len(words) else ends


def contexts_of(windows_s: pl.Series, edges: Sequence[float]) -> list[str]:
    """The name of the context of each question, from the length of its stretch."""
    names = np.array(context_names(edges), dtype=object)
    named: list[str] = names[np.searchsorted(edges, windows_s.to_numpy(), side="right")].tolist()
    return named


def check_context(edges: Sequence[float]) -> None:
    """Refuse lengths that cut nothing.

    Raises:
        Misuse: No length, or lengths that do not rise.
    """
    if not len(edges) or not all(np.isfinite(edges)) or sorted(set(edges)) != list(edges) or edges[0] <= 0:
        raise Misuse(f"context_s must be rising lengths in seconds above 0, such as 30,300; got {list(edges)}")


def slice_findings(slices: Mapping[Slice, np.ndarray], expected: Sequence[str]) -> list[Finding]:
    """What must be known about the questions behind the clinical primary result and the slices that overlap."""
    clinical = [name for level, name in slices if level == "clinical_bucket"]
    findings = []
    if not clinical:
        text = "No question is clinical, so there is no clinical primary result."
        findings.append(Finding("no-clinical", Severity.NOTE, text))
    elif len(clinical) < len([name for level, name in slices if level == "bucket"]):
        text = (
            f"The clinical primary result is a mean over {len(clinical)} of {len(expected)} buckets; the clinical "
            f"questions fill {', '.join(clinical)}."
        )
        findings.append(Finding("clinical-buckets", Severity.NOTE, text))
    labelled = [rows for (level, name), rows in slices.items() if level == "secondary" and name != NO_SECONDARY]
    if labelled and (several := int((np.bincount(np.concatenate(labelled)) > 1).sum())):
        text = f"Slices by secondary capability overlap: {several} questions carry several and count in each."
        findings.append(Finding("secondary-overlap", Severity.NOTE, text))
    return findings


def _secondary(frame: pl.DataFrame) -> dict[str, np.ndarray]:
    by_text = rows_of(frame["secondaries"])
    rows: dict[str, list[np.ndarray]] = {}
    for members, labels in zip(by_text.values(), labels_of(pl.Series(list(by_text))), strict=True):
        for label in set(labels) or {NO_SECONDARY}:
            rows.setdefault(label, []).append(members)
    order = [*sorted(rows.keys() - {NO_SECONDARY}), *([NO_SECONDARY] if NO_SECONDARY in rows else [])]
    return {} if order == [NO_SECONDARY] else {label: np.sort(np.concatenate(rows[label])) for label in order}


def _context(frame: pl.DataFrame, edges: Sequence[float]) -> dict[str, np.ndarray]:
    places = np.searchsorted(edges, frame["window_s"].to_numpy(), side="right")
    rows = {name: np.flatnonzero(places == place) for place, name in enumerate(context_names(edges))}
    return {name: members for name, members in rows.items() if len(members)}
