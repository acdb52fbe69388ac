"""Why models fail: the analysis of seed 001 as one call, from a table with properties to odds ratios.

Two named specifications. `paper` is that of seed 001: the random intercepts named, and nothing else, tested with z.
`default` adds the interaction of the model with the finest unit for counts, because pixel counts vary between models on
the same instance far more than binomial noise allows; without it, any contrast between models looks tens of times more
certain than it is. It tests every effect with the degrees of freedom that the videos give it (see `term_tests`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from surgeval.errors import Misuse, TableInvalid, UnknownName
from surgeval.results.request import requested
from surgeval.results.table_result import rows_of
from surgeval.results.tables import failures as tables
from surgeval.schema.findings import Finding
from surgeval.schema.missing import Missing
from surgeval.schema.statistic_rules import remark
from surgeval.schema.table_facts import Directions
from surgeval.stats.mixed.design import Design, Separation, design_of
from surgeval.stats.mixed.diagnostics import diagnose
from surgeval.stats.mixed.fit import Engine, fit
from surgeval.stats.mixed.formula import FamilyName, column_of, fixed_terms, random_terms
from surgeval.stats.mixed.inference import Ratio, likelihood_ratio
from surgeval.stats.mixed.influence import leave_one_out
from surgeval.stats.mixed.recommend import check_recommendation, recommended
from surgeval.stats.mixed.report import FailuresResult, Specifications, effects_table, unassessed
from surgeval.stats.mixed.request import NO_OUTCOME, ROLES, ModelRole, Request, Spec
from surgeval.stats.mixed.residuals import normal_correlation, pearson_dispersion
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.risk import risk_tables
from surgeval.stats.mixed.robust import robust_logit
from surgeval.stats.mixed.roles import VIDEO_NAMES, absent_rows, repeated_rows, roles_of
from surgeval.stats.mixed.strengths import strengths as strength_tables
from surgeval.stats.mixed.table import analysed_rows
from surgeval.stats.mixed.tested import Rule, tested
from surgeval.stats.mixed.two_parts import two_parts
from surgeval.stats.mixed.workflow import STRAIGHT_ENOUGH, Workflow, check_residuals, settle_outcome, settle_role

SeparationRule = Literal["auto", "penalise", "drop", "firth"]
COMPARED_UP_TO_ROWS = 300_000
"""Beyond, the second specification is not fitted merely to be compared with."""


@requested("failures", files=("table", "properties", "risk"))
def failures(
    table: Any,
    *,
    successes: str | None = None,
    trials: str | None = None,
    outcome: str | None = None,
    fixed: str | Sequence[str] = (),
    random: str | Sequence[str] = (),
    spec: Spec = "default",
    per_model: bool = False,
    role: ModelRole = "random",
    family: Literal["auto"] | FamilyName = "auto",
    transform: Literal["auto", "none", "log", "logit"] = "auto",
    properties: Any = None,
    cluster: str | Sequence[str] = (),
    leave_out: str | Sequence[str] = (),
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    symmetric: bool = False,
    unit: str | None = None,
    inference: Literal["auto", "reml-t", "wald-z"] = "auto",
    slopes: bool | Sequence[str] = True,
    separation: SeparationRule = "auto",
    recommend: bool = False,
    improvement: float = 0.1,
    picture: str | None = None,
    strengths: bool = False,
    risk: Any = None,
    level: float = 0.95,
    columns: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    where: str = "table",
    preregistration: str | Path | None = None,  # noqa: ARG001 - held against the settings by `requested`
    deviations: Mapping[str, str] | None = None,  # noqa: ARG001
) -> FailuresResult:
    """Effects of properties on success, with uncertainty that respects models, patients, images and instances.

    Args:
        table: A `ScoreTable`, rows (polars, pandas, Arrow, dictionary), or paths of CSV or Parquet files.
        successes: Column of successes, with `trials`; or give `outcome`.
        trials: Column of trials. Rows with zero trials are left out and counted per model.
        outcome: Column of a 0/1 or continuous outcome. With `successes` and `trials` as well, a continuous outcome
            comes first, and the counts take its place where its residuals are not normal.
        fixed: Properties: columns, or interactions `a:b`.
        random: Random intercepts, in any order: the one called `model` (or `algorithm`) is the model, the one called
            `video` (or `patient`) is what effects have to hold between. A slope is written `0 + smoke | patient`.
        spec: `default` adds the interaction of model and finest unit for counts; `paper` adds nothing, tests with z and
            leaves out what separates the outcome.
        per_model: Fit each model by itself as well.
        role: How models enter: random, fixed, removed or aggregated.
        family: What the outcome is; `auto` follows the decision workflow of seed 001 Fig. 4. `ordered-beta` is for
            scores in [0, 1] with exact zeros and ones.
        transform: Of a continuous outcome; `auto` leaves it alone where residuals look normal.
        properties: A table of properties, or several, to join by the columns each shares, such as `case` or `video`.
        cluster: One or two columns for marginal odds ratios with cluster-robust errors, in a table of their own.
        leave_out: Columns, such as patient and model, of which each level is left out in turn (a refit each).
        metric: Rows of a score table to use, where it holds several metrics; if left out, the main one of the table or
            `correct`. Without `outcome`, their value is the outcome.
        better: `larger` or `smaller`, where neither the table nor the name of the metric (or outcome) says it. A plus
            among the symbols helps and a minus hurts; where nobody said which is better, a word says where values go.
        missing: What a score that is not there counts as, whether its row is empty or absent, where `outcome` is the
            `value` of a score table (one row per model and case): see `surgeval.schema.missing`. Other rows without an
            outcome are left out and counted, and so are rows that only other models have.
        symmetric: Use symbol bins that mirror each other on the log scale.
        unit: The finest unit, where it is not the random effect with the most levels.
        inference: `reml-t` (the default): restricted likelihood, and t with degrees of freedom per effect; `wald-z`
            (that of `paper`): full likelihood and z.
        slopes: Whether effects that vary inside videos may differ between videos; or the properties whose may.
        separation: `penalise` (the default) keeps properties that separate the outcome and holds them near zero,
            `drop` (that of `paper`) marks them with x, `firth` fits all by Firth's penalised likelihood, which is for
            models without random effects.
        recommend: Also say what to work on: the share of failures that goes with each property, its interval, which
            cases to look at, and how many videos would show an improvement (tables `recommendations` and
            `recommended_cases`).
        improvement: Of the mean outcome of the cases with a property, in its own unit, that is to be found.
        picture: The column that says where the picture of a case is; by default `picture`, `path`, `file` or `image`.
        strengths: Also test jointly whether properties harm models differently, and say which model is strong or weak
            on which (tables `strengths`, `strength_tests`).
        risk: A table of cases with the properties of the analysis, such as those of a training set, to give a risk of
            failure and a sampling weight: held out by video, calibrated (tables `risk`, `calibration`,
            `calibration_bins`).
        level: Of the intervals.
        columns: Our column names to theirs, such as `{"model": "network", "video": "operation"}`.
        engine: `numpy`, `numba`, or the faster of those installed.
        where: What to call the table in error messages.
        preregistration: The registration that the settings must be those of, as `preregister` writes them.
        deviations: Why settings differ from it, by the name of the option; each becomes a warning.

    Raises:
        Misuse: The options contradict each other.
        TableInvalid: The table does not fit them; lists every problem.
    """
    if metric is not None and outcome is None and successes is None:
        outcome = "value"
    _check_options(successes, trials, outcome, spec, role, level)
    _check_rule(inference, separation)
    ours = {theirs: mine for mine, theirs in (columns or {}).items()}
    fixed, random, cluster, leave_out = (renamed_terms(names, ours) for names in (fixed, random, cluster, leave_out))
    outcome, successes, trials = (name and renamed_term(name, ours) for name in (outcome, successes, trials))
    if outcome is not None and successes is not None and trials is not None:
        analyse = partial(
            failures, table, fixed=fixed, random=random, spec=spec, per_model=per_model, role=role,
            properties=properties, leave_out=leave_out, metric=metric, better=better, symmetric=symmetric, unit=unit,
            inference=inference, slopes=slopes, separation=separation, level=level, columns=columns, engine=engine,
            where=where,
        )  # fmt: skip
        of_score = partial(analyse, outcome=outcome, family=family, transform=transform, missing=missing)
        of_counts = partial(analyse, successes=successes, trials=trials, cluster=cluster)
        more = {"recommend": recommend, "strengths": strengths, "risk": risk, "improvement": improvement,
                "picture": picture} if recommend or strengths or risk is not None else {}  # fmt: skip
        return _score_or_counts(of_score, of_counts, f"{successes} of {trials}", clustered=bool(cluster), more=more)
    if missing is not None and outcome != "value":
        asked = outcome or f"{successes} of {trials}"
        raise Misuse(f"missing is a rule for scores, and {asked!r} is not the score of the table, so it would be left "
                     "unused" + ("" if successes else f"; call it so (columns: value={asked})"))  # fmt: skip
    terms = (*fixed, *random, *cluster, *leave_out, *(name or "" for name in (outcome, successes, trials, unit)))
    frame, scored, good, is_complete, completion = analysed_rows(
        table, outcome=outcome, terms=terms, metric=metric, better=better, missing=missing, properties=properties,
        columns=columns, where=where,
    )  # fmt: skip
    if recommend:
        check_recommendation(improvement, picture, frame.columns)
    also = tuple(variable for name in (*cluster, *leave_out) for variable in name.split(":"))
    groups, varying = random_terms(random)
    roles = roles_of(frame, groups, unit=renamed_term(unit, ours) if unit else None, where=where)
    if problems := repeated_rows(frame, roles):
        raise TableInvalid(where, problems)
    if not is_complete and (lacking := absent_rows(frame, groups, roles)):
        completion = (remark("rows-absent", lacking),)
    request = Request(
        successes or outcome or "", trials, fixed_terms(fixed), groups, spec, role, "binomial", slopes=varying,
        also=also, roles=roles,
    )  # fmt: skip
    frame, request, work = settle_outcome(frame, request, family, transform, where)
    good = good or ("larger" if request.family == "binomial" else None)
    rows, settled, left_out = settle_role(frame, request, work, where)
    paper, counts = spec == "paper", _is_count(rows, settled)
    wanted = counts and not paper
    rule = Rule(
        ("wald-z" if paper else "reml-t") if inference == "auto" else inference,
        slopes, "drop" if separation == "drop" or (paper and separation == "auto") else "keep", level, engine,
        firth=separation == "firth",
    )  # fmt: skip
    if rule.firth:
        _check_firth(settled)
    design = design_of(rows, settled.model(extra=wanted), where=where, also=settled.also, separation=rule.separation)
    design = replace(design, excluded={**left_out, **design.excluded})
    video = _video(settled, design)
    _check_slopes(slopes, design)
    fitted, tests = tested(design, video, rule)
    if fitted.family == "gaussian":
        check_residuals(work, fitted.design.response - fitted.linear_predictor)
    full = _full_likelihood(fitted, engine)
    compared = _specifications(rows, settled, full, wanted, engine, where) if counts else None
    each = _per_model(frame, request, rule, symmetric, good) if per_model else None
    marginal = robust_logit(fitted.design, cluster).table(level=level) if cluster else None
    influence = [
        tables.INFLUENCE.frame(leave_one_out(fitted, name).with_columns(column=pl.lit(name))) for name in leave_out
    ]
    result = FailuresResult(
        fit=fitted, spec=spec, model_column=settled.model_column, role=settled.role, level=level, symmetric=symmetric,
        decisions=tuple(work.decisions), transform=work.transform, diagnostics=diagnose(fitted, unit=roles.unit),
        specifications=compared, excluded_by_model=_excluded_by_model(frame, request), per_model=each,
        marginal=marginal, influence=pl.concat(influence) if influence else None, absent=completion, tests=tests,
        metric=scored, better=good, more_findings=tuple(_asked_for(frame, settled, work, wanted)),
        separation=rule.separated, full_likelihood=full.log_likelihood,
        parts=two_parts(design, video, rule) if fitted.family == "ordered-beta" else None, unit=settled.roles.unit,
    )  # fmt: skip
    seen = rows[fitted.design.kept] if recommend or risk is not None else rows
    added = [recommended(result, seen, improvement=improvement, picture=picture)] if recommend else []
    added += [strength_tables(result, frame)] if strengths else []
    added += [risk_tables(result, seen, rows_of(risk, columns, where="cases to weigh"))] if risk is not None else []
    return replace(result, additions=tuple(added)) if added else result


def _check_rule(inference: str, separation: str) -> None:
    if inference not in ("auto", "reml-t", "wald-z"):
        raise UnknownName("inference", inference, ["auto", "reml-t", "wald-z"])
    if separation not in get_args(SeparationRule):
        raise UnknownName("treatment of separation", separation, get_args(SeparationRule))


def _check_slopes(slopes: bool | Sequence[str], design: Design) -> None:
    """Refuse slopes of what is no property: the others would silently count as equal in all videos."""
    known = {*design.terms, *design.terms.values()}
    for name in () if isinstance(slopes, bool) else slopes:
        if name not in known:
            raise UnknownName("property to vary between videos", name, sorted(known))


def _check_firth(request: Request) -> None:
    """Refuse Firth's fit where it is not defined here."""
    if request.family != "binomial":
        raise Misuse(f"separation firth is for successes of trials or a 0/1 outcome, not for a {request.family} model")
    if request.random or request.slopes:
        raise Misuse(
            f"separation firth knows no random effects, and {', '.join(request.random)} were named; without them rows "
            "would count as independent. Use separation penalise, which holds what separates the outcome near zero"
        )


