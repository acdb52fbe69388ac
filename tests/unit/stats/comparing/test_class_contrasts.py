"""Strata of means over classes: both sides class by class, one video left out at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from surgvalid.metrics.classification.averages import BalancedAccuracy, ClassAverage
from surgvalid.metrics.classification.cases import LabelCases
from surgvalid.metrics.packing import written_down
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.statistics_table import StatisticsTable, stacked_statistics
from surgvalid.stats.comparing.strata import strata
from surgvalid.stats.intervals.macro_interval import macro_difference_interval

CLASSES, EACH = 4, 12


def answers(seed: int, videos: int, *, rare: int = 0, right: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """References and predictions, `[video, case]`; the last class only in the first `rare` videos where given."""
    truth, luck = np.random.default_rng(0), np.random.default_rng(seed)
    reference = truth.integers(0, CLASSES - bool(rare), (videos, EACH))
    reference[:rare, :3] = CLASSES - 1
    guess = luck.integers(0, CLASSES, reference.shape)
    return reference, np.where(luck.random(reference.shape) < right, reference, guess)


def table(metric: Any, models: dict[str, tuple[np.ndarray, np.ndarray]], smoky: np.ndarray) -> ScoreTable:
    """What `evaluate` writes of a metric of all videos together, with one property of the videos."""
    name, rows, places = metric.facts.name, [], {}
    names = [f"v{video:02d}" for video in range(len(smoky))]
    for model, (reference, prediction) in models.items():
        unit = np.repeat(names, reference.shape[1]).tolist()
        statistics = metric.prepare(LabelCases(reference.ravel(), prediction.ravel(), classes=CLASSES, unit=unit))
        places[model] = StatisticsTable.of(model, {name: written_down(name, metric, statistics, names)})
        alone = metric.combine(statistics, np.eye(len(names)))
        rows += [
            {"model": model, "case": video, "video": video, "metric": name, "value": float(value), "smoke": bool(smoke)}
            for video, value, smoke in zip(names, alone, smoky, strict=True)
        ]
    facts = {name: metric.facts}
    return ScoreTable.of(pl.DataFrame(rows), facts=facts, statistics=stacked_statistics(places))


def class_recalls(reference: np.ndarray, prediction: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """The recall of each class by loops over the videos kept; NaN for a class without a reference there."""
    out = np.full(CLASSES, np.nan)
    for one in range(CLASSES):
        hit = [prediction[v, c] == one for v in np.flatnonzero(keep) for c in range(EACH) if reference[v, c] == one]
        out[one] = np.mean(hit) if hit else np.nan
    return out


def by_loops(reference: np.ndarray, prediction: np.ndarray, smoky: np.ndarray, *, level: float = 0.95) -> Any:
    """The contrast of stratum and rest with its interval, everything counted anew for every video left out."""
    sides = smoky, ~smoky
    whole = [class_recalls(reference, prediction, side) for side in sides]
    held = np.isfinite(whole)
    number = int(held.any(axis=0).sum())

    def gaps(values: list[np.ndarray]) -> np.ndarray:
        parts = [np.where(h, np.where(np.isfinite(v), v, w), 0.0) / h.sum()
                 for v, w, h in zip(values, whole, held, strict=True)]  # fmt: skip
        return number * (parts[0] - parts[1])

    videos = np.arange(len(smoky))
    without = np.array(
        [gaps([class_recalls(reference, prediction, side & (videos != left)) for side in sides]) for left in videos]
    )
    support = np.array([[(reference[v] == one).sum() for one in range(CLASSES)] for v in videos], dtype=float)
    thin = []
    for one in range(CLASSES):
        of_sides = [np.where(side, support[:, one], 0.0) for side in sides]
        there = [s for s, h in zip(of_sides, held, strict=True) if h[one]]
        thin.append(min(there, key=lambda s: s.sum() ** 2 / (s**2).sum()))
    width = number * max(1 / held.sum(axis=1))
    every = held.any(axis=0)
    macro = macro_difference_interval(
        gaps(whole)[every], without[:, every], np.array(thin).T[:, every], level=level, width=width
    )
    return SimpleNamespace(row=macro.every, single=macro.single)


@pytest.mark.parametrize(("rare", "stratum"), [(0, 6), (5, 6), (4, 9)])
def test_a_stratum_has_the_class_wise_interval(rare: int, stratum: int) -> None:
    smoky = np.arange(12) < stratum
    given = answers(1, 12, rare=rare)
    row = strata(table(BalancedAccuracy(), {"A": given}, smoky), ["smoke"], baseline="rest").table.row(0, named=True)
    wanted = by_loops(*given, smoky)
    assert not wanted.single
    assert row["method"] == "jackknife by class"
    got = [row[name] for name in ("delta", "low", "high", "sd", "df")]
    assert got == pytest.approx([getattr(wanted.row, name) for name in ("value", "low", "high", "sd", "df")], rel=1e-9)


def test_a_class_of_one_video_of_a_side_widens_the_interval_or_takes_it_away_and_is_said() -> None:
    smoky = np.arange(12) % 2 == 0
    given = answers(1, 12, rare=2)  # one rare video on each side: one class in four
    result = strata(table(BalancedAccuracy(), {"A": given}, smoky), ["smoke"], baseline="rest")
    row = result.table.row(0, named=True)
    assert (row["low"], row["method"]) == (None, "none")
    assert "1 of 4 classes occur in one video only on one of the sides" in row["note"]
    assert "single-video-classes" in [one.code for one in result.findings]


def test_the_median_over_models_has_an_interval_where_every_class_repeats() -> None:
    smoky = np.arange(12) < 6
    models = {name: answers(seed, 12) for seed, name in enumerate("ABC", start=1)}
    rows = strata(table(ClassAverage("f1"), models, smoky), ["smoke"], baseline="rest").table
    assert rows["low"].null_count() == 0
    assert set(rows["method"]) == {"jackknife by class"}
    rare = {name: answers(seed, 12, rare=2) for seed, name in enumerate("ABC", start=1)}
    rows = strata(table(ClassAverage("f1"), rare, np.arange(12) % 2 == 0), ["smoke"], baseline="rest").table
    assert rows["low"][-1] is None


def test_intervals_of_equal_strata_with_a_rare_class_cover_zero() -> None:
    """The last class lies in a quarter of the videos, and how well it is found differs between them."""
    covered: list[bool] = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        reference = rng.integers(0, CLASSES - 1, (20, EACH))
        reference[rng.random(20) < 0.25, :3] = CLASSES - 1
        skill = 1 / (1 + np.exp(-rng.normal(0.8, 2.0, (20, CLASSES))))
        right = rng.random(reference.shape) < np.take_along_axis(skill, reference, axis=1)
        prediction = np.where(right, reference, (reference + 1) % CLASSES)
        made = table(BalancedAccuracy(), {"A": (reference, prediction)}, np.arange(20) % 2 == 0)
        row = strata(made, ["smoke"], baseline="rest").table.row(0, named=True)
        covered += [] if row["low"] is None else [row["low"] <= 0 <= row["high"]]
    assert len(covered) >= 50
    assert np.mean(covered) >= 0.88  # about two standard errors below 0.95
