"""Kinds of columns from the first rows are those that all rows give."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from surgvalid.schema.tables.table_files import FIRST_ROWS, read_csv

CELLS = [
    "1", "1.5", "", "a", "true", "nan", "NaN", "inf", " 5", "5 ", "+5", '"5"', '"a,b"', "007", "-3", "1e3", "1E+5",
    "1e", ".5", "5.", "-0.25", "99999999999999999999", "1e400", "2024-01-02", "-", "0x1f",
]  # fmt: skip


def asked_of_all(data: bytes) -> pl.DataFrame:
    return pl.read_csv(data, infer_schema_length=None, schema_overrides={"video": pl.String})


def table(first: str, last: str, rows: int) -> bytes:
    return ("video,x\n" + f"1,{first}\n" * rows + f"2,{last}\n" + f"3,{first}\n" * 3).encode()


@pytest.mark.parametrize("first", CELLS)
def test_one_other_cell_far_below_counts(first: str, tmp_path: Path) -> None:
    for last in CELLS:
        for rows in (3, FIRST_ROWS // 2, FIRST_ROWS + 7):
            data = table(first, last, rows)
            assert_frame_equal(read_csv(data, ",", ["video"]), asked_of_all(data))
    (tmp_path / "a.csv").write_bytes(data)
    assert_frame_equal(read_csv(tmp_path / "a.csv", ",", ["video"]), asked_of_all(data))


@given(st.lists(st.sampled_from(CELLS), min_size=1, max_size=6), st.integers(0, 2 * FIRST_ROWS))
def test_any_cells_above_and_below_give_what_all_rows_give(cells: list[str], rows: int) -> None:
    data = ("video,x\n" + "".join(f"1,{cells[0]}\n" * rows + f"2,{cell}\n" for cell in cells)).encode()
    assert_frame_equal(read_csv(data, ",", ["video"]), asked_of_all(data))


@pytest.mark.parametrize("data", [b"", b"\n", b"a,b\n" + b"1,2\n" * FIRST_ROWS + b"1,2,3\n"])
def test_what_is_no_table_is_refused_as_ever(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(pl.exceptions.PolarsError):
        read_csv(tmp_path / "a.csv", ",")
