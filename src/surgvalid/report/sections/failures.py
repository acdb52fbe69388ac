"""Failure analysis: which properties of a case make answers wrong, what to work on, and what a remedy changed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from surgvalid.report.figures import effects_title, picture
from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section
from surgvalid.report.verdict.weaknesses import corrected_over_all
from surgvalid.report.wording import missing
from surgvalid.report.words import name_of, names_of, plain, spoken_term, terms_in_words
from surgvalid.schema.tables.shown_tables import p_phrase
from surgvalid.stats.verdict.sentences import ALPHA

TITLE = "Why models fail"
_LABELS = {"p_value": "p", "p_holm": "p (Holm)", "odds_ratio": "odds ratio", "std_error": "standard error"}


def section(inputs: ReportInputs) -> Section:
    """Every failure analysis of the folder."""
    parts = [result for result in inputs.of("failures") if not result.frame("effects").is_empty()]
    changes = [block for result in inputs.of("failure-change") for block in changed_blocks(result)]
    if not parts and not changes:
        columns = inputs.live.strata_columns if inputs.live is not None else []
        fixed = shlex.quote(plain(",".join(columns), limit=50)) if columns else "COLUMN,..."
        outcome = inputs.metric if inputs.source.is_file() else "value"  # the columns of a plain table are its own
        outcome = shlex.quote(outcome)
        command = f"surgvalid analyse failures SCORES... --outcome {outcome} --fixed {fixed} --out DIR/failures"
        return missing("failures", TITLE, "There is no failure analysis.", command)
    return Section("failures", TITLE, (*(block for result in parts for block in _analysis(result)), *changes))


def _analysis(result: StoredResult) -> list[Block]:
    effects, fit = result.frame("effects"), result.records.get("fit", {})
    blocks: list[Block] = [Prose(terms_in_words(result.prose.split("\n")[0]))] if result.prose else []
    if fit.get("converged") is False:
        blocks.append(Note("The fit did not converge; its numbers must not be used."))
    caption = (
        "Odds ratios (or estimates, for continuous outcomes) compare cases with equal random effects, with 95 %"
        " intervals. Plus and minus: direction and size of what has p <= 0.05 after Holm's correction and six videos or"
        " more behind it; x: could not be assessed."
    )
    rows = fit.get("rows")
    rows = rows if isinstance(rows, int) else None
    marked, p_column = effects, "p_value"
    if {"p_holm", "symbol"} <= set(effects.columns):  # what has no symbol gets no star either
        kept = pl.when(pl.col("symbol").fill_null("") != "").then(pl.col("p_holm"))
        marked, p_column = effects.with_columns(p_holm=kept), "p_holm"
    title = effects_title(effects)
    blocks.append(picture("effects_forest", marked, rows=rows, p_column=p_column, title=title))
    blocks.append(ReportTable("effects", "Effects of properties", effects, caption, labels=_LABELS, folded=True))
    per_model = result.frame("per_model")
    if not per_model.is_empty():
        corrected = corrected_over_all(per_model)
        terms = corrected.sort("p_corrected", "p_value", nulls_last=True)
        title = marked_title(terms)
        blocks.append(picture("model_effects", corrected, p_column="p_corrected", title=title))
        caption = "Each model fitted by itself; p, corrected: Holm over all models and properties together."
        table = ReportTable("per-model", "Effects model by model", terms, caption, labels=_LABELS, folded=True)
        blocks.append(replace(table, shown_rows=20))
    blocks += next_steps(result)
    if not (tests := result.frame("residual_tests")).is_empty():
        blocks.append(Prose(residual_words({row["test"]: row["value"] for row in tests.to_dicts()})))
    blocks += [Note(_spoken(warning), "hint") for warning in _warnings(fit)]
    return blocks


def marked_title(cells: pl.DataFrame) -> str:
    """What the map of effects shows, in words: the harmful ones that are left after correction.

    Args:
        cells: Columns `model, term, estimate, p_corrected`.
    """
    harmful = cells.filter((pl.col("p_corrected") <= ALPHA) & (pl.col("estimate") < 0))
    tests = f"{cells['p_corrected'].count()} effects"
    if harmful.is_empty():
        return f"No property harms a single model after correction over {tests}"
    pairs = [f"{name_of(model)} on {spoken_term(term)}" for model, term in harmful.select("model", "term").iter_rows()]
    return f"What harms single models, after correction over {tests}: {names_of(pairs)}"


def residual_words(tests: Mapping[str, Any]) -> str:
    """What the tests of simulated residuals say on whether the model fits.

    Example:
        >>> residual_words({"uniformity_p": 0.4})
        'Residuals against data simulated from the model: uniformity p = 0.400.'
    """
    listed = []
    if "uniformity_p" in tests:
        listed.append(f"uniformity {p_phrase(tests['uniformity_p'])}")
    if "dispersion" in tests:
        listed.append(f"dispersion {tests['dispersion']:.2f} ({p_phrase(tests.get('dispersion_p'))})")
    if "outliers" in tests:
        listed.append(f"{tests['outliers']:.0f} outliers ({p_phrase(tests.get('outlier_p'))})")
    return f"Residuals against data simulated from the model: {', '.join(listed) or 'no test was made'}."


def _spoken(warning: str) -> str:
    """A warning as a sentence: without its code, terms in words."""
    text = re.sub(r"^(?:error|warning|note) [a-z-]+ (?:\[.{1,80}?\]+: )?", "", plain(warning, limit=400))
    return terms_in_words(f"{text[:1].upper()}{text[1:]}") + ("" if text.endswith(".") else ".")


def _warnings(fit: dict[str, Any]) -> list[str]:
    given = fit.get("warnings")
    return [str(warning) for warning in given][:10] if isinstance(given, list) else []


MOST_ADVICE = 5
_SHARES = {"share": "share of loss", "p_holm": "p (Holm)", "videos_needed": "videos", "videos_total": "to collect"}


def next_steps(result: StoredResult) -> list[Block]:
    """Recommendations with their cases, strengths and calibration, where the analysis has them."""
    return [*_recommended(result), *_strengths(result), *_calibration(result)]


def _recommended(result: StoredResult) -> list[Block]:
    advice = result.frame("recommendations")
    if advice.is_empty():
        return []
    firm = advice.filter(pl.col("verdict").is_in(["established", "depends on the model"]))
    hidden = result.frame("hidden_harms")
    blocks: list[Block] = [
        Prose(terms_in_words(plain(f"{row['place']}. {row['advice']}", limit=700)))
        for row in firm.head(MOST_ADVICE).iter_rows(named=True)
    ]
    if firm.is_empty() and hidden.is_empty():
        blocks.append(
            Note("No property alone is established as a weakness on enough videos; the table says what looks worst.")
        )
    if not hidden.is_empty():
        caption = (
            "Mean loss of cases where two properties meet, or a number is at its ends, beyond what each does alone."
        )
        blocks.append(ReportTable("hidden-harms", "Harm that no single property shows", hidden, caption))
    caption = (
        "Share of all that is lost that goes with a property (effect times frequency), with its interval; shares are "
        "associations and overlap. Only what is established may be acted upon."
    )
    kept = advice.drop("advice", "estimate", "odds_ratio", "points")
    blocks.append(ReportTable("recommendations", "What to work on", kept, caption, labels=_SHARES))
    curves = result.frame("property_curves")
    for (name,), steps in curves.group_by("property", maintain_order=True) if not curves.is_empty() else ():
        title = f"What is lost along {spoken_term(str(name))}"
        blocks.append(picture("property_curve", steps, name=f"property-curve-{len(blocks)}", title=title))
    cases = result.frame("recommended_cases")
    if not cases.is_empty():
        caption = "The cases of each recommendation that lost most, few of each video."
        blocks.append(ReportTable("recommended-cases", "Cases to look at", cases, caption, folded=True))
    return blocks


def _strengths(result: StoredResult) -> list[Block]:
    tests, cells = result.frame("strength_tests"), result.frame("strengths")
    if tests.is_empty():
        return []
    caption = "Joint F test of the property with the models; p (Holm): corrected over the properties."
    blocks: list[Block] = [
        ReportTable(
            "strength-tests", "Do properties harm models differently?", tests, caption, labels={"p_holm": "p (Holm)"}
        )
    ]
    if not cells.is_empty():
        caption = "Effects on single models from one fit, and their difference from the mean over models."
        blocks.append(ReportTable("strengths", "Strengths and weaknesses", cells, caption, folded=True))
    return blocks


def _calibration(result: StoredResult) -> list[Block]:
    figures, bins = result.frame("calibration"), result.frame("calibration_bins")
    if figures.is_empty() or bins.is_empty():
        return []
    curve = bins.select(
        pl.lit("predicted risk").alias("model"), pl.col("predicted").alias("confidence"), "observed", "cases"
    )
    drawn = picture("calibration", curve, name="risk-calibration", title="Predicted risk against observed loss")
    caption = "Predictions for videos that were held out; a slope of 1 is right."
    return [drawn, ReportTable("calibration", "Calibration of predicted risks", figures, caption)]


def changed_blocks(result: StoredResult) -> list[Block]:
    """What a remedy changed, from one comparison of before and after."""
    effects, gains = result.frame("effect_changes"), result.frame("gains")
    if effects.is_empty() or gains.is_empty():
        return []
    blocks: list[Block] = [Prose(terms_in_words(result.prose.split("\n")[0]))] if result.prose else []
    caption = "Paired differences on the same cases; positive is better. Verdicts are after Holm's correction."
    blocks.append(ReportTable("gains", "Gains of the remedy", gains, caption, labels={"p_holm": "p (Holm)"}))
    blocks.append(ReportTable("effect-changes", "Effects of properties before and after a remedy", effects))
    return blocks
