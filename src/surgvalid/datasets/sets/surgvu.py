"""SurgVU: stretches of surgical tasks and of installed tools, one folder of two tables per session."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD

_ENDS: dict[str, Any] = {"start_part": pl.Int64, "start_s": pl.Float64, "stop_part": pl.Int64, "stop_s": pl.Float64}
_TASKS = {
    "start_part": pl.Float64, "start_time": pl.Float64, "stop_part": pl.Float64, "stop_time": pl.Float64,
    "groundtruth_taskname": pl.String,
}  # fmt: skip
_TOOLS = {
    "install_case_part": pl.Float64, "install_case_time": pl.String, "uninstall_case_part": pl.Float64,
    "uninstall_case_time": pl.String, "groundtruth_toolname": pl.String, "arm": pl.String,
}  # fmt: skip
_CAMERA, _LONGEST_S = "nan(camera in)", 1e6


def tasks(folder: DataFolder) -> pl.DataFrame:
    """One row per stretch with its task."""
    return _stretches(folder, "task", _TASKS)


def tools(folder: DataFolder) -> pl.DataFrame:
    """One row per installed tool; without an end where it stayed."""
    return _stretches(folder, "tool", _TOOLS)


def _seconds(clock: pl.Series) -> pl.Series:
    """Seconds of times such as 00:43:36.978000; null where it is none."""
    parts = pl.DataFrame([clock.alias("at")]).select(
        pl.col("at").str.extract_groups(r"^([0-9]+):([0-9]{2}):([0-9]{2}(?:\.[0-9]*)?)$")
    )
    numbers = parts.unnest("at").cast(pl.Float64)
    return numbers["1"] * 3600 + numbers["2"] * 60 + numbers["3"]


def _stretches(folder: DataFolder, word: str, columns: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    """The rows of every case that have a name; a stretch that ends before it begins is a problem."""
    ours = dict(zip(columns, (*_ENDS, word, "arm"), strict=False))
    tables = [pl.DataFrame(schema=HEAD | _ENDS | dict.fromkeys(list(ours.values())[4:], pl.String))]
    for path in folder.files(f"labels/case_*/{word}s.csv"):
        table = folder.table(path, columns)
        if table is None:
            continue
        rows = table.rename(ours)
        if word == "tool":
            rows = rows.with_columns(_seconds(rows[end]).alias(end) for end in ("start_s", "stop_s"))
            stayed = [pl.when(pl.col("stop_s") > 0).then(name).alias(name) for name in ("stop_part", "stop_s")]
            rows = rows.with_columns(stayed)
        video = path.parent.name.lower()
        case = pl.format("{}/{}{}", pl.lit(video), pl.lit(word), pl.int_range(pl.len()) + 1).alias("case")
        head = case, pl.lit(video).alias("video"), pl.lit(None, dtype=pl.Int64).alias("frame")
        rows = rows.select(*head, *(pl.col(name).cast(_ENDS.get(name, pl.String)) for name in ours.values()))
        named = rows.with_columns(pl.col(word).str.to_lowercase()).filter(~pl.col(word).is_in(["", _CAMERA]))
        if named.height < rows.height:
            folder.note("left-out", path, f"{rows.height - named.height} rows name no {word}; not read")
        start, stop = (pl.col(f"{end}_part") * _LONGEST_S + pl.col(f"{end}_s") for end in ("start", "stop"))
        if (wrong := named.filter((stop < start) | start.is_null())).height:
            first = f"first: {wrong['case'][0]}"
            folder.problem(
                "malformed", path, f"{wrong.height} stretches end before they begin, or have no time ({first})"
            )
        tables.append(named)
    return pl.concat(tables)
