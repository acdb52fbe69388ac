"""Why models fail: the analysis of seed 001 as one call, from a table with properties to odds ratios.

Two named specifications. `paper` is that of seed 001: the random intercepts named, and nothing else. `default`
adds the interaction of the first factor (the model) with the last (the finest unit) for counts, because pixel
counts vary between models on the same instance far more than binomial noise allows; without it, any contrast
between models looks tens of times more certain than it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from surgeval.errors import Misuse, TableInvalid, UnknownName
from surgeval.schema.table_files import read_frames
from surgeval.schema.tabular import as_frame
from surgeval.stats.mixed.design import Design, design_of
from surgeval.stats.mixed.diagnostics import diagnose
from surgeval.stats.mixed.fit import Engine, fit
from surgeval.stats.mixed.formula import FamilyName, Model, fixed_terms, random_terms
from surgeval.stats.mixed.inference import Ratio, likelihood_ratio
from surgeval.stats.mixed.influence import leave_one_out
from surgeval.stats.mixed.report import Failures, Specifications, effects_table
from surgeval.stats.mixed.residuals import normal_correlation, pearson_dispersion
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.robust import robust_logit
from surgeval.stats.mixed.workflow import (
    STRAIGHT_ENOUGH,
    ModelRole,
    Workflow,
    check_residuals,
    choose_family,
    choose_transform,
    log_role,
    transformed,
)

Spec = Literal["default", "paper"]
_ROLES = ("random", "fixed", "removed", "aggregated")
COMPARED_UP_TO_ROWS = 300_000
"""Beyond, the second specification is not fitted merely to be compared with."""


@dataclass(frozen=True)
class Request:
    """What was asked for, with names only."""

    outcome: str
    trials: str | None
    fixed: tuple[str, ...]
    random: tuple[str, ...]
    spec: Spec
    role: ModelRole
    family: FamilyName
    offset: str | None = None
    weights: str | None = None

    @property
    def model_column(self) -> str:
        """The factor that tells models apart: the first random one."""
        return self.random[0] if self.random else ""

    @property
    def interaction(self) -> str:
        """The effect that `default` adds, by name; empty where there are not two factors to cross."""
        if len(self.random) < 2 or self.random[0] in self.random[-1].split(":"):
            return ""
        return f"{self.random[0]}:{self.random[-1]}"

    def model(self, *, extra: bool) -> Model:
        """The model, with the interaction if `extra`."""
        fixed, random = self.fixed, self.random
        if self.role == "fixed":
            fixed, random = (*fixed, self.model_column), random[1:]
        elif self.role in ("removed", "aggregated"):
            random = random[1:]
        if extra and self.interaction and self.role in ("random", "fixed"):
            random = (*random, self.interaction)
        return Model(self.outcome, self.trials, fixed, random, self.offset, self.weights, self.family)


def failures(
    table: Any,
    *,
    successes: str | None = None,
    trials: str | None = None,
    outcome: str | None = None,
    fixed: Sequence[str] = (),
    random: Sequence[str] = (),
    spec: Spec = "default",
    per_model: bool = False,
    role: ModelRole = "random",
    family: Literal["auto", "binomial", "poisson", "gaussian"] = "auto",
    transform: Literal["auto", "none", "log", "logit"] = "auto",
    properties: Any = None,
    cluster: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    metric: str | None = None,
    symmetric: bool = False,
    level: float = 0.95,
    columns: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    where: str = "table",
) -> Failures:
    """Effects of properties on success, with uncertainty that respects models, patients, images and instances.

    Args:
        table: Rows (polars, pandas, Arrow, dictionary), or paths of CSV or Parquet files.
        successes: Column of successes, with `trials`; or give `outcome`.
        trials: Column of trials. Rows with zero trials are left out and counted per model.
        outcome: Column of a 0/1 or continuous outcome. With `successes` and `trials` as well, a continuous outcome
            comes first, and the counts take its place where its residuals are not normal.
        fixed: Properties: columns, or interactions `a:b`.
        random: Random intercepts; the first is the model, the last the finest unit.
        spec: `default` adds the interaction of first and last for counts, `paper` adds nothing.
        per_model: Fit each model by itself as well.
        role: How models enter: random, fixed, removed or aggregated.
        family: What the outcome is; `auto` follows the decision workflow of seed 001 Fig. 4.
        transform: Of a continuous outcome; `auto` leaves it alone where residuals look normal.
        properties: A table (or paths) of properties to join by the columns both have, such as `case`.
        cluster: One or two columns for marginal odds ratios with cluster-robust errors, in a table of their own.
        leave_out: Columns, such as patient and model, of which each level is left out in turn (a refit each).
        metric: Rows of a score table to use, where it holds several metrics.
        symmetric: Use symbol bins that mirror each other on the log scale.
        level: Of the intervals.
        columns: Our column names to theirs.
        engine: `numpy`, `numba`, or the faster of those installed.
        where: What to call the table in error messages.

    Raises:
        Misuse: The options contradict each other.
        TableInvalid: The table does not fit them; lists every problem.
    """
    _check_options(successes, trials, outcome, spec, role, level)
    if outcome is not None and successes is not None and trials is not None:
        analyse = partial(
            failures, table, fixed=fixed, random=random, spec=spec, per_model=per_model, role=role, family=family,
            transform=transform, properties=properties, leave_out=leave_out, metric=metric, symmetric=symmetric,
            level=level, columns=columns, engine=engine, where=where,
        )  # fmt: skip
        return _continuous_or_counts(analyse, outcome, successes, trials, tuple(cluster))
    frame = _joined(_rows(table, columns), properties, where)
    frame = _one_metric(frame, metric, outcome, where)
    request = Request(
        successes or outcome or "", trials, fixed_terms(fixed), random_terms(random), spec, role, "binomial"
    )
    frame, request, work = _decided(frame, request, family, transform, where)
    counts = _is_count(frame, request)
    wanted = counts and spec == "default"
    found = fit(design_of(frame, request.model(extra=wanted), where=where), engine=engine)
    if found.family == "gaussian":
        check_residuals(work, found.design.response - found.linear_predictor)
    compared = _specifications(frame, request, found, wanted, engine, where) if counts else None
    each = _per_model(frame, request, level, symmetric, engine) if per_model else None
    marginal = robust_logit(found.design, tuple(cluster)).table(level=level) if cluster else None
    influence = [leave_one_out(found, name).select(pl.lit(name).alias("column"), pl.all()) for name in leave_out]
    return Failures(
        fit=found, spec=spec, model_column=request.model_column, role=request.role, level=level, symmetric=symmetric,
        decisions=tuple(work.decisions), transform=work.transform, diagnostics=diagnose(found),
        specifications=compared, excluded_by_model=_excluded_by_model(frame, request), per_model=each,
        marginal=marginal, influence=pl.concat(influence) if influence else None,
    )  # fmt: skip


def _continuous_or_counts(
    analyse: Callable[..., Failures], outcome: str, successes: str, trials: str, cluster: tuple[str, ...]
) -> Failures:
    """The linear model of a score where its residuals are normal, else the model of the counts behind the score."""
    score = analyse(outcome=outcome)
    residuals = score.fit.design.response - score.fit.linear_predictor
    if score.fit.family != "gaussian" or normal_correlation(residuals) >= STRAIGHT_ENOUGH:
        return score
    counts = analyse(successes=successes, trials=trials, cluster=cluster)
    work = Workflow()
    work.log("Can the outcome be restated as counts?", "yes", f"{successes} of {trials}, so a binomial GLMM")
    return replace(counts, decisions=(*score.decisions, *work.decisions, *counts.decisions))


def _check_options(
    successes: str | None, trials: str | None, outcome: str | None, spec: str, role: str, level: float
) -> None:
    if (successes is None) != (trials is None):
        raise Misuse("successes and trials go together; give both, or an outcome instead")
    if outcome is None and successes is None:
        raise Misuse("give successes and trials, or an outcome")
    if spec not in ("default", "paper"):
        raise UnknownName("specification", spec, ["default", "paper"])
    if role not in _ROLES:
        raise UnknownName("role of models", role, _ROLES)
    if not 0 < level < 1:
        raise Misuse(f"the level of intervals lies between 0 and 1, got {level:g}")


def _rows(table: Any, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    is_path = isinstance(table, str | Path)
    if is_path or (isinstance(table, list | tuple) and table and all(isinstance(x, str | Path) for x in table)):
        return read_frames(table, columns=columns)
    frame = as_frame(table)
    unknown = [theirs for theirs in (columns or {}).values() if theirs not in frame.columns]
    if unknown:
        raise TableInvalid("table", [f"column {name!r} does not exist" for name in unknown])
    return frame.rename({theirs: ours for ours, theirs in (columns or {}).items()})


def _joined(frame: pl.DataFrame, properties: Any, where: str) -> pl.DataFrame:
    """The table with its properties beside it, matched by the columns both have."""
    if properties is None:
        return frame
    more = _rows(properties)
    keys = [name for name in more.columns if name in frame.columns]
    if not keys:
        raise TableInvalid(where, [f"shares no column with the properties ({', '.join(map(repr, more.columns))})"])
    repeated = int(more.select(keys).is_duplicated().sum())
    if repeated:
        raise TableInvalid("properties", [f"{repeated} rows repeat a combination of {', '.join(map(repr, keys))}"])
    text = [pl.col(key).cast(pl.String) for key in keys]
    return frame.with_columns(text).join(more.with_columns(text), on=keys, how="left")


def _one_metric(frame: pl.DataFrame, metric: str | None, outcome: str | None, where: str) -> pl.DataFrame:
    if "metric" not in frame.columns:
        return frame
    known = frame["metric"].cast(pl.String).unique().sort().to_list()
    if metric is None:
        if len(known) > 1 and outcome == "value":
            raise TableInvalid(where, [f"holds {len(known)} metrics ({', '.join(known[:5])}); choose one with metric"])
        return frame
    if metric not in known:
        raise UnknownName("metric", metric, known)
    return frame.filter(pl.col("metric") == metric)


def _decided(
    frame: pl.DataFrame, request: Request, family: str, transform: str, where: str
) -> tuple[pl.DataFrame, Request, Workflow]:
    """Family and transform by the workflow, the model's role, and the table they need."""
    if family not in ("auto", "binomial", "poisson", "gaussian"):
        raise UnknownName("family", family, ["auto", "binomial", "poisson", "gaussian"])
    if transform not in ("auto", "none", "log", "logit"):
        raise UnknownName("transform", transform, ["auto", "none", "log", "logit"])
    work = Workflow()
    if family != "auto":
        work.family = family  # type: ignore[assignment]
        work.log("Which family?", family, "asked for")
    elif request.trials is not None:
        work = choose_family(np.zeros(0), np.zeros(0))
    elif _is_number(frame, request.outcome):
        work = choose_family(frame[request.outcome].cast(pl.Float64).drop_nulls().to_numpy())
    request = replace(request, family=work.family)
    if work.family == "gaussian":
        frame, request = _transformed(frame, request, work, transform, where)
    return _with_role(frame, request, work, where)


