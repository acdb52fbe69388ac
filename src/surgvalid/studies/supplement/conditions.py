"""Sections on conditions: strata, labels that occur together, and effects adjusted for each other."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.chart import Chart
from surgvalid.report.figures import picture
from surgvalid.report.section import Block, Note, Prose, ReportTable
from surgvalid.report.words import count_of, slug
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.stats.comparing.contrasts import ALL_MODELS
from surgvalid.stats.comparing.strata import cooccurrence, strata
from surgvalid.stats.mixed.failure_fit import analysed
from surgvalid.stats.mixed.inference.adjusted import INTERCEPT, adjusted_effects
from surgvalid.stats.mixed.inference.term_tests import symbol
from surgvalid.stats.mixed.model.failure_settings import FailureSettings
from surgvalid.studies.supplement.study import (
    CONTEXT,
    METRIC,
    SupplementStudy,
    against_zero,
    extreme,
    limits,
    listed,
    shown,
)

SECONDARY = "secondaries"
_EFFECTS = ("group", SECONDARY, "ood", "clinical", CONTEXT)
_MIXED = ("group", "ood", "clinical", CONTEXT)


def stratified(study: SupplementStudy) -> list[Block]:
    """Every model under every condition against all questions, one figure per kind of condition."""
    columns = [column for column in study.axes if study.varies(column)]
    if not columns:
        why = "The questions do not differ in any of the columns that a supplement stratifies by."
        return [Note(why, "missing")]
    analysis = strata(study.table, columns, level=study.level, **study.how)
    frame = analysis.table
    blocks: list[Block] = [Prose(_lowest(frame, study))]
    for column in columns:
        rows, words = frame.filter(pl.col("column") == column), study.axes[column]
        shorter = rows.with_columns(column=pl.col("stratum"))
        blocks.append(
            picture("strata_deltas", shorter, name=f"strata-{slug(column)}", title=f"By {words}: against all questions")
        )
    caption = (
        f"{analysis.prose} A question with several labels counts in each. Rows of '{ALL_MODELS}' are the median of the "
        "models' differences."
    )
    table = ReportTable("strata", "Values under every condition", frame, caption, folded=True)
    return [*blocks, table, *limits(analysis.findings)]


def _lowest(frame: pl.DataFrame, study: SupplementStudy) -> str:
    """Where models do worst, for every kind of condition; of a column of yes and no, those with yes."""
    typical = frame.filter(pl.col("model") == (ALL_MODELS if len(study.models) > 1 else study.models[0]))
    sentences = []
    for column in typical["column"].unique(maintain_order=True):
        row = extreme(typical.filter(pl.col("column") == column), "delta")
        if row is not None:
            words = study.axes[column] + ("" if row["stratum"] == column else f", lowest in '{row['stratum']}'")
            sentences.append(f"{words}: {shown(row, 'delta', signed=True)}, {against_zero(row)}")
    if not sentences:
        return "No condition has a value."
    whose = "the median of the models" if len(study.models) > 1 else "the model"
    return (
        f"Accuracy against all questions, for {whose}. By {'; by '.join(sentences)}. The lowest of several strata is "
        "picked by these data, so its interval is not that of a stratum named beforehand."
    )


def labels(study: SupplementStudy) -> list[Block]:
    """Marginal and conditional performance per label."""
    if not study.varies(SECONDARY):
        return [Note("No question has a secondary capability, so no labels occur together.", "missing")]
    analysis = cooccurrence(study.table, secondary=SECONDARY, level=study.level, **study.how)
    frame = analysis.table
    pairs = frame.filter(pl.col("kind") == "conditional")
    typical = pairs.filter(pl.col("model") == (ALL_MODELS if len(study.models) > 1 else study.models[0]))
    worst = extreme(typical, "delta")
    count = pairs.select("label", "given").n_unique()
    text = f"{count_of(count, 'pair')} of a primary capability and a further one (or none) occur."
    if worst is not None:
        text += (
            f" Given its primary capability, a question is hardest for '{worst['label']}' with '{worst['given']}': "
            f"{shown(worst, 'delta', signed=True)}, {against_zero(worst)} ({worst['cases']} questions in "
            f"{count_of(worst['videos'], 'video')})."
        )
    both = (
        pl.col("label").map_elements(_code, return_dtype=pl.String)
        + " with "
        + pl.col("given").map_elements(_code, return_dtype=pl.String)
    )
    drawn = pairs.select(pl.exclude("label", "given", "kind"), column=both, stratum=both)
    chart = picture(
        "strata_deltas",
        drawn,
        name="conditional-on-labels",
        title="Given a further capability: against all questions of the primary one",
        against="all questions of the primary capability",
    )
    if isinstance(chart, Chart):
        codes = sorted({f"{_code(name)} {name}" for name in [*pairs["label"], *pairs["given"]] if _code(name) != name})
        chart = replace(chart, caption=f"{chart.caption} {'; '.join(codes)}.")
    caption = f"{analysis.prose} Rows of kind 'conditional' with '(none)' are questions without a further capability."
    table = ReportTable("cooccurrence", "Marginal and conditional performance", frame, caption, folded=True)
    return [Prose(text), chart, table, *limits(analysis.findings)]


def _code(label: str) -> str:
    """The code of a capability, which a row of a chart has room for."""
    known = Capability.named(label)
    return label if known is None else known.code


def adjusted(study: SupplementStudy) -> list[Block]:
    """Effects of properties, each with the others held fixed, per model and over all models."""
    extra = [c for c in study.axes if c not in (*_EFFECTS, "capability") and study.rows.schema.get(c) == pl.String]
    effects = [column for column in (*_EFFECTS, *extra) if study.varies(column)]
    if not effects:
        return [Note("The questions do not differ in any property that could be adjusted for.", "missing")]
    analysis = adjusted_effects(study.table, effects, level=study.level, **study.how)
    frame = analysis.table
    fitted = frame.filter(pl.col("clusters") > 0)  # nothing is fitted to a model that is always right or always wrong
    terms = fitted.filter(pl.col("term") != INTERCEPT)["term"].n_unique()
    fewest = min(fitted["clusters"], default=0)
    if fewest <= terms:
        why = (
            f"No adjusted effects: {count_of(terms, 'effect')} cannot be told apart on "
            f"{count_of(fewest, 'video')}; more videos than effects are needed."
        )
        return [Note(why), *_mixed(study)]
    rows = frame.with_columns(pl.Series("symbol", [_symbol(row) for row in frame.iter_rows(named=True)]))
    caption = (
        f"{analysis.prose} Columns of text are against their first value in alphabetical order, labels against "
        "questions without them. Odds ratios below 1 are properties of questions that are answered less often."
    )
    clear = frame.filter((pl.col("term") != INTERCEPT) & ((pl.col("high") < 1) | (pl.col("low") > 1))).height
    total = frame.filter((pl.col("term") != INTERCEPT) & pl.col("odds_ratio").is_not_null()).height
    text = (
        f"Logistic regressions with {listed(effects)} together, one per model: of {count_of(total, 'odds ratio')}, "
        f"{clear} have an interval without 1; with so many, one in twenty would by chance."
    )
    chart = picture("model_effects", rows, name="adjusted-effects", title="Adjusted effects on each model")
    if isinstance(chart, Chart):
        words = (
            "Log odds ratios of a right answer with the property against without it, the other properties held fixed; "
            "one logistic regression per model, with standard errors clustered by video. Coloured: p of at most 0.05, "
            "not adjusted for the number of effects; x: not assessable."
        )
        chart = replace(chart, caption=words)
    return [
        Prose(text),
        chart,
        ReportTable("adjusted", "Adjusted effects", frame, caption, folded=True),
        *limits(analysis.findings),
        *_mixed(study),
    ]


def _symbol(row: dict[str, object]) -> str:
    ratio, p = row["odds_ratio"], row["p_value"]
    return symbol(*(float("nan") if value is None else float(value) for value in (ratio, p)))  # type: ignore[arg-type]


def _mixed(study: SupplementStudy) -> list[Block]:
    """The same over all models together, models and videos as random effects."""
    fixed = [column for column in _MIXED if study.varies(column)]
    if len(study.models) < 2 or not fixed:
        return []
    try:
        asked = FailureSettings(
            outcome="value",
            fixed=fixed,
            random=["model", "video"],
            level=study.level,
            metric=METRIC,
            missing=study.missing,
        )
        analysis = analysed(study.table, asked)
    except SurgvalidError as error:
        return [Note(f"No mixed model over all models: {error}", "missing")]
    frame = analysis.tables["effects"]
    chart = picture("effects_forest", frame, name="mixed-effects", title="Adjusted effects over all models together")
    return [
        chart,
        ReportTable("mixed_effects", "Adjusted effects over all models", frame, analysis.prose, folded=True),
        *limits(analysis.findings),
    ]
