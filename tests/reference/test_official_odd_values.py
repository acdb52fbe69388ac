"""Values that only an odd file has, through the whole of `score`: the toolkit's bytes, not an end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.official_toolkit import import_focus

from surgvalid import score

focus = import_focus()
from focus.evaluation.evaluator import Evaluator  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

REQUEST = {"videoID": "v1", "start_time": 0, "end_time": 1, "procedure_type": "p", "question": "?"}
REFERENCE = {"primary": "1a", "format": "binary", "answer": "yes"}
RESPONSE = {"content": "yes", "latency": 1.5}


def files(folder: Path, changes: dict[str, dict[int, dict[str, Any]]], questions: int = 6) -> dict[str, Path]:
    paths = {}
    for name, row in (("requests", REQUEST), ("references", REFERENCE), ("responses", RESPONSE)):
        changed = changes.get(name, {})
        rows = [{"qID": f"q{i}", **row, **changed.get(i, {})} for i in range(questions)]
        paths[name] = folder / f"{name}.json"
        paths[name].write_text(json.dumps(rows), encoding="utf-8")
    return paths


def same_id(value: Any, row: int) -> dict[str, dict[int, dict[str, Any]]]:
    return {name: {row: {"qID": value}} for name in ("requests", "references", "responses")}


def merged(*changes: dict[str, dict[int, dict[str, Any]]]) -> dict[str, dict[int, dict[str, Any]]]:
    names = {name for change in changes for name in change}
    return {name: {row: v for change in changes for row, v in change.get(name, {}).items()} for name in names}


ODD = {
    "an empty video": {"requests": {0: {"videoID": ""}}},
    "an empty and a blank video": {"requests": {0: {"videoID": ""}, 1: {"videoID": " "}}},
    "no video": {"requests": {2: {"videoID": None}}},
    "videos 1 and '1'": {"requests": {0: {"videoID": 1}, 1: {"videoID": "1"}, 2: {"videoID": 1.0}}},
    "identifiers 1 and '1'": merged(same_id(1, 0), same_id("1", 1)),
    "identifiers 1, '1', true and '1.0'": merged(same_id(2, 0), same_id("2", 1), same_id(True, 2), same_id("2.0", 3)),
    "an empty and a blank identifier": merged(same_id("", 0), same_id(" ", 1)),
    "null for an identifier": same_id(None, 0),
    "identifiers that differ in spaces": merged(same_id("q9", 0), same_id("q9 ", 1)),
    "an answer only to '1'": merged(same_id("1", 1), {"requests": {0: {"qID": 1}}, "references": {0: {"qID": 1}}}),
    **{
        f"a latency of {value}": {"responses": {0: {"latency": value}}}
        for value in (2**63, 2**63 - 1, 2**64, 2**64 - 1, -(2**63), -(2**63) - 1, 10**30, True, 0, -0.0, 1e400)
    },
    "latencies of 2**63 and -1": {"responses": {0: {"latency": 2**63}, 1: {"latency": -1}}},
    "latencies of whole numbers": {"responses": {i: {"latency": 2**63 + i} for i in range(6)}},
}


@pytest.mark.parametrize("limit_s", [None, 5.0])
@pytest.mark.parametrize("name", ODD)
def test_both_files_are_equal_to_the_byte(tmp_path: Path, name: str, limit_s: float | None) -> None:
    paths = files(tmp_path, ODD[name])
    loaders = (focus.load_requests, focus.load_references, focus.load_responses)
    items = [load(paths[part]) for load, part in zip(loaders, ("requests", "references", "responses"), strict=True)]
    Evaluator(judges=[], n_boot=20).run(*items, max_latency=limit_s, output_dir=tmp_path / "official")
    options: dict[str, Any] = {"profile": "orena-focus-0.4.0", "max_latency_s": limit_s, "replicates": 20}
    score(**paths, **options).to_dir(tmp_path / "ours")
    for file in ("results.csv", "summary.csv"):
        assert (tmp_path / "ours" / file).read_bytes() == (tmp_path / "official" / file).read_bytes(), file
