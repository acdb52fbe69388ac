"""Published rows of the Endoscapes2023 benchmark, in percent as printed, and this run beside them.

Source: Murali et al., The Endoscapes Dataset, arXiv 2312.12429: Table 2 (boxes), 3 and 6 (instances), 7 (critical view
of safety) and 8 (few labels). All values are of the test videos; none has an interval.

The one decision: a printed mean is marked where it differs from the mean of its printed parts by more than rounding
can explain. Parts and mean are printed to a tenth, so each is off by at most 0.05 and the two by at most 0.1.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from surgvalid.datasets.sets.endoscapes2023 import CRITERIA
from surgvalid.evaluation.measure import Measured
from surgvalid.results.tables.evaluation import BOARDS

CODES = ("C1", "C2", "C3")
STRUCTURES = ("cystic_plate", "calot_triangle", "cystic_artery", "cystic_duct", "gallbladder", "tool")
"""The classes of boxes and masks in the order of the tables; the second is printed as HC triangle dissection."""
_MEANS = {
    2: (("box mAP", slice(0, 7)),),
    3: (("box mAP", slice(0, 7)), ("mask mAP", slice(7, 14))),
    7: (("mAP", slice(0, 4)), ("bAcc", slice(4, 8))),
}
"""Of each table with parts: numbers that end in their mean."""


class PublishedRow(NamedTuple):
    """One printed row."""

    trained_on: str
    model: str
    numbers: tuple[float, ...]


class Leaderboard(NamedTuple):
    """What one part of the benchmark compares."""

    metric: str
    """Whose presence in a run makes the leaderboard, and whose interval is told."""
    numbers: tuple[str, ...]
    order: str
    """The number that decides the order."""
    parts: Mapping[str, str]
    """Metrics per class to the prefix of their columns."""
    means: Mapping[str, str]
    """Columns of means to their metrics."""
    codes: Mapping[str, str] = MappingProxyType({})
    """Classes that columns call otherwise."""


LEADERBOARDS = {
    "cvs": Leaderboard(
        "cvs_map",
        tuple(f"{what}_{column}" for what in ("map", "bacc") for column in (*CODES, "mean")),
        "map_mean",
        {"ap": "map_", "balanced_accuracy": "bacc_"},
        {"map_mean": "cvs_map", "bacc_mean": "cvs_bacc"},
        dict(zip(CRITERIA, CODES, strict=True)),
    ),
    "boxes": Leaderboard("bbox_map", (*STRUCTURES, "bbox_map"), "bbox_map", {"bbox_ap": ""}, {"bbox_map": "bbox_map"}),
    "masks": Leaderboard(
        "segm_map",
        ("bbox_map", "segm_map", *(f"{kind}_{name}" for kind in ("bbox", "segm") for name in STRUCTURES)),
        "segm_map",
        {"segm_ap": "segm_", "seg50_bbox_ap": "bbox_"},
        {"segm_map": "segm_map", "bbox_map": "seg50_bbox_map"},
    ),
}
_PROTOCOL = {
    "cvs": "percent; per criterion over all test frames, then the mean; interpolation of AP not stated; no interval",
    "coco": "percent; mAP at IoU 0.50 to 0.95, test images pooled; no interval",
}


@cache
def printed_tables() -> dict[int, list[PublishedRow]]:
    """Every table of the report by its number."""
    stored = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {
        int(table): [PublishedRow(trained_on, model, tuple(numbers)) for trained_on, model, *numbers in rows]
        for table, rows in stored.items()
    }


class Slip(NamedTuple):
    """A printed mean that is not the mean of its printed parts."""

    table: int
    trained_on: str
    model: str
    what: str
    printed: float
    mean_of_parts: float


def is_slip(printed: float, parts: Sequence[float]) -> bool:
    """Whether a printed mean cannot come from the parts, all printed to a tenth.

    Example:
        >>> is_slip(69.7, (69.3, 64.8, 73.6)), is_slip(60.2, (65.9, 52.6, 61.8))
        (True, False)
    """
    tenths = [round(10 * number) for number in parts]
    return abs(len(parts) * round(10 * printed) - sum(tenths)) > len(parts)


def slips() -> list[Slip]:
    """Every mean of Tables 2, 3 and 7 that its parts do not give."""
    listed = []
    for table, groups in _MEANS.items():
        for row in printed_tables()[table]:
            for what, group in groups:
                *parts, printed = row.numbers[group]
                if is_slip(printed, parts):
                    mean = round(sum(parts) / len(parts), 2)
                    listed.append(Slip(table, row.trained_on, row.model, what, printed, mean))
    return listed


def published_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a leaderboard: `cvs` has Tables 7 and 8, `boxes` Table 2, `masks` Table 6 with the classes of 3."""
    tables = printed_tables()
    if name == "boxes":
        return [
            _row(2, one, dict(zip(LEADERBOARDS[name].numbers, one.numbers, strict=True)), "coco") for one in tables[2]
        ]
    if name == "cvs":
        rows = [
            _row(7, one, dict(zip(LEADERBOARDS[name].numbers, one.numbers, strict=True)), "cvs") for one in tables[7]
        ]
        for one in tables[8]:
            ap, ap_sd, accuracy, accuracy_sd = one.numbers
            mark = f"SD {ap_sd} and {accuracy_sd} over three samples of training videos"
            rows.append({**_row(8, one, {"map_mean": ap, "bacc_mean": accuracy}, "cvs"), "mark": mark})
        return rows
    classes = {(one.trained_on, one.model): (*one.numbers[0:6], *one.numbers[7:13]) for one in tables[3]}
    names = LEADERBOARDS[name].numbers
    return [
        _row(6, one, dict(zip(names, (*one.numbers, *classes.get(one[:2], ())), strict=False)), "coco")
        for one in tables[6]
    ]


