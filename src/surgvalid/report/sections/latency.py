"""Latency: how long answers took, and what rehearsals found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.figures import time_title
from surgvalid.report.inputs import SCORES, ReportInputs, StoredResult
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section
from surgvalid.report.wording import missing
from surgvalid.report.words import percent

LATENCY_SCHEMA = {
    "model": pl.String,
    "p50_s": pl.Float64,
    "p95_s": pl.Float64,
    "max_s": pl.Float64,
    "late_share": pl.Float64,
    "questions": pl.Int64,
}
TITLE = "Latency and rehearsal"
_LABELS = {"p50_s": "median", "p95_s": "95th percentile", "max_s": "longest", "late_share": "late"}


def section(inputs: ReportInputs) -> Section:
    """Latencies of scored answers and of rehearsals."""
    blocks = [*_latencies(inputs), *(block for result in inputs.of("rehearse") for block in _rehearsal(result))]
    if not blocks:
        return missing(
            "latency",
            TITLE,
            "No latency is known.",
            "surgvalid submission rehearse --command CMD --input DIR --out DIR/rehearsal",
        )
    return Section("latency", TITLE, tuple(blocks))


def limits_s(inputs: ReportInputs) -> list[float]:
    """The time limits under which models were scored."""
    given = {result.options.get("max_latency_s") for result in inputs.of("score")}
    return sorted(float(limit) for limit in given if isinstance(limit, int | float) and not isinstance(limit, bool))


def _latencies(inputs: ReportInputs) -> list[Block]:
    rows = inputs.rows
    if "latency" not in rows.columns or not rows.schema["latency"].is_numeric():
        return []
    known = rows.filter(pl.col("latency").is_not_null() & pl.col("latency").is_finite() & (pl.col("latency") >= 0))
    if known.is_empty() or known["latency"].max() == 0:
        return []
    limits = limits_s(inputs)
    if not limits:
        frame = latency_table(_by_model(inputs, known)).drop("late_share")
        text = "Latencies as the models reported them; no limit applied."
        return [Prose(text), ReportTable("latency", "Seconds per answer", frame, labels=_LABELS)]
    if len(limits) == 1:
        return _under_limit(inputs, known, limits[0], "latency")
    timed = known.join(_limit_of_each(inputs), on=["model", "case"], how="inner")
    blocks: list[Block] = []
    for limit in limits:
        name = f"latency-{limit:g}-s".replace(".", "-")
        blocks += _under_limit(inputs, timed.filter(pl.col("limit_s") == limit), limit, name)
    return blocks


def _under_limit(inputs: ReportInputs, known: pl.DataFrame, limit: float, name: str) -> list[Block]:
    """What was asked under one time limit."""
    if known.is_empty():
        return []
    frame = latency_table(_by_model(inputs, known), budget_s=limit)
    late = known.filter(pl.col("latency") > limit).height / known.height
    text = f"Answers were allowed {limit:g} s each; {percent(late)} of {known.height:,} took longer and count as wrong."
    caption = f"One row per model; late: share of its questions answered after {limit:g} s or not at all."
    return [Prose(text), ReportTable(name, time_title(frame, limit), frame, caption, labels=_LABELS)]


def _by_model(inputs: ReportInputs, known: pl.DataFrame) -> dict[str, list[float]]:
    taken = {model: rows["latency"].to_list() for (model,), rows in known.group_by("model", maintain_order=True)}
    return {model: taken[model] for model in inputs.models if model in taken}


def _limit_of_each(inputs: ReportInputs) -> pl.DataFrame:
    """The time limit under which each model's answer to each case was scored."""
    frames = []
    for result in inputs.of("score"):
        limit = result.options.get("max_latency_s")
        if (result.path / SCORES).is_file() and isinstance(limit, int | float):
            keys = pl.read_parquet(result.path / SCORES, columns=["model", "case"]).cast(pl.String).unique()
            frames.append(keys.with_columns(pl.lit(float(limit)).alias("limit_s")))
    return pl.concat(frames).unique(["model", "case"], keep="first", maintain_order=True)


def _rehearsal(result: StoredResult) -> list[Block]:
    from surgvalid.submissions.results import run_facts  # few reports have a rehearsal

    try:
        facts = run_facts(result.path)
    except (SurgvalidError, OSError, ValueError, KeyError, TypeError) as error:
        return [Note(f"{result.label}: the events of the rehearsal cannot be read ({type(error).__name__})")]
    if not facts.questions:
        return [Note(f"{result.label}: the rehearsal has no outcome", "hint")]
    text = f"Rehearsal {result.label}: {facts.answered} of {facts.questions} questions were answered in time."
    if not math.isnan(facts.max_s):
        text += (
            f" Latency: median {facts.p50_s:.2f} s, 95th percentile {facts.p95_s:.2f} s, largest {facts.max_s:.2f} s."
        )
    frame = pl.DataFrame({"outcome": list(facts.outcomes), "questions": list(facts.outcomes.values())})
    return [Prose(text), ReportTable("rehearsal", f"Outcomes of {result.label}", frame)]


def latency_table(latencies_s: Mapping[str, Iterable[float | None]], *, budget_s: float | None = None) -> pl.DataFrame:
    """Per model: median, 95th percentile and longest time of its answers, and the share of questions that were late.

    Args:
        latencies_s: By model, the seconds of every question; None or NaN where there was no answer, which is late.
        budget_s: Seconds allowed; a time equal to it is in time. Without one no share is late, and none is given.

    Example:
        >>> latency_table({"A": [1.0, 2.0, 9.0, None]}, budget_s=5).row(0)
        ('A', 2.0, 9.0, 9.0, 0.5, 4)
    """
    from surgvalid.metrics.metric import value_of
    from surgvalid.metrics.times import DeadlineMisses, LatencyCases, LatencyQuantile  # few reports know latencies

    rows = []
    for model, listed in latencies_s.items():
        seconds = np.array([np.nan if value is None else value for value in listed], dtype=np.float64)
        given = LatencyCases(seconds[np.isfinite(seconds)])
        if seconds.size:
            known = np.isfinite(seconds).any()
            quantiles = [value_of(LatencyQuantile(quantile=q), given) if known else None for q in (0.5, 0.95, 1.0)]
            late = None if budget_s is None else value_of(DeadlineMisses(deadline_s=budget_s), LatencyCases(seconds))
            rows.append((str(model), *quantiles, late, seconds.size))
    return pl.DataFrame(rows, schema=LATENCY_SCHEMA, orient="row")
