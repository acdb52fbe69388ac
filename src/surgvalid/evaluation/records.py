"""Tables of predictions and references: read, renamed, checked, and joined row by row.

A row is one moment of one video: `video` and `frame`, `second` or `case`. References and predictions may be columns
of one table or two tables that are joined. Only equal sets of moments are joined, because the usual mistakes
(25 fps labels against 1 fps predictions, seconds against frame numbers) would otherwise pair wrong moments.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, TableInvalid
from surgvalid.evaluation.predictions.plain_files import read_json, read_table
from surgvalid.schema.tables.table_files import ROLES, names_unknown
from surgvalid.schema.tables.tabular import as_frame

MOMENTS = ("frame", "second", "case")
"""The columns that can say which moment of a video a row is about; the first that exists is used."""

_SHOWN_VIDEOS = 5
_SECOND_DECIMALS = 9
"""Frame 92 at 30 fps is one moment, however the division was rounded."""
_OF_A_CLASS = ("reference", "prediction", "score")
"""Columns that there may be one of for each class, as `score:CLASS`."""
_USED = (*MOMENTS, "video", *_OF_A_CLASS)


def read_records(source: Any, columns: Mapping[str, str] | None = None, *, roles: Collection[str] = ()) -> pl.DataFrame:
    """The rows of a CSV, TSV, Parquet, JSON or JSON Lines file, or of anything tabular, with columns renamed.

    Args:
        source: A path, or a table.
        columns: Our names to theirs; those that the table does not have are left alone.
        roles: Names of ours beside the usual ones.

    Raises:
        FileUnreadable: Missing, of an unknown kind, or not what it claims to be.
        TableInvalid: A name in `columns` is none of ours.
    """
    whole = {ours: theirs for ours, theirs in (columns or {}).items() if ours.split(":", 1)[0] not in _OF_A_CLASS}
    if problems := names_unknown(whole, (*_USED, *ROLES, *roles)):
        raise TableInvalid(str(source) if isinstance(source, str | Path) else "table", problems)
    if not isinstance(source, str | Path):
        return _renamed(as_frame(source), columns or {})
    path = Path(source)
    if path.is_dir():
        raise FileUnreadable(str(path), ["a folder instead of a table; name a public data set with --data-set"])
    if path.suffix.lower() not in (".json", ".jsonl"):
        texts = {"video", "case", (columns or {}).get("video", "video"), (columns or {}).get("case", "case")}
        return _renamed(read_table(path, texts), columns or {})
    try:
        return _renamed(as_frame(read_json(path)), columns or {})
    except Misuse as error:
        raise FileUnreadable(path.name, [str(error)]) from None


def _renamed(frame: pl.DataFrame, columns: Mapping[str, str]) -> pl.DataFrame:
    """The table under our names; a column of ours that is mapped elsewhere makes way."""
    theirs = {name: ours for ours, name in columns.items() if name in frame.columns and name != ours}
    return frame.drop([ours for ours in theirs.values() if ours in frame.columns]).rename(theirs)


def checked_rows(frame: pl.DataFrame, where: str, moment: str | None = None) -> tuple[pl.DataFrame, str]:
    """The rows with their video as text, and the column that says the moment: the first of `MOMENTS` unless told.

    Raises:
        InputInvalid: No video or moment column, empty cells, moments that are no numbers, repeated rows; all are named.
    """
    if "video" not in frame.columns:
        listed = ", ".join(map(repr, frame.columns))
        raise InputInvalid(where, [f"column 'video' is missing; the table has {listed} (name yours with --unit)"])
    moment = moment or next((name for name in MOMENTS if name in frame.columns), None)
    if moment is None:
        raise InputInvalid(
            where, [f"one of the columns {', '.join(map(repr, MOMENTS))} must say the moment of each row"]
        )
    if frame.is_empty():
        raise InputInvalid(where, ["the table has no rows"])
    if nested := [name for name, kind in frame.schema.items() if _is_nested(name, kind)]:
        raise InputInvalid(
            where, [f"column {name!r} holds lists or objects instead of single values" for name in nested]
        )
    kind = {"frame": pl.Int64, "second": pl.Float64, "case": pl.String}[moment]
    rows = frame.with_columns(pl.col("video").cast(pl.String), _typed(moment, kind))
    problems = _empty_cells(rows, frame, moment) + _repeats(rows, moment)
    if problems:
        raise InputInvalid(where, problems)
    return rows, moment


def _is_nested(name: str, kind: pl.DataType) -> bool:
    return name.split(":", 1)[0] in _USED and (kind.is_nested() or kind == pl.Object or kind == pl.Binary)


def _typed(moment: str, kind: Any) -> pl.Expr:
    """The moment in its kind; what cannot be that (a frame 1.5) becomes empty."""
    number = pl.col(moment).cast(pl.Float64, strict=False) if kind != pl.String else pl.col(moment).cast(pl.String)
    if kind == pl.Int64:
        return (
            pl.when(number.is_finite() & (number == number.round()))
            .then(number)
            .cast(pl.Int64, strict=False)
            .alias(moment)
        )
    if kind == pl.Float64:
        return pl.when(number.is_finite()).then(number.round(_SECOND_DECIMALS)).alias(moment)
    return number


def _empty_cells(rows: pl.DataFrame, frame: pl.DataFrame, moment: str) -> list[str]:
    problems = []
    for name in ("video", moment):
        bad = np.flatnonzero((rows[name].is_null() | (rows[name].cast(pl.String) == "").fill_null(True)).to_numpy())
        if bad.size:
            what = "whole numbers" if name == "frame" else "numbers" if name == "second" else "given"
            shown = frame[name][int(bad[0])]
            problems.append(f"column {name!r}: {bad.size} entries are not {what} (first: row {bad[0] + 1}, {shown!r})")
    return problems


def _repeats(rows: pl.DataFrame, moment: str) -> list[str]:
    if _ascending(rows, moment):
        return []
    twice = rows.filter(pl.struct("video", moment).is_duplicated()).unique(["video", moment], maintain_order=True)
    if twice.is_empty():
        return []
    video, at = twice.select("video", moment).row(0)
    return [f"{twice.height} moments have several rows (first: video {video!r}, {moment} {at})"]


def joined(reference: pl.DataFrame, prediction: pl.DataFrame, *, wanted: Sequence[str] = ()) -> pl.DataFrame:
    """References and predictions of the same moments side by side, in order of video and moment.

    Args:
        reference: Checked or not, with `video` and a moment.
        prediction: The same.
        wanted: Column prefixes taken from the predictions; everything else comes from the references.

    Raises:
        InputInvalid: The two do not hold the same moments; says for which videos, and what the likely reason is.
    """
    both = next((name for name in MOMENTS if name in reference.columns and name in prediction.columns), None)
    left, moment = checked_rows(reference, "references", both)
    right, theirs = checked_rows(prediction, "predictions", both)
    if moment != theirs:
        raise InputInvalid(
            "references and predictions",
            [f"references count by {moment!r}, predictions by {theirs!r}; convert one of them before joining"],
        )
    kept = [name for name in right.columns if name.split(":", 1)[0] in wanted]
    ours, at = left.drop([name for name in kept if name in left.columns]), ["video", moment]
    if left.select(at).equals(right.select(at)):
        return in_order(ours.hstack(right.select(kept)), moment)
    if problems := _unpaired(left, right, moment):
        raise InputInvalid("references and predictions", problems)
    return in_order(ours.join(right.select(*at, *kept), on=at, how="left"), moment)


def in_order(rows: pl.DataFrame, moment: str) -> pl.DataFrame:
    """The rows by video and moment, none of which is there twice; those that are in order cost no sorting."""
    return rows if _ascending(rows, moment) else rows.sort("video", moment)


def _ascending(rows: pl.DataFrame, moment: str) -> bool:
    """Whether each row comes after the one before, so that none is there twice."""
    video, at = pl.col("video"), pl.col(moment)
    later = (video > video.shift()) | ((video == video.shift()) & (at > at.shift()))
    return bool(rows.select(later.slice(1).fill_null(False).all()).item())


def _unpaired(left: pl.DataFrame, right: pl.DataFrame, moment: str) -> list[str]:
    """What does not pair up, video by video; repeats were refused before."""
    at = ["video", moment]
    if left.height == right.height == left.join(right.select(at), on=at, how="semi").height:
        return []
    ours, theirs = (
        {str(video): set(rows[moment].to_list()) for (video,), rows in side.group_by("video", maintain_order=True)}
        for side in (left, right)
    )
    problems = _one_sided(ours, theirs, "has references but no predictions")
    problems += _one_sided(theirs, ours, "has predictions but no references")
    wrong = [video for video in ours if video in theirs and ours[video] != theirs[video]]
    for video in wrong[:_SHOWN_VIDEOS]:
        problems.append(_difference(video, ours[video], theirs[video], moment))
    if len(wrong) > _SHOWN_VIDEOS:
        problems.append(f"{len(wrong) - _SHOWN_VIDEOS} more videos do not hold the same {moment}s on both sides")
    return problems


def _one_sided(ours: Mapping[str, set[Any]], theirs: Mapping[str, set[Any]], text: str) -> list[str]:
    alone = [video for video in ours if video not in theirs]
    problems = [f"video {video!r} {text} ({len(ours[video])} rows)" for video in alone[:_SHOWN_VIDEOS]]
    if more := len(alone) - len(problems):
        problems.append(f"{more} more videos, each of which {text} (videos of a --data-set: see --split and --videos)")
    return problems


def _difference(video: str, ours: set[Any], theirs: set[Any], moment: str) -> str:
    missing, extra = sorted(ours - theirs), sorted(theirs - ours)
    parts = [f"{len(ours)} references and {len(theirs)} predictions"]
    if missing:
        parts.append(f"{len(missing)} {moment}s without prediction (first: {missing[0]})")
    if extra:
        parts.append(f"{len(extra)} {moment}s without reference (first: {extra[0]})")
    steps = [typical_step(side) if moment != "case" else 1.0 for side in (ours, theirs)]
    if steps[0] != steps[1]:
        finer = "references of a --data-set are thinned with --rate-hz"
        coarser = "if predictions count seconds, call their column 'second'"
        parts.append(
            f"references step by {steps[0]:g} and predictions by {steps[1]:g}: they are sampled or numbered at "
            "different frame rates, and equal numbers need not be equal moments; bring both to one numbering "
            f"({finer if steps[0] < steps[1] else coarser})"
        )
    return f"video {video!r}: " + ", ".join(parts)


def with_properties(rows: pl.DataFrame, properties: Any, by: Sequence[str], *, key: str) -> pl.DataFrame:
    """Rows with the columns of `by` from a table of properties; every row finds its properties once.

    Args:
        rows: With the column `key`.
        properties: Table with `key` and the columns.
        by: Columns that are wanted.
        key: `case` or `video`.

    Raises:
        InputInvalid: Columns that are missing, properties told twice or not at all.
    """
    if properties is None:
        raise Misuse(f"--by needs --properties, a table with {key!r} and the columns to report by")
    table = read_records(properties)
    if lacking := [name for name in (key, *by) if name not in table.columns]:
        raise InputInvalid("properties", [f"column {name!r} is missing" for name in lacking])
    table = table.select(pl.col(key).cast(pl.String), *by)
    if table[key].is_duplicated().any():
        raise InputInvalid("properties", [f"a {key} has several rows"])
    if absent := sorted(set(rows[key]) - set(table[key])):
        raise InputInvalid("properties", [f"{len(absent)} {key}s have no row (first: {absent[0]!r})"])
    return rows.join(table, on=key, how="left", maintain_order="left")


def typical_step(moments: Any) -> float:
    """The median distance of neighbouring moments; 1 where there is only one.

    Example:
        >>> typical_step([0, 25, 50])
        25.0
    """
    listed = np.sort(np.asarray(list(moments), dtype=np.float64))
    return float(np.median(np.diff(listed))) if listed.size > 1 else 1.0


def texts(column: pl.Series) -> pl.Series:
    """Labels as text; whole numbers written as such whatever type they were read as, empty cells as None."""
    if column.dtype.is_float():
        whole = bool((column.drop_nulls() == column.drop_nulls().round()).all())
        column = column.fill_nan(None).cast(pl.Int64, strict=False) if whole else column
    listed = column.cast(pl.String).str.strip_chars()
    return listed.set(listed == "", None)


def numbers(frame: pl.DataFrame, names: Sequence[str], where: str, problems: list[str]) -> np.ndarray:
    """Columns as an array of finite floats `[row, column]`; what is none is listed and becomes 0."""
    matrix = np.zeros((frame.height, len(names)))
    for place, name in enumerate(names):
        values = frame[name].cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        if (bad := np.flatnonzero(~np.isfinite(values))).size:
            shown = frame[name][int(bad[0])]
            problems.append(f"{where}: column {name!r}: {bad.size} entries are no finite numbers (first: {shown!r})")
        matrix[:, place] = np.where(np.isfinite(values), values, 0.0)
    return matrix
