"""Why models fail: the mixed model of one outcome, from a table with properties to odds ratios.

Source: Ross et al., "Beyond rankings: learning (more) from algorithm validation", Medical Image Analysis (2023).

Two named specifications. `ross` is that of the paper: the random intercepts named, and nothing else, tested with z.
`default` adds the interaction of the model with the finest unit for counts, because pixel counts vary between models on
the same instance far more than binomial noise allows; without it, any contrast between models looks tens of times more
certain than it is. It tests every effect with the degrees of freedom that the videos give it (see `term_tests`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.results.registered_data import note_cases
from surgvalid.results.result import rows_of
from surgvalid.results.tables import failures as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.column_words import MODELS, named_by
from surgvalid.schema.tables.units import names_no_column
from surgvalid.stats.mixed.fit.fit import Engine, fit
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.fit.robust import robust_logit
from surgvalid.stats.mixed.inference.diagnostics import diagnose, leave_one_out
from surgvalid.stats.mixed.inference.inference import Ratio, likelihood_ratio
from surgvalid.stats.mixed.inference.over_models import over_models
from surgvalid.stats.mixed.inference.residuals import normal_correlation, pearson_dispersion
from surgvalid.stats.mixed.inference.term_tests import Inference
from surgvalid.stats.mixed.inference.tested import TestRule, tested, two_parts
from surgvalid.stats.mixed.model.design import Design, Separation, design_of
from surgvalid.stats.mixed.model.failure_settings import FailureSettings
from surgvalid.stats.mixed.model.formula import Slope, column_of, fixed_terms, random_terms
from surgvalid.stats.mixed.model.roles import (
    VIDEO_NAMES,
    FailureRequest,
    absent_rows,
    groups_named_so,
    repeated_rows,
    roles_of,
)
from surgvalid.stats.mixed.model.table import Rows, analysed_rows
from surgvalid.stats.mixed.model.workflow import STRAIGHT_ENOUGH, Workflow, check_residuals, settle_outcome, settle_role
from surgvalid.stats.mixed.recommend import check_recommendation, recommended
from surgvalid.stats.mixed.report import Addition, FailuresResult, Specifications, effects_table, unassessed
from surgvalid.stats.mixed.risk import risk_tables
from surgvalid.stats.mixed.strengths import strengths as strength_tables

COMPARED_UP_TO_ROWS = 300_000
"""Beyond, the second specification is not fitted merely to be compared with."""


def analysed(table: Any, asked: FailureSettings) -> FailuresResult:
    """The effects of properties on one outcome.

    Args:
        table: As `failures` takes it.
        asked: Checked, with our names of columns.

    Raises:
        Misuse: The options contradict each other.
        TableInvalid: The table does not fit them; lists every problem.
    """
    if asked.outcome is not None and asked.successes is not None:
        return _score_or_counts(table, asked)
    if asked.missing is not None and asked.outcome != "value":
        named = asked.outcome or f"{asked.successes} of {asked.trials}"
        raise Misuse(
            f"missing is a rule for scores, and {named!r} is not the score of the table, so it would be left "
            "unused" + ("" if asked.successes else f"; call it so (columns: value={named})")
        )
    asked, stated = _stated_unit(asked)
    given = analysed_rows(table, asked, where=asked.where, unit=stated)
    if asked.recommend:
        check_recommendation(asked.improvement, asked.picture, given.frame.columns)
    groups, varying = random_terms(asked.random)
    known = True
    if not groups and asked.separation != "firth":
        frame, groups, known = groups_named_so(given.frame, stated)
        given = given._replace(frame=frame)
    given = given._replace(frame=_of_models(given.frame, asked.models, groups))
    request, absent = _requested(given, asked, groups, varying)
    frame, request, work = settle_outcome(given.frame, request, asked.family, asked.transform, asked.where)
    given = given._replace(better=given.better or ("larger" if request.family == "binomial" else None))
    rows, settled, left_out = settle_role(frame, request, work, asked.where)
    wanted = _is_count(rows, settled) and asked.spec != "ross"
    rule = _rule(asked)
    if rule.firth:
        _check_firth(settled)
    design = design_of(
        rows, settled.model(extra=wanted), where=asked.where, also=settled.also, separation=rule.separation
    )
    note_cases(rows[design.kept])
    design = replace(design, excluded={**left_out, **design.excluded})
    _check_slopes(asked.slopes, design)
    fitted, tests = tested(design, _video(settled, design), rule)
    models = settled.model_column if settled.role in ("random", "fixed") else ""
    tests, speaks_of = over_models(
        fitted, tests, rows, column=models, level=asked.level, like_these=asked.models_like_these
    )
    if not known:
        tests = tests.withheld()
    if fitted.family == "gaussian":
        check_residuals(work, fitted.design.response - fitted.linear_predictor)
    full = _full_likelihood(fitted, asked.engine)
    result = FailuresResult(
        fit=fitted,
        spec=asked.spec,
        model_column=settled.model_column,
        role=settled.role,
        level=asked.level,
        symmetric=asked.symmetric,
        decisions=tuple(work.decisions),
        transform=work.transform,
        diagnostics=diagnose(fitted, unit=request.roles.unit),
        specifications=_specifications(rows, settled, full, wanted, asked),
        excluded_by_model=_excluded_by_model(frame, request),
        per_model=_per_model(frame, request, rule, asked.symmetric, given.better) if asked.per_model else None,
        marginal=robust_logit(fitted.design, tuple(asked.cluster)).table(level=asked.level) if asked.cluster else None,
        influence=_influence(fitted, asked.leave_out),
        absent=absent,
        tests=tests,
        metric=given.metric,
        better=given.better,
        more_findings=(*given.amounts, *_asked_for(frame, settled, work, wanted)),
        separation=rule.separated,
        full_likelihood=full.log_likelihood,
        parts=two_parts(design, _video(settled, design), rule) if fitted.family == "ordered-beta" else None,
        unit=settled.roles.unit,
        speaks_of=speaks_of,
    )
    added = tuple(_additions(result, frame, rows, asked))
    return replace(result, additions=added) if added else result


def _of_models(frame: pl.DataFrame, models: Sequence[str], groups: Sequence[str]) -> pl.DataFrame:
    """The rows of those models; all without any."""
    if not models:
        return frame
    column = next(iter(named_by((*groups, *frame.columns), MODELS)), None)
    if column is None:
        raise Misuse("models are chosen where a column names them; call it so (--columns model=COLUMN)")
    held = frame[column].cast(pl.String)
    for name in models:
        if name not in (known := held.unique().drop_nulls().sort().to_list()):
            raise UnknownName("model", name, known)
    return frame.filter(held.is_in(list(models)))


def _stated_unit(asked: FailureSettings) -> tuple[FailureSettings, str | None]:
    """What is independent, where somebody says it, and the settings without what is no column (`case`, `prefix:N`)."""
    columns = dict(asked.columns or {})
    if stated := columns.pop("unit", None) or columns.pop("video", None):
        if not names_no_column(stated):
            columns["video"], stated = stated, "video"
        return replace(asked, columns=columns), stated
    return asked, None


def _requested(
    given: Rows, asked: FailureSettings, groups: tuple[str, ...], varying: tuple[Slope, ...]
) -> tuple[FailureRequest, tuple[Finding, ...]]:
    """The model that is asked for, and what became of scores that are not there.

    Raises:
        TableInvalid: Rows repeat each other.
    """
    roles = roles_of(given.frame, groups, unit=asked.unit, where=asked.where)
    if problems := repeated_rows(given.frame, roles):
        raise TableInvalid(asked.where, problems)
    absent = given.findings
    if not given.complete and (lacking := absent_rows(given.frame, groups, roles)):
        absent = (remark("rows-absent", lacking),)
    request = FailureRequest(
        asked.response,
        asked.trials,
        fixed_terms(asked.fixed),
        groups,
        asked.spec,
        asked.role,
        "binomial",
        slopes=varying,
        also=tuple(variable for name in (*asked.cluster, *asked.leave_out) for variable in name.split(":")),
        roles=roles,
        models_like_these=asked.models_like_these,
    )
    return request, absent


def _rule(asked: FailureSettings) -> TestRule:
    """How effects are tested: what `auto` stands for depends on the specification."""
    paper = asked.spec == "ross"
    inference: Inference = "wald-z" if paper else "reml-t"
    return TestRule(
        inference if asked.inference == "auto" else asked.inference,
        asked.slopes,
        "drop" if asked.separation == "drop" or (paper and asked.separation == "auto") else "keep",
        asked.level,
        asked.engine,
        firth=asked.separation == "firth",
    )


def _influence(fitted: MixedFit, leave_out: Sequence[str]) -> pl.DataFrame | None:
    parts = [
        tables.INFLUENCE.frame(leave_one_out(fitted, name).with_columns(column=pl.lit(name))) for name in leave_out
    ]
    return pl.concat(parts) if parts else None


def _additions(
    result: FailuresResult, frame: pl.DataFrame, rows: pl.DataFrame, asked: FailureSettings
) -> Iterator[Addition]:
    """What was asked for beside the effects."""
    kept = result.fit.design.kept
    if asked.recommend:
        yield recommended(result, rows[kept], improvement=asked.improvement, picture=asked.picture)
    if asked.strengths:
        yield strength_tables(result, frame)
    if asked.risk is not None:
        yield risk_tables(result, rows[kept], rows_of(asked.risk, asked.columns, where="cases to weigh"))


def _score_or_counts(table: Any, asked: FailureSettings) -> FailuresResult:
    """The linear model of a score where its residuals are normal, else the model of the counts behind the score."""
    of_score = replace(asked, successes=None, trials=None, cluster=())
    of_counts = replace(asked, outcome=None, family="auto", transform="auto", missing=None)
    effects_only: dict[str, Any] = {"recommend": False, "strengths": False, "risk": None}
    score = analysed(table, replace(of_score, **effects_only))
    residuals = score.fit.design.response - score.fit.linear_predictor
    if score.fit.family != "gaussian" or normal_correlation(residuals) >= STRAIGHT_ENOUGH:
        if asked.recommend or asked.strengths or asked.risk is not None:
            score = analysed(table, of_score)
        if not asked.cluster:
            return score
        return replace(score, marginal=analysed(table, replace(of_counts, **effects_only)).marginal)
    counts = analysed(table, of_counts)
    work = Workflow()
    counted = f"{asked.successes} of {asked.trials}"
    work.log("Can the outcome be restated as counts?", "yes", f"{counted}, so a binomial GLMM")
    return replace(counts, decisions=(*score.decisions, *work.decisions, *counts.decisions))


def _check_slopes(slopes: bool | Sequence[str], design: Design) -> None:
    """Refuse slopes of what is no property: the others would silently count as equal in all videos."""
    known = {*design.terms, *design.terms.values()}
    for name in () if isinstance(slopes, bool) else slopes:
        if name not in known:
            raise UnknownName("property to vary between videos", name, sorted(known))


def _check_firth(request: FailureRequest) -> None:
    """Refuse Firth's fit where it is not defined here."""
    if request.family != "binomial":
        raise Misuse(f"separation firth is for successes of trials or a 0/1 outcome, not for a {request.family} model")
    if request.random or request.slopes:
        raise Misuse(
            f"separation firth knows no random effects, and {', '.join(request.random)} were named; without them rows "
            "would count as independent. Use separation penalise, which holds what separates the outcome near zero"
        )


