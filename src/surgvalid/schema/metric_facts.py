"""What must be known about a metric before its numbers can be used: range, direction, unit, conventions.

A direction that nobody stated is unknown, never guessed: what needs one asks for it. Facts of the metrics of
questions stand here; those of computed metrics are declared by their classes, and `metric_catalogue.json` beside this
file is the view of them that tables without facts of their own are read with (`python -m docs.generate`
writes it, a contract test keeps it true). It holds range, direction and unit only: how somebody else computed a `dsc`
is not known from its name.

A metric itself (`Metric`) is declared so that every resample of it is nothing but a vector of weights: the expensive
part (matching boxes, reading masks) happens once, in `prepare`; `combine` turns the prepared statistics and weights
into values. Bootstrap, jackknife, strata and paired comparison then never run the matching again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np
import polars as pl

from surgvalid.errors import DirectionUnknown, Misuse, UnknownName

Better = Literal["larger", "smaller"]
BETTER: tuple[Better, ...] = get_args(Better)
CATALOGUE_VERSION = 1
"""Of the form of the facts in files."""


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """The facts of one metric. A number without them is not a result."""

    name: str
    low: float = 0.0
    high: float = 1.0
    better: Better | None = "larger"
    """None where nobody said."""
    estimand: str = "mean over cases"
    conventions: Mapping[str, str] = field(default_factory=dict)
    row: str = "case"
    """What one row of a score table scores: `case` or `video`."""
    unit: str = ""
    """Such as `px` or `s`; empty for a number without a unit."""
    pooled: bool = False
    """Whether the value of everything is another number than the mean of the rows."""
    cases: tuple[str, ...] = ()
    """Forms of input that the metric takes, such as `masks`; empty where rows are all there is."""

    @property
    def worst(self) -> float:
        """The worst value the metric can take; NaN where the direction is unknown."""
        return {"larger": self.low, "smaller": self.high}.get(self.better or "", math.nan)

    @property
    def sign(self) -> float:
        """1 where larger is better, -1 where smaller is.

        Raises:
            DirectionUnknown: Nobody said which is better.
        """
        if self.better is None:
            raise DirectionUnknown(self.name)
        return 1.0 if self.better == "larger" else -1.0

    def as_share(self) -> MetricFacts:
        """The facts of what is right or wrong: told in percent, unless values go beyond 0 to 1 or have a unit."""
        fits = self.unit == "" and (self.low, self.high) in ((0.0, 1.0), (-math.inf, math.inf))
        return replace(self, low=0.0, high=1.0, unit="%") if fits else self

    @property
    def is_share(self) -> bool:
        """Whether values, from 0 to 1, are told in percent: each case is right or wrong."""
        return (self.low, self.high, self.unit) == (0.0, 1.0, "%")

    @property
    def gap_unit(self) -> str:
        """The unit of a difference of two values."""
        return "points" if self.is_share else self.unit

    @classmethod
    def unknown(cls, name: str) -> MetricFacts:
        """The facts of a metric of which only the name is known."""
        return cls(name, -math.inf, math.inf, None)

    def as_dict(self) -> dict[str, Any]:
        """The facts as plain data; a bound that does not exist is None."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        bounds = {end: given[end] if math.isfinite(given[end]) else None for end in ("low", "high")}
        return {**given, **bounds, "conventions": dict(self.conventions), "cases": list(self.cases)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> MetricFacts:
        """The facts in a record as `as_dict` makes it; what it lacks is unknown, what it has beyond is left.

        Raises:
            Misuse: A name, bound or direction that cannot be one.
        """
        given = {one.name: record[one.name] for one in fields(cls) if one.name in record}
        name, better = given.get("name"), given.setdefault("better", None)
        low, high = given.get("low"), given.get("high")
        numbers = all(
            end is None or (isinstance(end, int | float) and not isinstance(end, bool)) for end in (low, high)
        )
        if not isinstance(name, str) or not numbers or better not in (*BETTER, None):
            raise Misuse(f"facts of a metric need a name, numbers as bounds and a direction, got {dict(record)!r:.200}")
        given |= {"low": -math.inf if low is None else float(low), "high": math.inf if high is None else float(high)}
        return cls(
            **{**given, "cases": tuple(given.get("cases", ())), "conventions": dict(given.get("conventions", {}))}
        )

    def differing(self, other: MetricFacts) -> list[str]:
        """What two records of one metric say differently, in words."""
        pairs = [(one.name, getattr(self, one.name), getattr(other, one.name)) for one in fields(self)]
        problems = [
            f"{what} {mine!r} and {theirs!r}"
            for what, mine, theirs in pairs
            if mine != theirs and what != "conventions"
        ]
        keys = list({**self.conventions, **other.conventions})
        mine, theirs = self.conventions, other.conventions
        return problems + [
            f"{key} {mine.get(key)!r} and {theirs.get(key)!r}" for key in keys if mine.get(key) != theirs.get(key)
        ]

    def directed(self, better: str) -> MetricFacts:
        """The facts with the direction that somebody stated.

        Raises:
            UnknownName: Neither larger nor smaller.
            Misuse: Another direction than the one that is known.
        """
        if better not in BETTER:
            raise UnknownName("direction", better, BETTER)
        if self.better not in (None, better):
            raise Misuse(
                f"{self.name!r} is better when {self.better}, but better={better!r} was given; leave it out, or give "
                "the metric another name if it means something else"
            )
        return replace(self, better=better)


CORRECT = MetricFacts("correct", conventions={"missing": "wrong", "late": "wrong"})
"""Whether an answer is right: the metric every question has."""

TIME_TOLERANCES_S = (1, 2, 5, 10, 30)
"""Tolerances at which times are reported, in seconds."""

_TIME = {
    "several times": "matched one to one with the least total error; mean over the longer list",
    "unmatched": "counts as missing",
    "missing": "distance to the farthest end of the question's window, at least 30 s",
    "given but farther": "counts as missing, so that no answer is never better than an answer",
}
_COUNT = {
    "missing": "distance to the farthest of 0 and the largest reference count",
    "given but farther": "counts as missing",
}
_SHARE = {
    "missing": "distance to the farthest of 0 % and 100 %",
    "given but farther": "counts as missing",
}

QUESTION_METRICS: dict[str, MetricFacts] = {
    facts.name: facts
    for facts in (
        CORRECT,
        MetricFacts("set_jaccard", conventions={"both none": "1", "missing": "0"}),
        MetricFacts("set_f1", conventions={"both none": "1", "missing": "0"}),
        MetricFacts("set_exact", conventions={"missing": "0"}),
        MetricFacts("time_error_s", 0.0, math.inf, "smaller", conventions=_TIME, unit="s"),
        *(MetricFacts(f"time_within_{t}s", conventions={**_TIME, "missing": "0"}) for t in TIME_TOLERANCES_S),
        MetricFacts("count_error", 0.0, math.inf, "smaller", conventions=_COUNT),
        MetricFacts("percentage_points_error", 0.0, math.inf, "smaller", conventions=_SHARE, unit="percentage points"),
    )
}
"""Metrics of answers to questions."""

CATALOGUE = Path(__file__).with_name("metric_catalogue.json")
KNOWN_METRICS: dict[str, MetricFacts] = {
    **QUESTION_METRICS,
    **{name: MetricFacts(name, 0.0, math.inf, "smaller") for name in ("mae", "rmse")},
    "error_rate": MetricFacts("error_rate", better="smaller"),
    **{
        name: MetricFacts.from_dict({"name": name, **record})
        for name, record in json.loads(CATALOGUE.read_text(encoding="utf-8")).items()
    },
}
"""Metrics whose range and direction are known by their name."""

_SAME = {
    "correct": ("is_correct", "exact_match"),
    "dsc": ("dice", "mdice"),
    "accuracy": (
        "acc",
        "genauigkeit",
        "exactitude",
        "exactitud",
        "acurácia",
        "accuratezza",
        "nauwkeurigheid",
        "准确率",
    ),
    "macro_f1": ("f1",),
    "iou": ("jaccard",),
    "macro_precision": ("precision",),
    "macro_recall": ("recall", "sensitivity", "sensitivität"),
    "macro_specificity": ("specificity", "especificidad", "especificidade", "spezifität"),
    "macro_auroc": ("auroc", "auc", "roc_auc"),
    "miou_per_image": ("miou",),
    "nsd_border": ("nsd", "surface_dice"),
    "balanced_accuracy": ("balanced_acc",),
    "mean_ap": ("ap", "map"),
    "assd_classes_px": ("assd", "asd", "masd", "average_surface_distance", "average_symmetric_surface_distance"),
    "hd95_px": ("hd95", "hd_95", "hausdorff95", "hausdorff_distance_95", "hausdorff_95"),
}
COMMON_NAMES: dict[str, str] = {name: ours for ours, names in _SAME.items() for name in names}
"""Names that others use, to one of ours with the same range and direction; the unit is not taken over."""
_ALIKE = {
    "cldice": "dsc",
    "absolute_error": "mae",
    **dict.fromkeys("hd hausdorff hausdorff_distance hausdorff_distanz".split(), "hd95_px"),
}
"""Names of other metrics, to one of ours with the same range and direction."""
_AROUND = re.compile(
    r"^(mean|avg|average|mittlerer|mittlere|mittleres|moyen|moyenne)_|_(mm|px|pixels?|cm|s|sec|percent|pct)$"
)
_THRESHOLD = re.compile(r"^(m?iou|m?ap|nsd|f1)_?@?_?\[?[0-9.][0-9.:_-]*(mm|px)?\]?$")
"""A metric at a threshold (`IoU@0.5`, `mAP50-95`): direction and range of its family, but not the same metric."""
_SAYING_NOTHING = frozenset(
    "score index indice índice coefficient coefficiente coeficiente koeffizient similarity de di do".split()
)


_FOLDED = {known.casefold(): known for known in KNOWN_METRICS} | _ALIKE | COMMON_NAMES


def known_as(name: str) -> str | None:
    """The registered name whose range and direction a name in a table stands for, or None.

    Example:
        >>> known_as("DSC"), known_as("mDice"), known_as("ASSD"), known_as("mAP50-95"), known_as("score")
        ('dsc', 'dsc', 'assd_classes_px', 'mean_ap', None)
    """
    if name in KNOWN_METRICS:
        return name
    folded, plain = _spellings(name)
    spellings = (folded, plain, _THRESHOLD.sub(r"\1", plain))
    return next((_FOLDED[one] for one in spellings if one in _FOLDED), None)


def _spellings(name: str) -> tuple[str, str]:
    """A name as it is, and without its unit and words that say nothing of what is measured (`Indice de Dice`)."""
    folded = name.casefold().replace(" ", "_").replace("-", "_")
    words = _AROUND.sub("", folded).split("_")
    return folded, "_".join(word for word in words if word not in _SAYING_NOTHING)


def same_metric(name: str) -> str:
    """What all names of one metric have in common, and those of metrics that are only alike do not.

    Example:
        >>> same_metric("Dice") == same_metric("DSC"), same_metric("HD") == same_metric("HD95")
        (True, False)
        >>> same_metric("AP50") == same_metric("AP75")
        False
    """
    spellings = _spellings(name)
    alike = (one for one in spellings if one in _ALIKE or _THRESHOLD.match(one))
    return next(alike, known_as(name) or name.casefold())


def facts_by_name(name: str) -> MetricFacts:
    """What the name of a metric says about its numbers, under that name; unknown facts where it says nothing."""
    registered = known_as(name)
    if registered is None:
        return MetricFacts.unknown(name)
    facts = KNOWN_METRICS[registered]
    return (
        facts
        if registered == name
        else replace(
            facts, name=name, unit="" if name.casefold() != registered.casefold() else facts.unit, conventions={}
        )
    )


class Metric(Protocol):
    """A metric that can be weighted.

    An accuracy, as an example: `prepare` gives one 0 or 1 per case, and `combine` is
    `weights @ statistics / weights.sum(axis=-1)`.
    """

    @property
    def facts(self) -> MetricFacts:
        """Name, range, direction and conventions."""

    def prepare(self, cases: Any) -> np.ndarray:
        """The statistics of every case: an array whose first axis runs over the cases."""

    def combine(self, statistics: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The value under each weighting: `weights[weighting, case]` in, `values[weighting]` out.

        A weight of `k` means that the case counts `k` times. NaN where the metric is undefined.
        """


class Packed(NamedTuple):
    """Statistics as plain arrays of numbers: what a file can hold."""

    shared: Mapping[str, np.ndarray]
    """What belongs to all units together, such as the order of all scores; empty where units stand for themselves."""
    units: Sequence[Mapping[str, np.ndarray]]
    """What belongs to each unit, in the order of the statistics."""


@runtime_checkable
class PackableMetric(Metric, Protocol):
    """A metric whose statistics can be written down, so that its value over all units can be had again from a file."""

    def pack(self, statistics: np.ndarray) -> Packed:
        """The statistics as plain arrays.

        Raises:
            Misuse: They cannot be, and why.
        """

    def unpack(self, packed: Packed) -> np.ndarray:
        """Statistics with the values of those that were packed, under any weights.

        Raises:
            Misuse: The arrays are not those of this metric.
        """


def range_problems(rows: pl.DataFrame, column: str, facts: MetricFacts) -> list[str]:
    """What is wrong with scores of one metric that lie outside its range; nothing where none does.

    Args:
        rows: `row`, counted from 1 as the user counts them, and `value`.
        column: Where the scores stand, in the words of the user.
        facts: Of the metric.

    Example:
        >>> from surgvalid.schema.metric_facts import facts_by_name
        >>> range_problems(pl.DataFrame({"row": [1, 2], "value": [85, 1]}), "Dice", facts_by_name("dice"))
        ["column 'Dice' has 1 entry outside [0, 1] (first: row 1, 85)"]
    """
    low, high = facts.low, facts.high
    endless = rows.filter(pl.col("value").is_infinite())
    bad = rows.filter(((pl.col("value") < low) | (pl.col("value") > high)) & pl.col("value").is_finite())
    problems = []
    if endless.height:
        are, they = ("is", "it") if endless.height == 1 else ("are", "they")
        hint = f"leave {'it' if endless.height == 1 else 'them'} empty and say with --missing what {they} count"
        hint += "s as" if endless.height == 1 else " as"
        problems.append(f"column {column!r} has {_entries(endless)} that {are} not finite ({_first(endless)}); {hint}")
    if bad.height:
        of = "" if column.casefold() == facts.name.casefold() else f", the range of {facts.name!r}"
        percent = high == 1 and bad["value"].is_between(0, 100).all() and bad.height > rows.height / 2
        hint = "; divide percentages by 100" if percent else ""
        span = f"outside [{low:g}, {high:g}]"
        problems.append(f"column {column!r} has {_entries(bad)} {span}{of} ({_first(bad)}){hint}")
    return problems


def _entries(rows: pl.DataFrame) -> str:
    return "1 entry" if rows.height == 1 else f"{rows.height} entries"


def _first(rows: pl.DataFrame) -> str:
    row, value = rows.select("row", "value").row(0)
    return f"first: row {row}, {value:g}"
