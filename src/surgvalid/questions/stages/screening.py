"""Stage 1, presence screening: what short clips show, from the words of several crowd workers.

Model (Dawid and Skene 1979, Applied Statistics 28:20, for two answers): whether a clip shows a class is a
hidden coin whose bias is the prevalence of the class; given the truth, workers answer independently, worker
w says yes with chance `sensitivity[w]` if it is there and `1 - specificity[w]` if not. The maximum is found
by EM from the shares of yes.

Two decisions. A worker has one sensitivity and one specificity for all classes, because one worker rarely
sees a rare class often enough for numbers of its own. And every rate carries `prior` imaginary answers of
either kind (a beta prior), so that a worker with three answers is never held to be infallible.

What it cannot know: an object that is hard to see for everybody is overlooked by all at once, against the
assumption of independence, and such a clip looks certain. The detector of stage 3 is there for those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.questions.stages.box_tables import needed_columns

Floats = NDArray[np.float64]
_CLIP = ("video", "clip", "class_name")
_MOST_STEPS = 1000
_SETTLED = 1e-9


class Votes(NamedTuple):
    """Who said what about which item, as indices."""

    item: NDArray[np.int64]
    worker: NDArray[np.int64]
    yes: NDArray[np.bool_]
    group: NDArray[np.int64]
    """The class of each item."""
    workers: int


class RateEstimate(NamedTuple):
    """What EM settled on."""

    probability: Floats
    """Per item, that it is there."""
    sensitivity: Floats
    specificity: Floats
    prevalence: Floats
    """Per class."""
    settled: bool


@dataclass(frozen=True)
class Screening:
    """Clips with their verdicts, and workers with their quality."""

    clips: pl.DataFrame
    """video, clip, class_name, votes, yes, majority, probability, present, queued."""
    workers: pl.DataFrame
    """worker, answers, sensitivity, specificity, informedness (1 knows all, 0 guesses)."""
    settled: bool

    @property
    def queue(self) -> pl.DataFrame:
        """The clips somebody should look at again, the most doubtful first."""
        doubt = (pl.col("probability") - 0.5).abs()
        return self.clips.filter("queued").sort(doubt, *_CLIP)


def screen(table: Any, *, certain: float = 0.95, least_votes: int = 2, prior: float = 1.0) -> Screening:
    """What the clips show, how good the workers are, and which clips need another look.

    Args:
        table: One row per answer: video, clip, class_name, worker, present.
        certain: A clip is queued unless presence or absence is at least this probable.
        least_votes: A clip with fewer answers is queued in any case.
        prior: Imaginary answers of each kind behind every rate.

    Raises:
        TableInvalid: With every problem of the table.
        Misuse: An option out of its range.
    """
    if not 0.5 <= certain < 1 or prior <= 0 or least_votes < 1:
        raise Misuse(
            "screening needs certain in [0.5, 1), prior above 0 and least_votes from 1 on, "
            f"got {certain}, {prior}, {least_votes}"
        )
    frame = _checked(table)
    items = frame.group_by(_CLIP).agg(votes=pl.len(), yes=pl.col("present").sum()).sort(_CLIP)
    workers = frame.group_by("worker").agg(answers=pl.len()).sort("worker")
    estimate = dawid_skene(_votes(frame, items, workers), prior=prior)
    sure = (pl.col("probability") >= certain) | (pl.col("probability") <= 1 - certain)
    clips = items.with_columns(
        majority=pl.col("yes") * 2 > pl.col("votes"), probability=pl.Series(estimate.probability)
    ).with_columns(present=pl.col("probability") > 0.5, queued=~sure | (pl.col("votes") < least_votes))
    quality = workers.with_columns(
        sensitivity=pl.Series(estimate.sensitivity), specificity=pl.Series(estimate.specificity)
    ).with_columns(informedness=pl.col("sensitivity") + pl.col("specificity") - 1)
    return Screening(clips, quality, estimate.settled)


def dawid_skene(votes: Votes, *, prior: float = 1.0) -> RateEstimate:
    """Probabilities of the items and rates of the workers that explain the votes best."""
    items = len(votes.group)
    count = np.bincount(votes.item, minlength=items)
    probability = np.bincount(votes.item, votes.yes, minlength=items) / np.maximum(count, 1)
    for _ in range(_MOST_STEPS):
        rates = _rates(votes, probability, prior)
        updated = _posterior(votes, *rates)
        moved = float(np.abs(updated - probability).max(initial=0.0))
        probability = updated
        if moved < _SETTLED:
            break
    return RateEstimate(probability, *rates, moved < _SETTLED)


def _rates(votes: Votes, probability: Floats, prior: float) -> tuple[Floats, Floats, Floats]:
    """The step that maximises: rates of workers and prevalences of classes, given the items."""
    there = probability[votes.item]

    def share(weight: Floats, hit: NDArray[np.bool_]) -> Floats:
        hits = np.bincount(votes.worker, weight * hit, minlength=votes.workers)
        return np.asarray((hits + prior) / (np.bincount(votes.worker, weight, minlength=votes.workers) + 2 * prior))

    prevalence = (np.bincount(votes.group, probability) + prior) / (np.bincount(votes.group) + 2 * prior)
    return share(there, votes.yes), share(1 - there, ~votes.yes), np.asarray(prevalence)


def _posterior(votes: Votes, sensitivity: Floats, specificity: Floats, prevalence: Floats) -> Floats:
    """The step that expects: the probability of each item, given all rates."""
    says_yes = np.log(sensitivity) - np.log1p(-specificity)
    says_no = np.log1p(-sensitivity) - np.log(specificity)
    evidence = np.where(votes.yes, says_yes[votes.worker], says_no[votes.worker])
    odds = np.bincount(votes.item, evidence, minlength=len(votes.group))
    odds += (np.log(prevalence) - np.log1p(-prevalence))[votes.group]
    return np.asarray(0.5 * (1 + np.tanh(odds / 2)))


def _votes(frame: pl.DataFrame, items: pl.DataFrame, workers: pl.DataFrame) -> Votes:
    rows = frame.join(items.select(_CLIP).with_row_index("item"), on=_CLIP, maintain_order="left")
    rows = rows.join(workers.select("worker").with_row_index("who"), on="worker", maintain_order="left")
    return Votes(
        rows["item"].to_numpy().astype(np.int64),
        rows["who"].to_numpy().astype(np.int64),
        rows["present"].to_numpy().astype(bool),
        np.unique(items["class_name"].to_numpy().astype(str), return_inverse=True)[1].astype(np.int64),
        workers.height,
    )


def _checked(table: Any) -> pl.DataFrame:
    frame = needed_columns(table, (*_CLIP, "worker", "present"), "screening")
    problems = []
    if frame["present"].dtype != pl.Boolean:
        problems.append(f"column 'present' must hold true or false, got {frame['present'].dtype}")
    repeated = frame.group_by(*_CLIP, "worker").len().filter(pl.col("len") > 1).sort(*_CLIP, "worker")
    problems += [
        f"worker {row['worker']!r} answered {row['len']} times on {row['class_name']!r} in clip {row['clip']} "
        f"of {row['video']!r}"
        for row in repeated.head(20).to_dicts()
    ]
    if frame.is_empty():
        problems.append("there is no answer at all")
    if problems:
        raise TableInvalid("screening", problems)
    return frame
