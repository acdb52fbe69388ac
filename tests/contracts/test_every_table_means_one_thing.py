"""Every verb reads a table as every other does: the same unit, the same number of units, the same winner or none.

The tables are hostile on purpose; `tables.json` beside them says what is true of each. A verb may refuse where that
says so, and may ask where it says what; the question names the option that answers it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import surgvalid
from repository import TESTS
from surgvalid.audit.study_files import read_study
from surgvalid.errors import DirectionUnknown, SurgvalidError
from surgvalid.host.worker import ranked_board
from surgvalid.report.inputs import read_inputs
from surgvalid.report.sections.verdict import compared
from surgvalid.report.sections.verdict import section as first_page
from surgvalid.results.result import Result
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.table_reading import TableReading, read_scores
from surgvalid.schema.tables.units import UNSAID
from surgvalid.stats.verdict.sentences import sentences_of, title_of
from surgvalid.stats.verdict.who_is_better import NO_INTERVAL

FOLDER = TESTS / "data" / "tables"
TABLES = {one["file"]: one for one in json.loads((FOLDER / "tables.json").read_text(encoding="utf-8"))}
FEWEST_RIGHT = 36
OPTION = re.compile(r"--(unit|columns|better|metric|missing|models|scores)\b|better=")


def options(truth: dict[str, Any]) -> dict[str, Any]:
    """What a user would say of the table."""
    return dict(truth.get("options") or {})


def said(truth: dict[str, Any]) -> dict[str, Any]:
    """The part of that which every verb takes."""
    return {name: value for name, value in options(truth).items() if name in ("better", "metric")}


def reading(file: str) -> TableReading | SurgvalidError:
    try:
        return read_scores(FOLDER / file, **options(TABLES[file]))
    except SurgvalidError as error:
        return error


def expected_units(truth: dict[str, Any]) -> set[int | None]:
    return {truth["units"], *(truth.get("units_also") or ())}


@pytest.mark.parametrize("file", TABLES)
def test_a_table_has_the_unit_that_it_has(file: str) -> None:
    truth, read = TABLES[file], reading(file)
    if isinstance(read, SurgvalidError):
        assert truth.get("refusal_allowed"), read
        return
    assert read.units in expected_units(truth)
    assert read.unit.is_known == (truth["units"] is not None)
    assert {line.code for line in read.interpreted} >= {"unit"}
    assert set(read.table.models) == set(truth["models"])
    if truth["metric"] is not None:
        assert read.metric is not None
        assert read.metric.casefold() == truth["metric"]
    if truth["direction"] is not None and read.table.facts_of(read.metric or "").better is not None:
        assert read.table.facts_of(read.metric or "").better == truth["direction"]


def test_most_tables_are_right_at_once() -> None:
    right = [file for file in TABLES if not isinstance(reading(file), SurgvalidError)]
    assert len(right) >= FEWEST_RIGHT


SAYS = {
    "seeds.csv": ("repeats", r"3 seeds per case averaged.*SD 0\.0"),
    "seeds_within_cases.csv": ("repeats", "3 seeds per case averaged"),
    "repeats_gain.csv": ("repeats", "repeated measurements"),
    "organs.csv": ("parts", "'organ' names parts of a case"),
    "class_columns.csv": ("parts", "'class' names parts of a case"),
    "type_few.csv": ("type", "'surgery' names a kind of operation.*condition"),
    "type_constant.csv": ("type", "'procedure' names a kind of operation.*condition"),
    "missing_one_model.csv": ("missing", "12 scores of A"),
    "not_run_in_one_hospital.csv": ("shared", "compared on 12 of 16 patients.*all of hospital h2"),
    "hd95_mm.csv": ("shared", "compared on 16 of 18 patients"),
    "encoded.csv": ("unit", "10 patients read from the names in 'image': p01, p02"),
    "images_only.csv": ("unit", "no unit of independence is named.*--unit"),
    "rows_of_hidden_patients.csv": ("unit", "no unit of independence is named.*--unit"),
    "seeds.csv ": ("unit", "if each case is another patient"),
    "id.csv": ("unit", "if each case is another patient"),
    "merged_heading.xlsx": ("scale", "read as percent"),
    "metrics_disagree.csv": ("metric", "'hd95' too"),
}


@pytest.mark.parametrize("file", SAYS)
def test_what_was_interpreted_is_told(file: str) -> None:
    code, words = SAYS[file]
    read = reading(file.strip())
    assert isinstance(read, TableReading)
    assert any(line.code == code and re.search(words, line.sentence) for line in read.interpreted), read.interpreted


def _study(file: str, truth: dict[str, Any]) -> Result:
    return surgvalid.study(FOLDER / file, **options(truth))


def _of_two(file: str, truth: dict[str, Any]) -> Result:
    first, second, *_ = truth["models"]
    return surgvalid.compare(FOLDER / file, first, second, **said(truth))


def _strata(file: str, truth: dict[str, Any]) -> Result:
    read = reading(file)
    of_cases = read.table.strata[:1] if isinstance(read, TableReading) else ["any"]
    if not of_cases:
        pytest.skip("nothing describes its cases")
    return surgvalid.strata(FOLDER / file, of_cases, **said(truth))


def _monitored(file: str, truth: dict[str, Any]) -> Result:
    """With dates of their own for all units, where a column of the file names these."""
    read, german = reading(file), file == "german.csv"
    if isinstance(read, SurgvalidError) or not file.endswith(".csv") or not read.unit.is_known:
        pytest.skip("nothing to date")
    how: dict[str, Any] = {"separator": ";", "encoding": "cp1252"} if german else {}
    rows = pl.read_csv(FOLDER / file, infer_schema_length=None, **how)
    if read.unit.level == "E4" or read.unit.column not in rows.columns:
        pytest.skip("no column names units")
    units = rows[read.unit.column].unique(maintain_order=True).to_list()
    dates = {unit: f"{2001 + place}-01-01" for place, unit in enumerate(units)}
    dated = rows.with_columns(date=pl.col(read.unit.column).replace_strict(dates, return_dtype=pl.String))
    return surgvalid.monitor(dated, since=f"{2001 + len(units) // 2}-01-01", **said(truth))


def _pilot(file: str, truth: dict[str, Any]) -> Result:
    return surgvalid.plan(FOLDER / file, width=0.2, models=truth["models"][:1], simulations=100, **said(truth))


VERBS: dict[str, Callable[[str, dict[str, Any]], Result]] = {
    "study": _study,
    "compare": _of_two,
    "interval": lambda file, truth: surgvalid.interval(FOLDER / file, **said(truth)),
    "rank": lambda file, truth: surgvalid.rank(FOLDER / file, replicates=20, **said(truth)),
    "aggregate": lambda file, truth: surgvalid.aggregate(FOLDER / file, **said(truth)),
    "profiles": lambda file, truth: surgvalid.profiles(FOLDER / file, **said(truth)),
    "dependence": lambda file, truth: surgvalid.dependence(FOLDER / file, **said(truth)),
    "plan": _pilot,
    "strata": _strata,
    "monitor": _monitored,
}
ASKS_FOR_SPREAD = {"dependence", "plan"}
"""Verbs whose answer is the spread between units: without a known unit, or with one, they have none."""


def units_of(result: Result) -> set[int]:
    """How many units a result says that it rests on."""
    tables = [result.tables["values"]] if "values" in result.tables else [result.table]
    if "videos_new" in result.table.columns:
        watched = result.table.filter(pl.col("kind") == "value")
        return set((watched["videos_validation"] + watched["videos_new"]).to_list())
    if "baseline_videos" in result.table.columns:
        return set(result.table["baseline_videos"].drop_nulls())
    named = [frame["videos"] for frame in tables if "videos" in frame.columns and "goal" not in frame.columns]
    return {int(count) for column in named for count in column.drop_nulls()}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("file", TABLES)
def test_every_verb_reads_it_so(file: str, verb: str) -> None:
    truth, read = TABLES[file], reading(file)
    try:
        result = VERBS[verb](file, truth)
    except SurgvalidError as error:
        _check_refusal(error, truth, read, verb)
        return
    assert not isinstance(read, SurgvalidError), f"{verb} reads what cannot be read"
    counts = units_of(result)
    if read.unit.is_known:
        if verb == "monitor" and not truth["units"]:
            return  # each model is watched alone, and these have no unit in common
        assert counts <= {*expected_units(truth)} - {None}, f"{verb} counts {counts}"
        return
    codes = {finding.code for finding in result.findings}
    assert "no-unit" in codes
    assert not counts
    assert not re.search(r"\b(videos?|units?)\b|95 ?%", result.prose), result.prose
    for frame in result.tables.values():
        assert "video" not in frame.columns or frame["video"].null_count() == frame.height
        notes = set(frame["note"].drop_nulls()) if "note" in frame.columns else set()
        assert notes <= {UNSAID, "every score reaches it by definition"}
    for name in ("low", "high", "p_value"):
        frame = result.tables.get("pairs", result.table)
        assert name not in frame.columns or "threshold" in frame.columns or frame[name].null_count() == frame.height


def _check_refusal(
    error: SurgvalidError, truth: dict[str, Any], read: TableReading | SurgvalidError, verb: str
) -> None:
    if truth.get("refusal_allowed") or isinstance(error, DirectionUnknown) or isinstance(read, SurgvalidError):
        return
    if verb in ASKS_FOR_SPREAD and not read.unit.is_known:
        assert "--unit" in str(error)
        return
    if verb in ASKS_FOR_SPREAD and (read.units or 0) < 3:
        return
    if verb == "rank" and len(truth["models"]) < 2:
        return
    assert truth["may_ask"], error
    assert OPTION.search(str(error)), error


@pytest.mark.parametrize("file", TABLES)
def test_the_winner_is_one_that_the_table_allows(file: str) -> None:
    truth = TABLES[file]
    try:
        result = _study(file, truth)
    except SurgvalidError:
        return
    found = getattr(result, "judged", None)
    winner = getattr(found, "winner", None)
    assert winner is None or winner in truth["winners_allowed"]
    if found is not None and truth["winner_expected"]:
        assert winner in truth["winners_allowed"]


@pytest.mark.parametrize("file", TABLES)
def test_every_verdict_is_the_same(file: str) -> None:
    truth = TABLES[file]
    if options(truth) != said(truth) or len(truth["models"]) < 2:
        return
    try:
        studied = surgvalid.study(FOLDER / file, **said(truth)).judged
    except SurgvalidError:
        return
    others = [surgvalid.rank(FOLDER / file, replicates=0, **said(truth)).judged]
    if len(truth["models"]) == 2:
        compared = _of_two(file, truth)
        others.append(compared.judged)  # type: ignore[attr-defined]
        assert compared.table["favours"].to_list() == [studied.winner]
    for other in others:
        assert other is not None
        assert (other.kind, other.winner, other.n) == (studied.kind, studied.winner, studied.n)
    if "metric" not in said(truth):
        page = first_page(read_inputs(FOLDER / file, better=truth.get("options", {}).get("better")))
        assert page.title.replace("accuracy", "correct") == title_of(studied)
        assert page.lead.replace("accuracy", "correct") == sentences_of(studied)[0]


def as_answers(read: TableReading, folder: Path) -> list[Path]:
    """The scores in folders as `score` writes them, one for each model, each case a question of one capability."""
    facts = {"metric": "correct", "capability": "duration_estimation", "ood": False}
    rows = read.table.frame.filter(metric=read.metric).with_columns(
        **{name: pl.lit(one) for name, one in facts.items()}
    )
    for model in read.table.models:
        (folder / model).mkdir()
        rows.filter(model=model).write_parquet(folder / model / "scores.parquet")
    return [folder / model for model in read.table.models]


def answered(file: str, folder: Path) -> list[Path]:
    """The folders of a table of shares whose models were all scored on the same cases."""
    read = reading(file)
    if isinstance(read, SurgvalidError) or not read.unit.is_known or len(read.table.models) < 2:
        pytest.skip("no scores of several models with known units")
    facts = read.table.facts_of(read.metric or "")
    whole = read.table.frame.filter(metric=read.metric).drop_nulls("value")
    if (facts.low, facts.high, facts.better) != (0.0, 1.0, "larger") or read.metric not in read.table.metrics:
        pytest.skip("no share of which more is better")
    if whole.height < whole["case"].n_unique() * len(read.table.models):
        pytest.skip("what a missing answer counts as is a rule of its own")
    return as_answers(read, folder)


RULE = {"rule": "focus", "options": {"replicates": 20}, "baselines": [], "unpaid": [], "prize_pool": None}


@pytest.mark.parametrize("file", TABLES)
def test_a_board_of_the_host_says_the_same(file: str, tmp_path: Path) -> None:
    """It names nobody: models that may be first are those that no other is shown to be ahead of, and no others."""
    folders = answered(file, tmp_path)
    judged = surgvalid.study(folders).judged
    board = ranked_board("both", folders, RULE)
    assert judged is not None
    assert set(board.tables["buckets"]["videos"]) == {judged.n}
    first = board.tables["summary"].filter(pl.col("rank_low") == 1)["model"].to_list()
    assert (first == [judged.winner]) == (len(first) == 1), judged.kind
    open_said = [one.code for one in board.findings if one.code in ("first-open", "order-open")]
    assert bool(open_said) == (len(first) > 1)
    assert not [one.text for one in board.findings if "is better" in one.text or "wins" in one.text]


@pytest.mark.parametrize("file", TABLES)
def test_a_supplement_says_the_same(file: str, tmp_path: Path) -> None:
    folders = answered(file, tmp_path)
    made, judged = surgvalid.supplement(folders, replicates=20), surgvalid.study(folders).judged
    rows = made.tables["differences"].filter(metric="correct")
    assert judged is not None
    assert set(rows["videos"]) == {judged.n}
    if rows.height == 1:
        pair, row = judged.deciding, rows.row(0, named=True)
        assert row["favours"] == judged.favours
        ends = (row["low"], row["high"]) if row["model_a"] == pair.model else (-row["high"], -row["low"])
        assert judged.kind in NO_INTERVAL or ends == pytest.approx((pair.low, pair.high), abs=1e-9)
    for row in rows.iter_rows(named=True):
        alone = surgvalid.compare(folders, row["model_a"], row["model_b"]).table.row(0, named=True)
        assert [row[name] for name in ("favours", "low", "high")] == [
            alone[name] for name in ("favours", "low", "high")
        ]


@pytest.mark.parametrize("file", TABLES)
def test_a_supplement_of_a_strangers_table_says_what_it_is_made_of(file: str) -> None:
    if file == "questions.csv":  # it has the metric of questions
        return
    with pytest.raises(SurgvalidError) as caught:
        surgvalid.supplement([FOLDER / file])
    read = reading(file)
    assert isinstance(read, SurgvalidError) or options(TABLES[file]) or "surgvalid score wrote" in str(caught.value)


@pytest.mark.parametrize("file", TABLES)
def test_what_is_independent_is_called_what_it_is(file: str) -> None:
    """No text says videos where patients, cases or images are counted."""
    truth, read = TABLES[file], reading(file)
    if isinstance(read, SurgvalidError) or not read.unit.is_known or read.unit.word == "video":
        return
    for verb in ("compare", "interval"):
        try:
            result = VERBS[verb](file, truth)
        except SurgvalidError:
            continue
        said = [result.prose, *(one.text for one in result.findings if one.code != "no-videos")]
        assert not re.search(r"\bvideos?\b", " ".join(said)), said


@pytest.mark.parametrize("file", ["images_only.csv", "rows_of_hidden_patients.csv"])
def test_nobody_counts_units_that_are_not_known(file: str) -> None:
    assert " from " not in compared(read_inputs(FOLDER / file))


@pytest.mark.parametrize("file", TABLES)
def test_failures_rest_on_the_same_units(file: str) -> None:
    truth, read = TABLES[file], reading(file)
    if isinstance(read, SurgvalidError) or read.unit.level == "E1" or read.metric is None:
        return
    result = surgvalid.failures(FOLDER / file, outcome=read.metric, family="gaussian")
    found = result.table.row(0, named=True)
    if read.unit.is_known:
        alone = found["videos"] is None and read.table.frame["video"].is_unique().all()
        assert alone or found["videos"] in {read.table.frame["video"].n_unique(), *expected_units(truth)}
    else:
        assert found["p_value"] is None


@pytest.mark.parametrize("file", TABLES)
def test_files_rows_and_folders_are_read_alike(file: str, tmp_path: Path) -> None:
    read = reading(file)
    if isinstance(read, SurgvalidError):
        return
    read.table.to_dir(tmp_path)
    again = read_scores(tmp_path, metric=read.metric)
    assert again.unit == read.unit
    assert again.units == read.units
    assert again.interpreted == read.interpreted
    assert again.table.frame.equals(read.table.frame)
    assert again.table.read_as == read.table.read_as
    if not options(TABLES[file]):
        for scores in (read_inputs(FOLDER / file).scores, read_study(FOLDER / file)[0].scores):
            assert isinstance(scores, ScoreTable)
            assert scores.unit == read.unit
            assert scores.frame.equals(read.table.frame)
    if file.endswith(".csv") and file != "german.csv":
        rows = pl.read_csv(FOLDER / file, infer_schema_length=None)
        assert read_scores(rows, **options(TABLES[file])).units == read.units


def test_no_other_door_reads_scores() -> None:
    """Whoever calls the reader of our own rows is the entrance itself."""
    source = Path(surgvalid.__file__).parent
    callers = set()
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "read_score_table" in text and any(
            isinstance(node, ast.Name) and node.id == "read_score_table" for node in ast.walk(ast.parse(text))
        ):
            callers.add(path.name)
    assert callers == {"table_reading.py"}