def _is_number(frame: pl.DataFrame, name: str) -> bool:
    kind = frame.schema.get(name)
    return kind is not None and (kind.is_numeric() or kind == pl.Boolean)


def _transformed(
    frame: pl.DataFrame, request: Request, work: Workflow, transform: str, where: str
) -> tuple[pl.DataFrame, Request]:
    """The table with the outcome on the scale of the linear model, under a name that says so."""
    if transform == "auto":
        plain = fit(design_of(frame, replace(request, role="random").model(extra=False), where=where), errors=False)
        straight = normal_correlation(plain.design.response - plain.linear_predictor)
        choose_transform(work, plain.design.response, straight)
    else:
        work.transform = transform  # type: ignore[assignment]
        work.log("Does the outcome need a transform?", transform, "asked for")
    if work.transform == "none":
        return frame, request
    if not _is_number(frame, request.outcome):
        raise TableInvalid(where, [f"column {request.outcome!r} does not exist or holds no numbers"])
    name = f"{work.transform}({request.outcome})"
    values = transformed(frame[request.outcome].cast(pl.Float64).to_numpy(), work.transform)
    return frame.with_columns(pl.Series(name, values).fill_nan(None)), replace(request, outcome=name)


def _with_role(
    frame: pl.DataFrame, request: Request, work: Workflow, where: str
) -> tuple[pl.DataFrame, Request, Workflow]:
    column = request.model_column
    models = frame[column].n_unique() if column in frame.columns else 0
    if len(request.random) > 1 and models == 1 and request.role in ("random", "fixed"):
        request = replace(request, role="removed")
    if request.role == "aggregated" and column in frame.columns:
        frame = _aggregated(frame, request)
    if models:
        log_role(work, request.role, models)
    elif not request.random:
        work.log("How do rows depend on each other?", "not at all", "no random effect was named; errors assume "
                 "independent rows")  # fmt: skip
    elif column not in frame.columns and ":" not in column:
        design_of(frame, request.model(extra=False), where=where)
    return frame, request, work


