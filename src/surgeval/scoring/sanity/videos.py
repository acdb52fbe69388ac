"""What the videos say about a number: one case each, a pooled value that few of them share, values of no use."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import polars as pl

from surgeval.schema.findings import Finding, Severity
from surgeval.schema.metric_facts import MetricFacts
from surgeval.scoring.sanity.doubt import Doubt

APART = 0.1
"""Of a metric's range: from so large a difference on, a pooled value stands for few videos."""
FEWEST_ALONE = 10
SUMMED_ELSEWHERE = {"id_switches": "TrackEval and py-motmetrics"}
_LAST_NUMBER = r"^(.+?)[^0-9A-Za-z]*[0-9]+$"
_SAME = 1e-9


def few_videos_doubt(finding: Finding | None) -> Doubt | None:
    """What few videos do to intervals, as a doubt."""
    return Doubt("few-videos", finding.severity, finding.message) if finding else None


def one_case_per_video(sizes: Mapping[str, int], *, stated: bool) -> Doubt | None:
    """Whether every video has one case, which is more often a wrong column than a fact.

    Args:
        sizes: Cases of every video.
        stated: Whether a data set says what a video is.
    """
    if stated or len(sizes) < FEWEST_ALONE or any(count != 1 for count in sizes.values()):
        return None
    evidence = (
        f"Each of {len(sizes):,} videos has one case: intervals take all cases as independent, and are too narrow "
        "where several come from one patient."
    )
    groups = {match[1] for name in sizes if (match := re.match(_LAST_NUMBER, name))}
    if 1 < len(groups) <= len(sizes) / 2:
        shown = ", ".join(map(repr, sorted(groups)[:3]))
        hint = f"Without their last number the names are {len(groups)} ({shown}, ...): are those the videos?"
    else:
        hint = "Name the patient or video of every case (--video-column, --video-pattern)."
    return Doubt("one-case-per-video", Severity.WARNING, evidence, hint)


def pooled_apart(
    metrics: pl.DataFrame, per_video: pl.DataFrame, facts: Mapping[str, MetricFacts], sizes: Mapping[str, int]
) -> Doubt | None:
    """Whether a pooled value is far from the mean over videos, so that a few long videos decide it."""
    apart = []
    for name, value in metrics.select("metric", "value").rows():
        known = facts.get(name)
        if value is None or known is None or not known.pooled or not math.isfinite(known.high - known.low):
            continue
        inside = per_video.filter((pl.col("metric") == name) & pl.col("value").is_not_null())["value"]
        mean = inside.mean()
        if len(inside) > 1 and isinstance(mean, float) and abs(value - mean) > APART * (known.high - known.low):
            apart.append((abs(value - mean), name, value, mean, inside))
    if not apart:
        return None
    _, name, value, mean, inside = max(apart, key=lambda one: one[0])
    others = f" So do {', '.join(one[1] for one in apart if one[1] != name)}." if len(apart) > 1 else ""
    below = int((inside < value - _SAME).sum())
    evidence = (
        f"{name} is {value:.3f} over all cases together and {mean:.3f} as a mean over videos ({below} of {len(inside)} "
        f"videos are below {value:.3f}, the least at {min(inside.to_list()):.3f})."
    )
    total = sum(sizes.values())
    longest = f" The longest video holds {max(sizes.values()) / total:.0%} of the cases." if total else ""
    hint = f"{longest.strip()} per_video.csv has the value of every video: say which of the two is meant.{others}"
    return Doubt("pooled-apart", Severity.WARNING, evidence, hint.strip())


def no_better_than_trivial(metrics: pl.DataFrame, facts: Mapping[str, MetricFacts]) -> Doubt | None:
    """Whether values are no better than the floors beside them; a floor that nothing can beat is left aside.

    It is a warning where the first of the metrics is among them, and a note where only others are: a model that
    finds the right phase and flickers has a worse edit score than one that never changes its mind.
    """
    listed, first = [], None
    for name, value, floor, who in metrics.select("metric", "value", "floor", "floor_predictor").rows():
        if value is None or floor is None or name not in facts or facts[name].better is None:
            continue
        larger = facts[name].better == "larger"
        best = facts[name].high if larger else facts[name].low
        first = first or name
        if abs(floor - best) > _SAME and (value <= floor + _SAME if larger else value >= floor - _SAME):
            listed.append((name, value, floor, who))
    if not listed:
        return None
    shown = "; ".join(f"{name} {value:.3f} (floor {floor:.3f}: {who})" for name, value, floor, who in listed[:4])
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    evidence = f"No better than a predictor that does not look: {shown}{more}."
    severity = Severity.WARNING if listed[0][0] == first else Severity.NOTE
    return Doubt("no-better-than-trivial", severity, evidence)


def sum_elsewhere(metrics: pl.DataFrame, videos: int) -> Doubt | None:
    """What a count that is a mean over videos here is as the sum that other tools print."""
    texts = [
        f"{name} {value:.4g} is a mean over {videos} videos; {SUMMED_ELSEWHERE[name]} print the sum, "
        f"{value * videos:.6g}."
        for name, value in metrics.select("metric", "value").rows()
        if name in SUMMED_ELSEWHERE and value is not None and videos > 1
    ]
    return Doubt("sum-elsewhere", Severity.NOTE, " ".join(texts)) if texts else None


def incomplete_split(lacking: Sequence[str]) -> Doubt | None:
    """What is not there of an official split."""
    if not lacking:
        return None
    hint = "These numbers are not those of the split, and are not to be set beside published ones."
    return Doubt("incomplete-split", Severity.WARNING, " ".join(lacking), hint)
