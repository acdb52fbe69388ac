"""A data card of any data set folder that can be read: counts, imbalance, duplicates, contradictions, leakage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.audit.measures import listed
from surgvalid.datasets import STRATA, DataReport, DataSet, leakage_table, open_data_set
from surgvalid.errors import InputInvalid
from surgvalid.results.request import requested
from surgvalid.results.result import Result
from surgvalid.results.tables import auditing as tables
from surgvalid.schema.findings import Finding, Severity

LARGEST = 0.8
"""Share of the largest class from which on accuracy says little."""
MOST_CLASSES = 300
"""Different values up to which a column is interpreted as labels."""
_KEYS = ("case", "video", "frame", "image", "path", "file", "question", "second", "time_s", "track", "segment")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class DataCard(Result):
    """What a data set folder holds, and what to know before it is used."""

    name: str = ""

    @property
    def classes(self) -> pl.DataFrame:
        """How often every label occurs, and in how many videos."""
        return self.tables["card_classes"]

    @property
    def title(self) -> str:
        """The name, and how much there is to know."""
        return f"{self.name}: {f'{len(self.findings)} findings' if self.findings else 'nothing to note'}"

    @property
    def passes(self) -> bool:
        """Whether there is nothing worse than a note."""
        return all(one.severity is Severity.NOTE for one in self.findings)

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The counts, and the classes."""
        return {self.title: self.table, **({"classes": self.classes} if self.classes.height else {})}


@requested("audit card", files=("folder",))
def data_set_card(data_set: str, folder: str | Path, *, tasks: Sequence[str] = ()) -> DataCard:
    """The card of a data set as it lies in a folder.

    Args:
        data_set: A name of `surgvalid tools list datasets`.
        folder: The data set as it was downloaded.
        tasks: Which of its tasks; all that can be read if left out.

    Raises:
        UnknownName: No such data set or task.
        InputInvalid: No task can be read; lists every problem.
    """
    known = open_data_set(data_set)
    report = known.check(folder, tasks=list(tasks) or None)
    if not report.usable:
        errors = [str(one) for one in report.findings if one.severity is Severity.ERROR]
        raise InputInvalid(str(folder), errors or ["no task can be read"])
    rows: list[dict[str, Any]] = []
    findings = [*_as_they_are(report)]
    for task in report.usable:
        table = known.references(folder, task=task).table
        rows += _class_rows(task, table)
        findings += [*_repeats(task, table), *_contradictions(task, table), *_outside(known, task, table)]
    classes = tables.CARD_CLASSES.frame(rows)
    findings += [*_imbalance(classes), *_splits(known, folder), *_known_overlaps(known)]
    return DataCard(
        tables={
            "card_counts": tables.CARD_COUNTS.frame(report.counts.rename({"found": "counted"})),
            "card_classes": classes,
        },
        main="card_counts",
        findings=tuple(findings),
        name=f"{known.title} ({report.verdict})",
        prose=f"Card of {known.name} as it lies in the folder: {', '.join(report.usable)}. Licence: "
        f"{known.licence or f'not confirmed ({known.licence_note})'}.",
    )


def _as_they_are(report: DataReport) -> Iterator[Finding]:
    """What reading says of the files, the first of every kind with their number."""
    by_code: dict[str, list[Finding]] = {}
    for one in report.findings:
        by_code.setdefault(one.code, []).append(one)
    for code, some in by_code.items():
        more = f" (and {len(some) - 1} more like it)" if len(some) > 1 else ""
        first = some[0]
        yield Finding(code, first.severity, f"{first.message}{more}", where=first.where)


def _label_columns(table: pl.DataFrame) -> list[str]:
    kinds = (pl.String, pl.Boolean)
    columns = [name for name, kind in table.schema.items() if kind in kinds and name not in (*_KEYS, *STRATA)]
    return [name for name in columns if 1 <= table[name].drop_nulls().n_unique() <= MOST_CLASSES]


