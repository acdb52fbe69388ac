"""What a reader must be told about results from few, unequal or unlike videos: facts in, findings out.

Every function gives a `Finding`, or None where there is nothing to say. The figures in the sentences (about 90 %,
87-93 %) are coverages of 95 % intervals measured by simulation; `docs/validation-intervals.md` has the tables.
The checks help, they do not guard: long videos that differ are seen in a quarter of such samples with ten videos and
in three quarters with forty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.shown_tables import p_text
from surgvalid.stats.intervals.pooled_quantile import FEWEST_BEYOND, PLAIN_BEYOND
from surgvalid.stats.intervals.sign_flip_interval import FEWEST_TESTED, videos_needed
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS

if TYPE_CHECKING:
    from surgvalid.stats.intervals.macro_interval import MacroRow

PERCENTILE_VIDEOS = 100
"""Equally long videos from which percentile bootstrap intervals keep their level."""
MOST_NAMED = 6
"""Slices or models that one finding lists by name."""


def no_videos(units: str = "case") -> Finding:
    """Said where nothing names videos or patients."""
    text = (
        f"The table names no video, so each {units} counts as independent; where several come from one video, "
        "intervals are too narrow and p-values too small."
    )
    return remark("no-videos", text)


def few_videos(videos: int, df: float, *, where: str | None = None) -> Finding | None:
    """Said below six videos: no interval at all, or one that can show no significance.

    Example:
        >>> few_videos(2, 1.0).message
        '2 videos: no interval; the spread between videos cannot be judged.'
    """
    if videos < FEWEST_VIDEOS:
        count = "1 video" if videos == 1 else f"{videos} videos"
        text = f"{count}: no interval; the spread between videos cannot be judged."
        return remark("few-videos", text, where=where)
    if videos < FEWEST_TESTED:
        rest = "" if math.isnan(df) else f"intervals rest on {df:.1f} degrees of freedom, and "
        smallest = p_text(2.0 ** (1 - videos))
        shown = f"by the exact sign-flip test no difference can be shown (smallest p-value {smallest})"
        text = f"{videos} videos: {rest}{shown}."
        return remark("few-videos", text, where=where)
    return None


def percentile_too_narrow(videos: int, effective: float, *, where: str | None = None) -> Finding | None:
    """Said of the percentile bootstrap on fewer than a hundred equally long videos' worth."""
    if not effective < PERCENTILE_VIDEOS:
        return None
    text = f"{videos} videos, worth {effective:.0f} equal ones: bootstrap intervals are too narrow; use method='auto'."
    return remark("percentile-too-narrow", text, where=where)


def long_videos_differ(sizes: np.ndarray, means: np.ndarray, *, where: str | None = None) -> Finding | None:
    """Said where the length of a video goes with its score; for values pooled over rows."""
    held = np.isfinite(means) & (sizes > 0)
    sizes, means = sizes[held], means[held]
    if len(sizes) < FEWEST_VIDEOS or np.ptp(sizes) == 0 or np.ptp(means) == 0:
        return None
    together = float(np.corrcoef(pl.Series(sizes).rank(), pl.Series(means).rank())[0, 1])
    if abs(together) * math.sqrt(len(sizes) - 1) <= 2:
        return None
    side = "higher" if together > 0 else "lower"
    text = (
        f"Long videos score {side} than short ones (rank correlation {together:+.2f}): the pooled value and the mean "
        "over videos answer different questions, and a pooled 95 % interval covers about 91 %, though it reaches "
        "further to the side of the most influential videos; consider estimand='videos'."
    )
    return remark("long-videos-differ", text, where=where)


def skewed_differences(means: np.ndarray) -> Finding | None:
    """Said where differences are skewed; `means` are the differences per case of each video."""
    means = means[np.isfinite(means)]
    gaps = means - means.mean() if len(means) else means
    spread = float((gaps**2).mean()) if len(means) else 0.0
    if not 8 <= len(means) < 40 or spread <= 1e-24:
        return None
    skewness = float((gaps**3).mean()) / spread**1.5
    if abs(skewness) <= 1:
        return None
    text = "The differences of videos are skewed; a 95 % interval may cover only about 87-93 %."
    return remark("skewed-differences", text)


