"""What a supplement is about: the scores of all models, what scoring said of each, and how analyses are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.errors import Misuse, TableInvalid
from surgeval.report.inputs import Inputs
from surgeval.results.reading import FolderReader, StoredResult
from surgeval.results.request import files_of
from surgeval.results.table_result import as_table
from surgeval.results.tables import KINDS, TABLES, Table
from surgeval.schema.finding_log import printable
from surgeval.schema.missing import Missing
from surgeval.schema.question_files import Sources, load_responses, split_source
from surgeval.schema.score_table import ScoreTable
from surgeval.scoring.question_slices import contexts_of

METRIC = "correct"
CONTEXT, RESPONSE = "context", "response"


@dataclass(frozen=True)
class Study:
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
    def inputs(self) -> Inputs:
        """The same as sections of reports take it."""
        return Inputs(Path(), self.parts, self.table)

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
) -> Study:
    """The study of these folders.

    Args:
        folders: What `surgeval score` wrote, one for each model.
        answers: `MODEL=FILE`, the answers of a model.
        context_s: Lengths that tell contexts apart.
        axes: Columns to stratify by, and what they are; those that the scores lack are left to the section to name.
        options: Of `Study`.

    Raises:
        Misuse: No folder, a folder without scores of questions, or answers of nobody.
        TableInvalid: The scores contradict each other.
    """
    if not folders:
        raise Misuse("no folder to make a supplement of; name those that surgeval score wrote, one for each model")
    table = as_table([str(folder) for folder in folders])
    if METRIC not in table.metrics:
        raise Misuse(
            f"the scores have no metric {METRIC!r} but {', '.join(table.metrics)}; a supplement is made of what "
            "surgeval score wrote"
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
    return Study(table=table, parts=tuple(parts), axes=axes, files=files, **options)


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
