"""Adjusted effects: what each property does to a model's chance of being right, the others held fixed.

A multivariable logistic regression of 0/1 scores on the properties of cases, with cluster-robust standard
errors (see `logistic`). With fewer than `FEW_CLUSTERS` clusters the default is CR2 with t
quantiles at one degree of freedom less than clusters; otherwise CR1 with the same quantiles.
`covariance="bootstrap"` refits on resampled clusters and reads percentiles instead.

A term that separates right from wrong answers has no finite odds ratio, and none is given (see `separation`). The other
terms are estimated on the cases that it does not decide, where their estimates are those that a fit of all cases would
approach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from surgvalid.errors import Misuse, TooFewVideos, UnknownName
from surgvalid.results.result import TableResult, as_table
from surgvalid.results.tables.statistics import ADJUSTED
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.stats.draws import check_replicates, check_seed, stream
from surgvalid.stats.intervals.interval import matrix_notes
from surgvalid.stats.intervals.interval_settings import check_level, percent
from surgvalid.stats.intervals.slices import SEPARATOR, holds_several, is_flag, label_masks
from surgvalid.stats.mixed.fit.logistic import (
    LogisticFit,
    cluster_bootstrap,
    cluster_covariance,
    covariance_kind,
    fit_logistic,
)
from surgvalid.stats.mixed.fit.separation import separation

INTERCEPT = "(Intercept)"
FEW = 10
"""Clusters below which a warning says what cluster-robust tests are worth (simulated: docs/validation-mixed.md)."""
_FEW_CLUSTERS = (
    "few clusters ({}): cluster-robust tests then call more than 5 % of absent effects significant, of properties of "
    "whole videos up to a third with five; surgvalid analyse failures counts the videos of every effect"
)
_ROUNDING = 1e-9
"""A standard error below this share of an estimate is none: the scores of every cluster add up to zero."""
Covariance = Literal["auto", "CR0", "CR1", "CR2", "bootstrap"]


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class AdjustedResult(TableResult):
    """Adjusted effects; one row per model and term."""

    stem: ClassVar[str] = "adjusted"


def adjusted_effects(
    table: Any,
    effects: Sequence[str],
    *,
    cluster: str | Sequence[str] = ("video",),
    covariance: Covariance = "auto",
    separator: str = SEPARATOR,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> AdjustedResult:
    """The effect of each property on the odds of being right, per model, adjusted for the others.

    Args:
        table: As for `failures`, with scores of 0 and 1.
        effects: Columns of the cases: true/false columns, columns of numbers (per unit), columns of
            text (each value against the first in alphabetical order), or columns of lists or of text
            with `separator` (one effect per label).
        cluster: One or two columns that say which rows hang together.
        covariance: As for `failures`, like every option below.
        separator: What stands between labels in text.
        level: Coverage asked for.
        replicates: Bootstrap refits.
        seed: Seed of the bootstrap.
        metric: Which metric of the table.
        better: Which values are better.
        missing: What a score that is not there counts as.
        columns: Our column names to theirs.

    Raises:
        Misuse: Scores that are not 0/1, or an effect that cannot be used.
        TooFewVideos: A single cluster.
    """
    check_level(level)
    check_replicates(replicates)
    check_seed(seed)
    if covariance not in get_args(Covariance):
        raise UnknownName("covariance", covariance, get_args(Covariance))
    cluster = [cluster] if isinstance(cluster, str) else cluster
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = scores.matrix(metric, missing=missing)
    groupings = [_clusters(matrix, name) for name in cluster]
    if covariance == "bootstrap" and len(groupings) != 1:
        raise Misuse("the cluster bootstrap resamples one grouping; use CR1 or CR2 for two")
    names, design, complete = design_of(matrix.cases, effects, separator)
    fewest = min(len(np.unique(codes)) for codes in groupings)
    if fewest < 2:
        raise TooFewVideos("a grouping has a single cluster, so nothing is known about the spread between clusters")
    kind = covariance_kind(fewest) if covariance == "auto" else covariance
    how = _How(kind, level, replicates, seed)
    rows: list[dict[str, Any]] = []
    notes = matrix_notes(matrix, has_videos=scores.has_videos)
    for place, model in enumerate(matrix.models):
        use = complete & np.isfinite(matrix.values[:, place])
        chosen = [codes[use] for codes in groupings]
        more, findings = _model_rows(model, names, design[use], matrix.values[use, place], chosen, how)
        rows, notes = rows + more, notes + findings
    if fewest < FEW:
        notes.append(remark("few-videos", _FEW_CLUSTERS.format(fewest)))
    if not complete.all():
        text = f"{int((~complete).sum())} cases without a value for some effect were left out."
        notes.append(remark("rows-left-out", text))
    prose = (
        f"Odds ratios from a logistic regression of {matrix.metric.name!r} on {', '.join(effects)} per model, "
        f"clusters: {' and '.join(cluster)} ({kind}"
        + (f", {replicates:,} resamples, seed {seed}" if kind == "bootstrap" else ", t quantiles with clusters - 1 df")
        + f"; {percent(level)} intervals)."
    )
    return AdjustedResult.of(ADJUSTED.frame(rows), prose, tuple(notes))


def design_of(
    cases: pl.DataFrame, effects: Sequence[str], separator: str = SEPARATOR
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, columns (with an intercept) and which cases have a value for every effect.

    Raises:
        UnknownName: A column that the cases do not have.
        Misuse: No effect named.
    """
    if not effects:
        raise Misuse("no effect to adjust; name at least one column")
    names, columns = [INTERCEPT], [np.ones(cases.height)]
    complete = np.ones(cases.height, dtype=bool)
    for effect in dict.fromkeys(effects):
        if effect not in cases.columns:
            raise UnknownName("column", effect, cases.columns)
        if effect == INTERCEPT:
            raise Misuse(f"a column called {INTERCEPT!r} cannot be an effect: every fit has that term; rename it")
        column = _finite_or_null(cases[effect])
        several = holds_several(column, separator)
        if not several:
            complete &= column.is_not_null().to_numpy()
        if several:
            parts = [(f"{effect}={label}", m.astype(float)) for label, m in label_masks(column, separator).items()]
        elif is_flag(column) or column.dtype.is_numeric():
            parts = [(effect, column.cast(pl.Float64).fill_null(0.0).to_numpy())]
        else:
            text = column.cast(pl.String)
            levels = text.drop_nulls().unique().sort().to_list()[1:]
            parts = [
                (f"{effect}={level}", (text == level).fill_null(False).to_numpy().astype(float)) for level in levels
            ]
        names += [name for name, _ in parts]
        columns += [values for _, values in parts]
    return names, np.column_stack(columns), complete


