"""Monitoring after a validation: what changed with new videos, and the page that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.report.html import made_with, page, write_if_drawn
from surgeval.report.section import Block, Note, Prose, Section, Table
from surgeval.report.sections._pictures import picture
from surgeval.results.request import requested
from surgeval.results.result import Result
from surgeval.results.table_result import as_table
from surgeval.results.tables.monitoring import CHANGES, WATCHED
from surgeval.schema.findings import Severity
from surgeval.schema.missing import Missing
from surgeval.schema.table_facts import Directions
from surgeval.stats.interval import matrix_notes
from surgeval.stats.monitoring import monitored

PAGE = "monitor.html"
_MOST_PICTURES = 6


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class MonitorResult(Result):
    """Tables `changes` and `videos`, and the alarms."""

    @property
    def alarms(self) -> pl.DataFrame:
        """The changes that raise an alarm."""
        return self.table.filter("alarm")

    @property
    def title(self) -> str:
        """How many alarms there are."""
        if self.alarms.is_empty():
            return f"No alarm in {self.table.height} checks; that is no proof that nothing changed."
        return f"{self.alarms.height} of {self.table.height} checks raise an alarm."

    @property
    def shown(self) -> pl.DataFrame:
        """The changes without columns that few need."""
        return self.table.drop("p_value", "low", "high", "verdict").head(30)

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The changes below the number of alarms."""
        return {self.title: self.shown}

    def html(self) -> str:
        """The page, complete in itself.

        Raises:
            ExtraNeeded: The packages that draw are not installed.
        """
        row = self.table.row(0, named=True) if self.table.height else {"videos_validation": 0, "videos_new": 0}
        facts = f"{row['videos_validation']:,} videos of the validation · {row['videos_new']:,} since"
        return page(self.title, "Monitoring", facts, _sections(self), footer=made_with())

    def write(self, folder: Path) -> None:
        """Write the tables, and the page where pictures can be drawn."""
        super().write(folder)
        write_if_drawn(folder / PAGE, self.html)


@requested("monitor")
def monitor(
    table: Any,
    *,
    since: str,
    time_column: str = "date",
    by: Sequence[str] = (),
    alpha: float = 0.05,
    looks: int = 1,
    level: float = 0.95,
    replicates: int = 9999,
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> MonitorResult:
    """What changed with new videos: values, values by stratum, case mix and properties, with alarms.

    Args:
        table: A score table as for `interval`, with a column of times.
        since: From when on videos are new: an ISO date such as `2026-03-01`, or a number.
        time_column: The column that says when; the same for all cases of a video, up to the day of `since`.
        by: Columns that are watched; by default every column with few labels, and every column of numbers.
        alpha: The chance of one or more alarms, over all looks, while nothing changed.
        looks: How many looks are planned; each gets its share of `alpha`.
        level: Coverage of the intervals of changes.
        replicates: How many splits of the videos are drawn.
        seed: Of these draws.
        metric: As for `interval`.
        better: As for `interval`.
        missing: As for `interval`.
        columns: As for `interval`.

    Raises:
        UnknownName: No such column.
        TableInvalid: A video without a time, or on both sides of `since`.
        Misuse: A period with fewer than two videos.

    Example:
        >>> rows = {"model": ["A"] * 8, "case": list("abcdefgh"), "video": list("abcdefgh"),
        ...         "value": [.9, .8, .9, .8, .5, .4, .5, .4], "date": ["2026-01-01"] * 4 + ["2026-02-01"] * 4}
        >>> result = monitor(rows, since="2026-02-01", better="larger", replicates=199)
        >>> result.alarms.select("kind", "verdict").rows()
        [('value', 'worse')]
    """
    scores = as_table(table, columns, better=better, metric=metric)
    made = monitored(
        scores, since=str(since), time_column=time_column, by=by or None, metric=metric, missing=missing, alpha=alpha,
        looks=looks, level=level, replicates=replicates, seed=seed,
    )  # fmt: skip
    about = matrix_notes(scores.matrix(metric, missing=missing), has_videos=scores.has_videos)
    changes = CHANGES.frame(made.rows).sort("alarm", "p_adjusted", descending=[True, False], maintain_order=True)
    prose = (
        f"Videos from {since} on were compared with those before. Each change is studentised over videos; p-values "
        f"come from {replicates:,} shuffles of which videos are new (seed {seed}), adjusted over all checks by the "
        f"largest change of any (step-down maxT). An alarm has an adjusted p-value of at most {alpha / looks:.3g}, so "
        f"that the chance of any false alarm is at most {alpha:g} over {looks} look{'' if looks == 1 else 's'}."
    )
    return MonitorResult(
        tables={"changes": changes, "videos": WATCHED.frame(made.videos)}, main="changes", prose=prose,
        findings=(*made.findings, *about),
    )  # fmt: skip


def _sections(result: MonitorResult) -> list[Section]:
    warned = [Note(one.text) for one in result.findings if one.severity is not Severity.NOTE]
    notes = [Prose(one.text) for one in result.findings if one.severity is Severity.NOTE]
    models = result.tables["videos"]["model"].unique(maintain_order=True).to_list()
    drawn: list[Block] = [
        picture("video_timeline", result.tables["videos"], model=model, name=f"video-timeline-{number}")
        for number, model in enumerate(models[:_MOST_PICTURES], 1)
    ]
    changes = Table("changes", "Everything that is watched", result.table, "Alarms first.")
    return [
        Section("alarms", "Alarms", (*warned, changes)),
        Section("videos", "Video by video", tuple(drawn)),
        Section("methods", "How it was judged", (Prose(result.prose), *notes)),
    ]
