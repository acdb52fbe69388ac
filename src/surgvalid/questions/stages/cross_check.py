"""Stage 3, cross-check: annotated boxes against those of a detector that never trained on their video.

A detector errs box by box, so a single disagreement says little. Evidence is gathered along runs, chains of
annotated boxes of one class through neighbouring seconds:
    missing      a confident detection where nothing is annotated
    spurious     a whole run that no detection confirms, where the detector's recall makes that improbable
    wrong_class  a run whose confirming detections mostly name another class
    drifted      a box that the detection of its class overlaps too little, or has left behind
The recall of the detector is the share of confirmed boxes in runs that are confirmed at least once: such a run
is real, so that the share does not suffer from annotations that are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surgvalid.errors import InputInvalid, Misuse
from surgvalid.metrics.detection.cases import coco_cases
from surgvalid.questions.stages.box_tables import SIDES, Floats, checked_boxes, frames_of, matched, overlap_matrix
from surgvalid.questions.stages.linking import affinity, link

KINDS = ("missing", "spurious", "wrong_class", "drifted")
_COLUMNS: dict[str, Any] = {
    "kind": pl.String,
    "video": pl.String,
    "second": pl.Int64,
    "until_s": pl.Int64,
    "class_name": pl.String,
    "predicted_class": pl.String,
    "x": pl.Float64,
    "y": pl.Float64,
    "width": pl.Float64,
    "height": pl.Float64,
    "overlap": pl.Float64,
    "score": pl.Float64,
    "strength": pl.Float64,
    "evidence": pl.String,
}
_SHRINK = 10
"""Boxes' worth of the overall recall that the recall of a class is drawn towards."""
_CLEARLY = 0.2
"""How much better one box must fit than another."""
_NEAR_S = 2
"""Seconds before and after in which an object that is not annotated now may be annotated."""
_FITS = 0.25
"""Affinity from which on a detection may be such an object."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From when on a disagreement is a flag."""

    overlap: float = 0.45
    """Boxes that overlap less do not agree on the place."""
    touch: float = 0.1
    """Boxes that overlap less have nothing to do with each other."""
    score: float = 0.5
    """Detections below it confirm, but never accuse."""
    doubt: float = 0.25
    """A run is spurious when the chance that a real one stays unconfirmed is at most this."""
    votes: int = 2
    """Detections that must name another class."""

    def __post_init__(self) -> None:
        if not (0 < self.touch <= self.overlap <= 1 and 0 <= self.score <= 1 and 0 < self.doubt < 1 and self.votes > 0):
            raise Misuse(f"thresholds need 0 < touch <= overlap <= 1, score and doubt within 0 and 1, got {self}")


DEFAULT = Thresholds()


def predictions_from_coco(
    images: Sequence[Mapping[str, Any]], categories: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]
) -> pl.DataFrame:
    """COCO results as a table of boxes: video, second, class_name, x, y, width, height, score.

    Args:
        images: COCO image records, each with `video` and `second` beside its `id`.
        categories: COCO category records with `id` and `name`.
        results: COCO results of any detector.

    Raises:
        InputInvalid: With every problem.
    """
    coco = coco_cases({"images": images, "categories": categories, "annotations": []}, results)
    places = {image["id"]: (image.get("video"), image.get("second")) for image in images}
    names = {category["id"]: category.get("name") for category in categories}
    problems = [f"image {key!r} names no video and second" for key, place in places.items() if None in place]
    problems += [f"category {key!r} has no name" for key, name in names.items() if name is None]
    objects = coco.cases.prediction
    if len(objects) and objects.score is None:
        problems.append("the results have no scores")
    if problems:
        raise InputInvalid("COCO records", problems)
    where = [places[coco.images[i]] for i in objects.image]
    box = np.zeros((0, 4)) if objects.box is None else objects.box
    return checked_boxes(
        {"video": [str(video) for video, _ in where], "second": [second for _, second in where]}
        | {"class_name": [str(names[coco.categories[i]]) for i in objects.category]}
        | dict(zip(SIDES, box.T, strict=True))
        | {"score": np.zeros(0) if objects.score is None else objects.score},
        "COCO results",
        extra=("score",),
    )


def cross_check(boxes: Any, predictions: Any, *, thresholds: Thresholds = DEFAULT) -> pl.DataFrame:
    """Flags for what annotation and detector do not agree on, the strongest of each kind first.

    Args:
        boxes: The annotation: video, second, class_name, x, y, width, height.
        predictions: The detector's boxes, with a `score`; out of fold.
        thresholds: From when on a disagreement is a flag.

    Returns:
        kind, video, second, until_s, class_name (annotated), predicted_class, x, y, width, height (of the
        annotated box; of the detection for `missing`), overlap, score, strength (0 to 1), evidence in words.

    Raises:
        TableInvalid: With every problem of a table.
    """
    drawn = checked_boxes(boxes, "annotation")
    seen = checked_boxes(predictions, "predictions", extra=("score",))
    field = _Field.of(drawn, seen, thresholds)
    rows = [*_missing(field), *_run_flags(field), *_drifted(field)]
    flags = pl.DataFrame(rows, schema=_COLUMNS)
    return flags.sort("kind", "strength", "video", "second", descending=[False, True, False, False])