def _aggregated(frame: pl.DataFrame, request: Request) -> pl.DataFrame:
    """One row per unit: sums of counts, or means of an outcome, over models."""
    named = request.model(extra=False).columns
    values = [name for name in (request.outcome, request.trials) if name is not None]
    keys = [name for name in named if name not in values]
    if not keys:
        raise Misuse("aggregating over models needs the units that remain; name them as random effects")
    how = pl.col(values).sum() if request.trials else pl.col(values).mean()
    return frame.group_by(keys, maintain_order=True).agg(how)


def _is_count(frame: pl.DataFrame, request: Request) -> bool:
    """Whether rows are counts that can vary more than their family allows."""
    if request.family == "poisson":
        return True
    if request.family != "binomial" or request.trials is None or request.trials not in frame.columns:
        return False
    kind = frame.schema[request.trials]
    return kind.is_numeric() and not bool((frame[request.trials].drop_nulls() <= 1).all())


def _specifications(
    frame: pl.DataFrame, request: Request, found: MixedFit, wanted: bool, engine: Engine, where: str
) -> Specifications | None:
    """Both specifications compared: dispersion under `paper`, and the test of the effect `default` adds."""
    with_extra = request.model(extra=True)
    if with_extra == request.model(extra=False) or found.design.rows > COMPARED_UP_TO_ROWS:
        dispersion = pearson_dispersion(found)
        return Specifications(dispersion, None) if not wanted else None
    other = fit(design_of(frame, request.model(extra=not wanted), where=where), engine=engine, errors=False)
    paper, default = (other, found) if wanted else (found, other)
    test: Ratio | None = None
    if default.parameters > paper.parameters:
        test = likelihood_ratio(default, paper, variances=1)
    return Specifications(pearson_dispersion(paper), test)


