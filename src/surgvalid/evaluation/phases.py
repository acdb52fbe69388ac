"""Phases frame by frame: a table with `video`, `frame` or `second`, `reference` and `prediction`.

`fps`, an option or a column, says how many frame numbers there are per second, so that windows and tolerances in
seconds mean what they say; labels every 25th frame at 25 fps are one label per second. Gaps in a video are refused: a
segment that lost frames is a shorter segment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import InputInvalid, Misuse
from surgvalid.evaluation.alignment.boxes import delays_of
from surgvalid.evaluation.alignment.labels import LabelSequence, sequence_lag
from surgvalid.evaluation.classification import (
    LabelledRows,
    case_scores,
    checks_of,
    read_labelled,
    rows_of_shards,
)
from surgvalid.evaluation.measure import ClassJob, EvaluationMaterial, jobs_on, material_of, open_chosen
from surgvalid.evaluation.records import typical_step
from surgvalid.evaluation.sanity.sanity_finding import Looked
from surgvalid.evaluation.shards import Cut, Gathered
from surgvalid.metrics import METRICS, TIME
from surgvalid.metrics.classification.averages import ClassAverage, Measure
from surgvalid.metrics.phases.frames import CHOLEC80_PHASES
from surgvalid.metrics.phases.videos import PhaseVideo
from surgvalid.schema.metric_facts import KNOWN_METRICS

DEFAULT = (
    *("phase_accuracy", "phase_precision", "phase_recall", "phase_jaccard", "phase_f1"),
    *("segment_edit", "segment_f1_10", "segment_f1_25", "segment_f1_50"),
    *("transition_f1", "transition_delay_p50_s", "flicker_per_min"),
)
LONGEST_H = 12.0
"""Longer videos than this mean that the frame rate is wrong."""


def material(
    predictions: Any,
    references: Any = None,
    *,
    metrics: Sequence[str] = (),
    classes: Sequence[str] = (),
    fps: float | None = None,
    by: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    prediction_labels: Sequence[str] = (),
    renamed: str | None = None,
    lag_s: str | float | None = None,
    cut: Cut | None = None,
) -> EvaluationMaterial:
    """What label sequences offer for measuring.

    Raises:
        InputInvalid: Rows that do not pair up, gaps, frame rates that cannot be; all are named.
    """
    rows = read_labelled(
        predictions,
        references,
        classes=classes,
        columns=columns,
        prediction_labels=prediction_labels,
        renamed=renamed,
        cut=cut,
    )
    _check(rows)
    rates = _rates(rows.frame, rows.moment, fps)
    if lag_s:
        rows = _moved(rows, rates, lag_s)
    gathered = rows.gathered(cut, rates=rates, declared=bool(classes))
    return replace(_material(rows, rates, metrics, by, declared=bool(classes)), gathered=gathered)


def _moved(rows: LabelledRows, rates: Mapping[str, float], lag_s: str | float) -> LabelledRows:
    """Predictions so many seconds later; moments that then have none are left out."""
    delays = dict(zip(rates, delays_of(lag_s, list(rates)), strict=True))
    names = [name for name in rows.frame.columns if name.split(":", 1)[0] in ("prediction", "score")]
    kept = []
    for (video,), rows_here in rows.frame.group_by("video", maintain_order=True):
        moved = rows_here.with_columns(pl.col(names).shift(round(delays[str(video)] * rates[str(video)])))
        kept.append(moved.drop_nulls("prediction"))
    frame = pl.concat(kept)
    if frame.is_empty():
        raise Misuse(f"--format lag_s={lag_s} moves every prediction out of its video")
    lost = rows.frame.height - frame.height
    form = f"{rows.form} Predictions were moved by {lag_s} s; {lost:,} moments without one are left out.".strip()
    return replace(rows, frame=frame, form=form)


def rejoined(parts: Sequence[Gathered], metrics: Sequence[str], by: Sequence[str]) -> EvaluationMaterial:
    """The same of all shards."""
    rates = {str(video): float(rate) for one in parts for video, rate in one.facts["rates"].items()}
    return _material(rows_of_shards(parts), rates, metrics, by, declared=parts[0].facts["declared"])


def _material(
    rows: LabelledRows, rates: Mapping[str, float], metrics: Sequence[str], by: Sequence[str], *, declared: bool
) -> EvaluationMaterial:
    opened = open_chosen(metrics, DEFAULT, TIME, ("label sequences",), phases=rows.classes)
    _need_cholec80(opened, rows.classes)

    _one_stratum_per_video(rows.frame, by)
    made = material_of(rows.frame, by, lambda rows_here: jobs_on(opened, _videos(rows, rows_here, rates)))
    notes = [rows.form] if rows.form else []
    notes += [f"Labels per second: {', '.join(sorted({f'{rate:g}' for rate in rates.values()}))}."]
    if not declared:
        notes.append(f"Phases were taken from the data: {', '.join(rows.classes)}. Declare them with --classes.")
    return replace(
        made,
        class_jobs=_per_class(rows),
        scores=case_scores(rows, by),
        score_facts={"correct": KNOWN_METRICS["correct"]},
        notes=tuple(notes),
        looked=_looked(rows, made.jobs[0].cases),
    )


def _looked(rows: LabelledRows, videos: Sequence[PhaseVideo]) -> Looked:
    """The checks of labels, and of their clock."""
    looked = dict(checks_of(rows))
    if looked.get("labels-renamed") or looked.get("constant-predictions"):
        return {**looked, "predictions-shifted": None}
    place: dict[Any, int] = {label: number for number, label in enumerate(rows.classes)}
    coded = []
    for one in videos:
        sides = [np.array([place[label] for label in side]) for side in (one.reference, one.prediction)]
        coded.append(LabelSequence(sides[0], sides[1], one.fps, one.name))
    return {**looked, "predictions-shifted": sequence_lag(coded)}


def _check(rows: LabelledRows) -> None:
    problems = []
    if not rows.single:
        problems.append("phases are one label per frame: columns 'reference' and 'prediction'")
    elif empty := rows.frame["prediction"].null_count():
        problems.append(f"column 'prediction' is empty in {empty} rows; every frame of a sequence needs a label")
    if rows.moment == "case":
        problems.append("phases need a column 'frame' or 'second'; names of cases have no order in time")
    if problems:
        raise InputInvalid("rows", problems)


def _rates(frame: pl.DataFrame, moment: str, fps: float | None) -> dict[str, float]:
    """Labels per second of every video."""
    if fps is not None and not (np.isfinite(fps) and fps > 0):
        raise Misuse(f"--fps must be a positive number, got {fps!r}")
    problems: list[str] = []
    rates = {}
    for (video,), rows in frame.group_by("video", maintain_order=True):
        moments = rows[moment].to_numpy().astype(np.float64)
        stated = _stated_fps(str(video), rows, problems) if fps is None and "fps" in rows.columns else fps
        rates[str(video)] = _rate(str(video), moments, moment, stated, problems)
    if problems:
        raise InputInvalid("rows", problems)
    return rates


def _stated_fps(video: str, rows: pl.DataFrame, problems: list[str]) -> float | None:
    """The frame rate that the rows of a video state."""
    stated = rows["fps"].cast(pl.Float64, strict=False).unique().to_list()
    if len(stated) == 1 and stated[0] is not None and np.isfinite(stated[0]) and stated[0] > 0:
        return float(stated[0])
    problems.append(f"video {video!r}: column 'fps' must state one positive number per video")
    return None


def _rate(video: str, moments: np.ndarray, moment: str, fps: float | None, problems: list[str]) -> float:
    step = typical_step(moments)
    gaps = np.flatnonzero(np.abs(np.diff(moments) - step) > 1e-6 * max(step, 1.0))
    if gaps.size:
        after = moments[gaps[0]]
        problems.append(
            f"video {video!r}: {gaps.size} gaps, the usual step is {step:g} (first: after {moment} {after:g})"
        )
    if moment == "frame" and fps is None and step != 1:
        problems.append(
            f"video {video!r}: frames step by {step:g}; say with --fps how many frame numbers a second has "
            f"(--fps {step:g} means one label per second)"
        )
    rate = (fps or 1.0) / step if moment == "frame" else 1.0 / step
    if (hours := moments.size / rate / 3600) > LONGEST_H:
        problems.append(
            f"video {video!r}: {moments.size} labels at {rate:g} per second would last {hours:.1f} hours; pass --fps "
            "(Cholec80 labels every frame at 25 fps)"
        )
    return rate


def _need_cholec80(opened: Mapping[str, Any], classes: Sequence[str]) -> None:
    """Forgiving metrics know the allowed transitions of Cholec80 only."""
    forgiving = [name for name in opened if METRICS[name].options.get("rule", "strict") != "strict"]
    known = tuple(str(phase) for phase in CHOLEC80_PHASES)
    if forgiving and tuple(classes) != known:
        raise Misuse(
            f"{', '.join(forgiving)} forgive along the transitions of Cholec80; pass --classes {','.join(known)} "
            "and label the phases that way"
        )


def _videos(rows: LabelledRows, chosen: pl.DataFrame, rates: Mapping[str, float]) -> list[PhaseVideo]:
    names = np.array(rows.classes, dtype=object)  # one object per label instead of one per frame
    videos = []
    for (video,), rows_here in chosen.group_by("video", maintain_order=True):
        sides = [names[rows.codes(rows_here[side])] for side in ("reference", "prediction")]
        videos.append(PhaseVideo(sides[0], sides[1], rates[str(video)], str(video)))
    return videos


def _one_stratum_per_video(frame: pl.DataFrame, by: Sequence[str]) -> None:
    for column in by:
        if column in frame.columns:
            several = (
                frame.group_by("video", maintain_order=True).agg(pl.col(column).n_unique()).filter(pl.col(column) > 1)
            )
            if several.height:
                raise InputInvalid(
                    "rows",
                    [
                        f"stratum {column!r} changes within {several.height} videos (first: {several['video'][0]!r}); "
                        "a sequence cannot be cut, so only strata of whole videos are reported"
                    ],
                )


def _per_class(rows: LabelledRows) -> tuple[ClassJob, ...]:
    """Strict measures of every phase, frames of all videos pooled."""
    cases = rows.cases(rows.frame, scores=False)
    counts = np.bincount(cases.reference, minlength=len(rows.classes)).tolist()
    measures: tuple[Measure, ...] = ("precision", "recall", "jaccard", "f1")
    return tuple(ClassJob(measure, ClassAverage(measure), cases, rows.classes, counts) for measure in measures)