def renamed_terms(names: str | Sequence[str], ours: Mapping[str, str]) -> tuple[str, ...]:
    """Terms with the columns called as the option columns calls them; a single one may come without brackets."""
    return tuple(renamed_term(name, ours) for name in ((names,) if isinstance(names, str) else names))


def renamed_term(name: str, ours: Mapping[str, str]) -> str:
    """A term with the columns called as the option columns calls them.

    Example:
        >>> renamed_term("network:frame", {"network": "model"})
        'model:frame'
    """
    if not ours or "|" in name:
        return name
    return ":".join(ours.get(variable.strip(), variable.strip()) for variable in name.split(":"))


def _video(request: Request, design: Design) -> str:
    """The grouping that effects have to hold between; empty where the table has none left."""
    video = request.roles.video
    return video if video and all(variable in design.frame.columns for variable in video.split(":")) else ""


def _asked_for(frame: pl.DataFrame, request: Request, work: Workflow, wanted: bool) -> Iterator[Finding]:
    """What the request leaves out of sight, or the workflow ruled out."""
    if work.rejected:
        yield remark("rejected-model", "the residuals are far from normal, so the linear model is "
                      "rejected and its p values are withheld; pass successes and trials")  # fmt: skip
    if wanted and request.random and not request.roles.model:
        yield remark("no-model", "no random effect is called model, so nothing absorbs what single "
                      "models do on single units; name the column (columns: model=COLUMN)")  # fmt: skip
    named = {column_of(variable) for name in (*request.random, *request.fixed) for variable in name.split(":")}
    if request.random and (beside := [name for name in VIDEO_NAMES if name in frame.columns and name not in named]):
        yield remark("video-not-modelled", f"column {beside[0]!r} is no random effect, so rows of "
                      f"one {beside[0]} count as independent; add it to the random effects")  # fmt: skip