@dataclass(frozen=True)
class _Field:
    """Both sides and who met whom."""

    drawn: pl.DataFrame
    seen: pl.DataFrame
    drawn_box: Floats
    seen_box: Floats
    partner: NDArray[np.int64]
    """Per annotated box the detection it met, or -1."""
    overlap: Floats
    """Per annotated box, with its partner."""
    largest: Floats
    """Per detection, the largest overlap with any annotated box."""
    run: NDArray[np.int64]
    frames: Mapping[tuple[str, int], slice]
    """Rows of the annotated boxes by video and second."""
    thresholds: Thresholds

    @classmethod
    def of(cls, drawn: pl.DataFrame, seen: pl.DataFrame, thresholds: Thresholds) -> _Field:
        ours, theirs = drawn.select(SIDES).to_numpy(), seen.select(SIDES).to_numpy()
        names, others = drawn["class_name"].to_numpy(), seen["class_name"].to_numpy()
        partner, overlap, largest = np.full(len(ours), -1), np.zeros(len(ours)), np.zeros(len(theirs))
        parts = dict(frames_of(seen))
        for key, rows in frames_of(drawn):
            other = parts.get(key)
            if other is None:
                continue
            same = (names[rows][:, None] == others[other][None, :]) * 0.5
            largest[other] = overlap_matrix(ours[rows], theirs[other]).max(axis=0)
            for pair in matched(ours[rows], theirs[other], least=thresholds.touch, bonus=same):
                partner[rows.start + pair.first] = other.start + pair.second
                overlap[rows.start + pair.first] = pair.overlap
        run = link(drawn, longest_gap_s=2).chain
        return cls(drawn, seen, ours, theirs, partner, overlap, largest, run, dict(frames_of(drawn)), thresholds)

    def flag(self, kind: str, side: pl.DataFrame, row: int, **more: Any) -> dict[str, Any]:
        box = side.row(row, named=True)
        base = {name: box[name] for name in ("video", "second", "class_name", *SIDES)}
        return {"kind": kind, "until_s": box["second"], **base, **more}


def _missing(field: _Field) -> Iterator[dict[str, Any]]:
    met = set(field.partner.tolist())
    scores = field.seen["score"].to_numpy()
    for row in np.flatnonzero((scores >= field.thresholds.score) & (field.largest < field.thresholds.overlap)):
        if int(row) in met or _left_behind(field, int(row)) is not None:
            continue
        near = _annotated_near(field, int(row))
        score = float(scores[row])
        name = field.seen["class_name"][int(row)]
        yield field.flag(
            "missing",
            field.seen,
            int(row),
            class_name=None,
            predicted_class=name,
            score=score,
            overlap=float(field.largest[row]),
            strength=1 - (1 - score) * (0.3 if near else 1.0),
            evidence=f"detected as {name} with score {score:.2f}; "
            + (f"annotated there in {near} of the 4 seconds around" if near else "not annotated in the seconds around"),
        )


def _rows_at(field: _Field, video: str, low_s: int, high_s: int) -> NDArray[np.int64]:
    """Annotated boxes of the seconds from `low_s` to `high_s`."""
    parts = (field.frames.get((video, second), slice(0, 0)) for second in range(low_s, high_s + 1))
    return np.concatenate([np.arange(rows.start, rows.stop) for rows in parts])


def _annotated_near(field: _Field, row: int) -> int:
    """In how many of the two seconds before and after the class is annotated at that place."""
    box = field.seen.row(row, named=True)
    near = _rows_at(field, box["video"], box["second"] - 2, box["second"] + 2)
    near = near[field.drawn["class_name"].to_numpy()[near] == box["class_name"]]
    fits = near[affinity(field.seen_box[[row]], field.drawn_box[near])[0] > 0.4] if near.size else near
    return len(set(field.drawn["second"].to_numpy()[fits].tolist()) - {box["second"]})


def _left_behind(field: _Field, row: int) -> int | None:
    """The unmet annotated box of that second and class that was drawn where its object no longer is.

    Two unexplained things of a class in one second, a box that no detection meets and a detection that no box
    meets, are one object where the annotation of the next second fits the detection clearly better than the box,
    or where the box belongs to a confirmed run and no other object can be meant: none that is annotated just before
    or after, but not now, lies where the detection is. Otherwise the detection is another object, such as the
    second of two clips.
    """
    box = field.seen.row(row, named=True)
    names = field.drawn["class_name"].to_numpy()
    here = _rows_at(field, box["video"], box["second"], box["second"])
    here = here[(field.partner[here] < 0) & (names[here] == box["class_name"])]
    later = _rows_at(field, box["video"], box["second"] + 1, box["second"] + 1)
    later = later[names[later] == box["class_name"]]
    if not here.size:
        return None
    if later.size:
        then = affinity(field.seen_box[[row]], field.drawn_box[later]).max()
        for at in here.tolist():
            if then > affinity(field.drawn_box[[at]], field.drawn_box[later]).max() + _CLEARLY:
                return int(at)
    alone = here.size == 1 and bool((field.partner[field.run == field.run[here[0]]] >= 0).any())
    return int(here[0]) if alone and not _interrupted(field, row) else None


