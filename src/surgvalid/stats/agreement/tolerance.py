"""Tolerances from raters: how far apart the numbers of careful people lie.

Definition. The tolerance at chance q is the least distance within which two raters of one unit lie with probability q:
the q-quantile of `|x_a - x_b|` over units and their pairs of raters. Every unit counts once, however many raters it
has. A time is a number of seconds, a count or a position along an axis a number as it stands.

The interval is that of a pooled quantile over videos (`pooled_quantile`). A 95 % quantile needs forty videos for one;
the tolerance itself needs as many units as let a share of `1 - q` be seen at all (twenty at 95 %). With fewer, the
largest difference that happened to occur would be called a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.schema.findings import Finding
from surgvalid.schema.questions.formats import Time, Unreadable
from surgvalid.schema.questions.question_files import Sources, load_references
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.agreement.ratings import Ratings
from surgvalid.stats.intervals.interval import known
from surgvalid.stats.intervals.interval_settings import percent
from surgvalid.stats.intervals.pooled_quantile import FEWEST_BEYOND, pooled_quantile_interval

THRESHOLDS = {"time": "threshold_seconds", "percentage": "threshold_pp"}
"""Answer formats that have a tolerance, and what it is called in `format_kwargs` of a references file."""
FEW_RATERS = 3
"""Below this many raters, a spread is that between two people and not one between raters."""


class RaterPairs(NamedTuple):
    """Distances between two raters of one unit, and what each counts; the distances of a unit count 1 together."""

    distance: np.ndarray
    unit: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, numbers: Sequence[np.ndarray]) -> RaterPairs:
        """All pairs, from the numbers given to each unit; units with fewer than two have none."""
        apart = [np.array([abs(a - b) for a, b in combinations(given.tolist(), 2)]) for given in numbers]
        sizes = [len(gaps) for gaps in apart]
        weight = [np.full(size, 1.0 / size) for size in sizes if size]
        return cls(
            np.concatenate([*apart, np.empty(0)]),
            np.repeat(np.arange(len(apart)), sizes),
            np.concatenate([*weight, np.empty(0)]),
        )

    def tolerance(self, chance: float) -> float:
        """The least distance within which two raters lie with the chance asked for.

        Example:
            >>> RaterPairs.of([np.array([1.0, 2.0]), np.array([5.0, 8.0])]).tolerance(0.5)
            1.0
        """
        order = np.argsort(self.distance, kind="stable")
        reached = np.cumsum(self.weight[order]) / self.weight.sum()
        place = min(int(np.searchsorted(reached, chance - 1e-12)), len(order) - 1)
        return float(self.distance[order][place])


def rater_sd(numbers: Sequence[np.ndarray]) -> float:
    """The SD of one rater around the mean of a unit, pooled over units with two raters or more."""
    squares = sum(float(((given - given.mean()) ** 2).sum()) for given in numbers if len(given) > 1)
    freedom = sum(len(given) - 1 for given in numbers if len(given) > 1)
    return math.sqrt(squares / freedom) if freedom else math.nan


def tolerance_row(ratings: Ratings, chance: float, level: float) -> tuple[dict[str, Any], list[Finding]]:
    """The row of the table `tolerance`, and what must be known about it.

    Raises:
        Misuse: No chance, or fewer units than could show it.
        TableInvalid: Labels that are neither numbers nor times, or no unit with two raters.
    """
    if not 0 < chance < 1:
        raise Misuse(f"tolerance is a chance between 0 and 1, such as 0.95; got {chance:g}")
    table = _numbers(ratings)
    numbers = [row[np.isfinite(row)] for row in table]
    pairs, fewest = RaterPairs.of(numbers), math.ceil(1 / (1 - chance) - 1e-9)
    units = len(np.unique(pairs.unit))
    if not units:
        raise TableInvalid("ratings", ["no unit was rated by two raters, so nothing is known about how far they lie"])
    if units < fewest:
        raise Misuse(
            f"{units} units with two raters cannot show a tolerance at {percent(chance)}; have at least {fewest} rated "
            f"twice, or ask for a chance of {1 - 1 / units:.2g} at most"
        )
    videos = ratings.videos[pairs.unit]
    ends = pooled_quantile_interval(pairs.distance, videos, chance, level=level, low=0.0, weights=pairs.weight)
    raters = int(np.isfinite(table[np.unique(pairs.unit)]).any(axis=0).sum())
    row = {
        "chance": chance,
        "tolerance": pairs.tolerance(chance),
        "low": known(ends.low),
        "high": None if math.isinf(ends.high) else known(ends.high),
        "rater_sd": known(rater_sd(numbers)),
        "largest": float(pairs.distance.max()),
        "units": units,
        "pairs": len(pairs.distance),
        "raters": raters,
        "videos": len(np.unique(videos)),
    }
    return row, _findings(row, ends.beyond, ends.open_high, chance)


def tolerance_prose(row: Mapping[str, Any]) -> str:
    """The row in a sentence."""
    high = "open" if row["high"] is None else f"{row['high']:g}"
    ends = "" if row["low"] is None else f" [{row['low']:g}, {high}]"
    return (
        f"Two of {row['raters']} raters lie within {row['tolerance']:g}{ends} of each other with a chance of "
        f"{percent(row['chance'])} ({row['pairs']:,} pairs on {row['units']:,} units from {row['videos']:,} videos, "
        "every unit counting once)."
    )


def with_tolerance(references: Sources, answer_format: str, tolerance: float) -> list[dict[str, Any]]:
    """The rows of a references file in which questions of a format have this tolerance.

    Raises:
        Misuse: The format has no tolerance: counts and classes are equal or not.
    """
    key = THRESHOLDS.get(answer_format)
    if key is None:
        raise Misuse(f"answers of format {answer_format!r} have no tolerance; {' and '.join(THRESHOLDS)} have one")
    rows = []
    for reference in load_references(references):
        row = reference.as_row()
        if reference.ood is None:
            del row["ood"]
        if reference.format == answer_format:
            row["format_kwargs"] = {**row["format_kwargs"], key: tolerance}
        rows.append(row)
    return rows


def _findings(row: dict[str, Any], beyond: float, open_high: bool, chance: float) -> list[Finding]:
    findings = []
    if row["raters"] < FEW_RATERS:
        text = (
            f"The tolerance is what lies between {row['raters']} raters; how far a third one would lie, these ratings "
            "do not show."
        )
        findings.append(remark("few-raters", text))
    if row["low"] is None:
        need = math.ceil(FEWEST_BEYOND / min(chance, 1 - chance) - 1e-9)
        text = (
            f"No interval of the tolerance: {row['videos']} videos leave {beyond:.1f} videos' worth of differences "
            f"beyond it; about {need} equally long ones are needed."
        )
        findings.append(remark("thin-quantile", text))
    elif open_high:
        text = "The ratings do not bound the tolerance from above; its interval is open there."
        findings.append(remark("open-interval", text))
    return findings


def _numbers(ratings: Ratings) -> np.ndarray:
    """`[unit, rater]`: the rated numbers, times in seconds, NaN where not rated."""
    values = [_number(name) for name in ratings.categories]
    bad = [name for name, value in zip(ratings.categories, values, strict=True) if value is None]
    if bad:
        listed = ", ".join(map(repr, bad[:5]))
        raise TableInvalid("ratings", [f"a tolerance needs numbers or times (hh:mm:ss), got {listed}"])
    return np.where(ratings.codes >= 0, np.append(np.array(values, dtype=np.float64), np.nan)[ratings.codes], np.nan)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        try:
            times = Time().parse(text)
        except Unreadable:
            return None
        return float(times[0]) if len(times) == 1 else None
    return value if math.isfinite(value) else None
