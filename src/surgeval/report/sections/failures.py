"""Failure analysis: which properties of a case make answers wrong, from the mixed models in the folder."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.inputs import Inputs, Part
from surgeval.report.section import Block, Note, Prose, Section, Table
from surgeval.report.sections._wording import missing
from surgeval.report.words import plain

TITLE = "Why models fail"
_LABELS = {"p_value": "p", "p_holm": "p (Holm)", "odds_ratio": "odds ratio", "std_error": "standard error"}


def section(inputs: Inputs) -> Section:
    """Every failure analysis of the folder."""
    parts = [part for part in inputs.of("failures") if not part.table("effects").is_empty()]
    if not parts:
        command = (
            "surgeval failures SCORES... --outcome value --fixed ood,clinical --random model,video --out DIR/failures"
        )
        return missing("failures", TITLE, "There is no failure analysis.", command)
    return Section("failures", TITLE, tuple(block for part in parts for block in _analysis(part)))


def _analysis(part: Part) -> list[Block]:
    effects, fit = part.table("effects"), part.records.get("fit", {})
    blocks: list[Block] = [Prose(part.prose.split("\n")[0])] if part.prose else []
    if fit.get("converged") is False:
        blocks.append(Note("The fit did not converge; its numbers must not be used."))
    caption = (
        "Odds ratios (or estimates, for continuous outcomes) compare cases with equal random effects, with 95 %"
        " intervals. Plus and minus: direction and size of what has p <= 0.05; x: could not be assessed."
    )
    blocks.append(Table("effects", "Effects of properties", effects, caption, labels=_LABELS))
    if not part.table("variance").is_empty():
        caption = "Spread on the scale of the log odds; ICC: share of the variance that is not explained otherwise."
        blocks.append(Table("variance", "Spread between models, videos and units", part.table("variance"), caption))
    per_model = part.table("per_model")
    if not per_model.is_empty():
        own = per_model.filter(pl.col("term") != "(Intercept)").sort("p_value", nulls_last=True)
        blocks.append(
            Table(
                "per-model",
                "Effects model by model",
                own,
                "Each model fitted by itself.",
                labels=_LABELS,
                shown_rows=60,
            )
        )
    blocks += [Note(plain(warning, limit=400), "hint") for warning in _warnings(fit)]
    return blocks


def _warnings(fit: dict[str, Any]) -> list[str]:
    given = fit.get("warnings")
    return [str(warning) for warning in given][:10] if isinstance(given, list) else []