def _video(request: FailureRequest, design: Design) -> str:
    """The grouping that effects have to hold between; empty where the table has none left."""
    video = request.roles.video
    return video if video and all(variable in design.frame.columns for variable in video.split(":")) else ""


def _asked_for(frame: pl.DataFrame, request: FailureRequest, work: Workflow, wanted: bool) -> Iterator[Finding]:
    """What the request leaves out of sight, or the workflow ruled out."""
    if work.rejected:
        yield remark(
            "rejected-model",
            "the residuals are far from normal, so the linear model is "
            "rejected and its p values are withheld; pass successes and trials",
        )
    if wanted and request.random and not request.roles.model:
        yield remark(
            "no-model",
            "no random effect is called model, so nothing absorbs what single "
            "models do on single units; name the column (columns: model=COLUMN)",
        )
    named = {column_of(variable) for name in (*request.random, *request.fixed) for variable in name.split(":")}
    if request.random and (beside := [name for name in VIDEO_NAMES if name in frame.columns and name not in named]):
        yield remark(
            "video-not-modelled",
            f"column {beside[0]!r} is no random effect, so rows of "
            f"one {beside[0]} count as independent; add it to the random effects",
        )


def _is_count(frame: pl.DataFrame, request: FailureRequest) -> bool:
    """Whether rows are counts that can vary more than their family allows."""
    if request.family == "poisson":
        return True
    if request.family != "binomial" or request.trials is None or request.trials not in frame.columns:
        return False
    kind = frame.schema[request.trials]
    return kind.is_numeric() and not bool((frame[request.trials].drop_nulls() <= 1).all())


