"""What every verb gives back: tables, documents, a paragraph, findings, and the request; or a single table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from surgvalid.errors import Misuse
from surgvalid.results.folder import files_below, staged
from surgvalid.results.manifest import MANIFEST, manifest_of, write_manifest
from surgvalid.results.registered_data import note_cases
from surgvalid.results.request import VerbRequest
from surgvalid.schema.documents import json_text
from surgvalid.schema.findings import Finding, Severity, as_findings
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.shown_tables import notebook_table
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.schema.tables.table_files import ROLES, read_frames, renamed
from surgvalid.schema.tables.table_reading import are_paths, read_scores
from surgvalid.schema.tables.tabular import as_frame


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Result:
    """A result. Subclasses add fields and names for their tables; showing and writing is done here."""

    page: ClassVar[str] = ""
    """The name of the file that `html` is written to, where a result has a page."""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """By the name of the file each is written to."""
    main: str = ""
    """The name of the table that answers the question; the first where none is named."""
    records: Mapping[str, Any] = field(default_factory=dict)
    """Documents that are no tables, each written as JSON under its name."""
    prose: str = ""
    """What was done, fit for a paper."""
    findings: tuple[Finding, ...] = ()
    """What a reader must know before using the numbers, as data."""
    request: VerbRequest = field(default_factory=VerbRequest)
    """The options as given and the files read."""

    @property
    def name(self) -> str:
        """The verb or analysis that made the result."""
        return self.request.verb

    @property
    def table(self) -> pl.DataFrame:
        """The table that answers the question; no rows where there is none."""
        return self.tables.get(self.main or next(iter(self.tables), ""), pl.DataFrame())

    @property
    def warnings(self) -> tuple[Any, ...]:
        """What a reader must know before trusting the numbers, in words."""
        return tuple(finding.text for finding in self.findings if finding.severity is not Severity.NOTE)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing beside the numbers, in words."""
        return tuple(finding.text for finding in self.findings if finding.severity is Severity.NOTE)

    @property
    def shown(self) -> pl.DataFrame:
        """The main table as a screen shows it."""
        return self.table

    @property
    def title(self) -> str:
        """What the result is, in one line or a few."""
        return type(self).__name__

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The tables that a terminal shows, by the line above each."""
        return {"": self.shown}

    def digits(self) -> Mapping[str, int]:
        """The decimals of the numbers of those of these tables that a terminal does not show to three."""
        return {}

    def facts(self) -> dict[str, Any]:
        """Further plain data of this kind of result, for `as_dict`."""
        return {}

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        words = {"prose": self.prose, "warnings": list(map(str, self.warnings)), "notes": list(self.notes)}
        tables = {name: frame.to_dicts() for name, frame in self.tables.items()}
        return {**self.facts(), **tables, **self.records, **words}

    def to_file(self, path: str | Path) -> Path:
        """Write the main table as CSV or Parquet, decided by the file's ending.

        Raises:
            Misuse: Another ending.
        """
        return write_table(self.table, path)

    def to_dir(self, path: str | Path, *, force: bool = False) -> Path:
        """Write every table, document and text, and `manifest.json`, into the folder; what stood there before goes.

        A run that is killed leaves the earlier result or this one, never some of both.

        Raises:
            WouldOverwrite: The folder holds a result, or a file of one of these names, and `force` is off.
            Misuse: A file that the result was made from would be lost.
        """
        folder = Path(path)
        with staged(folder, force=force, inputs=[path for _, path in self.request.files]) as stage:
            self.write(stage)
            write_manifest(stage / MANIFEST, self.manifest(files_below(stage)))
        return folder

    def manifest(self, outputs: Mapping[str, Path] | None = None) -> dict[str, Any]:
        """What the result was made from, and the hashes of the files written."""
        return manifest_of(self.request, prose=self.prose, findings=self.findings, main=self.main, outputs=outputs)

    def write(self, folder: Path) -> None:
        """Write the files of the result; the manifest is not one of them."""
        if self.page:
            (folder / self.page).write_text(self.html(), encoding="utf-8", errors="replace")
        for name, frame in self.written_tables.items():
            frame.write_csv(folder / f"{name}.csv")
        for name, record in self.records.items():
            write_text(folder / f"{name}.json", json_text(record, indent=2))
        if self.prose:
            write_text(folder / f"{self.text_stem}.txt", "\n\n".join([self.prose, *(f.text for f in self.findings)]))

    def html(self) -> str:
        """The page, complete in itself; empty where there is none."""
        return ""

    @property
    def written_tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables that become files."""
        return self.tables

    @property
    def text_stem(self) -> str:
        """The name of the text file, without its ending."""
        return "methods"

    def __repr__(self) -> str:
        with pl.Config(tbl_rows=40, tbl_cols=20, tbl_width_chars=160, tbl_hide_column_data_types=True):
            table = [] if self.shown.is_empty() else [str(self.shown)]
        prose = [self.prose] if self.prose else []
        return "\n".join([self.title, *prose, *(finding.text for finding in self.findings), *table])

    def _repr_html_(self) -> str:
        texts = [finding.text for finding in self.findings]
        return notebook_table(self.shown, title=self.title, prose=self.prose, warnings=texts)


