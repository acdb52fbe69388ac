"""Strata: how each model does under each condition, against all cases or against the remaining ones.

Strata may overlap: every column named is a source of strata of its own. A true/false column (or one of
zeros and ones) is one stratum, the cases that have the property; any other column is one stratum per
value; a column of numbers can be cut into bins. A column of lists, or of text such as `smoke;blood`, is one stratum per
label, and a case with two labels lies in both.

Two rules give the interval of a delta. `joint` (ours) leaves out one video of the whole table at a time, or resamples
these where a method draws, and computes both sides each time (`contrasts`). `subset` is the rule of Reinke et al.'s
(2025) second experiment: videos are drawn among those that have the property, and within each drawn video its stratum
rows and all its rows are drawn separately, so videos without the property never enter.

`cooccurrence` takes two columns of labels: values per label (marginal), and per label given that another one is present
(conditional), each against all cases or all cases of the label.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.request import requested
from surgvalid.results.result import TableResult, as_table
from surgvalid.results.tables.statistics import COOCCURRENCE, STRATA
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.schema.tables.units import UNSAID
from surgvalid.stats.comparing.contrasts import ONE_VIDEO, Contrast, contrast_rows, table_rows
from surgvalid.stats.intervals.few_videos import few_videos, gathered, percentile_too_narrow
from surgvalid.stats.intervals.interval import matrix_notes, slice_keys
from surgvalid.stats.intervals.interval_settings import AUTO, IntervalSettings, check_settings, percent, unused
from surgvalid.stats.intervals.nesting import Resample, label_of, nest_of
from surgvalid.stats.intervals.pooled import scored_units, scores_videos, verb_matrix
from surgvalid.stats.intervals.replicates import child_counts, unit_counts
from surgvalid.stats.intervals.slices import (
    SEPARATOR,
    check_distinct,
    check_filled,
    holds_several,
    is_flag,
    label_masks,
    levels_of_column,
    split_notes,
)
from surgvalid.stats.intervals.statistic import Statistic, unweighted

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
    settings = IntervalSettings(statistic, resample or "cluster", "rows", level, replicates, method, seed)
    check_settings(settings)
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


RULES = ("joint", "subset")
BASELINES = ("whole", "rest")
LOW = "low-artifact"
SUBSET_ROWS_LEVEL = 2
"""Level number of the separate draw of stratum rows under the rule `subset`."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class StrataResult(TableResult):
    """Deltas per stratum and model, with the median over models."""

    stem: ClassVar[str] = "strata"


