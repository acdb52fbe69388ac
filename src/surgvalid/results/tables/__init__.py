"""Every table that a verb writes, declared once; a table that is not named here is not read.

Producers build frames with a declaration (`ranking.PLACES.frame(...)`), so a column that is renamed in one place only
fails where it is made and not in a report. Readers check with it, and the docs are printed from it.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from surgvalid.results.tables import (
    auditing,
    evaluation,
    failures,
    planning,
    ranking,
    scoring,
    statistics,
    studies,
    supplement,
    tasks,
)
from surgvalid.results.tables.table import KINDS, Column, Table, number, text, whole, yes_no

__all__ = [
    "KINDS", "MARKS", "OFFICIAL_SUMMARY", "OLDER_COLUMNS", "READABLE", "RECORDS", "RESULT_FILES", "TABLES", "Column",
    "Table", "auditing", "current", "evaluation", "failures", "number", "planning", "ranking", "scoring", "statistics",
    "studies", "supplement", "tasks", "text", "whole", "yes_no",
]  # fmt: skip


TABLES: Mapping[str, Mapping[str, Table]] = {
    verb: {table.name: table for table in tables}
    for verb, tables in {
        "ask": tasks.ASK,
        "score": scoring.SCORE,
        "audit": (*auditing.STUDY_AUDIT, *auditing.CARD, *auditing.AUDIT),
        "rank": ranking.FOCUS,
        "rank-tasks": ranking.TASKS,
        "failures": failures.FAILURES,
        "failure-table": (failures.FAILURE_TABLE,),
        "failure-change": failures.FAILURE_CHANGE,
        "floors": scoring.FLOOR,
        "diff": scoring.DIFF,
        "evaluate": evaluation.EVALUATE,
        "combine": evaluation.COMBINE,
        "simulate": evaluation.SIMULATE,
        "interval": (statistics.INTERVAL,),
        "compare": (statistics.COMPARE,),
        "strata": (statistics.STRATA,),
        "aggregate": (statistics.AGGREGATE,),
        "agreement": (statistics.AGREEMENT, statistics.TOLERANCE),
        "adjusted": (statistics.ADJUSTED,),
        "cooccurrence": (statistics.COOCCURRENCE,),
        "dependence": (
            statistics.DEPENDENCE,
            statistics.INFLUENCE,
            statistics.WIDTH_RATIO,
            statistics.WIDTH_SUMMARIES,
        ),
        "ensembles": (statistics.ENSEMBLES,),
        "profiles": (statistics.PROFILES, statistics.IMPROVEMENT),
        "monitor": planning.MONITOR,
        "plan": planning.PLAN,
        "preregister": planning.REGISTRATION,
        "study": studies.STUDY,
        "supplement": supplement.SUPPLEMENT,
        "questions": (),
        "lint": (),
        "rehearse": (scoring.REHEARSE,),
        "submission": tasks.SUBMISSION,
        "task": tasks.TASK,
    }.items()
}
"""Tables of every verb by the name of their file; `result` is a file that the user names."""
READABLE: Mapping[str, Mapping[str, Table]] = {
    **TABLES,
    "influence": {"result": statistics.INFLUENCE},
    "width-ratio": {"result": statistics.WIDTH_RATIO, "summaries": statistics.WIDTH_SUMMARIES},
}
"""The same with the verbs of 0.1.0 that are part of another one now."""
RESULT_FILES = tuple(verb for verb, tables in READABLE.items() if "result" in tables)
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
    if {"std_error", "z"} <= set(frame.columns) and "t" not in frame.columns:  # 0.1.0 called the t of an effect z
        frame = frame.rename({"z": "t"})
    names = {theirs: ours for theirs, ours in OLDER_COLUMNS.items() if theirs in frame.columns}
    if not names or set(names.values()) & set(frame.columns):
        return frame, False
    return frame.rename(names), tuple(frame.columns) != OFFICIAL_SUMMARY
