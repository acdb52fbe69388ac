"""Every public question set becomes question files that `score` reads: right answers are right, others are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import surgvalid
from data_set_files import BUILDERS
from surgvalid.datasets import DATA_SETS, open_data_set, question_rows

SETS = [
    (name, task)
    for name in DATA_SETS
    for task, one in open_data_set(name).tasks.items()
    if one.compared is not None and one.compared.questions
]


def test_the_four_sets_are_there() -> None:
    assert {name for name, _ in SETS} == {"cholec80_vqa", "endovis18_vqa", "pitvqa", "ssg_vqa"}


@pytest.mark.parametrize(("name", "task"), SETS)
def test_a_question_set_is_scored_from_its_files(name: str, task: str, tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    BUILDERS[name](root)
    references = open_data_set(name).references(root, task=task)
    requests, answers = question_rows(references, capability="object_recognition")
    responses = [{"qID": row["qID"], "content": row["answer"], "latency": 1.0} for row in answers]
    responses[0]["content"] = "something else"
    for stem, rows in (("requests", requests), ("references", answers), ("responses", responses)):
        (tmp_path / f"{stem}.json").write_text(json.dumps(rows))
    files = [tmp_path / f"{stem}.json" for stem in ("requests", "references", "responses")]
    result = surgvalid.score(*files, judges=["exact"], replicates=10)
    scores = result.scores.frame.filter(pl.col("metric") == "correct")
    assert scores.height == len(requests)
    wrong = scores.filter(pl.col("value") != 1)["case"].to_list()
    assert wrong == [responses[0]["qID"]]
    assert set(scores["video"]) == set(references.table["video"])
