"""Annotations that verbs read, whatever wrote them: tables of boxes, procedure files, files of annotation tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from surgeval.cli._console import talk
from surgeval.errors import FileUnreadable, Misuse
from surgeval.schema.procedure_problems import MEASURES

if TYPE_CHECKING:
    from surgeval.datasets import About
    from surgeval.schema.tracks import Procedure

SOURCE_HELP = (
    "Boxes: a CSV or Parquet table (video, second, class_name, x, y, width, height), a file of CVAT, COCO, MOT or "
    "Label Studio, or a procedure file."
)
Measures = dict[str, dict[str, int]]
"""By video, which of `duration_s`, `width_px` and `height_px` are known."""
TABLES = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class Boxes:
    """Boxes of one or more sources."""

    table: pl.DataFrame
    procedures: tuple[Procedure, ...] = ()
    """What procedure files and files of annotation tools told beside the boxes."""
    paths: list[Path] = field(default_factory=list)

    @property
    def measures(self) -> Measures:
        """Duration and frame size of each video, as far as a file or a column of a table tells them."""
        known: Measures = {}
        columns = [name for name in MEASURES if name in self.table.columns]
        for row in self.table.group_by("video").agg(pl.col(columns).max()).to_dicts() if columns else ():
            known[row["video"]] = {name: int(row[name]) for name in columns if row[name] is not None}
        for one in self.procedures:
            certain = {name: getattr(one, name) for name in MEASURES if name not in one.assumed}
            known[one.video] = {**known.get(one.video, {}), **certain}
        return known

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """Width and height of the videos that are known."""
        pairs = {video: (known.get("width_px"), known.get("height_px")) for video, known in self.measures.items()}
        return {video: (width, height) for video, (width, height) in pairs.items() if width and height}


def read_boxes(sources: Sequence[str], about: About, *, annotated: bool = False) -> Boxes:
    """The boxes of all sources in one table.

    Args:
        sources: Paths; with `annotated` also NAME=PATH, where NAME is the annotator.
        about: What the files do not tell.
        annotated: Whether every box needs an annotator.

    Raises:
        FileUnreadable: A file that nothing here can read.
        Misuse: A source without an annotator where one is needed.
    """
    from surgeval.questions.stages.box_tables import boxes_of
    from surgeval.schema.question_files import split_source

    tables: list[pl.DataFrame] = []
    procedures: list[Procedure] = []
    paths: list[Path] = []
    for source in sources:
        name, path = split_source(source)
        paths.append(path)
        table = _table(path)
        if table is None:
            listed = read_procedures([path], about)
            procedures += listed
            table = pl.concat([boxes_of(one) for one in listed], how="diagonal_relaxed")
        if annotated:
            table = _with_annotator(table, name, path)
        tables.append(table)
    texts = ("video", "class_name", "instance", "annotator")
    cast = [one.with_columns(pl.col(name).cast(pl.String) for name in texts if name in one.columns) for one in tables]
    return Boxes(pl.concat(cast, how="diagonal_relaxed"), tuple(procedures), paths)


def read_procedures(paths: Sequence[Path], about: About) -> list[Procedure]:
    """The procedures of procedure files and of files of annotation tools, joined by video; findings are said."""
    from surgeval.datasets import join_procedures, read_annotations, recognised_tool
    from surgeval.schema.procedure_files import procedure_paths, read_procedure

    listed: list[Procedure] = []
    for path in paths:
        tool = recognised_tool(path) if path.exists() else None
        if tool is None:
            listed += [read_procedure(one) for one in procedure_paths(path)]
            continue
        procedures, findings = read_annotations(path, tool=tool, about=about)
        listed += procedures
        for finding in findings:
            talk(str(finding))
    return join_procedures(listed)


def read_plain_table(path: Path, *texts: str) -> pl.DataFrame:
    """A CSV, TSV or Parquet table.

    Raises:
        FileUnreadable: Missing, or of another kind.
    """
    from surgeval.schema.table_files import read_frame

    return read_frame(path, texts)


def _table(path: Path) -> pl.DataFrame | None:
    """The table of boxes in the file, or None where it is none."""
    from surgeval.datasets import recognised_tool

    if not path.exists():
        raise FileUnreadable(str(path), ["no such file or folder"])
    if path.suffix.lower() not in TABLES or (path.suffix.lower() != ".parquet" and recognised_tool(path)):
        return None
    return read_plain_table(path, "video", "class_name", "instance", "annotator")


def _with_annotator(table: pl.DataFrame, name: str | None, path: Path) -> pl.DataFrame:
    if name is not None:
        return table.with_columns(annotator=pl.lit(name))
    if "annotator" not in table.columns:
        raise Misuse(f"{path}: nobody says who drew the boxes; add a column 'annotator' or write NAME={path}")
    return table
