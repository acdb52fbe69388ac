"""Tables of further kinds, which the reader was not built upon: every verb the same unit, number and winner."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import surgvalid
from hostile_tables import MADE, Hostile, hostile_table
from surgvalid.cli import build_app
from surgvalid.errors import TableInvalid
from surgvalid.report.report import make_report
from surgvalid.schema.tables.table_reading import read_scores


def file_of(table: Hostile, tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_bytes(table.text.encode(table.encoding))
    return path


@pytest.mark.parametrize("name", MADE)
def test_every_verb_says_the_same(name: str, tmp_path: Path) -> None:
    truth = hostile_table(name)
    path = file_of(truth, tmp_path)
    if truth.asks:
        for verb in (read_scores, surgvalid.study, surgvalid.rank, surgvalid.interval, make_report):
            with pytest.raises(TableInvalid, match=re.escape(truth.asks)):
                verb(path)
        return
    read = read_scores(path, better=truth.better)
    assert (read.units, read.unit.word) == (truth.units, truth.unit)
    assert truth.says in " ".join(line.sentence for line in read.interpreted)
    results = [surgvalid.study(path, better=truth.better)]
    if len(read.table.models) > 1:
        results.append(surgvalid.rank(path, replicates=0, better=truth.better))
        results.append(surgvalid.interval(path, better=truth.better))
    if read.metric is not None and "status" not in read.table.frame.columns:
        found = surgvalid.failures(path, outcome=read.metric, better=truth.better).table.row(0, named=True)
        held = {truth.units, read.table.frame["video"].n_unique(), None}  # none: each row is a unit, or nobody says it
        assert found["videos"] in held, found
    if len(read.table.models) == 2:
        results.append(surgvalid.compare(path, *read.table.models, better=truth.better))
    for result in results:
        judged = getattr(result, "judged", None)
        if judged is not None:
            assert (judged.kind, judged.winner) == (truth.kind, truth.winner)
            assert judged.n == truth.units or truth.units is None
        for frame in result.tables.values():
            if truth.units is not None and "videos" in frame.columns and "column" not in frame.columns:
                assert set(frame["videos"].drop_nulls()) <= {truth.units}
        if truth.unit != "video":
            title = "Too few videos, or rare classes"  # of a pitfall
            words = [result.prose, *(one.text for one in result.findings if one.code not in ("no-videos", "no-unit"))]
            assert truth.units is None or not re.search(
                r"(?<!\w)videos?\b(?![-'=])", " ".join(words).replace(title, "")
            ), words


@pytest.mark.parametrize("verb", [("rank", "--resamples", "20"), ("analyse", "dependence"), ("study",)])
def test_a_screen_calls_patients_patients(verb: tuple[str, ...], tmp_path: Path) -> None:
    path = file_of(hostile_table("operations"), tmp_path)
    done = CliRunner().invoke(build_app(), [verb[0], *verb[1:2], str(path), *verb[2:]] if verb[0] == "analyse" else
                              [verb[0], str(path), *verb[1:]])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert not re.search(r"\bvideos?\b(?!')", done.stdout), done.stdout


def test_every_metric_that_disagrees_is_named(tmp_path: Path) -> None:
    told = surgvalid.study(file_of(hostile_table("four_metrics"), tmp_path)).verdict[0]
    assert "by assd A" in told
    assert "by hd95 A" in told


def test_a_reading_that_depends_on_missing_scores_says_which_one_is_sure(tmp_path: Path) -> None:
    told = surgvalid.study(file_of(hostile_table("missing_for_both"), tmp_path)).verdict[0]
    assert "left out, B does better in dice" in told
    assert "counted as the worst value, B only leads" in told


def test_what_is_asked_of_missing_scores_is_not_said_to_be_left_out(tmp_path: Path) -> None:
    path = file_of(hostile_table("units_and_cases_missing"), tmp_path)
    asked, by_default = (surgvalid.compare(path, "A", "B", missing=rule) for rule in ("worst", None))
    codes = [{line.code for line in result.request.interpreted} for result in (asked, by_default)]
    assert {"shared", "missing"} <= codes[1]
    assert not {"shared", "missing"} & codes[0]


def test_an_amount_is_no_mix_of_cases(tmp_path: Path) -> None:
    rows = [f"p{p},{m},{0.7 + p % 7 / 50:.3f},2026-{1 + p // 6:02}-01,{40 + p}" for p in range(24) for m in "AB"]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["patient,model,dice,date,age", *rows]), encoding="utf-8")
    found = surgvalid.monitor(path, since="2026-03-01").table
    assert set(found.filter(found["column"] == "age")["kind"]) <= {"property"}
