"""Charts in sections, and titles that say what is seen in them.

One that cannot be drawn from these tables becomes a sentence, never the end of the
report. Titles are made of the numbers drawn; where nothing stands out, they say what is drawn. They describe and infer
nothing: how firm an order is, the verdict and the tests beside the figures say.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.charts import CHARTS
from surgvalid.report.section import Block, Note
from surgvalid.report.wording import bucket_label
from surgvalid.report.words import count_of, names_of, percent, plain, spoken_term
from surgvalid.stats.verdict.sentences import ALPHA


def picture(chart: str, *tables: Any, **options: Any) -> Block:
    """The chart of that name, or a note that says why it could not be drawn."""
    try:
        return CHARTS[chart](*tables, **options)
    except (SurgvalidError, ValueError, TypeError, LookupError, ArithmeticError, pl.exceptions.PolarsError) as error:
        return Note(f"The figure {chart.replace('_', ' ')!r} could not be drawn: {plain(error, limit=300)}", "hint")


LATE = 0.05
"""Share of late answers from which on a model is named."""


def buckets_title(frame: pl.DataFrame) -> str:
    """Where the best model has fewest right.

    Args:
        frame: Columns `capability`, `ood` and `accuracy`, a row per model and bucket.
    """
    best = frame.group_by("capability", "ood", maintain_order=True).agg(pl.col("accuracy").max()).drop_nulls("accuracy")
    hardest = best.filter(pl.col("accuracy") == pl.col("accuracy").min())
    if best.height < 2 or hardest.height > 1:
        return "Accuracy by capability"
    capability, ood, share = hardest.row(0)
    where = bucket_label(str(capability), ood if isinstance(ood, bool) else None)
    return f"Hardest: {where}, where no model has more than {percent(share)} right"


def significance_title(pairs: pl.DataFrame) -> str:
    """How many comparisons are significant.

    Args:
        pairs: Column `significant`, a row per pair of models and bucket.
    """
    count = int(pairs["significant"].fill_null(False).sum())
    return f"{count:,} of {count_of(pairs.height, 'comparison')} of two models are significant"


def time_title(frame: pl.DataFrame, limit_s: float) -> str:
    """Who is often late.

    Args:
        frame: Columns `model` and `late_share`.
        limit_s: Seconds allowed for an answer.
    """
    late = frame.filter(pl.col("late_share") >= LATE).sort("late_share", descending=True)
    after = f"late, after {limit_s:g} s, in"
    if late.is_empty():
        return f"No model is {after} {percent(LATE)} of its answers or more"
    if late.height == 1:
        return f"{names_of(late['model'])} is {after} {percent(late['late_share'][0])} of its answers"
    return f"{names_of(late['model'])} are {after} {percent(LATE)} of their answers or more"


def effects_title(effects: pl.DataFrame) -> str:
    """Which properties go with failure in all models together, after correction.

    Args:
        effects: The table of `failures`: `term`, `symbol` and, where known, `p_holm`.
    """
    if "p_holm" not in effects.columns or effects["p_holm"].null_count() == effects.height:
        return "Effects of properties"
    clear = effects.filter(pl.col("p_holm") <= ALPHA)
    if clear.is_empty():
        return f"No property changes the outcome after correction over {count_of(effects['p_holm'].count(), 'effect')}"
    harmful = clear.filter(pl.col("symbol").str.starts_with("-") | pl.col("symbol").str.starts_with("\u2212"))
    if harmful.is_empty():
        return "Effects of properties"
    return f"What goes with failure in all models together: {names_of(spoken_term(term) for term in harmful['term'])}"
