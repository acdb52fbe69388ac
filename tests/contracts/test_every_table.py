"""What holds for every published table: it is declared, something writes it, and its producer builds it as declared."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from quick_demo import quick_demo
from report_folder import shared_challenge
from surgvalid.errors import TableInvalid
from surgvalid.results.tables import KINDS, OFFICIAL_SUMMARY, TABLES, Table, number, text, whole, yes_no
from surgvalid.results.tables import table as table_module
from table_makers import MAKERS

DECLARED = [(verb, name) for verb, tables in TABLES.items() for name in tables]
made = cache(lambda verb: MAKERS[verb]())


@pytest.mark.long
def test_every_declared_table_is_written_by_its_verb() -> None:
    assert [(verb, name) for verb, name in DECLARED if name not in made(verb)] == []


@pytest.mark.parametrize("verb", MAKERS)
def test_every_table_that_a_verb_makes_is_declared(verb: str) -> None:
    assert [name for name in made(verb) if name not in TABLES[verb]] == []
    for name, frame in made(verb).items():
        _as_declared(frame, TABLES[verb][name])


@pytest.mark.parametrize(("verb", "name"), DECLARED)
def test_a_renamed_column_fails_at_its_producer(verb: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made(verb)  # whole, before anything is renamed: the order of tests decides nothing
    table = TABLES[verb][name]
    columns = dict(table.columns)
    old, column = columns.popitem()
    monkeypatch.setattr(table, "columns", {**columns, "renamed": column})
    with pytest.raises(TableInvalid, match=f"table {name!r}.*column 'renamed' is not given"):
        MAKERS[verb]()
    assert old not in table.columns


@pytest.mark.long
def test_every_table_in_the_folder_of_a_challenge_is_declared() -> None:
    assert _checked_verbs(shared_challenge()) == {"score", "rank", "failures", "floors", "simulate"}


@pytest.mark.long
def test_every_table_in_the_folder_of_the_demo_is_declared(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = quick_demo(tmp_path_factory, tmp_path / "demo", name="demo").folder
    assert _checked_verbs(folder) >= {"score", "rank", "failures", "floors", "simulate"}


def _checked_verbs(root: Path) -> set[str]:
    """The verbs that wrote tables below the folder, each table found as it is declared."""
    seen = set()
    for path in sorted(root.rglob("*.csv")):
        if path == root / "properties.csv":  # what the demo gives to `failures`, and no verb writes
            continue
        verb = json.loads((path.parent / "manifest.json").read_text(encoding="utf-8"))["verb"]
        table = TABLES[verb].get(path.stem)
        assert table is not None, f"{verb} writes {path.name}, which is not declared"
        frame, problems = table.checked(pl.read_csv(path, infer_schema_length=None))
        assert problems == []
        _as_declared(frame, table)
        seen.add(verb)
    return seen


def test_every_text_of_a_declaration_can_be_read() -> None:
    for verb, name in DECLARED:
        table = TABLES[verb][name]
        assert table.about.endswith("."), name
        assert {column.kind for column in table.columns.values()} <= set(KINDS)
        assert [c.meaning for c in table.columns.values() if c.meaning != c.meaning.strip() or "|" in c.meaning] == []


def _as_declared(frame: pl.DataFrame, table: Table) -> None:
    given: Mapping[str, pl.DataType] = frame.schema
    assert [name for name in given if name in table.columns] == list(table.columns)
    assert table.more or list(given) == list(table.columns)


class TestTheDeclarationItself:
    PLACES = Table("places", "Who came where.", model=text, place=whole, share=number, first=yes_no)

    def test_columns_come_in_the_declared_order_and_kinds(self) -> None:
        frame = self.PLACES.frame({"share": [1], "first": [True], "place": [1], "model": ["A"]})
        kinds = {"model": pl.String, "place": pl.Int64, "share": pl.Float64, "first": pl.Boolean}
        assert dict(frame.schema) == kinds
        assert dict(self.PLACES.frame([]).schema) == kinds

    def test_every_column_that_is_missing_or_not_declared_is_named(self) -> None:
        with pytest.raises(TableInvalid) as caught:
            self.PLACES.frame([{"model": "A", "rank": 1, "share": 0.5}])
        assert caught.value.problems == [
            "column 'place' is not given", "column 'first' is not given", "column 'rank' is not declared",
        ]  # fmt: skip

    @pytest.mark.parametrize("wrong", [{"place": [1.5]}, {"share": ["x"]}, {"place": ["1"]}])
    def test_another_kind_is_refused_and_no_fraction_cut_off(self, wrong: dict[str, list[object]]) -> None:
        right = {"model": ["A"], "place": [1], "share": [0.5], "first": [True]}
        with pytest.raises(TableInvalid, match="table 'places'"):
            self.PLACES.frame({**right, **wrong})
        with pytest.raises(TableInvalid, match="table 'places'"):
            self.PLACES.frame([{name: column[0] for name, column in {**right, **wrong}.items()}])

    def test_further_columns_stay_where_they_are_if_the_table_takes_them(self) -> None:
        table = Table("result", "One model.", "more", model=text, value=number)
        assert table.frame([{"phase": "p", "model": "A", "value": 1}]).columns == ["phase", "model", "value"]


def test_the_official_summary_keeps_its_columns() -> None:
    assert OFFICIAL_SUMMARY == ("level", "name", "accuracy", "ci_low", "ci_high", "count")


@pytest.mark.parametrize("file", sorted(Path(table_module.__file__).parent.glob("*.toml")), ids=lambda path: path.stem)
def test_a_file_of_declarations_says_nothing_of_columns_that_no_table_has(file: Path) -> None:
    given = tomllib.loads(file.read_text(encoding="utf-8"))
    usual, left = given.pop("usual", {}), set[str]()
    for name, one in given.items():
        columns = [column.rstrip("?") for column in one["columns"].split()]
        own = one.get("own", {})
        assert len(set(columns)) == len(columns), name
        assert set(own) <= set(columns), name
        assert [column for column in own if own[column] == usual.get(column)] == [], name
        left |= set(columns) - set(own)
        assert set(one) <= {"name", "about", "marks", "columns", "own"}, name
    assert set(usual) == left
