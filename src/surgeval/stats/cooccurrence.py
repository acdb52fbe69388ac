"""Labels that occur together: marginal and conditional performance per primary and secondary capability.

A question has one primary label and any number of secondary ones. Three kinds of rows are reported, each
with a cluster interval of its delta:

* `marginal`: all cases that carry the label, as primary or secondary, against all cases;
* `primary`: cases with this primary label, against all cases;
* `conditional`: cases with this primary label that also carry the secondary one (or none at all),
  against all cases with the primary label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from surgeval.errors import UnknownName
from surgeval.results.request import requested
from surgeval.results.table_result import TableResult, as_table
from surgeval.results.tables.statistics import COOCCURRENCE
from surgeval.schema.score_table import Missing
from surgeval.schema.table_facts import Directions
from surgeval.stats.contrasts import Contrast, contrast_rows
from surgeval.stats.engine import AUTO
from surgeval.stats.interval import PREPARED_METHODS, Settings, check_settings, chosen_resample, matrix_notes
from surgeval.stats.intervals import percent
from surgeval.stats.labels import SEPARATOR, label_masks
from surgeval.stats.nesting import Resample

NONE = "(none)"
"""Stands for cases without any secondary label."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CooccurrenceResult(TableResult):
    """Marginal, primary and conditional rows per model."""

    stem: ClassVar[str] = "cooccurrence"


@requested("cooccurrence")
def cooccurrence(
    table: Any,
    *,
    primary: str = "capability",
    secondary: str = "secondary",
    separator: str = SEPARATOR,
    statistic: str = "mean",
    resample: Resample | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> CooccurrenceResult:
    """How each model does per label, and per label given that another one is present.

    Args:
        table: A `ScoreTable`, files, or anything tabular.
        primary: Column with one label per case.
        secondary: Column with any number of labels, as a list or as text with `separator` between them.
        separator: What stands between labels in text.
        statistic: As for `interval`.
        resample: As for `interval`.
        level: Coverage asked for.
        replicates: How many resamples, where a method draws.
        method: As for `strata`.
        seed: Seed of the stream.
        metric: Which metric of the table.
        better: `larger` or `smaller`, where neither the table nor the name of the metric says it.
        missing: What a score that is not there counts as: `worst`, `drop-case`, `drop-score`, `error` or a number, for
            all or by status; by default the worst value for what the model is to blame for, else an error.
        columns: Our column names to theirs, where files are read.
    """
    settings = Settings(statistic, chosen_resample(resample, method), "rows", level, replicates, method, seed)
    check_settings(settings, methods=PREPARED_METHODS)
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = scores.matrix(metric, missing=missing)
    contrasts = _contrasts(matrix.cases, primary, secondary, separator)
    how = (
        "intervals from leaving out one video at a time (jackknife)"
        if method == AUTO
        else f"{method} intervals from {replicates:,} resamples, seed {seed}"
    )
    prose = (
        f"Marginal and conditional {statistic} of {matrix.metric.name!r} per {primary} and {secondary} "
        f"(estimand: rows; {len(matrix.values):,} cases, {len(matrix.video_names):,} videos), "
        f"with deltas against all cases (marginal, primary) or against all cases of the primary label (conditional); "
        f"{percent(level)} {how}."
    )
    frame = COOCCURRENCE.frame(contrast_rows(matrix, contrasts, settings))
    return CooccurrenceResult.of(frame, prose, tuple(matrix_notes(matrix, has_videos=scores.has_videos)))


def _contrasts(cases: pl.DataFrame, primary: str, secondary: str, separator: str) -> list[Contrast]:
    for name in (primary, secondary):
        if name not in cases.columns:
            raise UnknownName("column", name, cases.columns)
    first = cases[primary].cast(pl.String).fill_null(NONE).to_numpy().astype(str)
    carries = label_masks(cases[secondary], separator)
    names = list(carries)
    carries[NONE] = ~np.any(list(carries.values()), axis=0) if names else np.ones(len(first), dtype=bool)
    everything = np.ones(len(first), dtype=bool)
    contrasts = []
    for name in sorted({*first.tolist(), *names} - {NONE}):
        mask = (first == name) | carries.get(name, np.zeros(len(first), dtype=bool))
        contrasts.append(_contrast("marginal", name, None, mask, everything))
    for name in sorted(set(first.tolist())):
        contrasts.append(_contrast("primary", name, None, first == name, everything))
        for other, mask in carries.items():
            both = (first == name) & mask
            if both.any():
                contrasts.append(_contrast("conditional", name, other, both, first == name))
    return contrasts


def _contrast(kind: str, label: str, given: str | None, cases: np.ndarray, baseline: np.ndarray) -> Contrast:
    return Contrast({"kind": kind, "label": label, "given": given}, cases, baseline)
