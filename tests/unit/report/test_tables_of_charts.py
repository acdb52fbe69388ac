import io

import numpy as np
import polars as pl
import pytest

from chart_examples_analysis import TABLES, draw_analysis

NAMES = sorted(TABLES)
ORDERED = {"calibration"}
"""Charts whose table has an order that means something."""


@pytest.mark.parametrize("name", NAMES)
def test_a_table_read_back_from_a_file_gives_the_same_chart(name: str) -> None:
    table = TABLES[name](["A", "B", "C", "007"])
    again = pl.read_csv(io.StringIO(table.write_csv()), infer_schema_length=None)
    first, second = draw_analysis(name, table), draw_analysis(name, again)
    assert (first.alt, first.caption) == (second.alt, second.caption)
    assert first.svg() == second.svg()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unknown", [None, np.nan, np.inf])
def test_a_table_of_unknown_numbers_is_drawn_or_said_to_hold_nothing(name: str, unknown: float | None) -> None:
    table = TABLES[name](["A", "B", "C"])
    floats = [column for column, kind in table.schema.items() if kind.is_float()]
    chart = draw_analysis(
        name, table.with_columns(pl.lit(unknown, dtype=pl.Float64).alias(column) for column in floats)
    )
    assert "nan" not in chart.svg().lower()
    assert "nan" not in chart.alt
    assert "inf" not in chart.alt


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_numbers_are_names(name: str) -> None:
    table = TABLES[name](["1", "2", "3"])
    texts = [column for column, kind in table.schema.items() if kind == pl.String]
    whole = [column for column in texts if set(table[column].drop_nulls()) <= {"1", "2", "3"}]
    again = table.with_columns(pl.col(column).cast(pl.Int64) for column in whole)
    assert draw_analysis(name, again).alt == draw_analysis(name, table).alt


@pytest.mark.parametrize("name", sorted(set(NAMES) - ORDERED))
def test_the_order_of_rows_does_not_change_what_is_spoken(name: str) -> None:
    table = TABLES[name](["A", "B", "C", "D"])
    assert draw_analysis(name, table).alt == draw_analysis(name, table[::-1]).alt
