"""Labels and scores of frames from what models write: text files per video, arrays, list columns, saved data sets.

    folder of VIDEO.txt       `frame label` lines with or without a header, one label per line, or MS-TCN's two lines
    folder of VIDEO.npy       scores `[moment, class]`
    VIDEO.npz, folder of them `scores` `[moment, class]`, with `frames` where they are not in order
    one NPZ                   `video`, `frame`, `scores` (and `prediction`) row by row, or an array per video
    Parquet, saved data set   list columns `scores` (one number per class) or `prediction` (names of the classes there)

Rows without a number of their own are about the references of their video in order, and only where there are as many.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse
from surgvalid.evaluation.predictions.plain_files import (
    is_saved_data_set,
    read_json,
    read_npy,
    read_npz,
    read_saved_data_set,
    read_table,
)
from surgvalid.evaluation.video_names import same_videos
from surgvalid.schema.documents import read_text
from surgvalid.schema.left_behind import put_there

_ENDINGS = re.compile(
    r"([-_](phase|phases|pred|preds|prediction|predictions|label|labels|scores|result))+$", re.IGNORECASE
)
_BEGINNINGS = re.compile(r"^(label|labels|pred|scores)[-_]", re.IGNORECASE)
_MS_TCN = "### Frame level recognition: ###"
_KINDS = (".txt", ".npy", ".npz", ".csv", ".tsv", "")
_TABLES = (".csv", ".tsv")
_RECOGNITION = "recognition"
"""Where files of the CholecTriplet challenge keep the scores of frames."""


class Labels(NamedTuple):
    """Rows of predictions, and what was found out about them."""

    frame: pl.DataFrame
    """`video`, `frame` or (where rows are in order) `place`, and `prediction` or `score:<class>`."""
    form: str


def holds_labels(path: Path) -> bool:
    """Whether a path is of the kinds that are read here and not a plain table."""
    if path.is_dir():
        return True
    return path.suffix.lower() in (".npz", ".npy", ".txt") or (path.suffix.lower() == ".json" and _is_by_video(path))


def _is_by_video(path: Path) -> bool:
    """Whether a JSON file holds labels or scores by video, and not rows or columns of a table."""
    content = read_json(path) if path.is_file() else None
    if not isinstance(content, dict) or not content or {"video", "frame", "prediction", "reference"} & set(content):
        return False
    return all(isinstance(one, list | dict) for one in content.values())


def _by_video(path: Path, classes: Sequence[str]) -> Labels:
    """`{video: [label, ...]}`, `{video: {frame: label}}`, or `{video: {"recognition": {frame: [score, ...]}}}`."""
    parts = []
    for video, given in read_json(path).items():
        frames = given.get(_RECOGNITION, given) if isinstance(given, dict) else None
        if frames is None:
            parts.append(_in_order(video, [str(label) for label in given], "a list of labels per video"))
            continue
        if not isinstance(frames, dict) or not all(str(frame).isdecimal() for frame in frames):
            raise FileUnreadable(str(path), [f"video {video!r}: expected frame numbers with labels or scores"])
        numbers, values = [int(frame) for frame in frames], list(frames.values())
        if all(isinstance(one, list) for one in values):
            parts.append(_scores(video, np.array(values, dtype=np.float64), np.array(numbers), classes, path))
        else:
            columns = {"video": [video] * len(numbers), "frame": numbers, "prediction": [str(one) for one in values]}
            parts.append(Labels(pl.DataFrame(columns), "frame and label per video"))
    return _joined(parts, path)._replace(form=f"JSON by video: {parts[0].form}")


def _table(path: Path, video: str) -> Labels:
    """The table of one video, which its file names where no column does."""
    frame = read_table(path, ("video",))
    named = frame if "video" in frame.columns else frame.with_columns(pl.lit(video).alias("video"))
    return Labels(named, "a table")


def read_labels(path: Path, classes: Sequence[str]) -> Labels:
    """The labels or scores of every video in a file or folder.

    Args:
        path: The file or folder.
        classes: The declared classes, in the order of the columns of scores.

    Raises:
        FileUnreadable: Nothing that is known.
        Misuse: Scores whose columns no classes name.
    """
    if path.is_dir() and is_saved_data_set(path):
        return Labels(read_saved_data_set(path), "a saved data set (Arrow files)")
    if not path.is_dir():
        return _one_file(path, classes, video_of(path))
    files = _files(path)
    kinds = {one.suffix.lower() or ".txt" for one in files}
    if len(kinds) != 1:
        listed = ", ".join(sorted(kinds)) or "none"
        raise FileUnreadable(str(path), [f"expected text or array files of one kind, one per video, got {listed}"])
    if kinds == {".txt"}:
        return _joined([_text(one, video) for one, video in files.items()], path)
    parts = [_one_file(one, classes, video) for one, video in files.items()]
    return _joined(parts, path)


def _files(folder: Path) -> dict[Path, str]:
    """The file of every video and the video: named after it, or alone in a folder that is (`video_41/actions.txt`)."""
    here = [one for one in put_there(folder.iterdir(), folder) if one.is_file() and one.suffix.lower() in _KINDS]
    if here:
        return {one: video_of(one) for one in here}
    below = [one for one in put_there(folder.glob("*/*"), folder) if one.is_file() and one.suffix.lower() in _KINDS[:5]]
    crowded = sorted({one.parent.name for one in below if sum(other.parent == one.parent for other in below) > 1})
    if crowded:
        shown = ", ".join(crowded[:3])
        mend = "keep one per video, or name a public data set with --data-set"
        raise FileUnreadable(str(folder), [f"several text or array files in a folder ({shown}); {mend}"])
    return {one: one.parent.name for one in below}


def video_of(path: Path) -> str:
    """The video that a file is named after, without what tools add.

    Example:
        >>> video_of(Path("video42_pred.txt")), video_of(Path("label_07.txt")), video_of(Path("43-ms-tcn"))
        ('video42', '07', '43-ms-tcn')
    """
    return _BEGINNINGS.sub("", _ENDINGS.sub("", path.stem if path.suffix else path.name))


def _joined(parts: list[Labels], path: Path) -> Labels:
    if len({tuple(one.frame.columns) for one in parts}) > 1:
        forms = sorted({one.form for one in parts})
        raise FileUnreadable(str(path), [f"files of different forms: {'; '.join(forms)}"])
    form = sorted({one.form for one in parts})
    return Labels(pl.concat([one.frame for one in parts]), f"{len(parts)} files, one per video: {'; '.join(form)}")


def _text(path: Path, video: str) -> Labels:
    """The labels of one video's text file."""
    lines = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    if not lines:
        raise FileUnreadable(str(path), ["no labels"])
    if lines[0] == _MS_TCN:
        return _in_order(video, " ".join(lines[1:]).split(), "MS-TCN's list of labels")
    rows = [_cells(line) for line in lines]
    moment = "frame"
    if _is_header(rows):
        moment = "second" if rows[0][0].lower() in ("second", "seconds") else "frame"
        rows = rows[1:]
    if all(len(row) == 2 and row[0].isdecimal() for row in rows):
        numbers = [int(row[0]) for row in rows]
        frame = pl.DataFrame({"video": [video] * len(rows), moment: numbers, "prediction": [row[1] for row in rows]})
        return Labels(frame, f"{moment} and label per line")
    if all(len(row) == 1 for row in rows):
        return _in_order(video, [row[0] for row in rows], "one label per line")
    shown = next((line for line in lines if len(_cells(line)) not in (1, 2)), lines[0])
    raise FileUnreadable(str(path), [f"expected a frame number and a label, or a label, per line; got {shown[:60]!r}"])