def _full_likelihood(fitted: MixedFit, engine: Engine) -> MixedFit:
    """The fit by full likelihood, whose value compares between models with different properties."""
    if not fitted.method.endswith("reml"):
        return fitted
    return fit(fitted.design, restricted=False, engine=engine, errors=False, penalty=dict(fitted.penalty) or None)


def _specifications(
    frame: pl.DataFrame, request: FailureRequest, full: MixedFit, wanted: bool, asked: FailureSettings
) -> Specifications | None:
    """Both specifications of counts compared: dispersion under `ross`, and the test of the effect `default` adds."""
    if not _is_count(frame, request):
        return None
    design = full.design
    with_extra = request.model(extra=True)
    same = with_extra == request.model(extra=False)
    if wanted and (same or design.rows > COMPARED_UP_TO_ROWS):
        return None
    fitted = fit(design, engine=asked.engine, errors=False) if full.penalty or full.method == "firth" else full
    if same or design.rows > COMPARED_UP_TO_ROWS:
        return Specifications(pearson_dispersion(fitted), None)
    unpenalised: Separation = "keep" if wanted else "drop"
    rows = design_of(frame, request.model(extra=not wanted), where=asked.where, separation=unpenalised)
    other = fit(rows, engine=asked.engine, errors=False)
    paper, default = (other, fitted) if wanted else (fitted, other)
    test: Ratio | None = None
    if default.parameters > paper.parameters:
        test = likelihood_ratio(default, paper, variances=1)
    return Specifications(pearson_dispersion(paper), test)