def thin_quantile(beyond: float, videos: int, *, where: str | None = None) -> Finding | None:
    """Said of pooled quantiles with few videos' worth of cases beyond them, and where there is no interval."""
    if beyond >= PLAIN_BEYOND and videos >= FEWEST_TESTED:
        return None
    advice = "consider estimand='videos'"
    if videos < FEWEST_TESTED:
        text = f"{videos} videos: no interval of a pooled quantile below {FEWEST_TESTED}; {advice}."
    elif beyond < FEWEST_BEYOND:
        text = f"Only {beyond:.1f} videos' worth of cases lie beyond this quantile: no interval; {advice}."
    else:
        text = (
            f"Only {beyond:.1f} videos' worth of cases lie beyond this quantile: a 95 % interval covers about 90 %; "
            f"{advice}."
        )
    return remark("thin-quantile", text, where=where)


def single_video_classes(
    names: Sequence[str], classes: int, *, refused: bool, what: str = "classes", where: str | None = None
) -> Finding | None:
    """Said where classes occur in one video only: they widen the interval, or leave none over all classes."""
    if not names:
        return None
    head = f"{len(names)} of {classes} {what} occur in one video only ({', '.join(names)}): "
    tail = (
        f"no interval over all {what}; see the one over the others."
        if refused
        else "they may be anything on the metric's scale in this interval."
    )
    return remark("single-video-classes", head + tail, where=where)


def repeated_classes(row: MacroRow, *, where: str | None = None) -> Finding:
    """The value over the classes that occur in two or more videos, beside one that rests on others too."""
    text = (
        f"Over the {row.classes} classes in two or more videos: {row.value:.3f} [{row.low:.3f}, {row.high:.3f}] "
        f"({row.df:.1f} degrees of freedom)."
    )
    return remark("repeated-classes", text, where=where)


def classes_without_reference(absent: int, classes: int, worst: float, *, where: str | None = None) -> Finding | None:
    """Said where classes that no reference here has count all the same."""
    if not absent:
        return None
    text = (
        f"{absent} of {classes} classes have no reference here and count by the metric's rule (as {worst:g}, unless "
        "false alarms give another value): the interval takes that as given."
    )
    return remark("classes-without-reference", text, where=where)


def correction_unreachable(videos: int, pairs: int, *, alpha: float = 0.05) -> Finding | None:
    """Said where not even one model winning every video would pass Holm's correction."""
    need = videos_needed(pairs, alpha=alpha)
    if videos >= need:
        return None
    compared = "1 pair" if pairs == 1 else f"{pairs} pairs"
    count = "1 video" if videos == 1 else f"{videos} videos"
    text = f"{count} cannot reach significance with {compared}; {need} are needed."
    return remark("correction-unreachable", text)


def no_variation(*, where: str | None = None) -> Finding:
    """Said where all videos give the same value, so that nothing shows how far another video would lie."""
    text = "No variation between videos: no interval; these videos do not show how far another one would lie."
    return remark("no-variation", text, where=where)


def open_interval(videos: int, level: float, *, where: str | None = None) -> Finding:
    """Said where the data cannot bound a value on one side or both."""
    text = f"{videos} videos cannot bound this value at level {level:g}: the open end is the limit of the metric."
    return remark("open-interval", text, where=where)


def gathered(spoken: Iterable[Finding]) -> list[Finding]:
    """The findings with equal messages as one, which lists whom it is about.

    Example:
        >>> one = remark("few-videos", "2 videos: no interval.", subject="phase=A")
        >>> [found.text for found in gathered([one, replace(one, subject="phase=B")])]
        ['phase=A; phase=B: 2 videos: no interval.']
    """
    whose: dict[Finding, list[str]] = {}
    for one in spoken:
        whose.setdefault(replace(one, subject=None), []).append(one.subject or "")
    return [replace(one, subject=_listed(subjects)) for one, subjects in whose.items()]


def _listed(subjects: Sequence[str]) -> str | None:
    named = [subject for subject in subjects if subject]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return "; ".join(named[:MOST_NAMED]) + more or None
