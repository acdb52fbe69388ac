"""The difference of two recipes, with an interval that knows about other videos and about other trainings.

Intervals over videos say how the difference between *these* networks would vary with other videos. A recipe is not only
the networks that were made by it: another training of the same recipe gives another network. Every network is shown the
same videos, so the two sources add up: the variance of the difference is estimated from the spread between videos (of
the mean over trainings) plus the spread between trainings (of the mean over cases), with the degrees of freedom of
Welch and Satterthwaite. What a video does to one network only is counted in both, which errs to the safe side.

Where two recipes share their networks and differ in what is done with the output, trainings are paired too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.stats import t as student

LEVEL = 0.95


def over_trainings(rows: pl.DataFrame, first: str, second: str, *, paired: bool) -> dict[str, Any]:
    """The difference of two arms: columns `arm`, `training`, `case`, `video` and `value`, every case by every training.

    `p_all`, `low_all` and `high_all` are for videos and trainings together; `sd_trainings` is the spread of one arm's
    mean between trainings, pooled over both. With a single training of an arm they are null: its luck is not known.
    """
    one, other = (rows.filter(arm=arm) for arm in (first, second))
    value = _mean(one) - _mean(other)
    each = _by_case(one).join(_by_case(other), on=["case", "video"], suffix="_other", validate="1:1")
    off = each.select("video", off=pl.col("value") - pl.col("value_other") - value).group_by("video").agg(pl.sum("off"))
    videos, count = off.height, each.height
    by_video = videos / max(videos - 1, 1) * float((off["off"] ** 2).sum()) / count**2
    means = [_by_training(rows) for rows in (one, other)]
    by_training, df_training = _paired(*means) if paired else _welch(*means)
    variance = by_video + by_training
    known = {"trainings": min(len(of_arm) for of_arm in means), "sd_trainings": _pooled_sd(*means)}
    if not np.isfinite(by_training) or videos < 2:
        return {"difference_all": value, "low_all": None, "high_all": None, "p_all": None, **known}
    if variance == 0:
        return {"difference_all": value, "low_all": value, "high_all": value, "p_all": float(value == 0), **known}
    df = variance**2 / (by_video**2 / (videos - 1) + by_training**2 / df_training)
    half = float(student.ppf((1 + LEVEL) / 2, df)) * variance**0.5
    p = 2 * float(student.sf(abs(value) / variance**0.5, df))
    return {"difference_all": value, "low_all": value - half, "high_all": value + half, "p_all": p, **known}


def _mean(rows: pl.DataFrame) -> float:
    return float(np.mean(rows["value"].to_numpy()))


def _by_case(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("case", "video").agg(pl.mean("value"))


def _by_training(rows: pl.DataFrame) -> np.ndarray:
    return rows.group_by("training").agg(pl.mean("value")).sort("training")["value"].to_numpy()


def _paired(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Variance of the mean difference between trainings that share networks, and its degrees of freedom."""
    if len(one) != len(other):
        raise ValueError(f"{len(one)} and {len(other)} trainings cannot share networks; pair none of them")
    differences = one - other
    return (float(differences.var(ddof=1)) / len(one) if len(one) > 1 else np.nan), max(len(one) - 1, 1)


def _welch(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """The same for trainings that share nothing."""
    if min(len(one), len(other)) < 2:
        return np.nan, 1.0
    parts = [float(of_arm.var(ddof=1)) / len(of_arm) for of_arm in (one, other)]
    below = sum(part**2 / (len(of_arm) - 1) for part, of_arm in zip(parts, (one, other), strict=True))
    return sum(parts), sum(parts) ** 2 / below if below else 1.0


def _pooled_sd(one: np.ndarray, other: np.ndarray) -> float | None:
    df = len(one) + len(other) - 2
    return float(np.sqrt((one.var() * len(one) + other.var() * len(other)) / df)) if df else None
