"""Metrics that are means over classes: intervals and differences by class, from whole videos left out.

A mean over classes is made of what each class adds: its value, or what a rule says for a class without one (0 where
undefined classes count, nothing where they are left out). Two things are fixed by the full sample and never by a
weighting: which classes count, and what a class adds that no reference here has. A class that a left-out video took
along is carried (`macro_interval`); a class that still has references and lost its value, such as the precision of a
class that is then predicted nowhere, adds what the rule says.

The decision a reader would question: classes without any reference that count 0 do not widen the interval. How well
they would be found cannot be learned here at any width but the whole scale; a finding says that they are taken as they
are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy.special import stdtr

from surgeval.schema.findings import Finding
from surgeval.schema.metric_facts import MetricFacts
from surgeval.stats import few_videos as notice
from surgeval.stats.macro_interval import MacroInterval, MacroRow, macro_difference_interval, macro_interval
from surgeval.stats.resampling import BLOCK_CELLS
from surgeval.stats.video_jackknife import FEWEST_VIDEOS

LABEL = "jackknife by class"


@runtime_checkable
class ClassWise(Protocol):
    """A metric that may be the mean of the values of its classes."""

    def class_values(self, statistics: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """`[weighting, class]`."""

    def class_support(self, statistics: np.ndarray) -> np.ndarray:
        """`[row, class]`: reference cases of each class behind each row."""


@runtime_checkable
class CountsClasses(ClassWise, Protocol):
    """One with a rule for classes that have no value."""

    def class_terms(self, statistics: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """`[weighting, class]`: what each class adds to the mean; NaN for one that is left out."""


class ClassTerms(NamedTuple):
    """What the classes of one model add to its mean."""

    terms: Callable[[np.ndarray], np.ndarray]
    """`weights[weighting, row]` to `[weighting, class]`; NaN for classes that a weighting lacks or that are fixed."""
    fixed: np.ndarray
    """What classes without any reference add."""
    support: np.ndarray
    """`[row, class]`."""
    counted: np.ndarray
    """Which classes count, `[class]`."""


def class_terms(metric: object, statistics: np.ndarray, value: float, *, fewest: int = 2) -> ClassTerms | None:
    """What the classes of a metric add to its value; None where it is no plain mean over `fewest` or more classes."""
    if not isinstance(metric, ClassWise):
        return None
    added = metric.class_terms if isinstance(metric, CountsClasses) else metric.class_values
    support = np.asarray(metric.class_support(statistics), dtype=np.float64)
    whole = np.asarray(added(statistics, np.ones((1, len(support)), dtype=np.int64))[0])
    counted, present = np.isfinite(whole), support.sum(axis=0) > 0
    if counted.sum() < fewest or not math.isclose(float(whole[counted].mean()), value, rel_tol=1e-9, abs_tol=1e-12):
        return None

    def terms(weights: np.ndarray) -> np.ndarray:
        kept = (weights @ support > 0) & counted & present
        return np.where(kept, added(statistics, weights), np.nan)

    return ClassTerms(terms, whole[counted & ~present], support, counted)


def macro_spread(
    class_values: Callable[[np.ndarray], np.ndarray],
    support: np.ndarray,
    owners: np.ndarray,
    facts: MetricFacts,
    *,
    level: float,
    classes: Sequence[str],
    name: str | None = None,
    what: str = "classes",
    difference: bool = False,
) -> tuple[MacroInterval, tuple[Finding, ...]]:
    """The interval of a mean over classes, and what must be said about it.

    Args:
        class_values: `weights[weighting, case]` to `[weighting, class]`; NaN for a class that a weighting lacks.
        support: `[case, class]`, reference cases of each class.
        owners: The video of each case, by number.
        facts: Range of a class value.
        level: Coverage asked for.
        classes: Names of the classes.
        name: What is measured, for the findings.
        what: What the classes are, in words.
        difference: Whether `class_values` are differences of two models.
    """
    videos = int(owners.max()) + 1
    by_video = np.zeros((videos, support.shape[1]))
    np.add.at(by_video, owners, support)
    values = class_values(np.ones((1, len(owners)), dtype=np.int64))[0]
    without = in_blocks(class_values, owners, support.shape[1])
    if difference:
        macro = macro_difference_interval(values, without, by_video, level=level, width=facts.high - facts.low)
    else:
        macro = macro_interval(values, without, by_video, level=level, low=facts.low, high=facts.high)
    refused = math.isnan(macro.every.low) and not math.isnan(macro.repeated.low)
    single = [classes[place] for place in macro.single]
    spoken = [
        notice.few_videos(videos, macro.every.df, where=name),
        notice.single_video_classes(single, macro.every.classes, refused=refused, what=what, where=name),
    ]
    if _silent(macro.repeated, videos):
        spoken.append(notice.no_variation(where=name))
    return macro, tuple(one for one in spoken if one is not None)


def with_fixed(row: MacroRow, fixed: np.ndarray) -> MacroRow:
    """The mean over further classes that add the same whatever the videos."""
    number = row.classes + len(fixed)
    share, shift = row.classes / number, float(fixed.sum()) / number
    value, low, high = (share * one + shift for one in (row.value, row.low, row.high))
    return MacroRow(value, low, high, share * row.sd, row.df, number)


def p_value(macro: MacroInterval, width: float) -> float:
    """Two-sided p-value of a difference: the largest level at which its interval touches 0.

    Classes in one video only may lie anywhere, so they take their widest difference off the evidence of the others.
    """
    row, single = macro.repeated, len(macro.single)
    if math.isnan(macro.every.low) or not row.sd > 0:
        return math.nan
    beyond = abs(row.value) - (single * width / row.classes if single else 0.0)
    return 2.0 * float(stdtr(row.df, -beyond / row.sd)) if beyond > 0 else 1.0


def in_blocks(values: Callable[[np.ndarray], np.ndarray], owners: np.ndarray, width: int) -> np.ndarray:
    """Values under the weightings that leave out one unit each, some units at a time."""
    units = int(owners.max()) + 1
    out = np.empty((units, width))
    step = max(1, BLOCK_CELLS // max(1, len(owners)))
    for start in range(0, units, step):
        chosen = np.arange(start, min(start + step, units))
        out[chosen] = values((owners[None, :] != chosen[:, None]).astype(np.int64))
    return out


def _silent(row: MacroRow, videos: int) -> bool:
    """Whether classes in two or more videos leave no interval for want of variation."""
    return videos >= FEWEST_VIDEOS and row.classes > 0 and math.isnan(row.low)
