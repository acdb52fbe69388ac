"""Every table that a verb writes, declared once; a table that is not named here is not read.

Producers build frames with a declaration (`ranking.PLACES.frame(...)`), so a column that is renamed in one place only
fails where it is made and not in a report. Readers check with it, and the docs are printed from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from surgeval.results.tables import (
    asking,
    auditing,
    auditing_studies,
    evaluation,
    failures,
    monitoring,
    planning,
    ranking,
    registrations,
    scoring,
    statistics,
    studies,
    submissions,
    supplement,
    tasks,
)
from surgeval.results.tables.table import KINDS, Column, Table, number, text, whole, yes_no

__all__ = [
    "KINDS", "MARKS", "OFFICIAL_SUMMARY", "OLDER_COLUMNS", "RECORDS", "RESULT_FILES", "TABLES", "Column", "Table",
    "asking", "auditing", "auditing_studies", "current", "evaluation", "failures", "monitoring", "number", "planning",
    "ranking", "registrations", "scoring", "statistics", "studies", "submissions", "supplement", "tasks", "text",
    "whole", "yes_no",
]  # fmt: skip


def _by_name(tables: Iterable[Table]) -> Mapping[str, Table]:
    return {table.name: table for table in tables}


TABLES: Mapping[str, Mapping[str, Table]] = {
    "ask": _by_name(asking.ASK),
    "score": _by_name(scoring.SCORE),
    "audit": _by_name([*auditing_studies.STUDY_AUDIT, *auditing_studies.CARD, *auditing.AUDIT]),
    "rank": _by_name(ranking.FOCUS),
    "rank-tasks": _by_name(ranking.TASKS),
    "failures": _by_name(failures.FAILURES),
    "failure-table": _by_name([failures.FAILURE_TABLE]),
    "failure-change": _by_name(failures.FAILURE_CHANGE),
    "floors": _by_name(scoring.FLOOR),
    "diff": _by_name(scoring.DIFF),
    "evaluate": _by_name(evaluation.EVALUATE),
    "combine": _by_name(evaluation.COMBINE),
    "simulate": _by_name(evaluation.SIMULATE),
    "interval": _by_name([statistics.INTERVAL]),
    "compare": _by_name([statistics.COMPARE]),
    "strata": _by_name([statistics.STRATA]),
    "aggregate": _by_name([statistics.AGGREGATE]),
    "agreement": _by_name([statistics.AGREEMENT, statistics.TOLERANCE]),
    "adjusted": _by_name([statistics.ADJUSTED]),
    "cooccurrence": _by_name([statistics.COOCCURRENCE]),
    "dependence": _by_name([statistics.DEPENDENCE]),
    "width-ratio": _by_name([statistics.WIDTH_RATIO, statistics.WIDTH_SUMMARIES]),
    "ensembles": _by_name([statistics.ENSEMBLES]),
    "influence": _by_name([statistics.INFLUENCE]),
    "profiles": _by_name([statistics.PROFILES, statistics.IMPROVEMENT]),
    "monitor": _by_name(monitoring.MONITOR),
    "plan": _by_name(planning.PLAN),
    "preregister": _by_name(registrations.REGISTRATION),
    "study": _by_name(studies.STUDY),
    "supplement": _by_name(supplement.SUPPLEMENT),
    "questions": {},
    "lint": {},
    "rehearse": _by_name([scoring.REHEARSE]),
    "submission": _by_name(submissions.SUBMISSION),
    "task": _by_name(tasks.TASK),
}
"""Tables of every verb by the name of their file; `result` is a file that the user names."""
RESULT_FILES = tuple(verb for verb, tables in TABLES.items() if "result" in tables)
"""Verbs that write one table with `NAME.manifest.json` beside it."""
RECORDS: Mapping[str, tuple[str, ...]] = {
    "ask": ("answers",),
    "score": ("lint",),
    "rank": ("gate", "structure"),
    "rank-tasks": (),
    "failures": ("fit",),
    "evaluate": ("conventions",),
    "combine": ("conventions",),
    "task": ("conventions", "run"),
    "questions": ("data_card",),
    "lint": ("lint",),
    "preregister": ("registration",),
}
"""JSON documents beside the tables."""
MARKS: Mapping[str, str] = {
    "places.csv": "rank",
    "ranks.csv": "rank",
    "effects.csv": "failures",
    "floors.csv": "floors",
    "data_card.json": "questions",
    "metrics.csv": "evaluate",
    "scores.parquet": "score",
}
"""Files that betray a verb where the manifest is lost; the first that is there decides."""
OLDER_COLUMNS: Mapping[str, str] = {"ci_low": "low", "ci_high": "high"}
"""What version 0.1.0 and the official files call the ends of intervals, and what they are called here."""
OFFICIAL_SUMMARY = ("level", "name", "accuracy", "ci_low", "ci_high", "count")
"""The columns of an official `summary.csv`, which never change."""


def current(frame: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """The table under the column names of this version, and whether an older version wrote it.

    Example:
        >>> frame, older = current(pl.DataFrame({"term": ["smoke"], "ci_low": [0.2], "ci_high": [0.6]}))
        >>> frame.columns, older
        (['term', 'low', 'high'], True)
    """
    names = {theirs: ours for theirs, ours in OLDER_COLUMNS.items() if theirs in frame.columns}
    if not names or set(names.values()) & set(frame.columns):
        return frame, False
    return frame.rename(names), tuple(frame.columns) != OFFICIAL_SUMMARY
