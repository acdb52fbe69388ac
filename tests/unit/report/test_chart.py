from pathlib import Path

import polars as pl
import pytest

from surgvalid.errors import Misuse
from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts import value_intervals
from surgvalid.report.drawing.rows import RowsImage

TABLE = pl.DataFrame({"model": ["A", "B"], "value": [0.5, 0.75], "low": [0.4, 0.7], "high": [0.6, 0.8]})


def test_a_chart_is_saved_as_picture_or_numbers(tmp_path: Path) -> None:
    chart = value_intervals(TABLE)
    assert chart.save(tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
    assert chart.save(tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()[0] == "model,value,low,high"


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"unknown kind of file '.gif'"):
        value_intervals(TABLE).save(tmp_path / "a.gif")


def test_the_text_alternative_is_inside_the_picture() -> None:
    chart = value_intervals(TABLE)
    assert "B 0.750 (0.700 to 0.800)" in chart.alt
    assert f"<desc>{chart.alt}</desc>" in chart.svg()


def test_a_name_that_cannot_be_a_file_is_refused() -> None:
    with pytest.raises(Misuse, match="small letters"):
        Chart("../x", "t", "a", "c", pl.DataFrame(), RowsImage((), ()))


def test_a_notebook_gets_the_picture_and_the_words() -> None:
    shown = nothing_to_show("empty", "Empty", "no data")._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert shown["text/plain"] == "Empty: Nothing to show: no data"
