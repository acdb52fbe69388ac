"""Statistics in files: several folders in one table, what contradicts, and what is no statistics table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from surgvalid.errors import FileUnreadable, TableInvalid
from surgvalid.schema.metric_facts import Packed
from surgvalid.schema.tables.statistics_table import (
    SCHEMA,
    Recipe,
    StatisticsTable,
    VideoStatistics,
    stacked_statistics,
    statistics_beside,
)

RECIPE = Recipe("kappa", "{}")


def table(model: str, videos: str, *, recipe: Recipe = RECIPE, shared: bool = False) -> StatisticsTable:
    units = [{"statistics": np.full((2, 2), place, dtype=np.int32)} for place, _ in enumerate(videos)]
    whole = {"order": np.arange(3)} if shared else {}
    return StatisticsTable.of(model, {"kappa": (recipe, VideoStatistics(tuple(videos), Packed(whole, units)))})


def test_arrays_come_back_with_their_kind_and_form(tmp_path) -> None:
    numbers = {
        "empty": np.zeros((0, 3)),
        "odd": np.array([np.nan, np.inf, -0.0]),
        "yes": np.array([True]),
        "one": np.asarray(7),
    }
    given = VideoStatistics(("u",), Packed({"all": np.arange(4).reshape(2, 2)}, [numbers]))
    StatisticsTable.of("m", {"x": (RECIPE, given)}).to_dir(tmp_path)
    found = statistics_beside(tmp_path).of_model("m", "x")
    assert found.videos == ("u",)
    for name, array in {**given.packed.shared, **numbers}.items():
        back = {**found.packed.shared, **found.packed.units[0]}[name]
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert np.array_equal(back, array, equal_nan=array.dtype.kind == "f")


def test_folders_of_several_models_are_one_table() -> None:
    found = stacked_statistics({"one": table("A", "uv"), "two": table("B", "uv"), "three": table("A", "w")})
    assert found.models("kappa") == ["A", "B"]
    assert found.of_model("A", "kappa").videos == ("u", "v", "w")
    assert stacked_statistics({}) is None


def test_what_belongs_to_the_videos_of_one_folder_is_not_mixed_with_another() -> None:
    found = stacked_statistics({"one": table("A", "uv", shared=True), "two": table("A", "w", shared=True)})
    assert found.models("kappa") == []


def test_different_options_and_repeated_videos_are_refused_together() -> None:
    other = table("A", "u", recipe=Recipe("kappa", '{"cost": "squared"}'))
    with pytest.raises(TableInvalid) as error:
        stacked_statistics({"one": table("A", "uv"), "two": other})
    assert "'kappa' was computed with different options" in str(error.value)
    assert "video 'u' are in one and in two" in str(error.value)


def test_a_file_of_other_columns_or_options_is_refused(tmp_path) -> None:
    pl.DataFrame({"model": ["A"]}).write_parquet(tmp_path / "statistics.parquet")
    with pytest.raises(FileUnreadable, match="expected the columns model, metric, video"):
        statistics_beside(tmp_path)
    table("A", "u", recipe=Recipe("kappa", "[]")).to_dir(tmp_path)
    with pytest.raises(FileUnreadable, match="no JSON object"):
        statistics_beside(tmp_path)


def test_an_array_of_something_else_than_numbers_is_refused() -> None:
    frame = table("A", "u").frame.with_columns(dtype=pl.lit("|O"))
    assert dict(frame.schema) == SCHEMA
    with pytest.raises(TableInvalid, match="none of numbers"):
        StatisticsTable(frame).of_model("A", "kappa")
