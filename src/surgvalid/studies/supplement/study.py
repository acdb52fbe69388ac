"""What a supplement is about: the scores of all models, what scoring said of each, and words its sections share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.report.inputs import ReportInputs
from surgvalid.report.section import Note
from surgvalid.report.words import plain
from surgvalid.results.reading import FolderReader, StoredResult
from surgvalid.results.request import files_of
from surgvalid.results.result import as_table
from surgvalid.results.tables import KINDS, TABLES, Table
from surgvalid.schema.finding_log import printable
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.question_files import Sources, load_responses, split_source
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.scoring.slices import contexts_of

METRIC = "correct"
CONTEXT, RESPONSE = "context", "response"


@dataclass(frozen=True)
class SupplementStudy:
    """Scored models and the options of their supplement."""

    table: ScoreTable
    parts: tuple[StoredResult, ...]
    """What `score` wrote for each model."""
    axes: Mapping[str, str]
    """Columns by which cases are stratified, to what they are in words."""
    level: float
    replicates: int
    seed: int
    missing: Missing
    references: Sources | None = None
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    """What was read, by the name of the argument that named it."""

    @cached_property
    def rows(self) -> pl.DataFrame:
        """One row per model and question."""
        return self.table.frame.filter(pl.col("metric") == METRIC)

    @property
    def models(self) -> list[str]:
        """In the order in which they were given."""
        return self.table.models

    @property
    def videos(self) -> int:
        """How many there are."""
        return self.rows["video"].n_unique()

    @property
    def how(self) -> dict[str, Any]:
        """Options that every analysis takes."""
        return {"metric": METRIC, "missing": self.missing}

    @property
    def inputs(self) -> ReportInputs:
        """The same as sections of reports take it."""
        return ReportInputs(Path(), self.parts, self.table)

    def varies(self, column: str) -> bool:
        """Whether the questions differ in a column."""
        if column not in self.rows.columns:
            return False
        return self.rows[column].cast(pl.String).drop_nulls().n_unique() > 1

    def whose(self, name: str) -> pl.DataFrame:
        """A table of every scoring, one below the other, with the model first; no rows where none has it."""
        frames = [
            _whole(stored.frame(name), TABLES["score"][name]).insert_column(
                0, pl.lit(str(stored.options.get("model", stored.label))).alias("model")
            )
            for stored in self.parts
            if not stored.frame(name).is_empty()
        ]
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def read_study(
    folders: Sequence[str | Path],
    *,
    answers: Sequence[str],
    context_s: Sequence[float],
    axes: Mapping[str, str],
    **options: Any,
) -> SupplementStudy:
    """The study of these folders.

    Args:
        folders: What `surgvalid score` wrote, one for each model.
        answers: `MODEL=FILE`, the answers of a model.
        context_s: Lengths that tell contexts apart.
        axes: Columns to stratify by, and what they are; those that the scores lack are left to the section to name.
        options: Of `SupplementStudy`.

    Raises:
        Misuse: No folder, a folder without scores of questions, or answers of nobody.
        TableInvalid: The scores contradict each other.
    """
    if not folders:
        raise Misuse("no folder to make a supplement of; name those that surgvalid score wrote, one for each model")
    table = as_table([str(folder) for folder in folders])
    if METRIC not in table.metrics:
        raise Misuse(
            f"the scores have no metric {METRIC!r} but {', '.join(table.metrics)}; a supplement is made of what "
            "surgvalid score wrote"
        )
    table = replace(table, frame=_with_context(table.frame, context_s))
    table = _with_answers(table, answers)
    parts: list[StoredResult] = []
    files: dict[str, list[Path]] = {"folders": []}
    for folder in map(Path, folders):
        reader = FolderReader(folder if folder.is_dir() else folder.parent)
        parts += [stored for stored in reader.results(folder) if stored.kind == "score"] if folder.is_dir() else []
        files["folders"] += list(dict.fromkeys([*files_of(folder), *reader.read]))
    named = {"answers": [split_source(entry)[1] for entry in answers], "references": _paths(options["references"])}
    files |= {name: paths for name, paths in named.items() if paths}
    return SupplementStudy(table=table, parts=tuple(parts), axes=axes, files=files, **options)


def _paths(sources: Sources | None) -> list[Path]:
    listed = [sources] if isinstance(sources, str | Path) else sources if isinstance(sources, list | tuple) else []
    return [split_source(one)[1] for one in listed if isinstance(one, str | Path)]


def _whole(frame: pl.DataFrame, declared: Table) -> pl.DataFrame:
    """A table with its declared columns; those that an older version did not write are empty."""
    given = {name: KINDS[column.kind] for name, column in declared.columns.items()}
    absent = [pl.lit(None, dtype=kind).alias(name) for name, kind in given.items() if name not in frame.columns]
    return frame.with_columns(absent).select(list(given))


def _with_context(frame: pl.DataFrame, edges: Sequence[float]) -> pl.DataFrame:
    """The scores with the name of each question's context length."""
    if "window_s" not in frame.columns:
        return frame
    return frame.with_columns(pl.Series(CONTEXT, contexts_of(frame["window_s"], edges), dtype=pl.String))


