import numpy as np
import polars as pl
import pytest

from nested_tables import nested_frame, nested_matrix
from surgvalid.errors import Misuse, TableInvalid, TooFewVideos
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.intervals.nesting import label_of, levels_of, need_units, nest_of


@pytest.mark.parametrize("bad", ["", "rows>video", "video>video", "video>>rows"])
def test_a_hierarchy_that_cannot_be_read_is_refused(bad: str) -> None:
    with pytest.raises(Misuse, match="cannot be read"):
        levels_of(bad)


def test_named_resamples_keep_their_names() -> None:
    assert [label_of(name) for name in ("naive", "cluster", "two-stage")] == ["naive", "cluster", "two-stage"]


def test_rows_of_a_unit_lie_together_whatever_the_order_of_the_table() -> None:
    frame = nested_frame()
    one = ScoreTable.of(frame).matrix()
    other = ScoreTable.of(frame.sample(fraction=1, shuffle=True, seed=4)).matrix()
    for resample in ("naive", "cluster", "two-stage", "center>video>rows"):
        a, b = nest_of(one, resample), nest_of(other, resample)
        assert one.cases["case"].to_numpy()[a.order].tolist() == other.cases["case"].to_numpy()[b.order].tolist()
        assert all(np.array_equal(x, y) for x, y in zip(a.starts, b.starts, strict=True))


def test_units_are_counted_level_by_level() -> None:
    nest = nest_of(nested_matrix(videos=5), "center>video>rows")
    assert nest.starts[0].tolist() == [0, 2]
    assert nest.starts[1].tolist() == [0, 3, 5]
    assert nest.units == 5
    assert nest.sizes.sum() == len(nest.order)


def test_a_level_that_is_no_column_is_named() -> None:
    with pytest.raises(Misuse, match="level 'hospital' is no column"):
        nest_of(nested_matrix(), "hospital>video>rows")


def test_a_unit_in_two_larger_units_is_refused() -> None:
    frame = nested_frame().with_columns(pl.col("view").alias("site"))
    with pytest.raises(TableInvalid, match="lie in several of 'site'"):
        nest_of(ScoreTable.of(frame).matrix(), "site>video>rows")


def test_a_level_without_a_value_is_refused() -> None:
    frame = nested_frame().with_columns(
        pl.when(pl.col("video") == "v00").then(None).otherwise(pl.lit("x")).alias("site")
    )
    with pytest.raises(TableInvalid, match="is empty for"):
        nest_of(ScoreTable.of(frame).matrix(), "site>video>rows")


def test_one_video_says_nothing_about_the_spread_between_videos() -> None:
    with pytest.raises(TooFewVideos, match="only one video"):
        need_units(nest_of(nested_matrix(videos=1), "two-stage"), "overall")
    need_units(nest_of(nested_matrix(videos=1), "naive"), "overall")