def _cells(line: str) -> list[str]:
    """The cells of a line; between tabs a label may have blanks."""
    return [cell.strip() for cell in re.split(r"\t+" if "\t" in line else r"[,; ]+", line)]


def _is_header(rows: list[list[str]]) -> bool:
    """Whether the first line names columns: no number above numbers, or one of the usual words alone."""
    first, rest = rows[0], rows[1:]
    if len(first) == 1:
        return first[0].lower() in ("phase", "label", "prediction")
    return bool(rest) and not first[0].isdecimal() and all(row[0].isdecimal() for row in rest)


def _in_order(video: str, labels: Sequence[str], form: str) -> Labels:
    columns = {"video": [video] * len(labels), "place": range(len(labels)), "prediction": labels}
    return Labels(pl.DataFrame(columns), f"{form}, in the order of the references")


def _one_file(path: Path, classes: Sequence[str], video: str) -> Labels:
    if path.suffix.lower() == ".txt":
        return _text(path, video)
    if path.suffix.lower() == ".json":
        return _by_video(path, classes)
    if path.suffix.lower() in _TABLES:
        return _table(path, video)
    if path.suffix.lower() == ".npy":
        return _scores(video, read_npy(path), None, classes, path)
    arrays = read_npz(path)
    if "video" in arrays:
        return _rows(arrays, classes, path)
    if "scores" in arrays or "logits" in arrays or "probabilities" in arrays:
        values = next(arrays[name] for name in ("scores", "probabilities", "logits") if name in arrays)
        moments = next((arrays[name] for name in ("frames", "frame") if name in arrays), None)
        return _scores(video, values, moments, classes, path)
    parts = [_scores(name, array, None, classes, path) for name, array in arrays.items()]
    if not parts:
        raise FileUnreadable(str(path), ["no arrays"])
    return _joined(parts, path)


def _scores(video: str, values: np.ndarray, moments: np.ndarray | None, classes: Sequence[str], path: Path) -> Labels:
    if values.ndim == 1 and values.dtype.kind in "iuU":
        return _in_order(video, [str(label) for label in values.tolist()], "an array of labels")
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise FileUnreadable(
            str(path), [f"expected scores [moment, class], got {values.dtype} of shape {values.shape}"]
        )
    names = _class_names(values.shape[1], classes, path)
    wide = {f"score:{name}": values[:, place].astype(np.float64) for place, name in enumerate(names)}
    at = {"place": range(len(values))} if moments is None else {"frame": moments.astype(np.int64)}
    how = "in the order of the references" if moments is None else "by frame number"
    return Labels(pl.DataFrame({"video": [video] * len(values), **at, **wide}), f"scores per class, {how}")