def _with_answers(table: ScoreTable, answers: Sequence[str]) -> ScoreTable:
    """The scores with the text of the answers that were named."""
    given: dict[tuple[str, str], str | None] = {}
    for entry in answers:
        model, path = split_source(entry)
        if model is None or model not in table.models:
            raise Misuse(f"answers {entry!r}: write MODEL=FILE with one of {', '.join(table.models)}")
        given |= {(model, one.case): one.content for one in load_responses(path).responses}
    if not given:
        return table
    contents = [given.get(key) for key in table.frame.select("model", "case").iter_rows()]
    texts = [None if content is None else printable(content) for content in contents]
    if all(text is None for text in texts):
        raise TableInvalid("answers", ["no answer is to a question of the scores; the identifiers differ"])
    return replace(table, frame=table.frame.with_columns(pl.Series(RESPONSE, texts, dtype=pl.String)))


MOST_ALIKE = 2
"""Warnings of one kind that a section spells out; more are counted."""


def shown(row: Mapping[str, Any], value: str, *, signed: bool = False, low: str = "low", high: str = "high") -> str:
    """A value with its interval in brackets, or with the note that says why there is none.

    Example:
        >>> shown({"value": 0.5, "low": 0.4, "high": 0.61}, "value")
        '0.500 [0.400, 0.610]'
        >>> shown({"delta": -0.1, "low": None, "high": None, "note": "one video only"}, "delta", signed=True)
        '-0.100 (no interval: one video only)'
    """
    number = row[value]
    if number is None or number != number:
        return "unknown"
    form = "+.3f" if signed else ".3f"
    if row[low] is None or row[high] is None or row[low] != row[low]:
        why = str(row.get("note") or "").rstrip(".")
        return f"{number:{form}} (no interval{f': {plain(why, limit=160)}' if why else ''})"
    return f"{number:{form}} [{row[low]:{form}}, {row[high]:{form}}]"


def against_zero(row: Mapping[str, Any]) -> str:
    """What an interval says about zero, as the end of a sentence."""
    if row["low"] is None or row["high"] is None or row["low"] != row["low"]:
        return "which these data do not judge"
    if row["low"] > 0 or row["high"] < 0:
        return "an interval without 0"
    return "not told apart from 0"


def limits(findings: Iterable[Finding]) -> list[Note]:
    """Warnings as notes, each sentence once; of many of one kind the first are spelt out and the others counted."""
    kinds: dict[str, dict[str, None]] = {}
    for one in findings:
        if one.severity is not Severity.NOTE:
            kinds.setdefault(one.code, {})[plain(one.text, limit=600).rstrip(".")] = None
    notes = []
    for texts in (list(kind) for kind in kinds.values()):
        more = f" ({len(texts) - MOST_ALIKE} more of this kind)" if len(texts) > MOST_ALIKE else ""
        notes.append(Note(f"{'; '.join(texts[:MOST_ALIKE])}{more}."))
    return notes


def extreme(frame: pl.DataFrame, column: str, *, largest: bool = False) -> dict[str, Any] | None:
    """The row with the smallest or largest number; None where no row has one."""
    known = frame.filter(pl.col(column).is_not_null() & pl.col(column).is_not_nan())
    if known.is_empty():
        return None
    return known.sort(column, descending=largest, maintain_order=True).row(0, named=True)


def listed(parts: Sequence[str]) -> str:
    """Several things in a sentence.

    Example:
        >>> listed(["a", "b", "c"]), listed([])
        ('a, b and c', 'none')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "none"