def _interrupted(field: _Field, row: int) -> bool:
    """Whether a run without a box in that second, of any class, passes where the detection is."""
    box = field.seen.row(row, named=True)
    now = set(field.run[_rows_at(field, box["video"], box["second"], box["second"])].tolist())
    near = _rows_at(field, box["video"], box["second"] - _NEAR_S, box["second"] + _NEAR_S)
    near = near[[run not in now for run in field.run[near].tolist()]] if near.size else near
    return bool(near.size) and bool((affinity(field.seen_box[[row]], field.drawn_box[near]) > _FITS).any())


def _drifted(field: _Field) -> Iterator[dict[str, Any]]:
    scores, names = field.seen["score"].to_numpy(), field.seen["class_name"].to_numpy()
    pairs = {at: int(row) for at, row in enumerate(field.partner) if row >= 0}
    alone = np.flatnonzero((scores >= field.thresholds.score) & (field.largest < field.thresholds.touch))
    for row in alone.tolist():
        if (at := _left_behind(field, row)) is not None:
            pairs[at] = row
    for at, row in sorted(pairs.items()):
        shared, score = float(field.overlap[at]), float(scores[row])
        if shared >= field.thresholds.overlap or score < field.thresholds.score:
            continue
        if names[row] == field.drawn["class_name"][at]:
            yield field.flag(
                "drifted",
                field.drawn,
                at,
                predicted_class=names[row],
                overlap=shared,
                score=score,
                strength=score * (1 - shared),
                evidence=f"overlaps the detection (score {score:.2f}) by {shared:.2f} only",
            )


def _run_flags(field: _Field) -> Iterator[dict[str, Any]]:
    """Spurious runs and runs of the wrong class."""
    own_class = field.drawn["class_name"].to_list()
    seconds = field.drawn["second"].to_numpy()
    recall = _recalls(field)
    order = np.argsort(field.run, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(field.run[order])) + 1) if order.size else ():
        name, until = own_class[rows[0]], int(seconds[rows[-1]])
        if (field.partner[rows] < 0).all():
            chance = (1 - recall[name]) ** len(rows)
            if chance <= field.thresholds.doubt:
                yield field.flag(
                    "spurious",
                    field.drawn,
                    int(rows[0]),
                    until_s=until,
                    strength=1 - chance,
                    evidence=f"none of {len(rows)} boxes is confirmed; a real one would stay so with chance "
                    f"{chance:.2g} (recall of the detector: {recall[name]:.2f})",
                )
        else:
            yield from _wrong_class(field, rows, name, until)


def _wrong_class(field: _Field, rows: NDArray[np.int64], name: str, until: int) -> Iterator[dict[str, Any]]:
    met = field.partner[rows[field.overlap[rows] >= field.thresholds.overlap]]
    by_class = field.seen[met.tolist()].group_by("class_name").agg(count=pl.len(), weight=pl.col("score").sum())
    votes = {row["class_name"]: row for row in by_class.to_dicts()}
    others = sorted((row for key, row in votes.items() if key != name), key=lambda r: (-r["weight"], r["class_name"]))
    if not others or others[0]["count"] < field.thresholds.votes:
        return
    best, total = others[0], sum(row["weight"] for row in votes.values())
    if 2 * best["weight"] > total:
        share = best["weight"] / total
        yield field.flag(
            "wrong_class",
            field.drawn,
            int(rows[0]),
            until_s=until,
            predicted_class=best["class_name"],
            score=best["weight"] / best["count"],
            strength=share * (1 - 0.5 ** best["count"]),
            overlap=float(field.overlap[rows].mean()),
            evidence=f"{best['count']} of {len(met)} detections along {len(rows)} boxes say {best['class_name']}",
        )


def _recalls(field: _Field) -> dict[str, float]:
    """The detector's recall by class, in runs that are confirmed at least once."""
    confirmed = field.partner >= 0
    real = np.isin(field.run, np.unique(field.run[confirmed]))
    overall = (confirmed[real].sum() + 1) / (real.sum() + 2)
    names = field.drawn["class_name"].to_numpy()
    return {
        str(name): float((confirmed[members].sum() + _SHRINK * overall) / (members.sum() + _SHRINK))
        for name in np.unique(names.astype(str))
        for members in [real & (names == name)]
    }