def _finite_or_null(column: pl.Series) -> pl.Series:
    """The column without NaN.

    Raises:
        Misuse: It has infinite values, which no effect per unit is defined for.
    """
    if not column.dtype.is_float():
        return column
    if column.is_infinite().any():
        raise Misuse(f"column {column.name!r} has infinite values; they have no effect per unit. Empty them first")
    return column.fill_nan(None)


def _clusters(matrix: ScoreMatrix, name: str) -> np.ndarray:
    if name == "video":
        return matrix.videos
    if name not in matrix.cases.columns:
        raise UnknownName("cluster column", name, matrix.cases.columns)
    return np.unique(matrix.cases[name].cast(pl.String).fill_null("").to_numpy().astype(str), return_inverse=True)[1]


class _How(NamedTuple):
    """How standard errors are made."""

    kind: str
    level: float
    replicates: int
    seed: int


_NUMBERS = "estimate std_error t p_value odds_ratio low high".split()


def _model_rows(
    model: str, names: list[str], design: np.ndarray, outcome: np.ndarray, clusters: list[np.ndarray], how: _How
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The rows of one model, and what to say about its fit."""
    if not np.isin(outcome, (0.0, 1.0)).all():
        raise Misuse("a logistic regression needs outcomes that are 0 or 1")
    apart = separation(design, outcome)
    runaway = [name for name, separates in zip(names, apart.columns, strict=True) if separates]
    rest = ~apart.rows
    clusters = [codes[rest] for codes in clusters]
    notes = [*_separated_notes(model, runaway, int(apart.rows.sum()))]
    terms: dict[str, np.ndarray] = {}
    if all(len(np.unique(codes)) > 1 for codes in clusters):
        fit = fit_logistic(design[rest], outcome[rest], names)
        terms = _terms(fit, model, clusters, how, notes)
        notes += _fit_notes(fit, model, runaway)
    shown = [name for name in names if name in runaway or name in terms or not terms]
    seen = {name: _clusters_with(design[rest, j], clusters) for j, name in enumerate(names)}
    lone = {name for name, count in seen.items() if count is not None and count < 2 and name in terms}
    notes += _thin_notes(model, {name: count for name, count in seen.items() if count == 2 and name in terms})
    rows = [_row(model, name, terms, how, clusters, separated=name in runaway) for name in shown]
    return [_untested(row) if row["term"] in lone else row for row in rows], notes


def _clusters_with(column: np.ndarray, clusters: list[np.ndarray]) -> int | None:
    """The fewest clusters in which a 0/1 column has one of its values; None for other columns and constants."""
    if not np.isin(column, (0.0, 1.0)).all() or len(np.unique(column)) < 2:
        return None
    return min(len(np.unique(codes[column == value])) for codes in clusters for value in (0.0, 1.0))


def _untested(row: dict[str, Any]) -> dict[str, Any]:
    """A term that one cluster alone has, or lacks: the estimate stands, what is said of its certainty does not."""
    empty = dict.fromkeys("std_error t p_value low high".split())
    return {**row, **empty, "note": "only one cluster has it or lacks it: it cannot be told from that cluster"}


def _thin_notes(model: str, thin: Mapping[str, int]) -> list[Finding]:
    if not thin:
        return []
    text = (
        f"{model}: {', '.join(thin)} differ in two clusters only; the effect may be theirs rather than the property's"
    )
    return [remark("differs-in-few-videos", text)]


def _terms(
    fit: LogisticFit, model: str, clusters: list[np.ndarray], how: _How, notes: list[Finding]
) -> dict[str, np.ndarray]:
    """The numbers of every term of one model's fit, in the order of `_NUMBERS`."""
    beta = fit.coefficients
    freedom = min(len(np.unique(codes)) for codes in clusters) - 1
    if how.kind == "bootstrap":
        rng = stream(how.seed, "adjusted")
        sd, low, high, failed = cluster_bootstrap(fit, clusters[0], replicates=how.replicates, level=how.level, rng=rng)
        if failed:
            text = f"{model}: {failed} of {how.replicates} refits separated or did not converge and were left aside."
            notes.append(remark("refits-left-aside", text))
    else:
        sd = np.sqrt(np.maximum(np.diag(cluster_covariance(fit, clusters, kind=how.kind)), 0.0))
        reach = stdtrit(freedom, 1 - (1 - how.level) / 2) * sd
        low, high = beta - reach, beta + reach
    sd = np.where(sd > _ROUNDING * np.maximum(np.abs(beta), 1.0), sd, np.nan)
    low, high = np.where(np.isnan(sd), np.nan, low), np.where(np.isnan(sd), np.nan, high)
    t = beta / sd
    p = 2 * stdtr(freedom, -np.abs(t))
    with np.errstate(over="ignore"):
        odds = np.exp(np.stack([beta, low, high]))
    return dict(zip(fit.names, np.stack([beta, sd, t, p, *odds], axis=1), strict=True))


def _row(
    model: str, term: str, terms: Mapping[str, np.ndarray], how: _How, clusters: list[np.ndarray], *, separated: bool
) -> dict[str, Any]:
    values = terms.get(term, np.full(len(_NUMBERS), np.nan)) if not separated else np.full(len(_NUMBERS), np.nan)
    note = "separated: no finite odds ratio" if separated else None if term in terms else "no cases left to estimate it"
    return {
        "model": model,
        "term": term,
        **{name: None if np.isnan(value) else float(value) for name, value in zip(_NUMBERS, values, strict=True)},
        "covariance": how.kind,
        "clusters": min(len(np.unique(codes)) for codes in clusters),
        "cases": len(clusters[0]),
        "note": note,
    }


def _separated_notes(model: str, terms: list[str], decided: int) -> list[Finding]:
    if not terms:
        return []
    text = (
        f"{model}: {', '.join(terms)} tell right from wrong answers perfectly in {decided:,} cases (separation): no "
        "finite odds ratio fits best, so none is given, and the other terms are estimated without these cases. Name "
        "fewer or coarser effects to get one."
    )
    return [remark("separated", text)]


def _fit_notes(fit: LogisticFit, model: str, runaway: list[str]) -> list[Finding]:
    notes = []
    if dropped := [name for name in fit.dropped if name not in runaway]:
        text = f"{model}: {', '.join(dropped)} left out: the other effects already say the same (collinear)."
        notes.append(remark("collinear", text))
    if not fit.converged:
        text = f"{model}: the fit did not converge; do not use its numbers."
        notes.append(remark("not-converged", text))
    return notes
