"""The agreement report: every coefficient the ratings allow, each with a cluster interval.

Whole videos are resampled, because units of one video are no independent evidence of agreement. Where
the table names no video each unit stands for itself, and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.request import requested
from surgvalid.results.result import TableResult, rows_of
from surgvalid.results.tables.statistics import AGREEMENT, TOLERANCE
from surgvalid.schema.findings import Finding
from surgvalid.schema.questions.question_files import Sources
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.agreement.coefficients import (
    KAPPA_WEIGHTS,
    SCALES,
    Coefficient,
    Units,
    cohen,
    fleiss,
    gwet,
    icc,
    krippendorff,
    percent_agreement,
)
from surgvalid.stats.agreement.ratings import Ratings, segment_ratings, unit_ratings
from surgvalid.stats.agreement.tolerance import tolerance_prose, tolerance_row, with_tolerance
from surgvalid.stats.draws import check_replicates, check_seed, stream, video_counts
from surgvalid.stats.intervals.few_videos import no_videos
from surgvalid.stats.intervals.interval import known
from surgvalid.stats.intervals.interval_settings import check_level, percent
from surgvalid.stats.intervals.replicates import bounds, replicate_sd


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class AgreementResult(TableResult):
    """Agreement coefficients with intervals; one row per coefficient (and pair of raters for kappa)."""

    stem: ClassVar[str] = "agreement"

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The coefficients, and the tolerance where one was asked for."""
        more = {"tolerance": self.tables["tolerance"]} if "tolerance" in self.tables else {}
        return {"": self.shown, **more}


@requested("agreement", files=("table", "into"))
def agreement(
    table: Any,
    *,
    rater: str,
    label: str,
    unit: str | None = None,
    video: str | None = None,
    start: str | None = None,
    end: str | None = None,
    idle: str = "Idle",
    step_s: float = 1.0,
    overlaps: str = "error",
    scale: str = "nominal",
    order: Sequence[str] = (),
    kappa_weights: str = "none",
    tolerance: float | None = None,
    into: Sources | None = None,
    answer_format: str = "time",
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 42,
    columns: Mapping[str, str] | None = None,
) -> AgreementResult:
    """How well raters agree, from a table of units or a table of segments.

    Args:
        table: One row per unit and rater, or one per segment and rater; or the files that hold them.
        rater: Column with the rater.
        label: Column with what they said.
        unit: Column with the unit; leave out for segments.
        video: Column with the video; needed for segments.
        start: Column where a segment starts, in seconds.
        end: Column where it ends.
        idle: Label of the time outside a rater's segments.
        step_s: Length of one unit of time.
        overlaps: What two overlapping segments of one rater mean: `error`, or the `first` or `last` begun wins.
        scale: `nominal`, `ordinal` or `interval`; ICC is added for `interval`.
        order: The labels in order, where they are not numbers and the scale is `ordinal`.
        kappa_weights: Weights of Cohen's kappa: `none`, `linear` or `quadratic`.
        tolerance: The chance, such as 0.95, with which two raters are to lie within a tolerance; labels are numbers, or
            times such as 00:12:05. The table `tolerance` says how far that is.
        into: Reference answers (or their files) that are to be given the tolerance; the result carries them as
            `references`.
        answer_format: Which of these questions: `time` (`threshold_seconds`) or `percentage` (`threshold_pp`).
        level: Coverage asked for.
        replicates: How many resamples of videos.
        seed: Seed of the stream.
        columns: Our column names to theirs, where the columns are to be named otherwise than in the table.

    Raises:
        TableInvalid: With every problem of the table.
        Misuse: Options that do not fit together.
    """
    table = rows_of(table, columns, roles=[name for name in (rater, label, unit, video, start, end) if name])
    check_level(level)
    check_replicates(replicates)
    check_seed(seed)
    for kind, chosen, names in (("scale", scale, SCALES), ("kappa weights", kappa_weights, KAPPA_WEIGHTS)):
        if chosen not in names:
            raise UnknownName(kind, chosen, names)
    if into is not None and tolerance is None:
        raise Misuse("into names references for a tolerance; say with which chance raters are to lie within it")
    segments = start is not None or end is not None
    if segments and (start is None or end is None or video is None):
        raise Misuse("segments need the columns video, start and end")
    if segments and tolerance is not None:
        raise Misuse("a tolerance needs one number per unit and rater; name a unit column, such as the question")
    if segments == (unit is not None):
        raise Misuse("name either a unit column, or start and end of segments")
    if start is not None and end is not None and video is not None:
        ratings = segment_ratings(
            table,
            video=video,
            rater=rater,
            label=label,
            start=start,
            end=end,
            idle=idle,
            step_s=step_s,
            order=order,
            overlaps=overlaps,
        )
    else:
        ratings = unit_ratings(table, unit=str(unit), rater=rater, label=label, video=video, order=order)
    result = agreement_of(
        ratings,
        scale=scale,
        ordered=bool(order),
        kappa_weights=kappa_weights,
        level=level,
        replicates=replicates,
        seed=seed,
        segments=segments,
        step_s=step_s,
    )
    if tolerance is None:
        return result
    row, findings = tolerance_row(ratings, tolerance, level)
    records = {} if into is None else {"references": with_tolerance(into, answer_format, row["tolerance"])}
    return replace(
        result,
        tables={**result.tables, "tolerance": TOLERANCE.frame([row])},
        records=records,
        findings=(*result.findings, *findings),
        prose=f"{result.prose} {tolerance_prose(row)}",
    )


