"""Rankings task by task, as the rules of the challengeR tradition give them."""

from __future__ import annotations

import polars as pl

from surgeval.report.inputs import Inputs, StoredResult
from surgeval.report.section import Block, Prose, Section, Table
from surgeval.report.sections._pictures import picture
from surgeval.report.sections._wording import count_of, in_redraws, missing, names_of, optional, slug

TITLE = "Rankings by task"
_MOST_TASKS = 6
"""Tasks that get a picture of their own."""
_MOST_ROWS = 200_000
"""Scores that are drawn as points."""


def section(inputs: Inputs) -> Section:
    """Every ranking by a generic rule that the folder holds."""
    parts = inputs.of("rank-tasks")
    if not parts:
        command = "surgeval rank SCORES... --rule mean-then-rank --out DIR/rank"
        return missing("tasks", TITLE, "There is no ranking by task.", command)
    return Section("tasks", TITLE, tuple(block for result in parts for block in _ranking(inputs, result)))


def _ranking(inputs: Inputs, result: StoredResult) -> list[Block]:
    rule = str(result.options.get("rule", "a generic rule"))
    consensus, ranks = result.frame("consensus"), result.frame("ranks")
    blocks: list[Block] = []
    if not consensus.is_empty():
        first = consensus.filter(consensus["rank"] == consensus["rank"].min())["model"]
        tasks = count_of(ranks["task"].n_unique() if "task" in ranks.columns else 1, "task")
        blocks.append(Prose(f"By {rule} over {tasks}, {names_of(first)} {'is' if len(first) == 1 else 'are'} first."))
        blocks.append(
            Table("consensus", f"Consensus, {rule}", consensus, "Mean rank over tasks; equal ranks are shared.")
        )
    blocks += _pictures(inputs, result)
    if not ranks.is_empty():
        blocks.append(
            Table(
                "ranks",
                f"Ranks by task, {rule}",
                ranks,
                "Value: as the rule aggregates cases of the task. Rank from and to: the ranks that the model can have,"
                " all models together (95 %); for means only.",
                labels={"rank_low": "rank from", "rank_high": "rank to"},
                folded=True,
            )
        )
    if not result.frame("stability").is_empty():
        caption = (
            "Ranks over resamples of whole videos (of cases, where the table names no video); shared ranks split the"
            " numbers of first ranks, which are no probability of being the best."
        )
        blocks.append(
            Table(
                "rank-stability",
                f"Ranks under resampling, {rule}",
                in_redraws(result.frame("stability")),
                caption,
                folded=True,
            )
        )
    if not result.frame("kendall").is_empty():
        blocks.append(
            Table(
                "kendall",
                "Agreement of tasks",
                result.frame("kendall"),
                "Kendall's tau-b of two tasks' ranks.",
                folded=True,
            )
        )
    if not result.frame("pairs").is_empty():
        shown = result.frame("pairs").sort("p_adjusted", nulls_last=True)
        blocks.append(
            Table("task-pairs", "Tests of pairs", shown, "Two-sided, paired by case.", shown_rows=60, folded=True)
        )
    return blocks


def _boxes(inputs: Inputs, ranks: pl.DataFrame) -> list[Block]:
    """The scores behind the ranks: one point per video where videos are named."""
    rows, videos = inputs.rows, inputs.scores is not None and inputs.scores.has_videos
    if rows.is_empty() or rows.height > _MOST_ROWS:
        return []
    options = {"video_means": videos, "measure": inputs.metric}
    tasks = [str(task) for task in ranks["task"].unique(maintain_order=True)]
    if "task" not in rows.columns:
        return [picture("task_boxes", rows, ranks if len(tasks) == 1 else None, **options)]
    return [
        picture(
            "task_boxes", rows, ranks.filter(pl.col("task") == task), group=task, name=f"task-boxes-{slug(task)}",
            **options,
        )
        for task in tasks[:_MOST_TASKS]
    ]  # fmt: skip


def _pictures(inputs: Inputs, result: StoredResult) -> list[Block]:
    """How ranks of tasks look, how firm they are, and which tasks rank alike."""
    consensus, ranks = optional(result, "consensus"), result.frame("ranks")
    if ranks.is_empty():
        return []
    blocks = [picture("podium", ranks, consensus), picture("ranking_heat_map", ranks, consensus)]
    for task in ranks["task"].unique(maintain_order=True).head(_MOST_TASKS):
        if not result.frame("frequencies").is_empty():
            spread = optional(result, "stability")
            name = f"place-frequencies-{slug(str(task))}"
            of_task = ranks.filter(pl.col("task") == task)
            blocks.append(
                picture("place_frequencies", result.frame("frequencies"), spread, of_task, group=task, name=name)
            )
    blocks += _boxes(inputs, ranks)
    if not result.frame("tau_frequencies").is_empty():
        blocks.append(picture("tau_violin", result.frame("tau_frequencies"), optional(result, "tau")))
    if result.frame("kendall").height > 1:
        blocks.append(picture("task_dendrogram", result.frame("kendall")))
        blocks.append(picture("task_network", result.frame("kendall"), ranks))
    return blocks
