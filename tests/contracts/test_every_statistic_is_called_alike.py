"""One way to call things: every statistical function takes a table or its files and gives back one kind of result."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import surgvalid
from nested_tables import nested_frame
from surgvalid.results.result import Result

THEIRS = {"model": "network", "case": "frame", "video": "patient", "value": "score"}
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "interval": ((), {"replicates": 20}),
    "compare": (("M0", "M1"), {"replicates": 20}),
    "strata": ((["view"],), {"replicates": 20}),
    "aggregate": ((), {"phase": "view"}),
    "cooccurrence": ((), {"primary": "view", "secondary": "labels", "replicates": 20}),
    "dependence": ((), {"replicates": 20}),
    "ensembles": ((), {"response": "answer", "replicates": 20}),
    "profiles": ((), {}),
    "rank": (("mean-then-rank",), {"replicates": 20}),
    "failures": ((), {"outcome": "value", "fixed": ["view"], "random": ["model", "video"], "family": "gaussian"}),
    "failures marginal": ((), {"fixed": ["view"], "marginal": True}),
    "failures symbols": (
        (),
        {
            "form": "symbols",
            "outcomes": {"score": "value"},
            "fixed": ["view"],
            "random": ["model", "video"],
            "family": "gaussian",
        },
    ),
    "agreement": ((), {"rater": "model", "label": "answer", "unit": "case", "video": "video", "replicates": 20}),
}
"""Every function that takes scores or ratings, with the answers it can give, and what it needs beside the table."""
NO_SCORES = {"agreement"}
"""Functions of ratings: nothing in them is better or missing, and a score table is no table of ratings."""
NO_TABLE = {"metric_interval"}
"""Functions of cases that were not scored yet."""
RESAMPLING = {
    "interval", "compare", "strata", "failures", "failures marginal", "failures symbols",
    "cooccurrence", "dependence", "ensembles", "rank",
    "agreement",
}  # fmt: skip


def frame() -> pl.DataFrame:
    return nested_frame(videos=8, rows=6).with_columns(
        labels=pl.when(pl.col("case").str.ends_with("1")).then(pl.lit("a;b")).otherwise(pl.lit("a")),
        answer=pl.when(pl.col("value") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")),
    )


def call(name: str, table: Any, **more: Any) -> Result:
    positional, options = CALLS[name]
    result = getattr(surgvalid, name.split()[0])(table, *positional, **{**options, **more})
    assert isinstance(result, Result)
    return result


def same(first: Result, second: Result) -> None:
    assert list(first.tables) == list(second.tables)
    for name, table in first.tables.items():
        assert_frame_equal(second.tables[name], table, check_exact=True)
    assert (second.prose, second.findings) == (first.prose, first.findings)


def parameters(name: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(getattr(surgvalid, name.split()[0])).parameters)


def test_no_statistical_function_is_forgotten() -> None:
    homes = {name: getattr(surgvalid, name).__module__ for name in surgvalid.__all__ if name[0].islower()}
    assert {name for name, home in homes.items() if home.startswith("surgvalid.stats.")} == {
        name.split()[0] for name in CALLS
    } | NO_TABLE


@pytest.mark.parametrize("name", CALLS)
def test_the_arguments_have_one_name_and_one_default(name: str) -> None:
    given = parameters(name)
    assert next(iter(given)) == "table"
    wanted: dict[str, Any] = {"columns": None}
    wanted |= {} if name in NO_SCORES else {"metric": None, "better": None, "missing": None}
    wanted |= {"seed": 42} if name in RESAMPLING else {}
    assert {option: given[option].default for option in wanted} == wanted
    assert all(given[option].kind is inspect.Parameter.KEYWORD_ONLY for option in wanted)
    assert ("replicates" in given, "seed" in given) == (name in RESAMPLING,) * 2
    assert not {"boot", "n_boot", "resamples"} & given.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_frame_a_path_and_a_score_table_give_equal_results(name: str, tmp_path: Path) -> None:
    rows = frame()
    expected = call(name, rows)
    rows.write_parquet(tmp_path / "scores.parquet")
    rows.write_csv(tmp_path / "scores.csv")
    for path in (tmp_path / "scores.parquet", str(tmp_path / "scores.csv"), [tmp_path / "scores.csv"]):
        same(expected, call(name, path))
    if name not in NO_SCORES:
        same(expected, call(name, surgvalid.ScoreTable.of(rows)))


@pytest.mark.parametrize("name", CALLS)
def test_several_files_are_one_table(name: str, tmp_path: Path) -> None:
    rows = frame()
    paths = []
    for (model,), part in rows.group_by("model", maintain_order=True):
        paths.append(tmp_path / f"{model}.csv")
        part.write_csv(paths[-1])
    same(call(name, pl.concat([pl.read_csv(path) for path in paths])), call(name, paths))


@pytest.mark.parametrize("name", CALLS)
def test_columns_under_other_names_give_equal_results(name: str, tmp_path: Path) -> None:
    expected = call(name, frame())
    theirs = frame().rename(THEIRS)
    theirs.write_csv(tmp_path / "scores.csv")
    same(expected, call(name, theirs, columns=THEIRS))
    same(expected, call(name, tmp_path / "scores.csv", columns=THEIRS))


@pytest.mark.parametrize("name", CALLS)
def test_every_result_has_its_table_its_findings_and_can_be_written(name: str, tmp_path: Path) -> None:
    result = call(name, frame())
    assert result.table.height
    assert any(result.table is table for table in result.tables.values())
    assert isinstance(result.findings, tuple)
    assert len(result.notes) + len(result.warnings) == len(result.findings)
    result.to_dir(tmp_path / "out")
    assert (tmp_path / "out" / "manifest.json").is_file()
    assert {f"{table}.csv" for table in result.tables} <= {path.name for path in (tmp_path / "out").iterdir()}
