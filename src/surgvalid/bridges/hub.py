"""Results and scores as the Hugging Face Hub shows them: `.eval_results` of a model, `eval.yaml`, a data set folder.

JSON is YAML, so the documents are written as JSON values under YAML's keys and no package is needed.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surgvalid.bridges.measured import measured, slug
from surgvalid.results.folder import files_below, staged, write_files
from surgvalid.results.manifest import MANIFEST, write_manifest
from surgvalid.studies.study import StudyResult


def write(
    result: StudyResult, folder: str | Path, *, dataset: str, task: str, url: str = "", force: bool = False
) -> list[Path]:
    """Write a folder for the Hub; gives the files, of which `.eval_results/MODEL.yaml` belong to the models' own.

    The Hub has no field for an interval: it stands in `notes`, and the page behind it in `source`.

    Args:
        result: What `surgvalid.study` gave.
        folder: A new one.
        dataset: The benchmark's repository there, `OWNER/NAME`.
        task: The identifier of its task.
        url: Where the page of the study can be read.
        force: Whether what stands there may be replaced.

    Raises:
        WouldOverwrite: The folder holds a result already.
    """
    place, texts = Path(folder), {"README.md": f"{_card(result, dataset)}\n"}
    with staged(place, force=force) as stage:
        for one in measured(result):
            entry: dict[str, Any] = {"dataset": {"id": dataset, "task_id": task}, "value": one.value}
            if url:
                entry["source"] = {"url": url, "name": "surgvalid"}
            entry["notes"] = f"{one.metric}: {one.words}"
            texts[f".eval_results/{slug(one.model)}.yaml"] = f"{_item(entry)}\n"
        config = {"id": task, "config": "default", "split": "test"}
        benchmark = {"name": dataset, "description": result.verdict[0], "evaluation_framework": "surgvalid"}
        tasks = textwrap.indent(_item(config), "  ")
        texts["eval.yaml"] = "\n".join([*_pairs(benchmark), "tasks:", tasks, ""])
        write_files(texts, stage)
        (stage / "data").mkdir()
        result.counted.write_parquet(stage / "data" / "test.parquet")
        write_manifest(stage / MANIFEST, result.manifest(files_below(stage)))
    return sorted(path for path in place.rglob("*") if path.is_file())


def _card(result: StudyResult, dataset: str) -> str:
    files = [{"split": "test", "path": "data/test.parquet"}]
    head = ["---", *_pairs({"configs": [{"config_name": "default", "data_files": files}], "license": "other"}), "---"]
    rows = [f"| {one.model} | {one.value:.4g} | {one.words} |" for one in measured(result)]
    table = ["| model | value | interval |", "|---|---|---|", *rows]
    about = f"Scores of {result.metric.name}, one row for each model and case; `video` names what is independent."
    return "\n".join([*head, f"# {dataset}", "", about, "", *table, "", *result.verdict])


def _pairs(mapping: Mapping[str, Any]) -> list[str]:
    return [f"{key}: {json.dumps(value)}" for key, value in mapping.items()]


def _item(mapping: Mapping[str, Any]) -> str:
    """One entry of a list."""
    return "- " + "\n  ".join(_pairs(mapping))
