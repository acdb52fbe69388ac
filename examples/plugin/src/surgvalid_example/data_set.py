"""Phases in one text file per video, a line per second: the simplest layout that can be evaluated."""

from __future__ import annotations

import polars as pl

from surgvalid.datasets import Comparison, DataFolder, DataSet, DataTask

_COLUMNS = {"case": pl.String, "video": pl.String, "frame": pl.Int64, "phase": pl.String}
_PHASES = ("preparation", "dissection", "closure")


def _phases(folder: DataFolder) -> pl.DataFrame:
    rows = []
    for path in folder.files("*.txt"):
        lines = folder.lines(path)
        if not lines:
            folder.problem("malformed", path, "empty file")
        for second, phase in enumerate(lines):
            if phase not in _PHASES:
                folder.problem("malformed", path, f"line {second + 1}: expected a phase, got {phase[:40]!r}")
            rows.append((f"{path.stem}/{second}", path.stem, second, phase))
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


DATA_SET = DataSet(
    name="phase_lists",
    title="Phases in lists",
    citation="none: an example",
    source="made by this package",
    checked_against="itself",
    licence="CC0-1.0",
    tasks={
        "phase": DataTask(
            summary="phases, one line per second",
            read=_phases,
            clock="seconds",
            rate_hz=1.0,
            compared=Comparison(kind="phases", label="phase", options={"classes": _PHASES}),
        )
    },
    notes=("An example; nobody has published it.",),
)
