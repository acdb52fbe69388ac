"""Every file is read once per verb, and whatever holds rows is taken in place of a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from small_questions import answers, questions
from surgvalid import diff, lint, score, trivial_baselines
from surgvalid.errors import Misuse
from surgvalid.schema import rows
from surgvalid.schema.questions import question_files
from surgvalid.schema.rows import write_json_rows

REQUESTS, REFERENCES = questions()
ROWS: dict[str, list[dict[str, Any]]] = {
    "requests": [item.as_row() for item in REQUESTS],
    "references": [item.as_row() for item in REFERENCES],
    "responses": [item.as_row() for item in answers("moody", REQUESTS, REFERENCES, seed=1)],
}


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, Path]:
    for name, listed in ROWS.items():
        write_json_rows(listed, tmp_path / f"{name}.json")
    return {name: tmp_path / f"{name}.json" for name in ROWS}


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was opened by the reader of rows, and how often question sets were cross-checked."""
    counted: Counter[str] = Counter()
    read, cross_check = rows.row_batches, question_files._cross_check

    def reading(path: Any, **options: Any) -> Iterator[Any]:
        counted[Path(path).name] += 1
        return read(path, **options)

    def checking(*arguments: Any) -> None:
        counted["cross-check"] += 1
        cross_check(*arguments)

    monkeypatch.setattr(question_files, "row_batches", reading)
    monkeypatch.setattr(question_files, "_cross_check", checking)
    return counted


ONCE = {"requests.json": 1, "references.json": 1, "responses.json": 1, "cross-check": 1}


@pytest.mark.parametrize("profile", ["native", "orena-focus-0.4.0"])
def test_score_reads_every_file_once(paths: dict[str, Path], readings: Counter[str], profile: str) -> None:
    score(**paths, profile=profile, judges=["exact"], replicates=2)
    assert readings == ONCE


def test_lint_and_floors_read_every_file_once(paths: dict[str, Path], readings: Counter[str]) -> None:
    lint(**paths)
    assert readings == ONCE
    readings.clear()
    trivial_baselines(paths["requests"], paths["references"])
    assert readings == {name: count for name, count in ONCE.items() if name != "responses.json"}


def _pandas(listed: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(listed)


def _polars(listed: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(listed, infer_schema_length=None)


SHAPES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "dictionaries": list,
    "polars": _polars,
    "lazy polars": lambda listed: _polars(listed).lazy(),
    "pandas": _pandas,
    "arrow": lambda listed: pa.Table.from_pylist(listed),
    "two tables": lambda listed: [_polars(listed[:20]), _pandas(listed[20:])],
    "a generator": iter,
}


def flat(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose cells a table can hold: parameters as text."""
    return [
        {**row, "format_kwargs": json.dumps(row["format_kwargs"])} if "format_kwargs" in row else row for row in listed
    ]


@pytest.mark.parametrize("profile", ["native", "orena-focus-0.4.0"])
@pytest.mark.parametrize("shape", SHAPES)
def test_tables_and_dictionaries_score_as_files_do(paths: dict[str, Path], shape: str, profile: str) -> None:
    options: dict[str, Any] = {"profile": profile, "judges": ["exact"], "replicates": 5}
    made = {n: SHAPES[shape](listed if shape == "dictionaries" else flat(listed)) for n, listed in ROWS.items()}
    if shape == "a generator":
        made = {name: iter(listed) for name, listed in ROWS.items()}
    mine, theirs = score(**made, **options), score(**paths, **options)
    assert mine.summary.equals(theirs.summary)
    assert mine.results.equals(theirs.results)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "a generator"])
def test_lint_floors_and_diff_take_tables_too(paths: dict[str, Path], shape: str, tmp_path: Path) -> None:
    made = {name: SHAPES[shape](flat(listed)) for name, listed in ROWS.items()}
    counts = lint(**made).counts
    assert counts == lint(**paths).counts
    with_tables = trivial_baselines(made["requests"], made["references"]).table
    assert with_tables.equals(trivial_baselines(paths["requests"], paths["references"]).table)
    if shape in ("two tables", "lazy polars"):
        return
    result = score(**paths, judges=["exact"], replicates=2)
    result.to_dir(tmp_path / "out")
    scored = SHAPES[shape](result.results.to_dicts())
    assert diff(scored, tmp_path / "out").equal


def test_identifiers_that_pandas_made_numbers_are_matched_and_said() -> None:
    asked = [{**row, "qID": str(i)} for i, row in enumerate(ROWS["requests"])]
    known = [{**row, "qID": str(i)} for i, row in enumerate(ROWS["references"])]
    given = pd.DataFrame({"qID": range(5), "content": ["yes"] * 5})
    assert lint(asked, given, known).counts["id-not-text"] == 5


@pytest.mark.parametrize("odd", [[5], 5, [None], [object()]])
def test_what_holds_no_rows_is_misuse(odd: Any) -> None:
    with pytest.raises(Misuse, match="responses: expected a path, a table, a dictionary or a Response, got"):
        lint(ROWS["requests"], odd, ROWS["references"])
