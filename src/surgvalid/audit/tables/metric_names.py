"""Which column is which metric, taken from headings; what two readings fit is not taken, but asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from surgvalid.audit.tables.layout import PrintedTable
from surgvalid.errors import UnknownName

ALIASES: Mapping[str, tuple[str, ...]] = {
    "accuracy": ("a", "acc", "accuracy", "labelwise accuracy", "label wise accuracy", "top 1", "top 1 accuracy"),
    "exact_match": ("emr", "exact match", "exact match ratio", "subset accuracy"),
    "balanced_accuracy": ("bacc", "bal acc", "balanced accuracy"),
    "f1": ("f1", "f1 score", "f score", "f1 measure", "f measure", "dice", "dsc", "dice score", "dice coefficient"),
    "jaccard": ("j", "jac", "jaccard", "jaccard score", "jaccard index", "iou", "miou", "mean iou"),
    "precision": ("p", "prec", "precision", "ppv"),
    "recall": ("r", "rec", "recall", "sens", "sensitivity", "tpr"),
    "specificity": ("spec", "specificity", "tnr"),
    "average_precision": ("ap", "map", "average precision", "mean average precision"),
    "auc": ("auc", "auroc", "roc auc"),
    "share": ("share", "proportion", "percentage"),
}
"""What the metrics are called in print, in lower case without signs; all lie between 0 and 1, or 0 and 100 %."""
WEIGHTED = tuple(f"weighted_{name}" for name in ("f1", "jaccard", "precision", "recall", "average_precision"))
METRICS = (*ALIASES, *WEIGHTED)
OTHER = "other"
"""What to call a column that is none of these although its name is."""
_NAMES = {alias: name for name, aliases in ALIASES.items() for alias in aliases}
_WEIGHT = re.compile(r"^(?:weighted|wtd|w)[ ]?(?=[a-z])|[ ](?:w|weighted)$")
_MACRO = re.compile(r"^(?:macro|mean|avg|average)[ ]|[ ](?:macro|mean)$|^m(?=f1|iou|dice|ap)")
_UNITS = re.compile(r"@.*$|\[[^\]]*\]|\((?:in )?(?:%|percent)\)|\(\d[^)]*\)")

CHANGES = re.compile(r"\bdiff(?:erence)?s?\b|Δ|\bdelta|\bgain|\bchange|\bimprovement", re.IGNORECASE)
"""Words of a difference of two values, which is no value of the metric."""


class ColumnReading(NamedTuple):
    """What a column of a table was interpreted as."""

    place: int
    """Of the column in its table, from 0."""
    metric: str
    """Empty where it is none that is known."""
    group: tuple[str, ...]
    """The other headings above it: columns of one group describe the same predictions."""


class Readings(NamedTuple):
    """The columns of a table, and what could not be decided."""

    columns: tuple[ColumnReading, ...]
    doubts: tuple[str, ...]


def metric_named(heading: str) -> str:
    """The metric that a heading names, or nothing.

    Example:
        >>> [metric_named(text) for text in ("wF1", "Macro-F1 (%) ↑", "mIoU", "Dice", "FPS", "Acc.", "AP@0.50:0.95")]
        ['weighted_f1', 'f1', 'jaccard', 'f1', '', 'accuracy', 'average_precision']
    """
    words = " ".join(re.sub(r"[^a-z0-9]+", " ", _UNITS.sub("", heading.lower())).split())
    if words in _NAMES:
        return _NAMES[words]
    bare = _WEIGHT.sub("", words)
    if bare != words and f"weighted_{_NAMES.get(bare, '')}" in WEIGHTED:
        return f"weighted_{_NAMES[bare]}"
    name = _NAMES.get(_MACRO.sub("", words), "")
    return name if f"weighted_{name}" in WEIGHTED else ""


def read_columns(table: PrintedTable, chosen: Mapping[str, str]) -> Readings:
    """What the columns of a table are.

    Args:
        table: As printed.
        chosen: Metrics by heading, for columns that need no guess.
    """
    readings = tuple(_reading(index, path, chosen) for index, path in enumerate(table.columns))
    decided = list(readings)
    groups = Counter(reading.group for reading in readings if reading.metric)
    doubts = []
    for index, reading in enumerate(readings):
        name = table.column_name(index)
        same = [table.column_name(other.place) for other in readings if other[1:] == reading[1:]]
        letter = len(table.columns[index][-1].strip("↑↓ ")) == 1 and not _chosen(table.columns[index], chosen)
        if not reading.metric:
            continue
        if len(same) > 1:
            doubts.append(f"columns {_listed(same)} both read as {reading.metric}, so neither is used as such")
        elif letter and groups[reading.group] == 1:
            doubts.append(f"column {name!r} may be {reading.metric}; a single letter alone is not interpreted as it")
        else:
            continue
        decided[index] = reading._replace(metric="")
    return Readings(tuple(decided), tuple(dict.fromkeys(doubts)))


def check_choices(columns: Mapping[str, str]) -> dict[str, str]:
    """Metrics by heading, also where somebody wrote `METRIC=HEADING`.

    Raises:
        UnknownName: Neither side is a metric.
    """
    chosen = {}
    for heading, metric in columns.items():
        if metric in (*METRICS, OTHER):
            chosen[heading] = metric
        elif heading in (*METRICS, OTHER):
            chosen[metric] = heading
        else:
            raise UnknownName("metric", metric, (*METRICS, OTHER))
    return chosen


def _chosen(path: tuple[str, ...], chosen: Mapping[str, str]) -> str:
    return next((chosen[name] for name in (" / ".join(path), path[-1]) if name in chosen), "")


def _reading(column: int, path: tuple[str, ...], chosen: Mapping[str, str]) -> ColumnReading:
    if metric := _chosen(path, chosen):
        return ColumnReading(column, "" if metric == OTHER else metric, path[:-1])
    named = [(place, metric) for place, text in enumerate(path) if (metric := metric_named(text))]
    if not named or CHANGES.search(" ".join(path)) or (len(named) > 1 and named[-1][0] != len(path) - 1):
        return ColumnReading(column, "", path[:-1])
    place, metric = named[-1]
    return ColumnReading(column, metric, path[:place] + path[place + 1 :])


def _listed(names: Iterable[str]) -> str:
    return " and ".join(repr(name) for name in names)
