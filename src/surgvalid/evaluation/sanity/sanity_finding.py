"""What a check says and by which rule it speaks, and the checks of the videos behind a number."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from surgvalid.results.tables.evaluation import SANITY
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.metric_facts import MetricFacts

RULES: Mapping[str, str] = {
    "boxes-elsewhere": (
        "speaks where another reading of the boxes raises the mean overlap of the references by 0.05, to 1.3 times or "
        "more, with t of 5 over videos and in 80 % of them, or to 0.3 and twice as much; or where fewer than 2 % of "
        "the references are overlapped by half, or single videos of five or more lie nearer to their own images than "
        "to others by 7 % or less of what most videos do; classes are left aside; at most 400 images are looked at, in "
        "whole runs"
    ),
    "images-exchanged": (
        "speaks where the images in another order raise the mean overlap by 0.02 with t of 4 over videos (an image on, "
        "also within classes; an order by names: with t of 1.5 over the images that it moves, eight or more), or by "
        "any amount where predictions follow "
        "the motion of that order; or where predictions lie no nearer to their own images than to others (t below 2, "
        "or a gain below 15 % of what so many could gain; below 3 % from t of 6 on; t below 1 over images where two to "
        "four videos have fewer than eight blocks of ten)"
    ),
    "predictions-shifted": (
        "speaks where predictions of up to 10 images earlier or later raise the mean overlap by 0.02 with t of 4 over "
        "videos (one video alone: 0.1 with t of 5 over blocks of five images), or of up to three images and by any "
        "amount where they go more than half of the way that the references went between (p below 0.005 over videos, "
        "0.05 that it is half); for labels up to 60 s and 0.004, a "
        "warning where the videos' own lags are alike and it is 3 s or more. Of fewer than five videos blocks of ten "
        "images are the evidence, or stretches of one label (a note); fewer than eight of them tell nothing, which is "
        "noted. A single one of five videos or more is named where its own lag is 15 s or more and 2.5 times the "
        "spread of all, and mends 15 % of that at its changes of label with t of 3"
    ),
    "videos-without-predictions": (
        "speaks where a video with references in five frames or more has no prediction, and by the share of frames "
        "with predictions elsewhere that is less likely than 0.001"
    ),
    "images-without-predictions": (
        "speaks where at most half of the images with references have detections, on average at least twice as many "
        "as references; where only every so many of them have predictions, or none after some image in 80 % of the "
        "videos, and that is less likely than 0.001"
    ),
    "scores-cut": "speaks where the least of 100 scores or more is 0.05 or more, a warning from 0.3 on",
    "detections-doubled": (
        "speaks where at least 20 % of the detections repeat the box of another one of the same class and image, at an "
        "IoU of 0.95 or more; at most 400 images are looked at"
    ),
    "labels-renamed": (
        "speaks where every class of a cycle has at least five cases, 40 % of them under another name and 0.3 more "
        "than under its own, in 70 % of the videos that have it; where that holds for a shift by one of all classes "
        "together and the class at its end is never predicted; for scores where a shift "
        "lifts the mean AUROC from below 0.65 by 0.2 to 0.8 or more; where no predicted label or class is one of the "
        "references"
    ),
    "classes-merged": (
        "speaks where two classes or more, at least half of all, are never predicted and 90 % of their cases are under "
        "one name"
    ),
    "constant-predictions": (
        "speaks where every prediction is the same, or 99.5 % of them are and the references are not"
    ),
    "masks-elsewhere": (
        "speaks where the foreground overlaps by an IoU of 0.5 or more, and 0.3 more than as read, once mirrored, "
        "turned, moved or swapped with the background, or where single videos of five or more lie no nearer to their "
        "own images than to others; at most 200 images are looked at"
    ),
    "empty-masks-apart": "speaks where images with two empty masks count in one metric of the run and not in another",
    "one-case-per-video": "speaks where every video has a single case, and no data set says that this is so",
    "few-videos": "speaks below six independent videos (surgeons, patients), or where a method would be too narrow",
    "pooled-apart": (
        "speaks where a pooled value and the mean over videos differ by more than a tenth of the metric's range"
    ),
    "no-better-than-trivial": "speaks where a value is no better than that of the trivial predictor beside it",
    "sum-elsewhere": "speaks where other tools print the sum over videos of what is a mean over videos here",
    "incomplete-split": "speaks where videos or cases of an official split are not there",
}
"""Every check, with when it speaks."""


class SanityFinding(NamedTuple):
    """What one check saw."""

    code: str
    severity: Severity
    evidence: str
    hint: str = ""

    @property
    def finding(self) -> Finding:
        """The finding as every result carries it."""
        return Finding(self.code, self.severity, f"{self.evidence} {self.hint}".strip())


Looked = Mapping[str, SanityFinding | None]
"""The checks that ran, each with what it saw."""


def both(first: Looked, second: Looked) -> dict[str, SanityFinding | None]:
    """The checks of either; where both ran one, the first that saw something."""
    return {code: first.get(code) or second.get(code) for code in (*first, *second)}


def sanity_table(looked: Looked) -> pl.DataFrame:
    """One row per check that ran, in the order of the rules."""
    return SANITY.frame(
        [
            {
                "check": code,
                "outcome": doubt.severity.value if (doubt := looked[code]) else "ok",
                "evidence": doubt.evidence if doubt else None,
                "hint": (doubt.hint or None) if doubt else None,
                "conventions": rule,
            }
            for code, rule in RULES.items()
            if code in looked
        ]
    )


APART = 0.1
"""Of a metric's range: from so large a difference on, a pooled value stands for few videos."""
FEWEST_ALONE = 10
SUMMED_ELSEWHERE = {"id_switches": "TrackEval and py-motmetrics"}
_LAST_NUMBER = r"^(.+?)[^0-9A-Za-z]*[0-9]+$"
_SAME = 1e-9


