"""Stage 2, localization: one set of boxes out of the boxes of several annotators, and how well they agree.

Boxes of one second that mean the same object are gathered: pairs of different annotators that overlap
enough, those of the same class first and the largest overlap first, are joined as long as no annotator
would come to stand twice in a gathering. A gathering is kept when more than half of those who were shown
the second drew it; its class is the most voted, its borders are the medians of the borders.

Agreement per class is Krippendorff's alpha on "is the class in this second", over the seconds shown, with
whole videos resampled; beside it stands the mean overlap of any two boxes that mean the same object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.questions.stages.box_tables import (
    BOX_COLUMNS,
    FRAME_KEY,
    SIDES,
    Floats,
    checked_boxes,
    frames_of,
    matched,
    needed_columns,
    overlap_matrix,
)
from surgvalid.stats.agreement.report import agreement

_FUSED = dict.fromkeys(BOX_COLUMNS, pl.String) | {"second": pl.Int64} | dict.fromkeys(SIDES, pl.Float64)


@dataclass(frozen=True)
class Localization:
    """Fused boxes and how well their annotators agree."""

    boxes: pl.DataFrame
    """video, second, class_name, x, y, width, height, votes, shown_to, class_votes, overlap, kept, queued."""
    agreement: pl.DataFrame
    """class_name, alpha, low, high, seconds, overlap (mean of pairs of boxes that mean the same object)."""

    @property
    def kept(self) -> pl.DataFrame:
        """The boxes that more than half of the annotators drew."""
        return self.boxes.filter("kept").select(BOX_COLUMNS)


def fuse(table: Any, *, shown: Any = None, least: float = 0.5, replicates: int = 1000, seed: int = 42) -> Localization:
    """One set of boxes out of those of several annotators.

    A box is queued when its fate hung on one vote: exactly half drew it, or no class has most of its votes.

    Args:
        table: One row per box: video, second, class_name, x, y, width, height, annotator.
        shown: Who was shown which second: video, second, annotator. If left out, everybody who drew in a
            video was shown every second of it in which anybody drew.
        least: Smallest overlap of two boxes that mean the same object.
        replicates: Resamples of videos behind the intervals of agreement.
        seed: Seed of the resamples.

    Raises:
        TableInvalid: With every problem of the tables.
        Misuse: `least` is no overlap.
    """
    if not 0 < least <= 1:
        raise Misuse(f"the least overlap lies in (0, 1], got {least}")
    frame = checked_boxes(table, "boxes", extra=("annotator",))
    seen = _shown(frame, shown)
    audience = {(video, second): count for video, second, count in seen.group_by(FRAME_KEY).len().rows()}
    boxes, names, who = frame.select(SIDES).to_numpy(), frame["class_name"].to_list(), frame["annotator"].to_list()
    rows: list[dict[str, Any]] = []
    for key, span in frames_of(frame):
        for members in gatherings(boxes[span], names[span], who[span], least=least):
            chosen = [span.start + i for i in members]
            rows.append(_fused(key, boxes[chosen], [names[i] for i in chosen], audience[key]))
    more = {"votes": pl.Int64, "shown_to": pl.Int64, "class_votes": pl.Int64, "overlap": pl.Float64}
    fused = pl.DataFrame(rows, schema=_FUSED | more | {"kept": pl.Boolean, "queued": pl.Boolean})
    return Localization(fused, _agreement(frame, seen, fused, replicates, seed))


def gatherings(boxes: Floats, names: Sequence[str], who: Sequence[str], *, least: float) -> list[list[int]]:
    """Boxes of one second, gathered into those that mean the same object.

    Example:
        >>> pair = np.array([[0.0, 0, 10, 10], [1, 0, 10, 10], [50, 50, 9, 9]])
        >>> gatherings(pair, ["Clip"] * 3, ["a", "b", "b"], least=0.5)
        [[0, 1], [2]]
    """
    overlap = overlap_matrix(boxes, boxes)
    first, second = np.nonzero(np.triu(overlap >= least, 1))
    pairs = sorted(
        zip(first.tolist(), second.tolist(), strict=True),
        key=lambda pair: (names[pair[0]] != names[pair[1]], -overlap[pair], pair),
    )
    home = list(range(len(boxes)))
    groups = {i: [i] for i in home}
    for i, j in pairs:
        a, b = sorted((home[i], home[j]))
        if a != b and not {who[k] for k in groups[a]} & {who[k] for k in groups[b]}:
            for k in groups[b]:
                home[k] = a
            groups[a] += groups.pop(b)
    return [sorted(members) for members in groups.values()]


def gold_check(table: Any, gold: Any, *, least: float = 0.5, pass_mark: float = 0.8) -> pl.DataFrame:
    """How each annotator does on seconds whose boxes are known: the gold questions.

    Args:
        table: Boxes with an annotator, as for `fuse`. Seconds that are not gold are left aside.
        gold: The known boxes: video, second, class_name, x, y, width, height.
        least: Smallest overlap of a box that is found.
        pass_mark: The F1 from which on an annotator passes.

    Returns:
        annotator, known, drawn, found, right_class, recall, precision, class_share, overlap, f1, passed.
        Found means a box in the right place; F1 counts those of the right class.
    """
    known, drawn = checked_boxes(gold, "gold boxes"), checked_boxes(table, "boxes", extra=("annotator",))
    if known.is_empty():
        raise TableInvalid("gold boxes", ["there is none"])
    rows = [_gold_row(name, known, boxes, least) for (name,), boxes in drawn.group_by("annotator")]
    two = 2 * pl.col("right_class") / (pl.col("known") + pl.col("drawn"))
    return (
        pl.DataFrame(rows)
        .with_columns(
            recall=pl.col("found") / pl.col("known"),
            precision=_share("found", "drawn"),
            class_share=_share("right_class", "found"),
            f1=two,
        )
        .with_columns(passed=pl.col("f1") >= pass_mark)
        .sort("annotator")
    )


def _share(numerator: str, whole: str) -> pl.Expr:
    return pl.when(pl.col(whole) > 0).then(pl.col(numerator) / pl.col(whole))


def _gold_row(name: object, known: pl.DataFrame, boxes_drawn: pl.DataFrame, least: float) -> dict[str, Any]:
    boxes_drawn = boxes_drawn.join(known.select(FRAME_KEY).unique(), on=FRAME_KEY, how="semi").sort(FRAME_KEY)
    parts = dict(frames_of(boxes_drawn))
    boxes, classes = boxes_drawn.select(SIDES).to_numpy(), boxes_drawn["class_name"].to_numpy()
    overlaps, right = [], 0
    for key, rows in frames_of(known):
        at = parts.get(key, slice(0, 0))
        names = known["class_name"][rows].to_numpy()
        same = (names[:, None] == classes[at][None, :]).astype(np.float64)
        for pair in matched(known.select(SIDES)[rows].to_numpy(), boxes[at], least=least, bonus=same):
            overlaps.append(pair.overlap)
            right += int(same[pair.first, pair.second])
    return {
        "annotator": name,
        "known": known.height,
        "drawn": boxes_drawn.height,
        "found": len(overlaps),
        "right_class": right,
        "overlap": float(np.mean(overlaps)) if overlaps else None,
    }


def _fused(key: tuple[str, int], boxes: Floats, names: list[str], shown_to: int) -> dict[str, Any]:
    borders = np.median(np.column_stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]), axis=0)
    votes = Counter(names)
    best = max(votes.values())
    winners = sorted(name for name, count in votes.items() if count == best)
    overlap = overlap_matrix(boxes, boxes)[np.triu_indices(len(boxes), 1)]
    return {
        "video": key[0],
        "second": key[1],
        "class_name": winners[0],
        "x": borders[0],
        "y": borders[1],
        "width": borders[2] - borders[0],
        "height": borders[3] - borders[1],
        "votes": len(names),
        "shown_to": shown_to,
        "class_votes": best,
        "overlap": float(overlap.mean()) if overlap.size else None,
        "kept": 2 * len(names) > shown_to,
        "queued": 2 * len(names) == shown_to or (2 * len(names) > shown_to and 2 * best <= len(names)),
    }


def _shown(frame: pl.DataFrame, shown: Any) -> pl.DataFrame:
    if shown is None:
        everybody = frame.select("video", "annotator").unique()
        return frame.select(FRAME_KEY).unique().join(everybody, on="video").sort(*FRAME_KEY, "annotator")
    seen = needed_columns(shown, (*FRAME_KEY, "annotator"), "seconds shown")
    seen = seen.cast({"video": pl.String, "second": pl.Int64, "annotator": pl.String}, strict=False).unique()
    stray = frame.join(seen, on=[*FRAME_KEY, "annotator"], how="anti")
    if stray.height:
        first = stray.row(0, named=True)
        raise TableInvalid(
            "seconds shown",
            [
                f"{stray.height} boxes lie in seconds that their annotator was not shown "
                f"(first: {first['annotator']!r}, video {first['video']!r}, second {first['second']})"
            ],
        )
    return seen.sort(*FRAME_KEY, "annotator")


def _agreement(
    frame: pl.DataFrame, seen: pl.DataFrame, fused: pl.DataFrame, replicates: int, seed: int
) -> pl.DataFrame:
    rows = []
    overlap = dict(fused.group_by("class_name").agg(pl.col("overlap").mean()).rows())
    raters = seen["annotator"].n_unique()
    for name in frame["class_name"].unique().sort():
        drew = frame.filter(pl.col("class_name") == name).select(*FRAME_KEY, "annotator").unique()
        units = seen.join(drew.with_columns(said=pl.lit("yes")), on=[*FRAME_KEY, "annotator"], how="left")
        units = units.with_columns(pl.col("said").fill_null("no"))
        line: dict[str, Any] = {"value": None, "low": None, "high": None}
        if raters > 1:
            result = agreement(
                units, unit="second", rater="annotator", label="said", video="video", replicates=replicates, seed=seed
            )
            line = result.table.filter(pl.col("coefficient").str.starts_with("krippendorff")).row(0, named=True)
        rows.append(
            {"class_name": name, "alpha": line["value"], "low": line["low"], "high": line["high"]}
            | {"seconds": seen.select(FRAME_KEY).n_unique(), "overlap": overlap.get(name)}
        )
    kinds: dict[str, Any] = {"class_name": pl.String, "alpha": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=kinds | {"seconds": pl.Int64, "overlap": pl.Float64})