@requested("strata")
def strata(
    table: Any,
    by: Sequence[str],
    *,
    statistic: str = "mean",
    resample: Resample | None = None,
    estimand: str = "rows",
    baseline: str = "whole",
    rule: str = "joint",
    bins: Mapping[str, Sequence[float]] | None = None,
    low_artifact: bool = False,
    separator: str = SEPARATOR,
    level: float = 0.95,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> StrataResult:
    """The value of every model in every stratum and its difference to the baseline.

    Args:
        table: A `ScoreTable`, files, or anything tabular.
        by: Columns that describe cases; strata of different columns overlap.
        statistic: As for `interval`; Reinke et al. (2025) used `median`.
        resample: As for `interval`; the rule `subset` always draws videos and then rows.
        estimand: `rows` or `videos`.
        baseline: `whole` (all cases) or `rest` (the cases outside the stratum: the gap between both,
            such as OOD minus ID).
        rule: `joint` or `subset`.
        bins: Edges for columns of numbers, such as `{"window_s": [30, 300]}`: below 30, 30 to 300, 300 on.
        low_artifact: Add the stratum of cases with at most one of the true/false columns set.
        separator: What stands between the labels of a case, where a column of text holds several; each label is a
            stratum.
        level: Coverage asked for.
        replicates: How many resamples, where a method draws.
        method: `auto` (nothing is drawn) or `bootstrap`; the rule `subset` is defined by its draws.
        seed: Seed of the stream, where a method draws.
        metric: Which metric of the table.
        better: `larger` or `smaller`, where neither the table nor the name of the metric says it.
        missing: What a score that is not there counts as: `worst`, `drop-case`, `drop-score`, `error` or a number, for
            all or by status; by default the worst value for what the model is to blame for, else an error.
        columns: Our column names to theirs, where files are read.

    Raises:
        UnknownName: A column, rule or baseline that does not exist.
        TooFewVideos: The table has a single video.
        TableInvalid: A column is empty for every case.
    """
    settings = IntervalSettings(statistic, resample or "cluster", estimand, level, replicates, method, seed)
    check_settings(settings)
    for kind, chosen, known in (("strata rule", rule, RULES), ("baseline", baseline, BASELINES)):
        if chosen not in known:
            raise UnknownName(kind, chosen, known)
    if rule == "subset" and method == AUTO:
        raise Misuse("the rule 'subset' is defined by what it draws; pass method='bootstrap' with it")
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = verb_matrix(
        scores, metric, missing=missing, statistic=statistic, estimand="videos" if rule == "subset" else estimand
    )
    by = [by] if isinstance(by, str) else by
    check_filled(matrix, [*by, *(bins or {})])
    masks = stratum_masks(matrix.cases, by, bins=bins, low_artifact=low_artifact, separator=separator)
    contrasts = [
        Contrast(labels, mask, ~mask if baseline == "rest" else np.ones(len(mask), dtype=bool))
        for labels, mask in masks
    ]
    rows = contrast_rows(matrix, contrasts, settings) if rule == "joint" else _subset_rows(matrix, contrasts, settings)
    return StrataResult.of(
        STRATA.frame(rows),
        _prose(settings, matrix, rule, baseline),
        (
            *matrix_notes(matrix, has_videos=scores.has_videos),
            *split_notes(matrix.cases, [name for name in by if name not in (bins or {})], separator=separator),
            *unused(settings),
            *_findings(rows, settings),
        ),
    )


def stratum_masks(
    cases: pl.DataFrame,
    by: Sequence[str],
    *,
    bins: Mapping[str, Sequence[float]] | None = None,
    low_artifact: bool = False,
    separator: str = SEPARATOR,
) -> list[tuple[dict[str, str], np.ndarray]]:
    """The strata of some columns: labels and a mask over the cases.

    Raises:
        UnknownName: A column that the cases do not have.
        Misuse: No column, one named twice, bins for a column of text, or a column of numbers without bins.
    """
    check_distinct(by)
    bins = bins or {}
    names = [*by, *(name for name in bins if name not in by)]
    if not names:
        raise Misuse("no column to stratify by; name at least one")
    for name in names:
        if name not in cases.columns:
            raise UnknownName("column", name, cases.columns)
    masks: list[tuple[dict[str, str], np.ndarray]] = []
    flags = []
    for name in names:
        if name in bins:
            masks += _binned(cases[name], list(bins[name]))
        elif is_flag(cases[name]):
            flags.append((cases[name].cast(pl.Int64).fill_null(0) == 1).to_numpy())
            masks.append(({"column": name, "stratum": name}, flags[-1]))
        elif holds_several(cases[name], separator):
            masks += [
                ({"column": name, "stratum": label}, m) for label, m in label_masks(cases[name], separator).items()
            ]
        else:
            masks += _values(levels_of_column(cases, name))
    if low_artifact:
        if not flags:
            raise Misuse("low-artifact means at most one true/false column set, but none was named")
        masks.append(({"column": LOW, "stratum": f"at most 1 of {len(flags)}"}, np.sum(flags, axis=0) <= 1))
    return masks


def _values(column: pl.Series) -> list[tuple[dict[str, str], np.ndarray]]:
    if column.dtype.is_float():
        raise Misuse(f"column {column.name!r} holds numbers; give bins for it, such as {column.name}=30:300")
    text = column.cast(pl.String)
    return [
        ({"column": column.name, "stratum": str(value)}, (text == value).fill_null(False).to_numpy())
        for value in text.drop_nulls().unique().sort().to_list()
    ]


def _binned(column: pl.Series, edges: list[float]) -> list[tuple[dict[str, str], np.ndarray]]:
    if not column.dtype.is_numeric():
        raise Misuse(f"column {column.name!r} holds no numbers and cannot be cut into bins")
    if not edges or not np.isfinite(edges).all() or sorted(set(edges)) != edges:
        raise Misuse(f"bins of {column.name!r} must be rising, finite edges, got {edges}")
    values = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    limits = [-np.inf, *edges, np.inf]
    out = []
    for low, high in itertools.pairwise(limits):
        name = (
            f"below {high:g}" if low == -np.inf else f"{low:g} and more" if high == np.inf else f"{low:g} to {high:g}"
        )
        out.append(({"column": column.name, "stratum": name}, (values >= low) & (values < high)))
    return out


def _subset_rows(
    matrix: ScoreMatrix, contrasts: Sequence[Contrast], settings: IntervalSettings
) -> list[dict[str, Any]]:
    if settings.estimand != "rows":
        raise Misuse("the rule 'subset' is defined for the estimand 'rows'")
    statistic = Statistic.read(settings.statistic)
    settings = settings._replace(resample="two-stage")
    rows = []
    for one in contrasts:
        value = unweighted(statistic, matrix.values[one.cases])
        reference = unweighted(statistic, matrix.values[one.baseline])
        draws = _subset_draws(matrix, one, statistic, slice_keys(settings, str(one.labels)))
        rows += table_rows(matrix, one, value, reference, draws, settings)
    return rows


def _subset_draws(matrix: ScoreMatrix, one: Contrast, statistic: Statistic, keys: np.ndarray) -> np.ndarray:
    """Videos among those with the property; in each its stratum rows and its baseline rows, drawn separately."""
    present = np.isin(matrix.videos, np.unique(matrix.videos[one.cases]))
    if not one.cases.any():
        return np.full((len(keys), len(matrix.models)), np.nan)
    sides = [matrix.where(mask) for mask in (present & one.baseline, one.cases)]
    nests = [nest_of(side, "two-stage") for side in sides]
    counts = unit_counts(nests[1], keys)
    names = [
        [side.video_names[code] for code in side.videos[nest.order[nest.row_starts[:-1]]]]
        for side, nest in zip(sides, nests, strict=True)
    ]
    place = {name: column for column, name in enumerate(names[1])}
    shared = np.ascontiguousarray(counts[:, [place[name] for name in names[0]]])
    out = []
    for level, side, nest, parents in zip((1, SUBSET_ROWS_LEVEL), sides, nests, (shared, counts), strict=True):
        values = side.values[nest.order]
        block = max(1, 4_000_000 // max(1, len(values)))
        parts = [
            statistic.weighted(
                child_counts(keys[i : i + block], level, parents[i : i + block], nest.row_starts), values
            )
            for i in range(0, len(keys), block)
        ]
        out.append(np.concatenate(parts))
    return np.asarray(out[1] - out[0])


def _findings(rows: Sequence[Mapping[str, Any]], settings: IntervalSettings) -> list[Finding]:
    """What must be known about strata with few videos, each sentence once."""
    seen = {(row["column"], row["stratum"]): row for row in rows if row["videos"]}
    findings = []
    for (column, stratum), row in seen.items():
        videos, effective = min(row["videos"], row["baseline_videos"]), row["effective_videos"]
        if settings.draws:
            finding = percentile_too_narrow(videos, effective)
        else:
            finding = few_videos(videos, row["df"] or float("nan"))
        whose = stratum if column == stratum else f"{column}={stratum}"
        if finding is not None:
            findings.append(replace(finding, subject=whose))
        if ONE_VIDEO in (note := row["note"] or ""):
            findings.append(remark("single-video-classes", f"{note[0].upper()}{note[1:]}.", subject=whose))
    return gathered(findings)


def _prose(settings: IntervalSettings, matrix: ScoreMatrix, rule: str, baseline: str) -> str:
    units = "videos" if scores_videos(matrix) else "cases"
    against = f"all {units}" if baseline == "whole" else f"the {units} outside the stratum"
    if not matrix.unit.is_known:
        return f"{_what(settings, matrix, against)} No intervals: {UNSAID}."
    if settings.method == AUTO:
        by_class = "; class by class where the metric averages over classes" if matrix.statistics is not None else ""
        made = (
            f"{percent(settings.level)} intervals come from leaving out one video of the whole table at a time "
            "(jackknife), both sides at once, with Student's t and the smaller of both sides' degrees of freedom"
            f"{by_class}. "
            "Nothing is drawn."
        )
        return f"{_what(settings, matrix, against)} {made}"
    how = {
        "joint": f"{label_of(settings.resample)} resamples of the whole table, both sides from the same draws",
        "subset": "resamples of the videos that have the property, with stratum rows and all rows drawn separately "
        "within each",
    }[rule]
    return (
        f"{_what(settings, matrix, against)} "
        f"{percent(settings.level)} {settings.method} intervals come from {settings.replicates:,} {how} "
        f"(seed {settings.seed})."
    )


def _what(settings: IntervalSettings, matrix: ScoreMatrix, against: str) -> str:
    name, size = matrix.metric.name, scored_units(matrix)
    if matrix.statistics is not None:
        return (
            f"Deltas are {name!r} of the videos of the stratum together, combined from the statistics of each video "
            f"({matrix.metric.estimand}), minus that of {against} ({size}); strata overlap."
        )
    return (
        f"Deltas are the {settings.statistic} of {name!r} in the stratum minus that of {against} "
        f"(estimand: {settings.estimand}; {size}); strata overlap."
    )