def _score_or_counts(
    of_score: Callable[..., FailuresResult], of_counts: Callable[..., FailuresResult], counted: str, *, clustered: bool,
    more: Mapping[str, Any],
) -> FailuresResult:  # fmt: skip
    """The linear model of a score where its residuals are normal, else the model of the counts behind the score.

    `more` is what only the one that stands is asked for.
    """
    score = of_score()
    residuals = score.fit.design.response - score.fit.linear_predictor
    stands = score.fit.family != "gaussian" or normal_correlation(residuals) >= STRAIGHT_ENOUGH
    if stands:
        score = of_score(**more) if more else score
        return replace(score, marginal=of_counts().marginal) if clustered else score
    counts = of_counts(**more)
    work = Workflow()
    work.log("Can the outcome be restated as counts?", "yes", f"{counted}, so a binomial GLMM")
    return replace(counts, decisions=(*score.decisions, *work.decisions, *counts.decisions))


def _check_options(
    successes: str | None, trials: str | None, outcome: str | None, spec: str, role: str, level: float
) -> None:
    if (successes is None) != (trials is None):
        raise Misuse("successes and trials go together; give both, or an outcome instead")
    if outcome is None and successes is None:
        raise Misuse(NO_OUTCOME)
    if spec not in ("default", "paper"):
        raise UnknownName("specification", spec, ["default", "paper"])
    if role not in ROLES:
        raise UnknownName("role of models", role, ROLES)
    if not 0 < level < 1:
        raise Misuse(f"the level of intervals lies between 0 and 1, got {level:g}")


