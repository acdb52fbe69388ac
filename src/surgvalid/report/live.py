"""Statistics that the report computes itself, because they are cheap and every reader asks for them.

Intervals are those of `surgvalid analyse interval` and `surgvalid analyse strata` with their defaults, which draw
nothing: the same
figures wherever they are shown. What cannot be computed (one video, one case) is a sentence instead of a number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.words import plain
from surgvalid.schema.findings import Severity
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.score_matrix import TRACK
from surgvalid.schema.tables.score_table import FIXED, ScoreTable
from surgvalid.stats.comparing.strata import strata
from surgvalid.stats.intervals.interval import IntervalResult, interval

MOST_STRATA = 4
"""Columns that are looked at for differences between conditions."""
MOST_LEVELS = 8
_PREFERRED = "ood clinical center phase group format procedure".split()
_NO_STRATA = frozenset({*FIXED, "latency", "reason", "capability", "window_s", "set", "question", "answer"})


@dataclass(frozen=True)
class Live:
    """Values, intervals and strata of the main metric, each computed when first asked for."""

    table: ScoreTable
    metric: str
    missing: Missing = None
    """What a score that is not there counts as; None for the rule of every verb."""

    @cached_property
    def small(self) -> ScoreTable:
        """The table with the rows and columns that are needed."""
        frame = self.table.frame
        if len(self.table.metrics) > 1:
            frame = frame.filter(pl.col("metric") == self.metric)
        kept = [name for name in FIXED if name in frame.columns]
        kept += [TRACK] if TRACK in frame.columns and TRACK not in self.strata_columns else []
        return replace(self.table, frame=frame.select(*kept, *self.strata_columns))

    @cached_property
    def left_out(self) -> list[str]:
        """Which scores count as nothing at all, and for which status."""
        try:
            return self.small.matrix(self.metric, missing=self.missing).absent.left_out.sentences
        except SurgvalidError:
            return []

    @cached_property
    def notes(self) -> list[str]:
        """What stands for scores that are not there, in words."""
        try:
            return self.small.matrix(self.metric, missing=self.missing).notes
        except SurgvalidError as error:
            return [plain(error, limit=300)]

    @cached_property
    def strata_columns(self) -> list[str]:
        """Columns that split the cases into a few conditions, the best known first."""
        frame = self.table.frame
        names = [name for name in frame.columns if name not in _NO_STRATA and not frame.schema[name].is_nested()]
        names = [name for name in names if not frame.schema[name].is_float()]
        few = [name for name in names if 2 <= frame[name].drop_nulls().n_unique() <= MOST_LEVELS]
        known = [name for name in _PREFERRED if name in few]
        return [*known, *(name for name in few if name not in known)][:MOST_STRATA]

    @cached_property
    def clustered(self) -> IntervalResult:
        """The intervals of `interval`, with whole videos as units.

        Raises:
            SurgvalidError: There are none.
        """
        return interval(self.small, metric=self.metric, missing=self.missing)

    @cached_property
    def few(self) -> list[str]:
        """What limits the intervals, in words."""
        try:
            findings = self.clustered.findings
        except SurgvalidError:
            return []
        return [plain(one.text, limit=300) for one in findings if one.severity is Severity.WARNING]

    @cached_property
    def intervals(self) -> tuple[pl.DataFrame, str]:
        """Per model: value and interval; and why there is none, where there is none."""
        try:
            table = self.clustered.table.select("model", "value", "low", "high")
        except SurgvalidError as error:
            return pl.DataFrame(), plain(error, limit=300)
        return (pl.DataFrame(), " ".join(self.few)) if table["low"].is_null().all() else (table, "")

    @cached_property
    def strata(self) -> tuple[pl.DataFrame, str]:
        """Per stratum and model: value and difference to all cases; or why not."""
        if not self.strata_columns:
            return pl.DataFrame(), "the table has no column that splits cases into a few conditions"
        try:
            result = strata(self.small, self.strata_columns, metric=self.metric, missing=self.missing)
        except SurgvalidError as error:
            return pl.DataFrame(), plain(error, limit=300)
        return result.table, ""
