"""Evaluations of predictions against references: detection, segmentation, phases and the other kinds."""

from __future__ import annotations

import polars as pl

from surgvalid.report.figures import picture
from surgvalid.report.inputs import SCORES, ReportInputs, StoredResult
from surgvalid.report.section import Block, Prose, ReportTable, Section
from surgvalid.report.wording import missing
from surgvalid.report.words import name_of

TITLE = "Metrics"


def section(inputs: ReportInputs) -> Section:
    """The metrics of every evaluated model."""
    parts = [result for result in inputs.of("evaluate") if not result.frame("metrics").is_empty()]
    if not parts:
        return missing(
            "evaluation", TITLE, "No predictions were evaluated.", "surgvalid evaluate KIND ... --out DIR/MODEL"
        )
    return Section("evaluation", TITLE, tuple(block for result in parts for block in _evaluated(result)))


def _evaluated(result: StoredResult) -> list[Block]:
    model, metrics = name_of(result.options.get("model", result.label)), result.frame("metrics")
    blocks: list[Block] = [Prose(result.prose.split("\n")[0])] if result.prose else []
    if (within := _within_one(result)) is not None:
        blocks.append(within)
    if (curve := _calibration(result)) is not None:
        blocks.append(curve)
    wanted = [name for name in "metric value low high videos estimand note".split() if name in metrics.columns]
    caption = "Intervals have whole videos as units; conventions are in conventions.json beside the table."
    blocks.append(ReportTable("metrics", f"Metrics of {model}", metrics.select(wanted), caption))
    for name, title in (("per_class", "By class"), ("per_stratum", "By condition")):
        if not result.frame(name).is_empty():
            blocks.append(ReportTable(name.replace("_", "-"), f"{title}, {model}", result.frame(name), shown_rows=60))
    return blocks


def _within_one(result: StoredResult) -> Block | None:
    """An image of the metrics that lie between 0 and 1 and have an interval."""
    frame = result.frame("metrics").drop_nulls(["value", "low", "high"])
    frame = frame.filter(frame["value"].is_between(0, 1) & frame["high"].is_between(0, 1) & (frame["low"] >= 0))
    if frame.height < 2:
        return None
    rows = frame.select("value", "low", "high", model="metric", n="videos")
    title = f"Metrics of {name_of(result.options.get('model', result.label))}"
    return picture("value_intervals", rows, name="metric-intervals", title=title, estimand="value of the metric")


def _calibration(result: StoredResult) -> Block | None:
    """Reliability curves, one for each calibration error and class."""
    bins, scores = result.frame("reliability"), result.path / SCORES
    if bins.is_empty() or not scores.is_file():
        return None
    counted = pl.read_parquet(scores, columns=["metric", "case"]).group_by("metric").agg(pl.col("case").n_unique())
    total = counted["case"].max()
    rows = bins.select(
        "confidence",
        "observed",
        model=pl.col("metric") + ", " + pl.col("task"),
        cases=(pl.col("share") * total).round().cast(pl.Int64),
    )
    return picture("calibration", rows)
