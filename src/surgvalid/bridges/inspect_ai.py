"""The scores of a study as a log of inspect, one file for each model; its viewer and its data frames open them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid import __version__
from surgvalid.bridges.measured import ModelValue, measured, slug
from surgvalid.errors import WouldOverwrite
from surgvalid.schema.documents import json_text
from surgvalid.studies.study import StudyResult


def write(result: StudyResult, folder: str | Path, *, force: bool = False) -> list[Path]:
    """Write a log for each model into a folder; gives the files.

    A log of inspect has no field for an interval: it stands in the metadata of its metric, beside the standard error.

    Args:
        result: What `surgvalid.study` gave.
        folder: Where the logs go.
        force: Whether files there may be replaced.

    Raises:
        WouldOverwrite: A file is there.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    ends = {f"_surgvalid_{slug(one.model)}.json": one for one in measured(result)}
    if (there := [path for end in ends for path in place.glob(f"*{end}")]) and not force:
        raise WouldOverwrite(there[0])
    for path in there:
        path.unlink()
    # inspect takes no other file for a log than one whose name begins with a time.
    files = {place / f"{now.replace(':', '-')}{end}": one for end, one in ends.items()}
    for path, one in files.items():
        rows = result.counted.filter(pl.col("model") == one.model)
        spread = result.table.filter(pl.col("model") == one.model)["sd"][0]
        path.write_text(json_text(_log(one, now, spread, rows, result.scores.strata)), encoding="utf-8")
    return list(files)


def _log(one: ModelValue, now: str, spread: float | None, rows: pl.DataFrame, properties: list[str]) -> dict[str, Any]:
    """The log; a standard error that is unknown is left out."""
    samples = [_sample(one, row, properties) for row in rows.iter_rows(named=True)]
    note = {"interval": one.words, "low": one.low, "high": one.high, "level": one.level, "unit": one.unit}
    metrics = {"mean": {"name": "mean", "value": one.value, "params": {}, "metadata": note}}
    if spread is not None:
        metrics["stderr"] = {"name": "stderr", "value": spread, "params": {"cluster": "video"}}
    scores = [
        {"name": one.metric, "scorer": one.metric, "params": {}, "scored_samples": len(samples), "metrics": metrics}
    ]
    dataset = {"name": "scores", "samples": len(samples), "sample_ids": [sample["id"] for sample in samples]}
    about = {"created": now, "task": "surgvalid", "dataset": dataset, "model": one.model, "config": {"epochs": 1}}
    return {
        "version": 2,
        "status": "success",
        "eval": {**about, "packages": {"surgvalid": __version__}},
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": scores},
        "stats": {"started_at": now, "completed_at": now, "model_usage": {}},
        "samples": samples,
    }


def _sample(one: ModelValue, row: dict[str, Any], properties: list[str]) -> dict[str, Any]:
    return {
        "id": row["case"],
        "epoch": 1,
        "input": "",
        "target": "",
        "messages": [],
        "output": {"model": one.model, "choices": []},
        "scores": {one.metric: {"value": row["value"]}},
        "metadata": {"video": row["video"], "status": row["status"], **{name: row[name] for name in properties}},
    }