def few_videos_finding(finding: Finding | None) -> SanityFinding | None:
    """What few videos do to intervals, as a finding."""
    return SanityFinding("few-videos", finding.severity, finding.message) if finding else None


def one_case_per_video(sizes: Mapping[str, int], *, stated: bool) -> SanityFinding | None:
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
        hint = "Name the patient or video of every case (--unit, --patient-pattern)."
    return SanityFinding("one-case-per-video", Severity.WARNING, evidence, hint)


def pooled_apart(
    metrics: pl.DataFrame, per_video: pl.DataFrame, facts: Mapping[str, MetricFacts], sizes: Mapping[str, int]
) -> SanityFinding | None:
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
    return SanityFinding("pooled-apart", Severity.WARNING, evidence, hint.strip())


def no_better_than_trivial(metrics: pl.DataFrame, facts: Mapping[str, MetricFacts]) -> SanityFinding | None:
    """Whether values are no better than the trivial baselines beside them; a trivial baseline that nothing can beat is
    left aside.

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
    shown = "; ".join(
        f"{name} {value:.3f} (trivial baseline {floor:.3f}: {who})" for name, value, floor, who in listed[:4]
    )
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    evidence = f"No better than an input-blind predictor: {shown}{more}."
    severity = Severity.WARNING if listed[0][0] == first else Severity.NOTE
    return SanityFinding("no-better-than-trivial", severity, evidence)


def sum_elsewhere(metrics: pl.DataFrame, videos: int) -> SanityFinding | None:
    """What a count that is a mean over videos here is as the sum that other tools print."""
    texts = [
        f"{name} {value:.4g} is a mean over {videos} videos; {SUMMED_ELSEWHERE[name]} print the sum, "
        f"{value * videos:.6g}."
        for name, value in metrics.select("metric", "value").rows()
        if name in SUMMED_ELSEWHERE and value is not None and videos > 1
    ]
    return SanityFinding("sum-elsewhere", Severity.NOTE, " ".join(texts)) if texts else None


def incomplete_split(lacking: Sequence[str]) -> SanityFinding | None:
    """What is not there of an official split."""
    if not lacking:
        return None
    hint = "These numbers are not those of the split, and are not to be set beside published ones."
    return SanityFinding("incomplete-split", Severity.WARNING, " ".join(lacking), hint)
