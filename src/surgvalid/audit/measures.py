"""The few computations that checks share: means and differences of cases with whole videos as the unit.

A check calls something seen at `ALPHA`, after Holm's correction over everything that it tests: of sound studies one in
a hundred may be accused by each check that tests, whatever the number of columns, models or thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from surgvalid.audit.evidence import AuditNumber
from surgvalid.schema.tables.score_table import ScoreMatrix
from surgvalid.stats.intervals.sign_flip_interval import Differences, difference_interval
from surgvalid.stats.intervals.video_jackknife import Jackknifed, mean_interval

ALPHA = 0.01
FEWEST_TESTED = 8
"""Videos below which no exact test over videos reaches `ALPHA`: with seven its smallest p-value is 1/64."""


def coded(names: Sequence[Any] | pl.Series) -> tuple[list[str], np.ndarray]:
    """The different names in order, and the place of each entry's name among them."""
    series = names if isinstance(names, pl.Series) else pl.Series(names)
    known, codes = np.unique(series.cast(pl.String).fill_null("").to_numpy().astype(str), return_inverse=True)
    return known.tolist(), codes


def video_sums(values: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum and number of the values of each video, column by column; NaN counts as not there."""
    columns = values[:, None] if values.ndim == 1 else values
    held = np.isfinite(columns)
    totals = np.zeros((int(codes.max()) + 1, columns.shape[1]))
    sizes = np.zeros_like(totals)
    np.add.at(totals, codes, np.where(held, columns, 0.0))
    np.add.at(sizes, codes, held.astype(np.float64))
    return totals, sizes


def usual_values(matrix: ScoreMatrix) -> dict[str, np.ndarray]:
    """What each model reaches under the usual ways to make one number of its scores."""
    levels = {"cases": np.arange(len(matrix.values)), "videos": matrix.videos}
    if "video_id" in matrix.cases.columns:
        levels = {**levels, "videos": matrix.videos, "recordings": coded(matrix.cases["video_id"])[1]}
    ways: dict[str, np.ndarray] = {}
    for name, codes in levels.items():
        totals, counts = video_sums(matrix.values, codes)
        each = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)
        ways |= {f"mean over {name}": np.nanmean(each, axis=0), f"median over {name}": np.nanmedian(each, axis=0)}
    return ways


def means(values: np.ndarray, codes: np.ndarray, *, low: float = 0.0, high: float = 1.0) -> Jackknifed:
    """The mean of each column with its interval over videos."""
    return mean_interval(*video_sums(values, codes), low=low, high=high)


def differences(values: np.ndarray, codes: np.ndarray) -> Differences:
    """The mean of each column of paired differences, with the exact test over videos."""
    return difference_interval(*video_sums(values, codes))


def grid_means(values: np.ndarray, *, low: float = -np.inf, high: float = np.inf) -> Jackknifed:
    """The mean over videos of each column of `values[video, column]`; NaN counts as not there."""
    return means(values, np.arange(len(values)), low=low, high=high)


def grid_differences(values: np.ndarray) -> Differences:
    """The mean over videos of each column of differences, with the exact test over videos."""
    return differences(values, np.arange(len(values)))


class Jackknife(NamedTuple):
    """A number with its interval and p-value against 0, from leaving out one video at a time."""

    value: float
    low: float
    high: float
    p_value: float


def jackknifed(value: float, without: np.ndarray) -> Jackknife:
    """The 95 % interval of a number from its values without each video: Student's t, videos - 1 degrees of freedom."""
    videos = len(without)
    spread = float(np.sqrt((videos - 1) / videos * ((without - value) ** 2).sum()))
    if spread <= 1e-12:
        return Jackknife(value, value, value, float(abs(value) <= 1e-12))
    reach = float(stdtrit(videos - 1, 0.975)) * spread
    return Jackknife(value, value - reach, value + reach, float(2 * stdtr(videos - 1, -abs(value) / spread)))


def end(value: float | None) -> float | None:
    """An end of an interval as evidence holds it: None where there is none."""
    return None if value is None or not np.isfinite(value) else float(value)


def number_of(quantity: str, row: Mapping[str, Any], value: str = "value", **about: str) -> AuditNumber:
    """A value of a result as evidence holds it, with its interval and the videos behind it."""
    named = {"subject": row.get("model", ""), **about}
    return AuditNumber(quantity, row[value], end(row["low"]), end(row["high"]), n=row["videos"], **named)


def estimate(quantity: str, around: Jackknifed, place: int, videos: Sequence[Any], **about: str) -> AuditNumber:
    """One of several means as evidence holds it, with its interval over videos."""
    low, high = end(around.low[place]), end(around.high[place])
    return AuditNumber(quantity, float(around.value[place]), low, high, n=len(videos), **about)


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "class", "classes"), counted(2, "video")
        ('1 class', '2 videos')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a sentence, the first few and how many more."""
    shown = ", ".join(map(str, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
