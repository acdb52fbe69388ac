"""Monitoring after a validation: what changed with new videos, and the page that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from surgvalid.report.figures import picture
from surgvalid.report.html import page
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section
from surgvalid.results.request import requested
from surgvalid.results.result import Result, as_table
from surgvalid.results.tables.planning import CHANGES, WATCHED
from surgvalid.schema.findings import Severity
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.stats.intervals.interval import matrix_notes
from surgvalid.stats.planning.monitoring import monitored
from surgvalid.stats.verdict.who_is_better import pairwise

_MOST_PICTURES = 6


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class MonitorResult(Result):
    """Tables `changes` and `videos`, and the alarms."""

    page = "monitor.html"

    @property
    def alarms(self) -> pl.DataFrame:
        """The changes that raise an alarm."""
        return self.table.filter("alarm")

    @property
    def title(self) -> str:
        """How many alarms there are."""
        if self.alarms.is_empty():
            return f"No alarm in {self.table.height} checks. {self._unseen}"
        return f"{self.alarms.height} of {self.table.height} checks raise an alarm."

    @property
    def _unseen(self) -> str:
        """What would have been seen, and so what may have gone unseen."""
        rows = self.table.filter((pl.col("kind") == "value") & pl.col("min_detectable").is_not_null())
        if rows.is_empty():
            return "So few new videos cannot show a change of a value: that is no proof that nothing changed."
        each = "; ".join(
            f"{_amount(row['min_detectable'])} of {row['model']} (from {row['validation']:.3g})"
            for row in rows.head(3).to_dicts()
        )
        return f"A change by {each} would have been seen four times in five" + (
            "; a smaller one may have gone unseen." if rows["min_detectable"].max() else "."
        )

    @property
    def shown(self) -> pl.DataFrame:
        """The changes without columns that few need."""
        return self.table.drop("p_value", "low", "high", "verdict").head(30)

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The changes below the number of alarms."""
        return {self.title: self.shown}

    def html(self) -> str:
        """The page, complete in itself."""
        row = self.table.row(0, named=True) if self.table.height else {"videos_validation": 0, "videos_new": 0}
        facts = f"{row['videos_validation']:,} videos of the validation · {row['videos_new']:,} since"
        return page(self.title, "Monitoring", facts, _sections(self))


@requested("monitor")
def monitor(
    table: Any,
    *,
    since: str,
    time_column: str = "date",
    by: Sequence[str] = (),
    alpha: float = 0.05,
    level: float = 0.95,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> MonitorResult:
    """What changed with new videos: values, values by stratum, missing scores, case mix and properties, with alarms.

    Args:
        table: A score table as for `interval`, with a column of times.
        since: From when on videos are new: an ISO date such as `2026-03-01`, or a number.
        time_column: The column that says when; the same for all cases of a video, up to the day of `since`.
        by: Columns that are watched; by default every column with few labels, and every column of numbers.
        alpha: The chance of one or more alarms while nothing changes, however often and whenever one looks.
        level: Coverage of the intervals of changes.
        metric: As for `interval`.
        better: As for `interval`.
        missing: As for `interval`.
        columns: As for `interval`.

    Raises:
        UnknownName: No such column.
        TableInvalid: A video without a time, or on both sides of `since`.
        Misuse: A period with fewer than two videos.

    Example:
        >>> names = [f"v{number:02d}" for number in range(24)]
        >>> rows = {"model": ["A"] * 24, "case": names, "video": names,
        ...         "value": [.9, .8, .85, .7] * 4 + [.5, .4] * 4, "date": ["2026-01"] * 16 + ["2026-02"] * 8}
        >>> result = monitor(rows, since="2026-02", better="larger")
        >>> result.alarms.select("kind", "verdict").rows()
        [('value', 'worse')]
    """
    kept = {"condition": ",".join([time_column, *by])}  # a date has many levels, and is no name of a case
    scores = as_table(table, {**kept, **(columns or {})}, better=better, metric=metric)
    name = scores.chosen_metric(metric)
    rule = pairwise(scores, name, missing)  # what one model lacks takes no patient from another
    made = monitored(
        scores,
        since=str(since),
        time_column=time_column,
        by=by or None,
        metric=metric,
        missing=rule,
        alpha=alpha,
        level=level,
    )
    about = matrix_notes(scores.matrix(name, missing=rule), has_videos=scores.has_videos)
    changes = CHANGES.frame(made.rows).sort("alarm", "p_adjusted", descending=[True, False], maintain_order=True)
    prose = (
        f"Videos from {since} on were compared with those before, one after the other in time, those of one date "
        "in many orders whose capital is averaged. The rank of each among "
        "all videos until then was bet on: while nothing changes the capital of such a bet stays 1 on average, and "
        f"passes 1/{alpha:g} at any time with a chance of at most {alpha:g}. Values of models over all cases have "
        f"half of that chance, all other checks half; an alarm has an adjusted p-value of at most {alpha:g}. The "
        "level holds over all interim analyses, whenever and however often they are made."
    )
    return MonitorResult(
        tables={"changes": changes, "videos": WATCHED.frame(made.videos)},
        main="changes",
        prose=prose,
        findings=(*made.findings, *about),
    )


def _sections(result: MonitorResult) -> list[Section]:
    warned = [Note(one.text) for one in result.findings if one.severity is not Severity.NOTE]
    notes = [Prose(one.text) for one in result.findings if one.severity is Severity.NOTE]
    models = result.tables["videos"]["model"].unique(maintain_order=True).to_list()
    drawn: list[Block] = [
        picture("video_timeline", result.tables["videos"], model=model, name=f"video-timeline-{number}")
        for number, model in enumerate(models[:_MOST_PICTURES], 1)
    ]
    changes = ReportTable("changes", "Everything that is watched", result.table, "Alarms first.")
    return [
        Section("alarms", "Alarms", (*warned, changes)),
        Section("videos", "Video by video", tuple(drawn)),
        Section("methods", "How it was judged", (Prose(result.prose), *notes)),
    ]


def _amount(change: float) -> str:
    """The smallest change of all new videos that shows; of values that never varied any does."""
    return f"{change:.2g}" if change else "any amount"