def _class_names(width: int, classes: Sequence[str], path: Path) -> list[str]:
    if not classes:
        raise Misuse(
            f"{path.name} holds {width} scores per moment and no names; name the classes in order with --classes"
        )
    if len(classes) != width:
        raise InputInvalid(path.name, [f"{width} scores per moment, but {len(classes)} classes: {', '.join(classes)}"])
    return [str(name) for name in classes]


def _rows(arrays: Mapping[str, np.ndarray], classes: Sequence[str], path: Path) -> Labels:
    """Arrays with one entry per row of a table."""
    rows = len(arrays["video"])
    problems = [
        f"array {name!r} has shape {array.shape}, expected {rows} rows"
        for name, array in arrays.items()
        if not array.ndim or len(array) != rows
    ]
    problems += [
        f"array {name!r} has shape {arrays[name].shape}, expected one column for each of {len(classes)} classes"
        for name in ("reference", "prediction", "scores")
        if classes and name in arrays and arrays[name].ndim == 2 and arrays[name].shape[1] != len(classes)
    ]
    if "frame" not in arrays:
        problems.append("array 'frame' is missing")
    if problems:
        raise InputInvalid(path.name, problems)
    columns: dict[str, Any] = {"video": arrays["video"].astype(str), "frame": arrays["frame"]}
    for name, prefix in (("reference", "reference"), ("prediction", "prediction"), ("scores", "score")):
        if name in arrays and arrays[name].ndim == 2:
            names = _class_names(arrays[name].shape[1], classes, path)
            columns |= {f"{prefix}:{label}": arrays[name][:, place] for place, label in enumerate(names)}
        elif name in arrays:
            columns[name] = arrays[name]
    return Labels(pl.DataFrame(columns), "arrays row by row")


def unlisted(frame: pl.DataFrame, classes: Sequence[str]) -> pl.DataFrame:
    """The table with list columns of scores or labels as one column per class.

    Raises:
        Misuse: A list of scores whose classes nobody names.
        InputInvalid: Lists of another length than there are classes.
    """
    for name, prefix in (
        ("scores", "score"),
        ("score", "score"),
        ("probabilities", "score"),
        ("prediction", "prediction"),
    ):
        kind = frame.schema.get(name)
        if not isinstance(kind, pl.List | pl.Array):
            continue
        if kind.inner == pl.String:
            seen = classes or sorted(set(frame[name].explode().drop_nulls().to_list()))
            held = [pl.col(name).list.contains(label).cast(pl.Int64).alias(f"{prefix}:{label}") for label in seen]
            frame = frame.with_columns(held).drop(name)
            continue
        listed = frame[name].cast(pl.List(pl.Float64))
        widths = listed.list.len().unique().to_list()
        if len(widths) != 1:
            raise InputInvalid(name, [f"lists of different lengths: {', '.join(map(str, sorted(widths)[:5]))}"])
        names = _class_names(int(widths[0]), classes, Path(name))
        frame = frame.with_columns(
            listed.list.get(place).alias(f"{prefix}:{label}") for place, label in enumerate(names)
        )
        frame = frame.drop(name)
    return frame


def in_order_of(references: pl.DataFrame, predictions: pl.DataFrame, moment: str) -> pl.DataFrame:
    """Predictions that only have a place, with the moments of their video's references in order.

    Raises:
        InputInvalid: A video with more or fewer predictions than references; every one is named.
    """
    ours = references.select(pl.col("video").cast(pl.String), moment).sort("video", moment)
    ours = ours.with_columns(pl.int_range(pl.len()).over("video").alias("place"))
    counts = ours.group_by("video").len().rename({"len": "ours"})
    theirs = predictions.group_by("video").len().rename({"len": "theirs"})
    both = counts.join(theirs, on="video", how="inner").filter(pl.col("ours") != pl.col("theirs")).sort("video")
    if both.height:
        raise InputInvalid(
            "predictions",
            [
                f"video {video!r}: {theirs} predictions without numbers for {ours} references; which moments they are "
                "about cannot be known (thin the references with --rate-hz, or write frame numbers)"
                for video, ours, theirs in both.head(5).iter_rows()
            ],
        )
    kept = predictions.with_columns(pl.col("place").cast(pl.Int64))
    joined = kept.join(ours.with_columns(pl.col("place").cast(pl.Int64)), on=["video", "place"], how="left")
    return joined.with_columns(pl.coalesce(pl.col(moment), pl.col("place").cast(ours.schema[moment]))).drop("place")


def matched_videos(references: Sequence[str], predictions: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Predictions under the references' names of videos, and a word on those that were called otherwise."""
    renamed = same_videos(references, predictions["video"].unique(maintain_order=True).to_list())
    if not renamed:
        return predictions, ""
    shown = ", ".join(f"{theirs} as {ours}" for theirs, ours in list(renamed.items())[:3])
    return predictions.with_columns(pl.col("video").replace(renamed)), f"videos by name in another spelling ({shown})"