def _excluded_by_model(frame: pl.DataFrame, request: FailureRequest) -> dict[str, int]:
    """Rows without trials of every model, if there are any; unequal numbers mean that models saw different cases."""
    column, trials = request.model_column, request.trials
    if trials is None or column not in frame.columns:
        return {}
    named = frame.select(pl.col(column).cast(pl.String), zero=pl.col(trials) == 0).drop_nulls()
    counted = named.group_by(column).agg(pl.col("zero").sum()).sort(column)
    return {str(model): int(count) for model, count in counted.iter_rows()} if named["zero"].any() else {}


def _per_model(
    frame: pl.DataFrame, request: FailureRequest, rule: TestRule, symmetric: bool, better: str | None
) -> pl.DataFrame:
    """Effects of each model by itself (Ross et al. 2023, Appendix C), the finest unit absorbing extra variation."""
    column = request.model_column
    if len(request.random) < 2 or column not in frame.columns:
        raise Misuse(
            "fits per model need at least two random effects, one of them called model (columns: model=COLUMN)"
        )
    single = replace(request, role="removed").model(extra=False)
    parts = []
    for (name,), rows in frame.group_by(column, maintain_order=True):
        try:
            design = design_of(rows, single, where=f"model {name}", separation=rule.separation)
        except TableInvalid as error:
            parts.append(_unfitted(str(name), request.fixed, error))
            continue
        fitted = tested(design, _video(request, design), rule)
        table = effects_table(*fitted, symmetric=symmetric, better=better)
        parts.append(tables.PER_MODEL.frame(table.with_columns(model=pl.lit(str(name)), note=pl.lit(""))))
    return pl.concat(parts, how="vertical_relaxed").sort("model", maintain_order=True)


def _unfitted(model: str, terms: Sequence[str], error: TableInvalid) -> pl.DataFrame:
    why = "; ".join(error.problems)
    return tables.PER_MODEL.frame([{"model": model, **row, "note": why} for row in unassessed(terms)])