def _is_count(frame: pl.DataFrame, request: Request) -> bool:
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
    frame: pl.DataFrame, request: Request, full: MixedFit, wanted: bool, engine: Engine, where: str
) -> Specifications | None:
    """Both specifications compared: dispersion under `paper`, and the test of the effect `default` adds."""
    design = full.design
    with_extra = request.model(extra=True)
    same = with_extra == request.model(extra=False)
    if wanted and (same or design.rows > COMPARED_UP_TO_ROWS):
        return None
    fitted = fit(design, engine=engine, errors=False) if full.penalty or full.method == "firth" else full
    if same or design.rows > COMPARED_UP_TO_ROWS:
        return Specifications(pearson_dispersion(fitted), None)
    unpenalised: Separation = "keep" if wanted else "drop"
    rows = design_of(frame, request.model(extra=not wanted), where=where, separation=unpenalised)
    other = fit(rows, engine=engine, errors=False)
    paper, default = (other, fitted) if wanted else (fitted, other)
    test: Ratio | None = None
    if default.parameters > paper.parameters:
        test = likelihood_ratio(default, paper, variances=1)
    return Specifications(pearson_dispersion(paper), test)


def _excluded_by_model(frame: pl.DataFrame, request: Request) -> dict[str, int]:
    """Rows without trials of every model, if there are any; unequal numbers mean that models saw different cases."""
    column, trials = request.model_column, request.trials
    if trials is None or column not in frame.columns:
        return {}
    named = frame.select(pl.col(column).cast(pl.String), zero=pl.col(trials) == 0).drop_nulls()
    counted = named.group_by(column).agg(pl.col("zero").sum()).sort(column)
    return {str(model): int(count) for model, count in counted.iter_rows()} if named["zero"].any() else {}


def _per_model(frame: pl.DataFrame, request: Request, rule: Rule, symmetric: bool, better: str | None) -> pl.DataFrame:
    """Effects of every model by itself (seed 001 Appendix C), where the finest unit absorbs extra variation."""
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
