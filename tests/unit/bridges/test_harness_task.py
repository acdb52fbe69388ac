"""A task of ours for other harnesses; the harnesses themselves run it in tests/bridges."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from surgvalid import interval
from surgvalid.bridges import harness_task
from surgvalid.errors import Misuse, WouldOverwrite
from surgvalid.schema.tables.table_reading import read_scores
from surgvalid.video import write_png

TASK = """
title = "Clip"
summary = "Whether a clip is there"
prompts = "prompts.toml"
[data]
layout = "cases"
[media]
kind = "image"
files = ["{file}"]
[answer]
form = "choice"
classes = ["clip", "nothing"]
column = "object"
[metrics]
names = ["accuracy"]
headline = "accuracy"
"""


def own_task(folder: Path, text: str = TASK, *, patients: bool = False) -> Path:
    """Twelve images of four videos, of two patients where they are told."""
    folder.mkdir()
    rows = ["case,video,file,object" + ",patient" * patients]
    for number in range(12):
        write_png(np.full((8, 8, 3), 20 * number, dtype=np.uint8), folder / f"{number}.png")
        named = "clip" if number % 2 else "nothing"
        rows.append(f"c{number},v{number // 3},{number}.png,{named}" + f",p{number // 6}" * patients)
    (folder / "cases.csv").write_text("\n".join(rows))
    (folder / "prompts.toml").write_text("[[prompt]]\nfamily = 'chat'\nversion = 'mended'\ntext = 'clip or nothing?'\n")
    path = folder / "clip.toml"
    path.write_text(text)
    return path


class Loader(yaml.SafeLoader):
    """Takes functions of lmms-eval for their names."""


Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def functions(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("lmms_eval_task", folder / "lmms_eval_task.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cases_media_and_clusters_are_in_the_folder(tmp_path: Path) -> None:
    folder = harness_task.write(own_task(tmp_path / "own"), tmp_path / "own", tmp_path / "out")
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    assert [(row["id"], row["video"], row["target"]) for row in rows[:3]] == [
        ("c0", "v0", "nothing"),
        ("c1", "v0", "clip"),
        ("c2", "v0", "nothing"),
    ]
    for row in rows:
        image, text = row["parts"]
        assert (folder / image["image"]).read_bytes() == (tmp_path / "own" / f"{row['id'][1:]}.png").read_bytes()
        assert text == {"text": "clip or nothing?"}
    document = yaml.load((folder / "clip.yaml").read_text(), Loader)
    assert document["cluster_key"] == "video"
    assert document["metric_list"][0]["metric"] == "accuracy_score"
    assert 'stderr(cluster="video")' in (folder / "inspect_task.py").read_text()
    with pytest.raises(WouldOverwrite):
        harness_task.write(tmp_path / "own" / "clip.toml", tmp_path / "own", folder)


def test_what_lmms_eval_would_log_is_read_with_patients_as_units(tmp_path: Path) -> None:
    folder = harness_task.write(own_task(tmp_path / "own", patients=True), tmp_path / "own", tmp_path / "out")
    asked = functions(folder)
    lines = (folder / "cases.jsonl").read_text().splitlines()
    docs = sorted(map(json.loads, lines), key=lambda doc: int(doc["id"][1:]))
    assert asked.images(docs[0])[0].size == (8, 8)
    assert asked.text(docs[0]) == "clip or nothing?"
    said = ["It is a clip, I think.", "nothing", "no idea"]
    scores = [asked.scored(doc, [said[number % 3]]) for number, doc in enumerate(docs)]
    right = [(said[n % 3] == "nothing" and n % 2 == 0) or (n % 3 == 0 and n % 2 == 1) for n in range(12)]
    assert [one["accuracy_score"]["score"] for one in scores] == [float(one) for one in right]
    place = tmp_path / "org__m"
    place.mkdir()
    logged = [{"doc_id": n, "target": docs[n]["target"], **one} for n, one in enumerate(scores)]
    (place / "20260101_000000_samples_clip.jsonl").write_text("\n".join(map(json.dumps, logged)))
    results = {
        "results": {"clip": {"accuracy_score,none": asked.mean([one["accuracy_score"] for one in scores])}},
        "configs": {"clip": {"cluster_key": "patient"}},
        "higher_is_better": {"clip": {"accuracy_score": True}},
        "model_name": "org/m",
    }
    (place / "20260101_000000_results.json").write_text(json.dumps(results))
    reading = read_scores(place)
    assert (reading.unit.column, reading.units) == ("patient", 2)
    assert interval(place).table["value"][0] == pytest.approx(sum(right) / 12)


def test_another_form_of_answer_is_refused(tmp_path: Path) -> None:
    labels = TASK.replace('"choice"', '"labels"').replace('column = "object"', 'columns = ["clip", "none"]')
    path = own_task(tmp_path / "own", labels)
    table = path.with_name("cases.csv")
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0] + ",clip,none", *(f"{line},0,1" for line in lines[1:])]))
    with pytest.raises(Misuse, match="task 'clip' asks for labels; only a choice can be handed on"):
        harness_task.write(path, tmp_path / "own", tmp_path / "out")