def _excluded_by_model(frame: pl.DataFrame, request: Request) -> dict[str, int]:
    """Rows without trials per model; unequal numbers mean that models are compared on different cases."""
    column, trials = request.model_column, request.trials
    if trials is None or column not in frame.columns:
        return {}
    zero = frame.filter(pl.col(trials) == 0)
    counted = zero.group_by(pl.col(column).cast(pl.String)).len().sort(column)
    return {str(model): int(count) for model, count in counted.iter_rows()}


def _per_model(frame: pl.DataFrame, request: Request, level: float, symmetric: bool, engine: Engine) -> pl.DataFrame:
    """Effects of every model by itself (seed 001 Appendix C), where the finest unit absorbs extra variation."""
    column = request.model_column
    if len(request.random) < 2 or column not in frame.columns:
        raise Misuse("fits per model need at least two random effects, the model first")
    single = replace(request, role="removed").model(extra=False)
    parts = []
    for (name,), rows in frame.group_by(column, maintain_order=True):
        try:
            design: Design = design_of(rows, single, where=f"model {name}")
        except TableInvalid as error:
            parts.append(_unfitted(str(name), request.fixed, error))
            continue
        table = effects_table(fit(design, engine=engine), level=level, symmetric=symmetric)
        parts.append(table.select(pl.lit(str(name)).alias("model"), pl.all(), pl.lit("").alias("note")))
    return pl.concat(parts, how="vertical_relaxed").sort("model", maintain_order=True)


def _unfitted(model: str, terms: Sequence[str], error: TableInvalid) -> pl.DataFrame:
    empty = [None] * len(terms)
    numbers = ("estimate", "std_error", "z", "p_value", "p_holm", "odds_ratio", "ci_low", "ci_high")
    columns: dict[str, Any] = {"model": [model] * len(terms), "term": list(terms)}
    columns |= {name: pl.Series(empty, dtype=pl.Float64) for name in numbers}
    return pl.DataFrame(columns | {"symbol": ["x"] * len(terms), "note": ["; ".join(error.problems)] * len(terms)})
