"""Charts in sections: one that cannot be drawn from these tables becomes a sentence, never the end of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from surgeval.errors import ExtraNeeded, SurgevalError
from surgeval.report.chart import Chart, altair
from surgeval.report.charts import CHARTS
from surgeval.report.section import Block, Note, Prose
from surgeval.report.sections._silent import silence
from surgeval.report.sections._wording import CROWD, FOREMOST, competitors, on_board, optional
from surgeval.report.words import plain
from surgeval.results.reading import StoredResult


def picture_of_foremost(
    chart: str, result: StoredResult, board: str, table: str, *, ordered: bool = True, **options: Any
) -> Block:
    """A picture of one board that a crowd would make unreadable: of all models, or of the first twenty of a crowd.

    Args:
        chart: Its name.
        result: The ranking.
        board: The board.
        table: The table of the ranking that it is drawn from.
        ordered: Whether the chart takes the table of places as well, for its order.
        options: Of the chart.
    """
    frame, places = result.frame(table), optional(result, "places")
    rivals = competitors(result, board)
    everybody = on_board(result, "places", board)["model"].n_unique() if places is not None else len(rivals)
    if everybody <= CROWD or places is None:
        return picture(chart, *([frame, places] if ordered else [frame]), group=board, **options)
    shown = rivals[:FOREMOST]
    tables = [_among(frame, shown), *([_among(places, shown)] if ordered else [])]
    chart_made = picture(chart, *tables, group=board, **options)
    if not isinstance(chart_made, Chart):
        return chart_made
    shown_words = f"the first {len(shown)} of {everybody:,} models"
    caption = f"{chart_made.caption} Shown: {shown_words}, by place."
    return replace(
        chart_made,
        title=f"{chart_made.title}, {shown_words}",
        caption=caption,
        alt=f"Of {shown_words}: {chart_made.alt}",
    )


def _among(frame: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """The rows in which all models are among those."""
    columns = [name for name in ("model", "model_a", "model_b") if name in frame.columns]
    return frame.filter(pl.all_horizontal(pl.col(name).is_in(models) for name in columns))


def picture(chart: str, *tables: Any, **options: Any) -> Block:
    """The chart of that name; a sentence where it would show nothing, or a note that says why it could not be drawn.

    Raises:
        ExtraNeeded: The packages that draw are not installed.
    """
    if sentence := silence(chart, tables[0] if tables else None, options.get("group")):
        return Prose(f"{options['title']}: {sentence[0].lower()}{sentence[1:]}" if "title" in options else sentence)
    try:
        with altair().utils.schemapi.debug_mode(False):  # parts are not validated one by one, which takes most time
            return CHARTS[chart](*tables, **options)
    except ExtraNeeded:
        raise
    except (SurgevalError, ValueError, TypeError, LookupError, ArithmeticError, pl.exceptions.PolarsError) as error:
        return Note(f"The figure {chart.replace('_', ' ')!r} could not be drawn: {plain(error, limit=300)}", "hint")
