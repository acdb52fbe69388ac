from pathlib import Path

import polars as pl
import pytest

from surgeval.errors import FileUnreadable, TableInvalid
from surgeval.schema.properties import TABLE_1, Scope, read_properties, template


def test_the_template_has_the_seventeen_characteristics_of_the_seed() -> None:
    counts = {scope: sum(item.scope is scope for item in TABLE_1) for scope in Scope}
    assert counts == {Scope.INSTANCE: 9, Scope.BACKGROUND: 5, Scope.IMAGE: 3}
    assert len({item.name for item in TABLE_1}) == 17


def test_a_template_filled_in_comes_back_as_zeros_and_ones(tmp_path: Path) -> None:
    empty = template([("f1", "1"), ("f1", "2")])
    filled = empty.with_columns(instance_blood=pl.Series(["yes", "No"]), image_dark=pl.Series(["TRUE", ""]))
    filled.cast(pl.String).write_csv(tmp_path / "a.csv")
    found = read_properties(tmp_path / "a.csv")
    assert found["instance_blood"].to_list() == [1, 0]
    assert found["image_dark"].to_list() == [1, None]
    filled.cast(pl.String).write_parquet(tmp_path / "a.parquet")
    assert read_properties(tmp_path / "a.parquet").equals(found)


def test_a_table_per_image_needs_only_the_case(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,smoke\nf1,1\nf2,0\n")
    assert read_properties(tmp_path / "a.csv").columns == ["case", "smoke"]


def test_every_problem_of_a_table_is_listed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,smoke,blood\nf1,maybe,1\nf1,0,2\n")
    with pytest.raises(TableInvalid, match=r"3 problems.*repeat.*'smoke' has 1 answers.*row 1, 'maybe'.*'blood'"):
        read_properties(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("frame,smoke\nf1,1\n")
    with pytest.raises(TableInvalid, match="none of the key columns"):
        read_properties(tmp_path / "b.csv")


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="no such file"):
        read_properties(tmp_path / "none.csv")
    (tmp_path / "a.parquet").write_bytes(b"not parquet")
    with pytest.raises(FileUnreadable):
        read_properties(tmp_path / "a.parquet")