def agreement_of(
    ratings: Ratings,
    *,
    scale: str = "nominal",
    ordered: bool = False,
    kappa_weights: str = "none",
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 42,
    segments: bool = False,
    step_s: float = 1.0,
) -> AgreementResult:
    """The report on ratings that were read already; arguments as for `agreement`."""
    if len(ratings.raters) < 2:
        raise Misuse(f"agreement needs at least two raters, got {len(ratings.raters)}")
    if (scale == "ordinal" or kappa_weights != "none") and not ordered:
        _need_order(ratings)
    videos = len(ratings.video_names)
    counts = video_counts(videos, replicates, stream(seed, "agreement")) if videos > 1 else None
    rows: list[dict[str, Any]] = []
    notes: list[Finding] = []
    for who, coefficient in _coefficients(ratings, scale, kappa_weights, notes):
        rows.append(_row(who, coefficient, ratings, counts, level))
    frame = AGREEMENT.frame(rows)
    if counts is None:
        text = "There is one video only, so the spread between videos is unknowable and no interval is given."
        notes.append(remark("few-videos", text))
    if not ratings.has_videos:
        notes.append(no_videos("unit"))
    what = f"time in steps of {step_s:g} s" if segments else "units"
    prose = (
        f"Agreement of {len(ratings.raters)} raters on {ratings.weights.sum():,.0f} {what} from {videos:,} videos, "
        f"{len(ratings.categories)} labels, scale {scale}; {percent(level)} bootstrap intervals from {replicates:,} "
        f"cluster bootstrap resamples of whole videos (seed {seed})."
    )
    return AgreementResult.of(frame, prose, tuple(notes))


def _need_order(ratings: Ratings) -> None:
    try:
        [float(name) for name in ratings.categories]
    except ValueError:
        raise Misuse(
            "an ordinal scale or weighted kappa needs labels that are numbers, or their order: "
            f"pass order with {', '.join(map(repr, ratings.categories[:6]))} from low to high"
        ) from None


def _coefficients(
    ratings: Ratings, scale: str, kappa_weights: str, notes: list[Finding]
) -> Iterator[tuple[tuple[str | None, str | None], Coefficient]]:
    codes, size = ratings.codes, len(ratings.categories)
    units = Units(ratings.videos, ratings.weights)
    everybody = (None, None)
    yield everybody, percent_agreement(codes, units)
    if scale == "nominal":
        yield everybody, gwet(codes, units)
    for (i, first), (j, second) in combinations(enumerate(ratings.raters), 2):
        yield (first, second), cohen(codes[:, i], codes[:, j], size, units, weights=kappa_weights)
    coefficient = fleiss(codes, units)
    if coefficient is None:
        text = "Fleiss' kappa is left out: units differ in how many raters they have."
        notes.append(remark("coefficient-left-out", text))
    else:
        yield everybody, coefficient
    numbers = ratings.numbers if scale == "interval" else None
    values = np.array([float(name) for name in ratings.categories]) if numbers is not None else None
    yield everybody, krippendorff(codes, size, units, scale=scale, numbers=values)
    if numbers is not None:
        for kind in ("2,1", "3,1"):
            one = icc(numbers, units, kind=kind)
            if one is None:
                text = f"ICC({kind}) is left out: fewer than two units were rated by everybody."
                notes.append(remark("coefficient-left-out", text))
            else:
                yield everybody, one


def _row(
    who: tuple[str | None, str | None],
    coefficient: Coefficient,
    ratings: Ratings,
    counts: np.ndarray | None,
    level: float,
) -> dict[str, Any]:
    value = float(coefficient.value(coefficient.statistics.sum(axis=0)))
    low = high = sd = np.nan
    if counts is not None:
        draws = coefficient.value(counts @ coefficient.statistics)[:, None]
        ends = bounds(draws, level=level)
        low, high, sd = float(ends.low[0]), float(ends.high[0]), float(replicate_sd(draws)[0])
    pair = [ratings.raters.index(name) for name in who if name is not None]
    rated = ratings.codes[:, pair] >= 0 if pair else ratings.codes >= 0
    units = ratings.weights[rated.sum(axis=1) >= 2].sum()
    note = "undefined: everybody said the same one thing" if np.isnan(value) else None
    return {
        "coefficient": coefficient.name,
        "rater_a": who[0],
        "rater_b": who[1],
        **{
            name: known(number)
            for name, number in zip(("value", "low", "high", "sd"), (value, low, high, sd), strict=True)
        },
        "units": float(units),
        "videos": len(np.unique(ratings.videos[rated.sum(axis=1) >= 2])),
        "note": note,
    }
