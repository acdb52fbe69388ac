"""P2.3: a metric punishes what raters themselves do not agree on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

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
from surgvalid.audit.measures import ALPHA, FEWEST_TESTED, coded, estimate, grid_differences, grid_means, listed, means
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.audit.timelines import accuracy, grid, timelines
from surgvalid.stats.comparing.corrections import adjusted

ABOUT = Pitfall(
    "P2.3",
    "Metrics blind to uncertain annotation",
    Category.METRICS,
    "Borders of phases and tissues are uncertain. A metric that takes the reference as exact counts as errors what "
    "another rater would have written, and which rater was taken decides who wins.",
    ("unreliable",),
    (Seldom(81.8, "did not treat borders of events in any special way", 11),),
    "The share of rater pairs that lie within the declared tolerance, and scores under each rater. Fails where the "
    "whole interval of that share lies below 80 %, and where another model is better by more than chance once another "
    "rater is the reference.",
    "Derive the tolerance from raters (`surgvalid analyse agreement --tolerance`), report values under each rater, or "
    "score against all of them.",
)
HELD = 0.8
"""Of the rater pairs that a tolerance should hold."""
OTHER = "reference_"
"""What the columns of further raters begin with."""


def tolerance_holds(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The share of rater pairs within the tolerance."""
    answer = study.answer("tolerance")
    tolerance = 0.0 if answer is False else float(answer)
    gaps, videos = _gaps(study)
    names, codes = coded(study.units(pl.Series(videos)))
    share = means((gaps <= tolerance + 1e-9).astype(float), codes)
    number = estimate("share of rater pairs within the tolerance", share, 0, names)
    spread = AuditNumber("95 % of rater pairs lie within", float(np.quantile(gaps, 0.95)), n=len(names))
    unit = " s" if "segments" in study.tables else ""
    text = f"{share.value[0]:.0%} of {len(gaps):,} rater pairs lie within {tolerance:g}{unit}"
    if number.high is None or number.low is None:
        yield unknown(f"{text}; too few videos for an interval.", number, spread)
    elif number.high < HELD:
        text = f"{text} [{number.low:.0%}, {number.high:.0%}]"
        yield failed(f"{text}: the metric punishes what raters do.", number, spread, weight=Weight.HIGH)
    else:
        yield passed(f"{text}.", number, spread)


def _gaps(study: AuditedStudy) -> tuple[np.ndarray, list[str]]:
    """How far apart the starts of segments, or the numbers of units, of two raters lie, with their videos."""
    if "segments" in study.tables:
        rows = study.tables["segments"]
        key, value = ["video", "label"], "start_s"
        once = rows.filter(pl.len().over("video", "label", "rater") == 1)
    else:
        rows = study.table("ratings", "video")
        key, value = ["video", "unit"], "label"
        once = rows.with_columns(pl.col("label").cast(pl.Float64, strict=False)).drop_nulls("label")
    gaps: list[float] = []
    videos: list[str] = []
    for (video, *_), group in once.group_by(key, maintain_order=True):
        numbers = group[value].to_list()
        pairs = [abs(one - other) for one, other in itertools.combinations(numbers, 2)]
        gaps += pairs
        videos += [str(video)] * len(pairs)
    if not gaps:
        raise NotThere("moments or numbers that two raters gave for the same thing")
    return np.array(gaps), videos


def other_raters(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether another model wins under another rater."""
    frames = study.table("frames")
    others = [name for name in frames.columns if name.startswith(OTHER)]
    if not others:
        raise NotThere(f"columns {OTHER}NAME with what further raters wrote")
    values, models, _ = grid(timelines(study), accuracy)
    best = int(np.nanargmax(grid_means(values).value))
    numbers, problems = [], []
    for column in others:
        scored, names, videos = grid(timelines(study, column), accuracy)
        around = grid_means(scored, low=0.0, high=1.0)
        numbers += [
            estimate("accuracy under a rater", around, place, videos, subject=name, setting=column.removeprefix(OTHER))
            for place, name in enumerate(names)
        ]
        if len(videos) < FEWEST_TESTED or models[best] not in names or len(names) < 2:
            continue
        place = names.index(models[best])
        gain = grid_differences(np.delete(scored, place, axis=1) - scored[:, [place]])
        p_values = adjusted(gain.p_value, "holm") * len(others)
        rivals = [name for name in names if name != models[best]]
        problems += [
            f"{rival} under {column.removeprefix(OTHER)}"
            for rival, value, p in zip(rivals, gain.value, p_values, strict=True)
            if value > 0 and p < ALPHA
        ]
    text = f"{models[best]} is best under the reference"
    yield judged(
        problems,
        f"{text}; better by more than chance: {listed(problems)}.",
        f"{text}; under no further rater is another model better by more than chance.",
        *numbers,
        weight=Weight.HIGH,
    )


LOOKS = (
    Look("tolerance against raters", tolerance_holds),
    declared("tolerance_source", "a source of the tolerance", needed=False),
    Look("winners under each rater", other_raters, needed=False),
)
