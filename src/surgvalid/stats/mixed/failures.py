"""Why models fail: one call from a table with properties to odds ratios.

Source: Ross et al., "Beyond rankings: learning (more) from algorithm validation", Medical Image Analysis (2023).

Three answers to one question. The mixed model of all models together (`failure_fit`) compares cases with equal random
effects; `marginal` compares population averages of each model by itself (`inference.adjusted`); the form `symbols` sets
several mixed models side by side (`failure_table`). They are one call because a reader has to choose between them:
their odds ratios differ, and none is wrong. An option that the chosen answer does not use is refused.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.request import requested
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.stats.intervals.slices import SEPARATOR
from surgvalid.stats.mixed.failure_fit import analysed
from surgvalid.stats.mixed.failure_table import FailureTableResult, failure_table
from surgvalid.stats.mixed.fit.fit import Engine
from surgvalid.stats.mixed.inference.adjusted import AdjustedResult, Covariance, adjusted_effects
from surgvalid.stats.mixed.model.failure_settings import (
    FailureSettings,
    Family,
    InferenceRule,
    SeparationRule,
    TransformRule,
)
from surgvalid.stats.mixed.model.roles import ModelRole, Spec
from surgvalid.stats.mixed.report import FailuresResult

Form = Literal["effects", "symbols"]
_READ = frozenset("fixed metric better missing level columns engine where".split())
_MARGINAL = _READ | {"cluster", "covariance", "separator"}
_ONE_FIT = set("random spec family properties symmetric unit inference slopes separation".split())
_SYMBOLS = _READ | _ONE_FIT | {"outcomes", "split", "models_like_these"}


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
    models: Sequence[str] = (),
    per_model: bool = False,
    role: ModelRole = "random",
    models_like_these: bool = False,
    family: Family = "auto",
    transform: TransformRule = "auto",
    properties: Any = None,
    cluster: str | Sequence[str] = (),
    leave_out: str | Sequence[str] = (),
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    symmetric: bool = False,
    unit: str | None = None,
    inference: InferenceRule = "auto",
    slopes: bool | Sequence[str] = True,
    separation: SeparationRule = "auto",
    recommend: bool = False,
    improvement: float = 0.1,
    picture: str | None = None,
    strengths: bool = False,
    risk: Any = None,
    marginal: bool = False,
    covariance: Covariance = "auto",
    separator: str = SEPARATOR,
    replicates: int = 1000,
    seed: int = 42,
    form: Form = "effects",
    outcomes: Mapping[str, str] | None = None,
    split: str | None = None,
    level: float = 0.95,
    columns: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    where: str = "table",
    preregistration: str | Path | None = None,
    deviations: Mapping[str, str] | None = None,
) -> FailuresResult | AdjustedResult | FailureTableResult:
    """Effects of properties on success, with uncertainty that respects models, patients, images and instances.

    Args:
        table: A `ScoreTable`, rows (polars, pandas, Arrow, dictionary), or paths of CSV or Parquet files.
        successes: Column of successes, with `trials`; or give `outcome`.
        trials: Column of trials. Rows with zero trials are left out and counted per model.
        outcome: Column of a 0/1 or continuous outcome. With `successes` and `trials` as well, a continuous outcome
            comes first, and the counts take its place where its residuals are not normal.
        fixed: Properties: columns, or interactions `a:b`.
        random: Random intercepts, in any order: the one called `model` (or `algorithm`) is the model, the one called
            `video` (or `patient`) is what effects have to hold between. By default what the table names: model,
            patient, video and cases of several rows; where nothing says what is independent, no effect is tested. A
            slope is written `0 + smoke | patient`.
        spec: `default` adds the interaction of model and finest unit for counts; `ross` adds nothing, tests with z and
            leaves out what separates the outcome.
        models: Only these; by default every one. With one, all that is said is of it alone, recommendations too.
        per_model: Fit each model by itself as well.
        role: How models enter: random, fixed, removed or aggregated.
        models_like_these: Whether effects are to hold for other models like these, so that their spread between models
            enters every test; with four models or more. Otherwise they are for these models, on average.
        family: What the outcome is; `auto` follows the decision workflow of Ross et al. (2023, Fig. 4).
            `ordered-beta` is for scores in [0, 1] with exact zeros and ones.
        transform: Of a continuous outcome; `auto` leaves it alone where residuals look normal.
        properties: A table of properties, or several, to join by the columns each shares, such as `case` or `video`.
        cluster: One or two columns for marginal odds ratios with cluster-robust errors, in a table of their own; with
            `marginal`, which rows hang together (by default those of a video).
        leave_out: Columns, such as patient and model, of which each level is left out in turn (a refit each).
        metric: Rows of a score table to use, where it holds several metrics; if left out, the main one of the table or
            `correct`. Without `outcome`, their value is the outcome.
        better: `larger` or `smaller`, where neither the table nor the name of the metric (or outcome) says it. A plus
            among the symbols helps and a minus hurts; where nobody said which is better, a word says where values go.
        missing: What a score that is not there counts as, whether its row is empty or absent, where `outcome` is the
            `value` of a score table (one row per model and case): see `surgvalid.schema.tables.missing`. Other rows
            without an outcome are left out and counted, and so are rows that only other models have.
        symmetric: Use symbol bins that mirror each other on the log scale.
        unit: The finest unit, where it is not the random effect with the most levels.
        inference: `reml-t` (the default): restricted likelihood, and t with degrees of freedom per effect; `wald-z`
            (that of `ross`): full likelihood and z.
        slopes: Whether effects that vary inside videos may differ between videos; or the properties whose may.
        separation: `penalise` (the default) keeps properties that separate the outcome and holds them near zero,
            `drop` (that of `ross`) marks them with x, `firth` fits all by Firth's penalised likelihood, which is for
            models without random effects.
        recommend: Also say what to work on: the share of failures that goes with each property, its interval, which
            cases to look at, and how many videos would show an improvement (tables `recommendations` and
            `recommended_cases`).
        improvement: Of the mean outcome of the cases with a property, in its own unit, that is to be found.
        picture: The column that says where the image of a case is; by default `picture`, `path`, `file` or `image`.
        strengths: Also test jointly whether properties harm models differently, and say which model is strong or weak
            on which (tables `strengths`, `strength_tests`).
        risk: A table of cases with the properties of the analysis, such as those of a training set, to give a risk of
            failure and a sampling weight: held out by video, calibrated (tables `risk`, `calibration`,
            `calibration_bins`).
        marginal: Instead of the mixed model, one logistic regression of 0/1 scores on `fixed` per model, with
            cluster-robust errors (an `AdjustedResult`). Columns may then also be lists, or text with `separator`.
        covariance: Of `marginal`: `CR0`, `CR1`, `CR2`, `bootstrap` (one grouping only), or `auto`: CR2 with fewer than
            50 clusters, else CR1.
        separator: Of `marginal`: what stands between labels in text.
        replicates: Of `marginal`: bootstrap refits.
        seed: Of the bootstrap of `marginal`.
        form: `effects`; or `symbols`, several analyses side by side as Table 2 of Ross et al. (2023), with `outcomes`
            in place of an outcome (a `FailureTableResult`).
        outcomes: Of `symbols`: what to call each outcome, and what it is: successes of trials, such as `{"precision":
            "tp / predicted", "recall": "tp / reference"}`, or a column.
        split: Of `symbols`: a column whose values part the rows into groups, or a threshold such as `instruments > 1`,
            which parts them into two; each group is fitted by itself.
        level: Of the intervals.
        columns: Our column names to theirs, such as `{"model": "network", "video": "operation"}`.
        engine: `numpy`, `numba`, or the faster of those installed.
        where: What to call the table in error messages.
        preregistration: The registration that the settings must be those of, as `preregister` writes them.
        deviations: Why settings differ from it, by the name of the option; each becomes a warning.

    Raises:
        Misuse: The options contradict each other, or one would be left unused.
        TableInvalid: The table does not fit them; lists every problem.
    """
    named = locals()
    asked = FailureSettings(**{one.name: named[one.name] for one in fields(FailureSettings)})
    others = {
        "covariance": covariance != "auto",
        "separator": separator != SEPARATOR,
        "outcomes": outcomes is not None,
        "split": split is not None,
        "form": marginal and form != "effects",
    }
    given = asked.given() | {name for name, is_set in others.items() if is_set}
    if form not in get_args(Form):
        raise UnknownName("form of a failure analysis", form, get_args(Form))
    if marginal:
        _refuse_unused("marginal", given, _MARGINAL)
        names = [asked.fixed] if isinstance(asked.fixed, str) else asked.fixed
        return adjusted_effects(
            table,
            names,
            cluster=asked.cluster or ("video",),
            covariance=covariance,
            separator=separator,
            level=level,
            replicates=replicates,
            seed=seed,
            metric=metric,
            better=better,
            missing=missing,
            columns=columns,
        )
    if form == "symbols":
        _refuse_unused("form symbols", given, _SYMBOLS)
        return failure_table(table, asked, outcomes=outcomes or {}, split=split)
    _refuse_unused("form effects without marginal", given, asked.__dataclass_fields__)
    if metric is not None and not asked.response:
        asked = replace(asked, outcome="value")
    asked.check()
    return analysed(table, asked.renamed())


def _refuse_unused(what: str, given: Iterable[str], used: Container[str]) -> None:
    """Refuse options that would be left unused: who gave them would believe that they were followed."""
    if unused := sorted(name for name in given if name not in used):
        raise Misuse(f"{', '.join(unused)}: not used with {what}; leave out what is not used")
