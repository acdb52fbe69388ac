"""A study in a run of Weights & Biases: numbers in the summary, the table of scores, the page."""

from __future__ import annotations

from typing import Any

from surgvalid.bridges.measured import measured, numbers
from surgvalid.studies.study import StudyResult


def write(result: StudyResult, run: Any) -> dict[str, float]:
    """Log a study; gives the numbers that were logged.

    There is no field for an interval: its ends are numbers of their own, `_low` and `_high`, and the entry
    `surgvalid.interval` of the summary says what they are.

    Args:
        result: What `surgvalid.study` gave.
        run: A run, as `wandb.init` gives it.
    """
    import wandb  # whoever passes a run has it

    logged, first, scores = numbers(result), measured(result)[0], result.counted
    table = wandb.Table(columns=scores.columns, data=[list(row) for row in scores.iter_rows()])
    run.log({"surgvalid/scores": table, "surgvalid/study": wandb.Html(result.html())})
    run.summary.update({**logged, "surgvalid.interval": first.words, "surgvalid.verdict": result.verdict[0]})
    return logged
