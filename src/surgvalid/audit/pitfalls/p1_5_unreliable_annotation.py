"""P1.5: annotators disagree, or contradict themselves from frame to frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from surgvalid.audit.evidence import (
    AuditEvidence,
    AuditNumber,
    Look,
    NotThere,
    Weight,
    declared,
    failed,
    judged,
    passed,
    unknown,
)
from surgvalid.audit.measures import coded, listed, number_of
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.metrics.detection.matching import box_iou as overlap
from surgvalid.stats.agreement.ratings import Ratings, segment_ratings, unit_ratings
from surgvalid.stats.agreement.report import agreement_of

ABOUT = Pitfall(
    "P1.5",
    "Unreliable annotation",
    Category.DATA,
    "Raters disagree with each other or with themselves, names of objects change along a video, or the reference comes "
    "from an unreliable source, so that nobody knows whether a model or its reference is wrong.",
    ("bias", "unreliable"),
    (
        Seldom(42.4, "did not follow objects over time by hand", 33),
        Seldom(98.0, "did not report how much raters vary", None),
    ),
    "Agreement of raters (Krippendorff's alpha, interval over videos), segments of one rater that overlap and, along "
    "tracks, classes that change and boxes that jump. Fails where the whole interval of alpha lies below 0.667 (the "
    "least that Krippendorff takes for tentative conclusions), where a rater's segments overlap, and where a track "
    "changes its class.",
    "Write a protocol, train raters on it, let several rate, settle disputes, and report agreement beside every value.",
)
TENTATIVE = 0.667
"""Krippendorff (2004): below it no conclusions are drawn."""


def ratings_of(study: AuditedStudy) -> Ratings:
    """The ratings of the study: of units, or of time.

    Raises:
        NotThere: Nobody rated twice.
    """
    if "ratings" in study.tables:
        rows = study.tables["ratings"]
        video = "video" if "video" in rows.columns else None
        ratings = unit_ratings(rows, unit="unit", rater="rater", label="label", video=video)
    elif "segments" in study.tables:
        ratings = segment_ratings(
            study.tables["segments"],
            video="video",
            rater="rater",
            label="label",
            start="start_s",
            end="end_s",
            overlaps="last",
        )
    else:
        raise NotThere("ratings of the same units by several raters (a table of ratings or of segments)")
    if len(ratings.raters) < 2:
        raise NotThere("a second rater")
    names, codes = coded(study.units(pl.Series(ratings.video_names)))
    return replace(ratings, videos=codes[ratings.videos], video_names=names)


def agreement(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Krippendorff's alpha, and kappa of every pair of raters."""
    ratings = ratings_of(study)
    rows = agreement_of(ratings).table.drop_nulls("value").to_dicts()
    numbers = tuple(
        number_of(row["coefficient"], row, subject=" and ".join(filter(None, (row["rater_a"], row["rater_b"]))))
        for row in rows
    )
    alpha = next((number for number in numbers if "alpha" in number.quantity.lower()), None)
    if alpha is None:
        raise NotThere("units that two raters rated")
    if alpha.low is None or alpha.high is None:
        yield unknown(f"Alpha is {alpha.value:.2f}; with one video it has no interval.", *numbers)
        return
    text = f"Alpha of {len(ratings.raters)} raters is {alpha.value:.2f} [{alpha.low:.2f}, {alpha.high:.2f}]"
    if alpha.high < TENTATIVE:
        yield failed(f"{text}, below {TENTATIVE}.", *numbers, weight=Weight.HIGH, picture="intervals")
    elif alpha.low < TENTATIVE:
        yield unknown(f"{text}: it may lie on either side of {TENTATIVE}.", *numbers, picture="intervals")
    else:
        yield passed(f"{text}, at least {TENTATIVE}.", *numbers, picture="intervals")


def no_overlaps(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Segments of one rater that run into the next one."""
    rows = study.table("segments").sort("video", "rater", "start_s")
    ahead = pl.col("start_s").shift(-1).over("video", "rater")
    bad = rows.with_columns(ahead=ahead).filter(pl.col("end_s") > pl.col("ahead"))
    number = AuditNumber("segments that overlap the next", float(bad.height), n=rows.height)
    text = f"{bad.height} of {rows.height:,} segments run into the next one of the same rater"
    places = [f"{row['video']} at {row['ahead']:g} s ({row['rater']})" for row in bad.to_dicts()]
    yield judged(bad.height, f"{text}: {listed(places)}.", f"{text}.", number, weight=Weight.LOW)


def tracks_keep_class(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Tracks whose class changes."""
    rows = study.table("tracks")
    classes = rows.group_by("video", "track").agg(pl.col("label").n_unique().alias("classes")).sort("video", "track")
    flipped = classes.filter(pl.col("classes") > 1)
    share = flipped.height / classes.height
    number = AuditNumber("share of tracks that change their class", share, n=classes.height)
    text = f"{flipped.height} of {classes.height} tracks change their class"
    names = [f"{video}/{track}" for video, track, _ in flipped.iter_rows()]
    weight = Weight.MEDIUM if share > 0.01 else Weight.LOW
    yield judged(flipped.height, f"{text}: {listed(names)}.", f"{text}.", number, weight=weight)


def tracks_do_not_jump(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Boxes that are somewhere else in the next frame, more than three of their diagonals away."""
    rows = study.table("tracks").sort("video", "track", "frame")
    same = (rows["video"] == rows["video"].shift(-1)) & (rows["track"] == rows["track"].shift(-1))
    step = rows["frame"].shift(-1) - rows["frame"]
    usual = step.filter(same.fill_null(False)).min()
    if usual is None:
        raise NotThere("tracks of two frames or more")
    here = np.flatnonzero((same & (step == usual)).fill_null(False).to_numpy())
    boxes = rows.select("x", "y", "width", "height").to_numpy().astype(float)
    first, second = boxes[here], boxes[here + 1]
    moved = np.linalg.norm((second[:, :2] + second[:, 2:] / 2) - (first[:, :2] + first[:, 2:] / 2), axis=1)
    jumps = (moved > 3 * np.linalg.norm(first[:, 2:], axis=1)) & (overlap(first, second) == 0)
    number = AuditNumber("share of steps that jump", float(jumps.mean()), n=len(here))
    text = f"{int(jumps.sum())} of {len(here):,} steps from frame to frame jump by more than three box diagonals."
    yield judged(jumps.mean() > 0.01, text, text, number, weight=Weight.LOW)


LOOKS = (
    Look("agreement of raters", agreement),
    declared("protocol", "an annotation protocol and who followed it", weight=Weight.MEDIUM),
    Look("segments that overlap", no_overlaps, needed=False),
    Look("classes along tracks", tracks_keep_class, needed=False),
    Look("jumps along tracks", tracks_do_not_jump, needed=False),
)