def _row(table: int, row: PublishedRow, numbers: Mapping[str, float], protocol: str) -> dict[str, Any]:
    printed_in = 3 if table == 6 else table
    marks = [
        f"{slip.what} mean printed {slip.printed:.1f}, its parts give {slip.mean_of_parts:.1f}"
        for slip in slips()
        if slip[:3] == (printed_in, row.trained_on, row.model)
    ]
    return {
        "model": row.model,
        "trained_on": row.trained_on,
        "source": f"Table {table}",
        **numbers,
        "mark": "; ".join(marks) or None,
        "conventions": _PROTOCOL[protocol],
    }


def board(name: str, this_run: Mapping[str, Any], lacking: str = "") -> pl.DataFrame:
    """Published rows and this run's, best first; this run comes first where numbers are equal.

    A run that is not of the whole test part has no rank among the others: it comes last and says so.

    Args:
        name: Of the leaderboard.
        this_run: `model` and the numbers of this run, in percent; those it lacks are left empty.
        lacking: What this run lacks of the test part that the published rows are of.
    """
    numbers, order = LEADERBOARDS[name].numbers, LEADERBOARDS[name].order
    mine = {"source": "this run", "trained_on": "-", **this_run}
    if lacking:
        mark = "; ".join(text for text in (f"NOT COMPARABLE: {lacking.rstrip('.')}", this_run.get("mark")) if text)
        mine |= {"source": "this run, incomplete", "mark": mark}
    names = ("model", "trained_on", "source", *numbers, "mark", "conventions")
    frame = BOARDS[name].frame([{name: row.get(name) for name in names} for row in (mine, *published_rows(name))])
    ordered = pl.col("source") == "this run, incomplete"
    return frame.with_columns(pl.col(numbers).cast(pl.Float64)).sort(
        ordered, order, descending=[False, True], nulls_last=True, maintain_order=True
    )


def boards(
    model: str, measured: Measured, names: Set[str], lacking: Mapping[str, str] = MappingProxyType({})
) -> Mapping[str, pl.DataFrame]:
    """A leaderboard for every part of the benchmark that this run took part in, in percent.

    Args:
        model: What the model is called.
        measured: The values of this run.
        names: The metrics that this run could have; they say which leaderboards there are.
        lacking: By metric, what this run lacks of the test part that published rows are of.
    """
    return {
        f"board_{name}": board(name, _this_run(model, measured, one), lacking.get(one.metric, ""))
        for name, one in LEADERBOARDS.items()
        if one.metric in names
    }


def _this_run(model: str, measured: Measured, leaderboard: Leaderboard) -> dict[str, Any]:
    values = dict(measured.metrics.select("metric", "value").rows())
    numbers = {column: _percent(values.get(metric)) for column, metric in leaderboard.means.items()}
    for label, metric, value in measured.per_class.select("class", "metric", "value").rows():
        if metric in leaderboard.parts:
            numbers[leaderboard.parts[metric] + leaderboard.codes.get(label, label)] = _percent(value)
    row = measured.metrics.filter(pl.col("metric") == leaderboard.metric)
    conventions = f"percent; {row['conventions'].item()}" if row.height else "percent; as in conventions.json"
    low, high = row.select("low", "high").row(0) if row.height else (None, None)
    known = low is not None and high is not None
    mark = f"{leaderboard.metric}: interval {100 * low:.1f} to {100 * high:.1f} over videos" if known else None
    return {"model": model, **numbers, "mark": mark, "conventions": conventions}


def _percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 1)