def write_table(frame: pl.DataFrame, path: str | Path) -> Path:
    """Write a table as CSV or Parquet, decided by the file's ending.

    Raises:
        Misuse: Another ending.
    """
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        frame.write_parquet(path)
    elif path.suffix.lower() == ".csv":
        frame.write_csv(path)
    else:
        raise Misuse(f"{path}: unknown kind of file {path.suffix!r}; expected .csv or .parquet")
    return path


def write_text(path: Path, text: str) -> None:
    """Write a text with one line end after it."""
    path.write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TableResult(Result):
    """A table with the paragraph that says what was done."""

    stem: ClassVar[str] = "result"
    """The name of the table and of the text beside it."""
    hidden: ClassVar[tuple[str, ...]] = ("resample", "method", "level", "replicates", "seed")
    """Columns that the paragraph says and a screen need not show."""

    @classmethod
    def of(
        cls,
        table: pl.DataFrame,
        prose: str,
        notes: Iterable[Finding | str] = (),
        **more: pl.DataFrame | None,
    ) -> Self:
        """The result of a table, a paragraph, what to know, and further tables by name."""
        tables = {cls.stem: table, **{name: frame for name, frame in more.items() if frame is not None}}
        findings = as_findings(notes)
        if any(one.code == "no-unit" for one in findings):  # all rows are one unit then, and that is said
            findings = tuple(one for one in findings if one.code != "few-videos")
        return cls(tables=tables, main=cls.stem, prose=prose, findings=findings)

    @property
    def text_stem(self) -> str:
        """The name of the text file, without its ending."""
        return self.stem

    @property
    def shown(self) -> pl.DataFrame:
        """The table without the columns that the paragraph says."""
        return self.table.drop([name for name in self.hidden if name in self.table.columns])

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data; the main table is called `rows`."""
        data = super().as_dict()
        return {"rows": data.pop(self.stem), **data}


def as_table(
    table: Any,
    columns: Mapping[str, str] | None = None,
    *,
    better: Directions = None,
    metric: str | None = None,
) -> ScoreTable:
    """A score table from one, from anything tabular, or from files and folders.

    Args:
        table: What it is made of.
        columns: Our column names to theirs, and the roles that `read_scores` knows beside them, such as `unit`.
        better: The direction of metrics where it is unknown, as `ScoreTable.directed` takes it.
        metric: The metric that is looked at.
    """
    scores = read_scores(table, columns=columns, better=better, metric=metric).table
    note_cases(scores.frame, used=False)
    return scores


def rows_of(
    table: Any, columns: Mapping[str, str] | None = None, *, where: str = "table", roles: Collection[str] = ()
) -> pl.DataFrame:
    """The rows of a table in memory or of files, their columns renamed to ours; nothing else is checked.

    Args:
        table: What it is made of.
        columns: Our column names to theirs.
        where: What to call the table in error messages.
        roles: Names that columns may be given beside those of score tables.
    """
    roles = (*ROLES, *roles)
    if are_paths(table):
        return read_frames(table, columns=columns, roles=roles)
    if isinstance(table, ScoreTable):
        return table.frame
    return renamed(as_frame(table), columns or {}, where, roles)
