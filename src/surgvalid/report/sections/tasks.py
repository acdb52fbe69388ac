"""Rankings task by task, as the rules of the challengeR tradition give them."""

from __future__ import annotations

import polars as pl

from surgvalid.report.figures import picture
from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.section import Block, Prose, ReportTable, Section
from surgvalid.report.wording import missing
from surgvalid.report.words import count_of, names_of, slug

TITLE = "Rankings by task"
_MOST_TASKS = 6
"""Tasks that get an image of their own."""
_MOST_ROWS = 200_000
"""Scores that are drawn as points."""


def section(inputs: ReportInputs) -> Section:
    """Every ranking by a generic rule that the folder holds."""
    parts = inputs.of("rank-tasks")
    if not parts:
        command = "surgvalid rank SCORES... --rule mean-then-rank --out DIR/rank"
        return missing("tasks", TITLE, "There is no ranking by task.", command)
    return Section("tasks", TITLE, tuple(block for result in parts for block in _ranking(inputs, result)))


def _ranking(inputs: ReportInputs, result: StoredResult) -> list[Block]:
    rule = str(result.options.get("rule", "a generic rule"))
    consensus, ranks = result.frame("consensus"), result.frame("ranks")
    blocks: list[Block] = []
    if not consensus.is_empty():
        first = consensus.filter(consensus["rank"] == consensus["rank"].min())["model"]
        tasks = count_of(ranks["task"].n_unique() if "task" in ranks.columns else 1, "task")
        blocks.append(Prose(f"By {rule} over {tasks}, {names_of(first)} {'is' if len(first) == 1 else 'are'} first."))
        blocks.append(
            ReportTable("consensus", f"Consensus, {rule}", consensus, "Mean rank over tasks; equal ranks are shared.")
        )
    if not ranks.is_empty():
        blocks += _scores(inputs, ranks)
        blocks.append(
            ReportTable(
                "ranks",
                f"Ranks by task, {rule}",
                ranks,
                "Value: as the rule aggregates cases of the task. Rank from and to: the ranks that the model can have,"
                " all models together (95 %); for means only.",
                labels={"rank_low": "rank from", "rank_high": "rank to"},
                folded=True,
            )
        )
    return blocks


def _scores(inputs: ReportInputs, ranks: pl.DataFrame) -> list[Block]:
    """The scores behind the ranks, task by task: one dot per video, or per case where no videos are named."""
    rows = inputs.rows
    if rows.is_empty() or rows.height > _MOST_ROWS or inputs.scores is None:
        return []
    unit = "video" if inputs.scores.has_videos else "case"
    options = {"metric": inputs.metric, "unit": unit, "largest_is_best": inputs.better != "smaller"}
    by = [name for name in ("task", "model", unit) if name in rows.columns]
    means = rows.group_by(by, maintain_order=True).agg(pl.col("value").mean()).rename({unit: "video"})
    if "task" not in rows.columns:
        return [picture("patient_values", means, title="Scores", name="scores", **options)]
    return [
        picture(
            "patient_values",
            means.filter(pl.col("task").cast(pl.String) == task),
            name=f"scores-{slug(task)}",
            title=f"Scores of task {task}",
            **options,
        )
        for task in ranks["task"].cast(pl.String).unique(maintain_order=True).head(_MOST_TASKS)
    ]
