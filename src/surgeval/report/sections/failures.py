"""Failure analysis: which properties of a case make answers wrong, from the mixed models in the folder."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from surgeval.report.inputs import Inputs, StoredResult
from surgeval.report.section import Block, Note, Prose, Section, Table
from surgeval.report.sections._next_steps import changed_blocks, next_steps
from surgeval.report.sections._pictures import picture
from surgeval.report.sections._titles import effects_title
from surgeval.report.sections._wording import missing, name_of, names_of, slug
from surgeval.report.verdict.reasons import spoken_term
from surgeval.report.verdict.weaknesses import corrected_over_all
from surgeval.report.words import plain, terms_in_words
from surgeval.scoring.verdict import ALPHA

TITLE = "Why models fail"
_LABELS = {"p_value": "p", "p_holm": "p (Holm)", "odds_ratio": "odds ratio", "std_error": "standard error"}


def section(inputs: Inputs) -> Section:
    """Every failure analysis of the folder."""
    parts = [result for result in inputs.of("failures") if not result.frame("effects").is_empty()]
    changes = [block for result in inputs.of("failure-change") for block in changed_blocks(result)]
    if not parts and not changes:
        columns = inputs.live.strata_columns if inputs.live is not None else []
        fixed = plain(",".join(columns) or "COLUMN,...", limit=50)
        command = f"surgeval failures SCORES... --outcome value --fixed {fixed} --random model,video --out DIR/failures"
        return missing("failures", TITLE, "There is no failure analysis.", command)
    return Section("failures", TITLE, (*(block for result in parts for block in _analysis(result)), *changes))


def _analysis(result: StoredResult) -> list[Block]:
    effects, fit = result.frame("effects"), result.records.get("fit", {})
    blocks: list[Block] = [Prose(terms_in_words(result.prose.split("\n")[0]))] if result.prose else []
    if fit.get("converged") is False:
        blocks.append(Note("The fit did not converge; its numbers must not be used."))
    caption = (
        "Odds ratios (or estimates, for continuous outcomes) compare cases with equal random effects, with 95 %"
        " intervals. Plus and minus: direction and size of what has p <= 0.05; x: could not be assessed."
    )
    rows = fit.get("rows")
    rows = rows if isinstance(rows, int) else None
    blocks.append(picture("effects_forest", effects, rows=rows, title=effects_title(effects)))
    blocks.append(Table("effects", "Effects of properties", effects, caption, labels=_LABELS, folded=True))
    if not result.frame("variance").is_empty():
        caption = "Spread on the scale of the log odds; ICC: share of the variance that is not explained otherwise."
        blocks.append(Table("variance", "Spread between models, videos and units", result.frame("variance"), caption))
    per_model = result.frame("per_model")
    if not per_model.is_empty():
        corrected = corrected_over_all(per_model)
        terms = corrected.sort("p_corrected", "p_value", nulls_last=True)
        title = marked_title(terms)
        blocks.append(picture("model_effects", corrected, p_column="p_corrected", title=title))
        caption = "Each model fitted by itself; p, corrected: Holm over all models and properties together."
        blocks.append(Table("per-model", "Effects model by model", terms, caption, labels=_LABELS, folded=True))
    blocks += next_steps(result)
    blocks += _pictures(result, fit)
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


def _pictures(result: StoredResult, fit: dict[str, Any]) -> list[Block]:
    """How common properties are, expected outcomes, random effects and their quantiles, where they were written."""
    blocks: list[Block] = []
    prevalence = _prevalence(fit)
    if not prevalence.is_empty():
        blocks.append(picture("property_prevalence", prevalence))
    if not result.frame("marginal_means").is_empty():
        blocks.append(picture("marginal_means", result.frame("marginal_means")))
    effects = result.frame("random_effects")
    for group in effects["group"].unique(maintain_order=True).head(2) if "group" in effects.columns else ():
        title = f"Random effects of {plain(group, limit=40)}"
        blocks.append(picture("caterpillar", effects, group=group, name=f"caterpillar-{slug(group)}", title=title))
    if not result.frame("quantiles").is_empty():
        blocks.append(picture("normal_qq", result.frame("quantiles")))
    if not (residuals := result.frame("residuals")).is_empty():
        rows = result.frame("residual_tests").to_dicts()
        blocks.append(picture("simulated_residuals", residuals, tests={row["test"]: row["value"] for row in rows}))
    return blocks


def _prevalence(fit: dict[str, Any]) -> pl.DataFrame:
    rows = fit.get("prevalence")
    listed = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    kinds = {"term": pl.String, "share": pl.Float64, "rows": pl.Int64, "units": pl.Int64}
    try:
        return pl.DataFrame([{name: row.get(name) for name in kinds} for row in listed], schema=kinds)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        return pl.DataFrame()


def _spoken(warning: str) -> str:
    """A warning as a sentence: without its code, terms in words."""
    text = re.sub(r"^(?:error|warning|note) [a-z-]+ (?:\[.{1,80}?\]+: )?", "", plain(warning, limit=400))
    return terms_in_words(f"{text[:1].upper()}{text[1:]}") + ("" if text.endswith(".") else ".")


def _warnings(fit: dict[str, Any]) -> list[str]:
    given = fit.get("warnings")
    return [str(warning) for warning in given][:10] if isinstance(given, list) else []
