"""Rankings task by task, as the rules of the challengeR tradition give them."""

from __future__ import annotations

from surgeval.report.inputs import Inputs, Part
from surgeval.report.section import Block, Prose, Section, Table
from surgeval.report.sections._wording import count_of, missing, names_of

TITLE = "Rankings by task"


def section(inputs: Inputs) -> Section:
    """Every ranking by a generic rule that the folder holds."""
    parts = inputs.of("rank-tasks")
    if not parts:
        command = "surgeval rank SCORES... --rule mean-then-rank --out DIR/rank"
        return missing("tasks", TITLE, "There is no ranking by task.", command)
    return Section("tasks", TITLE, tuple(block for part in parts for block in _ranking(part)))


def _ranking(part: Part) -> list[Block]:
    rule = str(part.options.get("rule", "a generic rule"))
    consensus, ranks = part.table("consensus"), part.table("ranks")
    blocks: list[Block] = []
    if not consensus.is_empty():
        first = consensus.filter(consensus["rank"] == consensus["rank"].min())["model"]
        tasks = count_of(ranks["task"].n_unique() if "task" in ranks.columns else 1, "task")
        blocks.append(Prose(f"By {rule} over {tasks}, {names_of(first)} {'is' if len(first) == 1 else 'are'} first."))
        blocks.append(
            Table("consensus", f"Consensus, {rule}", consensus, "Mean rank over tasks; equal ranks are shared.")
        )
    if not ranks.is_empty():
        blocks.append(
            Table("ranks", f"Ranks by task, {rule}", ranks, "Value: as the rule aggregates cases of the task.")
        )
    if not part.table("stability").is_empty():
        caption = "Ranks over resamples of whole videos (of cases, where the table names no video)."
        blocks.append(Table("rank-stability", f"Ranks under resampling, {rule}", part.table("stability"), caption))
    if not part.table("kendall").is_empty():
        blocks.append(
            Table("kendall", "Agreement of tasks", part.table("kendall"), "Kendall's tau-b of two tasks' ranks.")
        )
    if not part.table("pairs").is_empty():
        shown = part.table("pairs").sort("p_adjusted", nulls_last=True)
        blocks.append(Table("task-pairs", "Tests of pairs", shown, "Two-sided, paired by case.", shown_rows=60))
    return blocks
