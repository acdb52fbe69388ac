"""Adjusted effects: what each property does to a model's chance of being right, the others held fixed.

A multivariable logistic regression of 0/1 scores on the properties of cases, with standard errors that
respect clusters (see `logistic`). With fewer than `FEW_CLUSTERS` clusters the default is CR2 with t
quantiles at one degree of freedom less than clusters; otherwise CR1 with the same quantiles.
`covariance="bootstrap"` refits on resampled clusters and reads percentiles instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from surgeval.errors import Misuse, UnknownName
from surgeval.results.request import requested
from surgeval.results.table_result import TableResult, as_table
from surgeval.schema.score_table import Missing, ScoreMatrix
from surgeval.schema.table_facts import Directions
from surgeval.stats.cooccurrence import labels_of
from surgeval.stats.draws import stream
from surgeval.stats.intervals import check_level, percent
from surgeval.stats.logistic import (
    FEW_CLUSTERS,
    KINDS,
    LogisticFit,
    cluster_bootstrap,
    cluster_covariance,
    fit_logistic,
)
from surgeval.stats.strata import is_flag

INTERCEPT = "(Intercept)"
COVARIANCES = ("auto", *KINDS, "bootstrap")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class AdjustedResult(TableResult):
    """Adjusted effects; one row per model and term."""

    stem: ClassVar[str] = "adjusted"


@requested("adjusted_effects")
def adjusted_effects(
    table: Any,
    effects: Sequence[str],
    *,
    cluster: Sequence[str] = ("video",),
    covariance: str = "auto",
    separator: str = ";",
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
) -> AdjustedResult:
    """The effect of each property on the odds of being right, per model, adjusted for the others.

    Args:
        table: A `ScoreTable` or anything tabular, with scores of 0 and 1.
        effects: Columns of the cases: true/false columns, columns of numbers (per unit), columns of
            text (each value against the first in alphabetical order), or columns of lists or of text
            with `separator` (one effect per label).
        cluster: One or two columns that say which rows hang together.
        covariance: `auto`, `CR0`, `CR1`, `CR2` or `bootstrap` (one grouping only).
        separator: What stands between labels in text.
        level: Coverage asked for.
        replicates: Bootstrap refits.
        seed: Seed of the bootstrap.
        metric: Which metric of the table.
        better: `larger` or `smaller`, where neither the table nor the name of the metric says it.
        missing: What a score that is not there counts as: `worst`, `drop-case`, `drop-score`, `error` or a number, for
            all or by status; by default the worst value for what the model is to blame for, else an error.

    Raises:
        Misuse: Scores that are not 0/1, or an effect that cannot be used.
        TooFewVideos: A single cluster.
    """
    check_level(level)
    if covariance not in COVARIANCES:
        raise UnknownName("covariance", covariance, COVARIANCES)
    matrix = as_table(table, better=better, metric=metric).matrix(metric, missing=missing)
    groupings = [_clusters(matrix, name) for name in ([cluster] if isinstance(cluster, str) else cluster)]
    if covariance == "bootstrap" and len(groupings) != 1:
        raise Misuse("the cluster bootstrap resamples one grouping; use CR1 or CR2 for two")
    names, design, complete = design_of(matrix.cases, effects, separator)
    few = min(len(np.unique(codes)) for codes in groupings) < FEW_CLUSTERS
    kind = {"auto": "CR2" if few else "CR1"}.get(covariance, covariance)
    rows: list[dict[str, Any]] = []
    notes: list[str] = list(matrix.notes)
    for place, model in enumerate(matrix.models):
        use = complete & np.isfinite(matrix.values[:, place])
        fit = fit_logistic(design[use], matrix.values[use, place], names)
        chosen = [codes[use] for codes in groupings]
        rows += _model_rows(fit, model, chosen, kind, level, replicates, seed, notes)
        notes += _fit_notes(fit, model)
    if not complete.all():
        notes.append(f"{int((~complete).sum())} cases without a value for some effect were left out.")
    prose = (
        f"Odds ratios from a logistic regression of {matrix.metric.name!r} on {', '.join(effects)} per model, "
        "clusters: "
        f"{' and '.join(cluster) if not isinstance(cluster, str) else cluster} ({kind}"
        + (f", {replicates:,} resamples, seed {seed}" if kind == "bootstrap" else ", t quantiles with clusters - 1 df")
        + f"; {percent(level)} intervals)."
    )
    return AdjustedResult.of(pl.DataFrame(rows, infer_schema_length=None), prose, tuple(notes))


def design_of(
    cases: pl.DataFrame, effects: Sequence[str], separator: str = ";"
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
    for effect in effects:
        if effect not in cases.columns:
            raise UnknownName("column", effect, cases.columns)
        column = cases[effect]
        several = column.dtype == pl.List or (column.dtype == pl.String and _holds(column, separator))
        if not several:
            complete &= column.is_not_null().to_numpy()
        if several:
            labels = labels_of(column, separator)
            levels = sorted({label for one in labels for label in one})
            parts = [(f"{effect}={level}", np.array([level in one for one in labels], float)) for level in levels]
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


def _holds(column: pl.Series, separator: str) -> bool:
    return bool(column.str.contains(separator, literal=True).fill_null(False).any())


def _clusters(matrix: ScoreMatrix, name: str) -> np.ndarray:
    if name == "video":
        return matrix.videos
    if name not in matrix.cases.columns:
        raise UnknownName("cluster column", name, matrix.cases.columns)
    return np.unique(matrix.cases[name].cast(pl.String).fill_null("").to_numpy().astype(str), return_inverse=True)[1]


def _model_rows(
    fit: LogisticFit,
    model: str,
    clusters: list[np.ndarray],
    kind: str,
    level: float,
    replicates: int,
    seed: int,
    notes: list[str],
) -> list[dict[str, Any]]:
    beta = fit.coefficients
    freedom = min(len(np.unique(codes)) for codes in clusters) - 1
    if kind == "bootstrap":
        rng = stream(seed, "adjusted")
        sd, low, high, failed = cluster_bootstrap(fit, clusters[0], replicates=replicates, level=level, rng=rng)
        if failed:
            notes.append(f"{model}: {failed} of {replicates} refits separated or did not converge and were left aside.")
    else:
        sd = np.sqrt(np.maximum(np.diag(cluster_covariance(fit, clusters, kind=kind)), 0.0))
        reach = stdtrit(freedom, 1 - (1 - level) / 2) * sd
        low, high = beta - reach, beta + reach
    z = np.divide(beta, sd, out=np.full_like(beta, np.nan), where=sd > 0)
    p = 2 * stdtr(freedom, -np.abs(z))
    with np.errstate(over="ignore"):
        odds = np.exp(np.stack([beta, low, high]))
    return [
        {
            "model": model, "term": name, "estimate": float(beta[i]), "std_error": float(sd[i]), "z": float(z[i]),
            "p_value": float(p[i]), "odds_ratio": float(odds[0, i]), "low": float(odds[1, i]),
            "high": float(odds[2, i]), "covariance": kind, "clusters": freedom + 1, "cases": len(fit.outcome),
            "note": "separated: the estimate has no finite value" if name in fit.separated else None,
        }
        for i, name in enumerate(fit.names)
    ]  # fmt: skip


def _fit_notes(fit: LogisticFit, model: str) -> list[str]:
    notes = []
    if fit.dropped:
        notes.append(f"{model}: {', '.join(fit.dropped)} left out: the other effects already say the same (collinear).")
    if fit.separated:
        notes.append(f"{model}: {', '.join(fit.separated)} predict the outcome perfectly (separation).")
    elif not fit.converged:
        notes.append(f"{model}: the fit did not converge.")
    return notes
