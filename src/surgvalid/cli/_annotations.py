"""Annotations that verbs read, whatever wrote them: tables of boxes, procedure files, files of annotation tools."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from surgvalid.cli._console import talk
from surgvalid.errors import FileUnreadable, Misuse, ProcedureInvalid
from surgvalid.schema.procedures.procedure_problems import MEASURES, rate_problems

if TYPE_CHECKING:
    from surgvalid.datasets import About, VideoFile
    from surgvalid.schema.procedures.tracks import Procedure

_SIZE = re.compile(r"(\d{1,5})\s*[xX×]\s*(\d{1,5})")
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


def about_files(
    sources: Sequence[str | Path],
    *,
    fps: float | None = None,
    size: str | None = None,
    video: Sequence[str] | None = None,
    video_name: str | None = None,
    stills: bool = False,
    annotated: Collection[str] | None = None,
    procedure_type: str | None = None,
    center: str | None = None,
) -> About:
    """What the options tell of files of annotation tools.

    Args:
        sources: The files; a video file without a name belongs to the only video.
        fps: As `About` has it; so the others without a word here.
        size: WIDTHxHEIGHT.
        video: Video files, as [NAME=]FILE.
        video_name: Name of the video of every file; with a group in brackets, the pattern of the patient.
        stills: As `About` has it.
        annotated: In the words of `declared`.
        procedure_type: As `About` has it.
        center: As `About` has it.

    Raises:
        Misuse: A size that is none.
        FileUnreadable: A video file that cannot be opened.
        ExtraNeeded: Video files need the extra for videos.
    """
    from surgvalid.datasets import About

    width_px, height_px = _size(size)
    pattern = video_name if video_name and "(" in video_name else None
    return About(
        video=None if pattern else video_name,
        patient_pattern=pattern,
        procedure_type=procedure_type,
        center=center,
        width_px=width_px,
        height_px=height_px,
        fps=fps,
        annotated=tuple(annotated or ()),
        stills=stills,
        video_files=_video_files(video or (), single=len(sources) == 1),
    )


def _size(text: str | None) -> tuple[int, int] | tuple[None, None]:
    if text is None:
        return None, None
    sides = _SIZE.fullmatch(text.strip())
    if sides is None or not int(sides[1]) or not int(sides[2]):
        raise Misuse(f"--size {text!r} is not WIDTHxHEIGHT, such as 1920x1080")
    return int(sides[1]), int(sides[2])


def _video_files(options: Sequence[str], *, single: bool) -> dict[str, VideoFile]:
    """The video files by the names of their videos, as given or as the file is called; '' stands for the only video."""
    from surgvalid.schema.questions.question_files import split_source

    video_files = {}
    for option in options:
        name, path = split_source(option)
        video_file = _video_file(path)
        video_files[name or path.stem] = video_file
        if single and name is None and len(options) == 1:
            video_files[""] = video_file
    return video_files


def _video_file(path: Path) -> VideoFile:
    from surgvalid.datasets import VideoFile
    from surgvalid.video import probe

    facts = probe(path)
    fps = facts.fps if math.isfinite(facts.fps) else None
    last_s = facts.duration_s - (0.5 / fps if fps else 0.5)
    return VideoFile(facts.width_px, facts.height_px, fps, max(1, math.ceil(last_s)) if math.isfinite(last_s) else None)


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
    from surgvalid.questions.stages.box_tables import boxes_of
    from surgvalid.schema.questions.question_files import split_source

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
    from surgvalid.datasets import join_procedures, read_annotations, recognised_tool
    from surgvalid.schema.procedures.procedure_files import procedure_paths, read_procedure

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
    joined = join_procedures(listed, talk)
    # Boxes go on as tables, which cannot express uncertainty about all of their times.
    if problems := [f"{one.video}: {problem}" for one in joined for problem in rate_problems(one)]:
        raise ProcedureInvalid("annotations", problems)
    return joined


def read_plain_table(path: Path, *texts: str) -> pl.DataFrame:
    """A CSV, TSV or Parquet table.

    Raises:
        FileUnreadable: Missing, or of another kind.
    """
    from surgvalid.schema.tables.table_files import read_frame

    return read_frame(path, texts)


def _table(path: Path) -> pl.DataFrame | None:
    """The table of boxes in the file, or None where it is none."""
    from surgvalid.datasets import recognised_tool

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