def _class_rows(task: str, table: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for column in _label_columns(table):
        held = table.drop_nulls(column)
        counts = held.group_by(column).agg(pl.len().alias("rows"), pl.col("video").n_unique().alias("videos"))
        for label, rows, videos in counts.sort("rows", column, descending=[True, False]).iter_rows():
            yield {
                "task": task,
                "column": column,
                "label": str(label),
                "rows": rows,
                "videos": videos,
                "share": rows / held.height,
            }


def _repeats(task: str, table: pl.DataFrame) -> Iterator[Finding]:
    """Rows that are there twice, all but their names equal."""
    content = [name for name in table.columns if name != "case" and not table.schema[name].is_nested()]
    count = int(table.select(content).is_duplicated().sum())
    if count and {"video", "frame"} <= set(content) and len(content) > 2:
        text = f"{count:,} of {table.height:,} rows stand there more than once (same video, frame and content)"
        yield Finding("card-repeats", Severity.WARNING, text, subject=task)


def _contradictions(task: str, table: pl.DataFrame) -> Iterator[Finding]:
    """Questions that are asked twice about the same moment and answered differently."""
    if not {"question", "answer"} <= set(table.columns):
        return
    key = ["video", "frame", "question"]
    apart = table.group_by(key).agg(pl.col("answer").n_unique().alias("answers"), pl.col("case").first())
    apart = apart.filter(pl.col("answers") > 1).sort("case")
    if apart.height:
        text = f"{apart.height:,} questions have several answers for the same frame ({listed(apart['case'].to_list())})"
        yield Finding("card-contradictions", Severity.WARNING, text, subject=task)


def _outside(known: DataSet, task: str, table: pl.DataFrame) -> Iterator[Finding]:
    """References that are none of the classes that the data set declares."""
    compared = known.tasks[task].compared
    classes = [str(name) for name in (compared.options.get("classes", ()) if compared else ())]
    column = compared.label if compared else None
    if not classes or not column or column not in table.columns or table.schema[column] != pl.String:
        return
    odd = table.filter(pl.col(column).is_not_null() & ~pl.col(column).is_in(classes))
    if odd.height:
        names = odd[column].unique().sort().to_list()
        text = f"{odd.height:,} references are none of the {len(classes)} declared classes ({listed(names)})"
        yield Finding("card-format", Severity.WARNING, text, subject=task)


def _imbalance(classes: pl.DataFrame) -> Iterator[Finding]:
    for (task, column), rows in classes.group_by("task", "column", maintain_order=True):
        subject = f"{task}, {column}"
        if rows.height > 1 and rows["share"][0] >= LARGEST:
            text = (
                f"{rows['share'][0]:.0%} of the rows are {rows['label'][0]!r}: report metrics that weigh classes alike"
            )
            yield Finding("card-imbalance", Severity.NOTE, text, subject=subject)
        alone = rows.filter(pl.col("videos") == 1)["label"].to_list()
        if alone and classes["videos"].max() != 1:
            text = f"{len(alone)} labels occur in one video only ({listed(alone)}): their values have no interval"
            yield Finding("card-rare", Severity.NOTE, text, subject=subject)


def _splits(known: DataSet, folder: str | Path) -> Iterator[Finding]:
    """Splits that put a video into two parts."""
    try:
        known.splits(folder)
    except InputInvalid as error:
        for problem in error.problems:
            yield Finding("card-leakage", Severity.ERROR, problem, subject="splits")


def _known_overlaps(known: DataSet) -> Iterator[Finding]:
    both = leakage_table().filter((pl.col("data_set_a") == known.name) | (pl.col("data_set_b") == known.name))
    shared = both.filter(pl.col("shared_videos") > 0)
    names = [
        f"{one if other == known.name else other} ({count} videos)"
        for one, other, count in shared.select("data_set_a", "data_set_b", "shared_videos").rows()
    ]
    if names:
        text = f"shares videos with {', '.join(names)}: do not train on one and test on the other"
        yield Finding("card-leakage", Severity.NOTE, text, subject=known.name)
