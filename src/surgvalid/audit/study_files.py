"""Studies read from where they are: a study file, a folder that verbs of surgvalid wrote, or a score table.

A study file is TOML:

    title    in words
    [data]       scores, results (folders), the tables of `study.TABLES`, metric, missing
    [columns.T]  our column names to theirs, for table T
    [better]     `larger` or `smaller` for metrics whose name does not say it
    [metrics.M]  the conventions of metric M, in free words
    [answers]    see `answers.QUESTIONS`

Paths are relative to the file. Every problem of the file and of the tables that it names is listed at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.audit.answers import QUESTIONS, answer_problems
from surgvalid.audit.study import TABLES, AuditedStudy
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, SurgvalidError, nearest
from surgvalid.results.reading import FolderReader, StoredResult
from surgvalid.schema.documents import read_toml
from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import BETTER
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.table_facts import Directions, facts_files
from surgvalid.schema.tables.table_files import read_frame, renamed, split_sheet
from surgvalid.schema.tables.table_reading import TableReading, noted_readings, read_scores
from surgvalid.scoring.stored_scores import recorded_missing, stacked, stored_results, stored_scores

STUDY_FILE = "study.toml"
SECTIONS = ("title", "data", "columns", "better", "metrics", "answers")
_NAMED = ("scores", "results", "metric", "missing")
_MOST_BYTES = 5_000_000
_EXPECTED = (
    f"expected a study file (TOML), a folder that verbs of surgvalid wrote (or with a {STUDY_FILE}), or a score table"
)


def read_study(
    source: str | Path | ScoreTable,
    *,
    columns: Mapping[str, str] | None = None,
    better: Directions = None,
    missing: Missing = None,
) -> tuple[AuditedStudy, tuple[Finding, ...]]:
    """The study at a place, and what could not be read of it.

    Args:
        source: A study file, a folder, a score table or its file.
        columns: Our column names to theirs, where `source` is a score table.
        better: Which values of a metric are better, where nothing says it.
        missing: What a score that is not there counts as, where the study does not say it.

    Raises:
        InputInvalid: The study file or a table that it names cannot be used; lists every problem.
        FileUnreadable: There is no such place, or no study in it.
        Misuse: Columns are renamed where no single table is read.
    """
    if isinstance(source, ScoreTable):
        return AuditedStudy("score table", source.directed(better), missing), ()
    place = Path(source)
    if place.is_dir() and (place / STUDY_FILE).is_file():
        place = place / STUDY_FILE
    if place.suffix.lower() != ".toml" and (file := split_sheet(place)[0]).is_file():
        if not columns and _is_about(beside := place.with_name(STUDY_FILE), file):
            return _StudyFile(beside).study(better, missing)
        reading, files = read_scores(place, columns=columns, better=better), (file, *facts_files(file))
        splits = _own_splits(place, reading, columns)
        return AuditedStudy(place.stem, reading.table, missing, tables=splits, files=files), ()
    if columns:
        raise Misuse("columns can be renamed here for a single score table only; a study file has [columns.scores]")
    if place.is_file():
        return _StudyFile(place).study(better, missing)
    if not place.is_dir():
        raise FileUnreadable(str(place), [f"no such file or folder; {_EXPECTED}"])
    stored, held, findings, files = _folder(place)
    if not stored and held is None:
        raise FileUnreadable(str(place), [f"nothing to audit; {_EXPECTED}", *(one.message for one in findings[:5])])
    directed = held.directed(better) if held is not None else None
    rule = missing if missing is not None else recorded_missing(stored)
    return AuditedStudy(
        place.resolve().name, directed, rule, tables=split_tables(stored), stored=stored, files=files
    ), findings


def study_about(table: Path | None, missing: Missing = None) -> AuditedStudy:
    """What the study file beside a table knows, where it names the table; a study without anything else."""
    if table is not None and _is_about(beside := table.with_name(STUDY_FILE), split_sheet(table)[0]):
        return _StudyFile(beside).study(None, missing)[0]
    return AuditedStudy("score table", missing=missing)


def _is_about(study: Path, table: Path) -> bool:
    """Whether the study file beside a table names it as its scores: then its answers were given once already."""
    data = _StudyFile(study).document.get("data") if study.is_file() else None
    named = data.get("scores") if isinstance(data, dict) else None
    return table.name in ([named] if isinstance(named, str) else named if isinstance(named, list) else [])


def _own_splits(place: Path, reading: TableReading, columns: Mapping[str, str] | None) -> dict[str, pl.DataFrame]:
    """The splits of all rows of a score table of which the reader left some out by their split."""
    column = next((line.column for line in reading.interpreted if line.code == "split"), None)
    if column is None:
        return {}
    unit = reading.table.unit.column
    with noted_readings():  # what is told is how the scores were read
        try:
            frame = read_scores(place, columns=columns, condition=[column]).table.frame
        except (SurgvalidError, pl.exceptions.PolarsError):  # a patient of two splits has no case of its own in each
            frame = read_frame(place, (unit, column)).with_columns(video=unit, case=pl.lit(None))
    names = pl.col(column).alias("split"), pl.col("video"), pl.col("video").alias("patient"), pl.col("case")
    return {"splits": frame.select(*names).unique(maintain_order=True)}


class _Stored(NamedTuple):
    """What a folder holds, but for earlier audits, which are no part of the study."""

    results: tuple[StoredResult, ...]
    scores: ScoreTable | None
    findings: tuple[Finding, ...]
    files: tuple[Path, ...]


def _folder(place: Path) -> _Stored:
    reader = FolderReader(place)
    everything = stored_results(reader)
    stored = tuple(result for result in everything if result.kind != "audit")
    scores = stored_scores(reader, stored)
    audits = {result.path for result in everything if result.kind == "audit"}
    files = tuple(path for path in reader.read if path.parent not in audits)
    return _Stored(stored, scores, tuple(reader.findings), files)


def split_tables(stored: Sequence[StoredResult]) -> dict[str, pl.DataFrame]:
    """The splits that the data card of a question set names, as a study would name them."""
    cards = [result.records.get("data_card") for result in stored if result.kind == "questions"]
    every = (row for card in cards if isinstance(card, dict) for row in card.get("videos", ()) if isinstance(row, dict))
    rows = [row for row in every if row.get("video") is not None and row.get("split") is not None]
    names = [name for name in ("split", "video", "patient", "center") if any(row.get(name) for row in rows)]
    if not rows:
        return {}
    return {"splits": pl.DataFrame([{name: str(row.get(name) or "") for name in names} for row in rows])}


class _StudyFile:
    """One study file while it is read; problems are gathered."""

    def __init__(self, path: Path) -> None:
        self.path, self.home = path, path.parent
        self.problems: list[str] = []
        self.findings: list[Finding] = []
        self.files: list[Path] = [path]
        self.own_splits: dict[str, pl.DataFrame] = {}
        self.document = self._document()

    def _document(self) -> dict[str, Any]:
        if self.path.stat().st_size > _MOST_BYTES:
            raise FileUnreadable(str(self.path), [f"more than {_MOST_BYTES / 1e6:.0f} MB are no study file"])
        return read_toml(self.path)

    def study(self, better: Directions, missing: Missing) -> tuple[AuditedStudy, tuple[Finding, ...]]:
        """The study that the file describes.

        Raises:
            InputInvalid: With every problem.
        """
        self._check_names(self.document, SECTIONS, "")
        data = self._section("data")
        self._check_names(data, (*_NAMED, *TABLES), "data.")
        renames = {name: self._mapping("columns", name) for name in self._section("columns")}
        self._check_names(renames, ("scores", *TABLES), "columns.")
        answers = self._section("answers")
        self._check_names(answers, tuple(QUESTIONS), "answers.")
        self.problems += [
            problem for key in answers if key in QUESTIONS for problem in answer_problems(key, answers[key])
        ]
        metrics = {name: self._mapping("metrics", name) for name in self._section("metrics")}
        tables = {name: frame for name in TABLES if (frame := self._table(name, data, renames)) is not None}
        stored, scores = self._scores(data, renames.get("scores", {}))
        scores = self._directed(scores, better)
        metric = data.get("metric")
        if scores is not None and metric is not None and metric not in scores.metrics:
            self.problems.append(f"data.metric {metric!r} is none of the scores' ({', '.join(scores.metrics)})")
        rule = missing if missing is not None else data.get("missing", recorded_missing(stored))
        if self.problems:
            raise InputInvalid(str(self.path), self.problems)
        name = str(self.document.get("title") or self.path.resolve().parent.name)
        tables = {**self.own_splits, **split_tables(stored), **tables}
        study = AuditedStudy(name, scores, rule, metric, tables, stored, metrics, answers, tuple(self.files))
        return study, tuple(self.findings)

    def _section(self, name: str) -> dict[str, Any]:
        section = self.document.get(name, {})
        if isinstance(section, dict):
            return section
        self.problems.append(f"{name} must be a section ([{name}]), got {section!r}")
        return {}

    def _mapping(self, section: str, name: str) -> dict[str, Any]:
        given = self._section(section)[name]
        if isinstance(given, dict) and (section != "columns" or all(isinstance(one, str) for one in given.values())):
            return given
        self.problems.append(f"{section}.{name} must be a section ([{section}.{name}]) of texts, got {given!r}")
        return {}

    def _check_names(self, given: Mapping[str, Any], known: Sequence[str], before: str) -> None:
        for name in given:
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
                self.problems.append(f"{before}{name} is not known; {hint}")

    def _places(self, name: str, given: Any) -> Iterator[Path]:
        listed = [given] if isinstance(given, str) else given
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            self.problems.append(f"data.{name} must be a path or a list of paths, got {given!r}")
            return
        for one in listed:
            place = self.home / one
            file = split_sheet(place)[0]
            if file.exists():
                self.files += [file] if file.is_file() else []
                yield place
            else:
                self.problems.append(f"data.{name}: {one} does not exist (paths are relative to {self.path.name})")

    def _table(
        self, name: str, data: Mapping[str, Any], renames: Mapping[str, Mapping[str, str]]
    ) -> pl.DataFrame | None:
        if name not in data:
            return None
        kind = TABLES[name]
        known = (*kind.needed, *kind.texts, *kind.numbers)
        names = dict(renames.get(name, {}))
        texts = {names.get(ours, ours) for ours in known if ours not in kind.numbers}
        frames = []
        for place in self._places(name, data[name]):
            try:
                frames.append(renamed(read_frame(place, texts), names, place.name, (*known, *names)))
            except SurgvalidError as error:
                self.problems.append(f"data.{name}: {error}")
        if not frames:
            return None
        try:
            frame = pl.concat(frames, how="diagonal_relaxed")
        except pl.exceptions.PolarsError as error:
            self.problems.append(f"data.{name}: the files do not fit together ({str(error).splitlines()[0]})")
            return None
        problems = [f"data.{name}: {problem}" for problem in table_problems(name, frame)]
        self.problems += problems
        return None if problems else typed(name, frame)

    def _scores(
        self, data: Mapping[str, Any], columns: Mapping[str, str]
    ) -> tuple[tuple[StoredResult, ...], ScoreTable | None]:
        stored: list[StoredResult] = []
        tables: list[ScoreTable] = []
        for place in self._places("results", data.get("results", [])):
            if not place.is_dir():
                self.problems.append(f"data.results: {place.name} is no folder")
                continue
            there = _folder(place)
            stored += there.results
            tables += [] if there.scores is None else [there.scores]
            self.findings += there.findings
            self.files += there.files
        for place in self._places("scores", data.get("scores", [])):
            try:
                reading = read_scores(place, columns=columns)
                self.own_splits |= _own_splits(place, reading, columns)
                tables.append(reading.table)
            except SurgvalidError as error:
                self.problems.append(f"data.scores: {error}")
        try:
            return tuple(stored), stacked(tables)
        except (SurgvalidError, pl.exceptions.PolarsError) as error:
            self.problems.append(f"data.scores: the tables do not fit together ({error})")
            return tuple(stored), None

    def _directed(self, scores: ScoreTable | None, better: Directions) -> ScoreTable | None:
        given = self._section("better")
        problems = [
            f"better.{name} must be one of {', '.join(BETTER)}, got {way!r}"
            for name, way in given.items()
            if way not in BETTER
        ]
        if scores is not None and not problems:
            unknown = [name for name in given if name not in scores.metrics]
            problems = [f"better.{name}: the scores have no metric {name!r}" for name in unknown]
            try:
                scores = scores if problems else scores.directed(given or None).directed(better)
            except SurgvalidError as error:
                problems = [f"better: {error}"]
        self.problems += problems
        return scores


def table_problems(name: str, frame: pl.DataFrame) -> Iterator[str]:
    """What a table of a study lacks, or holds that it cannot."""
    kind = TABLES[name]
    absent = [column for column in kind.needed if column not in frame.columns]
    if absent:
        has = ", ".join(map(repr, frame.columns)) or "none"
        yield f"column {', '.join(map(repr, absent))} is missing; the table has {has} ([columns.{name}] renames)"
    if frame.is_empty():
        yield "the table has no rows"
    for column in kind.numbers:
        if column in frame.columns and not frame.schema[column].is_numeric():
            given = frame[column].cast(pl.String, strict=False)
            bad = given.filter(given.is_not_null() & (given != "") & given.cast(pl.Float64, strict=False).is_null())
            if len(bad):
                yield f"column {column!r} has {len(bad)} entries that are no numbers (first: {bad[0]!r})"
    for column in kind.needed:
        optional = column in _MAY_BE_EMPTY.get(name, ())
        if column in frame.columns and not optional and (count := frame[column].null_count()):
            yield f"column {column!r} is empty in {count} rows"
    yield from _repeats(name, frame)


_MAY_BE_EMPTY = {"frames": ("reference", "prediction"), "responses": ("prediction",), "reported": ("value",)}
_KEYS = {"cases": ("case",), "frames": ("model", "video", "time_s"), "responses": ("model", "case")}


def _repeats(name: str, frame: pl.DataFrame) -> Iterator[str]:
    key = [column for column in _KEYS.get(name, ()) if column in frame.columns]
    if key and len(key) == len(_KEYS[name]):
        repeated = frame.filter(frame.select(key).is_duplicated())
        if repeated.height:
            first = ", ".join(f"{column}={repeated[column][0]}" for column in key)
            yield f"{repeated.height} rows repeat ({first} first)"


def typed(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table with numbers as numbers and every other known column as text."""
    kind = TABLES[name]
    casts = [pl.col(column).cast(pl.Float64, strict=False) for column in kind.numbers if column in frame.columns]
    texts = [column for column in (*kind.needed, *kind.texts) if column not in kind.numbers and column in frame.columns]
    empty_is_null = [pl.col(column).cast(pl.String).replace({"": None}) for column in texts]
    return frame.with_columns(casts).with_columns(empty_is_null)
