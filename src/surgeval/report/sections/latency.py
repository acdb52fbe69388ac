"""Latency: how long answers took, and what rehearsals found."""

from __future__ import annotations

import math

import polars as pl

from surgeval.errors import SurgevalError
from surgeval.report.answer_tables import latency_table
from surgeval.report.inputs import Inputs, Part
from surgeval.report.section import Block, Note, Prose, Section, Table
from surgeval.report.sections._pictures import picture
from surgeval.report.sections._wording import missing, percent
from surgeval.submissions.results import run_facts

TITLE = "Latency and rehearsal"


def section(inputs: Inputs) -> Section:
    """Latencies of scored answers and of rehearsals."""
    blocks = [*_latencies(inputs), *(block for part in inputs.of("rehearse") for block in _rehearsal(part))]
    if not blocks:
        return missing(
            "latency", TITLE, "No latency is known.", "surgeval rehearse --command CMD --input DIR --out DIR/rehearsal"
        )
    return Section("latency", TITLE, tuple(blocks))


def limits_s(inputs: Inputs) -> list[float]:
    """The time limits under which models were scored."""
    given = {part.options.get("max_latency_s") for part in inputs.of("score")}
    return sorted(float(limit) for limit in given if isinstance(limit, int | float) and not isinstance(limit, bool))


def _latencies(inputs: Inputs) -> list[Block]:
    rows = inputs.rows
    if "latency" not in rows.columns or not rows.schema["latency"].is_numeric():
        return []
    known = rows.filter(pl.col("latency").is_not_null() & pl.col("latency").is_finite() & (pl.col("latency") >= 0))
    if known.is_empty() or known["latency"].max() == 0:
        return []
    limits = limits_s(inputs)
    limit = limits[0] if len(limits) == 1 else math.inf
    taken = {model: own["latency"].to_list() for (model,), own in known.group_by("model", maintain_order=True)}
    frame = latency_table({model: taken[model] for model in inputs.models if model in taken}, budget_s=limit)
    if math.isinf(limit):
        text = "Latencies as the models reported them; no common limit applied."
        return [Prose(text), Table("latency", "Latency in seconds", frame.drop("late_share"))]
    late = known.filter(pl.col("latency") > limit).height / known.height
    text = f"Answers were allowed {limit:g} s each; {percent(late)} took longer and count as wrong."
    table = Table("latency", "Latency in seconds", frame, "One row per model.", folded=True)
    return [Prose(text), picture("latency_against_budget", frame, budget_s=limit), table]


def _rehearsal(part: Part) -> list[Block]:
    try:
        facts = run_facts(part.path)
    except (SurgevalError, OSError, ValueError, KeyError, TypeError) as error:
        return [Note(f"{part.name}: the events of the rehearsal cannot be read ({type(error).__name__})")]
    if not facts.questions:
        return [Note(f"{part.name}: the rehearsal has no outcome", "hint")]
    text = f"Rehearsal {part.name}: {facts.answered} of {facts.questions} questions were answered in time."
    if not math.isnan(facts.max_s):
        text += (
            f" Latency: median {facts.p50_s:.2f} s, 95th percentile {facts.p95_s:.2f} s, largest {facts.max_s:.2f} s."
        )
    frame = pl.DataFrame({"outcome": list(facts.outcomes), "questions": list(facts.outcomes.values())})
    return [Prose(text), Table("rehearsal", f"Outcomes of {part.name}", frame)]
