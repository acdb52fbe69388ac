from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surgvalid.scoring.summary import summarise as summary_of
from surgvalid.stats.intervals.interval import interval

ALL = ("overall", "all")


def summarise(*args: Any, **options: Any) -> pl.DataFrame:
    return summary_of(*args, **options).table


def line(table: pl.DataFrame, level: str, estimand: str = "rows") -> dict[str, Any]:
    return table.filter((pl.col("level") == level) & (pl.col("estimand") == estimand)).row(0, named=True)


def test_the_two_estimands_differ_when_videos_are_unequal() -> None:
    values = np.array([[1.0], [0.0], [0.0], [0.0]])
    table = summarise(values, np.array([0, 1, 1, 1]), ["m"], {ALL: np.arange(4)})
    assert line(table, "overall", "rows")["accuracy"] == 0.25
    assert line(table, "overall", "videos")["accuracy"] == 0.5


def test_effective_videos_count_uneven_videos_for_less() -> None:
    table = summarise(np.ones((10, 1)), np.array([0] * 9 + [1]), ["m"], {ALL: np.arange(10)})
    assert line(table, "overall")["effective_videos"] == pytest.approx(100 / 82)
    assert line(table, "overall")["videos"] == 2


def test_a_single_video_leaves_the_interval_unknown() -> None:
    row = line(summarise(np.ones((5, 1)), np.zeros(5, dtype=int), ["m"], {ALL: np.arange(5)}), "overall")
    assert row["accuracy"] == 1.0
    assert np.isnan(row["low"])


def test_unscored_questions_are_counted_and_left_out() -> None:
    values = np.array([[1.0], [np.nan], [0.0]])
    row = line(summarise(values, np.array([0, 0, 1]), ["m"], {ALL: np.arange(3)}), "overall")
    assert (row["accuracy"], row["count"], row["not_scored"]) == (0.5, 2, 1)


def test_the_headline_is_the_mean_over_buckets_whatever_their_size() -> None:
    values = np.array([[1.0]] * 1 + [[0.0]] * 99)
    buckets = {("bucket", "a"): np.array([0]), ("bucket", "b"): np.arange(1, 100)}
    table = summarise(values, np.arange(100) % 10, ["m"], buckets)
    assert line(table, "headline")["accuracy"] == 0.5


def test_an_interval_does_not_depend_on_the_other_slices() -> None:
    rng = np.random.default_rng(0)
    values, videos = rng.integers(0, 2, (60, 1)).astype(float), rng.integers(0, 8, 60)
    part = ("leaf", "x")
    alone = summarise(values, videos, ["m"], {part: np.arange(30)})
    together = summarise(
        values, videos, ["m"], {ALL: np.arange(60), ("leaf", "y"): np.arange(5, 50), part: np.arange(30)}
    )
    assert alone.rows() == together.filter(pl.col("name") == "x").rows()


def test_models_scored_together_get_what_they_get_alone() -> None:
    rng = np.random.default_rng(1)
    values, videos = rng.integers(0, 2, (80, 3)).astype(float), rng.integers(0, 9, 80)
    slices = {("bucket", "a"): np.arange(40), ("bucket", "b"): np.arange(40, 80)}
    together = summarise(values, videos, ["a", "b", "c"], slices)
    alone = summarise(values[:, 1:2], videos, ["b"], slices)
    numbers = ["accuracy", "low", "high"]
    assert np.allclose(
        together.filter(pl.col("model") == "b").select(numbers).to_numpy(), alone.select(numbers).to_numpy()
    )


@given(st.data())
@settings(max_examples=40)
def test_the_order_of_questions_changes_nothing(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 30))
    values = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=size, max_size=size)))[:, None]
    videos = np.array(data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)))
    order = np.array(data.draw(st.permutations(range(size))))
    half = np.arange(size // 2)
    slices = {ALL: np.arange(size), ("bucket", "a"): half, ("bucket", "b"): np.arange(size // 2, size)}
    place = np.argsort(order)
    moved = {name: place[rows] for name, rows in slices.items()}
    before = summarise(values, videos, ["m"], slices, replicates=50)
    after = summarise(values[order], videos[order], ["m"], moved, replicates=50)
    numbers = ["accuracy", "low", "high", "count", "videos"]
    assert np.allclose(before.select(numbers).to_numpy(), after.select(numbers).to_numpy(), equal_nan=True)


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
@pytest.mark.parametrize("estimand", ["rows", "videos"])
def test_the_interval_of_everything_is_that_of_interval_to_the_last_digit(method: str, estimand: str) -> None:
    rng = np.random.default_rng(3)
    values, videos = rng.integers(0, 2, 50).astype(float), rng.integers(0, 7, 50)
    row = line(
        summarise(values[:, None], videos, ["m"], {ALL: np.arange(50)}, method=method, replicates=200),
        "overall",
        estimand,
    )
    table = {
        "model": ["m"] * 50, "case": [f"q{i}" for i in range(50)], "video": [f"v{v}" for v in videos],
        "metric": ["correct"] * 50, "value": values,
    }  # fmt: skip
    found = interval(table, method=method, estimand=estimand, replicates=200).table.row(0, named=True)
    for ours, theirs in (("accuracy", "value"), ("low", "low"), ("high", "high"), ("df", "df"), ("method", "method")):
        assert row[ours] == found[theirs] or (found[theirs] is None and np.isnan(row[ours]))
    assert row["effective_videos"] == found["effective_videos"]


def buckets_of(shares: list[int], videos: int = 8) -> tuple[np.ndarray, np.ndarray, dict[tuple[str, str], np.ndarray]]:
    """Right answers, videos, and buckets that the first so many videos fill."""
    rng = np.random.default_rng(5)
    codes = np.concatenate([np.repeat(np.arange(share), 6) for share in shares])
    ends = np.cumsum([6 * share for share in shares])
    slices = {
        ("bucket", f"b{n}"): np.arange(end - 6 * share, end)
        for n, (share, end) in enumerate(zip(shares, ends, strict=True))
    }
    assert max(shares) <= videos
    return rng.integers(0, 2, (len(codes), 1)).astype(float), codes, slices


def test_the_headline_widens_by_a_bucket_of_a_single_video_and_a_second_line_leaves_it_out() -> None:
    values, codes, slices = buckets_of([8, 8, 8, 8, 8, 1])
    table, findings = summary_of(values, codes, ["m"], slices)
    every, others = table.filter(pl.col("level") == "headline").rows(named=True)
    assert others["low"] * 5 / 6 == pytest.approx(every["low"])
    assert others["high"] * 5 / 6 + 1 / 6 == pytest.approx(every["high"])
    assert (others["name"], others["count"]) == ("mean over the buckets in two or more videos", 240)
    assert "1 of 6 buckets occur in one video only (b5)" in findings[0].message


def test_the_headline_has_no_interval_where_a_third_of_the_buckets_are_of_a_single_video() -> None:
    values, codes, slices = buckets_of([8, 8, 1])
    table, findings = summary_of(values, codes, ["m"], slices)
    every, others = table.filter(pl.col("level") == "headline").rows(named=True)
    assert np.isnan(every["low"])
    assert every["method"] == "none"
    assert others["low"] < others["accuracy"] < others["high"]
    assert [one.code for one in findings] == ["single-video-classes"]
    drawn = summarise(values, codes, ["m"], slices, method="bootstrap", replicates=100)
    assert drawn.filter(pl.col("level") == "headline").height == 1
    none = summarise(values, codes, ["m"], slices, method="bootstrap", replicates=0)
    assert none["low"].is_nan().all()
