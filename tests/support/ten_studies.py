"""Ten small studies whose pages differ in kind: what a verdict page has to stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl


class PlantedStudy(NamedTuple):
    """A table of scores with the margin that its reader gave."""

    table: pl.DataFrame
    margin: float | None = None
    title: str = ""
    """What its page must say above all."""


def ten_studies() -> dict[str, PlantedStudy]:
    """By name: clear, small, equal, open, too few, by centre, by metric, many models, unknown unit, one model."""
    steady = list(rows(12, 8, {"A": 0.0, "B": 0.05}))
    centres = pl.concat([
        table(rows(8, 4, {"A": 0.0, "B": gain}, seed=seed)).with_columns(
            patient=pl.format("{}-{}", pl.lit(name), "patient"), center=pl.lit(name))
        for seed, (name, gain) in enumerate((("north", 0.06), ("south", -0.06)))
    ])  # fmt: skip
    both = table(steady).with_columns(hd95=pl.when(pl.col("model") == "B").then(8.0).otherwise(6.0) + pl.col("dice"))
    long = {"nnU-Net": 0.0, "SwinUNETR": 0.01, "a method with a name as long as the names of methods are": 0.06}
    binary = table(rows(20, 20, {"A": 0.1, "B": -0.25}, spread=0.4), "correct").with_columns(
        (pl.col("correct") > 0.5).cast(pl.Int64)
    )
    images = table(rows(60, 1, {"A": 0.0, "B": 0.02})).select(image="patient", model="model", dice="dice")
    return {
        "clear": PlantedStudy(table(steady), 0.02, "B is better than A"),
        "too-little": PlantedStudy(table(rows(12, 8, {"A": 0.0, "B": 0.012})), 0.03, "too little to matter"),
        "open": PlantedStudy(table(rows(60, 1, {"A": 0.0, "B": 0.0}, spread=0.05)), None, "is open"),
        "too-few": PlantedStudy(table(rows(5, 8, {"A": 0.0, "B": 0.03})), None, "too few to say"),
        "by-centre": PlantedStudy(centres, None, "It depends on center"),
        "by-metric": PlantedStudy(both, None, "It depends on the metric"),
        "three-models": PlantedStudy(table(rows(14, 5, long)), None, "is better than both others"),
        "right-or-wrong": PlantedStudy(binary, None, "A is better than B"),
        "no-unit": PlantedStudy(images, None, "how many patients are they?"),
        "one-model": PlantedStudy(table(rows(14, 5, {"A": 0.0})), None, "A reaches dice"),
    }


def rows(
    patients: int, frames: int, gains: dict[str, float], *, seed: int = 0, spread: float = 0.02
) -> Iterator[tuple[Any, ...]]:
    """Patients of different ease, their frames alike, the models apart by their gains."""
    draw = np.random.default_rng(seed).normal
    for patient in range(patients):
        ease = 0.72 + 0.08 * draw()
        leads = {model: gain + (0.1 * spread * draw() if gain else 0.0) for model, gain in gains.items()}
        for frame in range(frames):
            for model, gain in leads.items():
                value = float(np.clip(ease + gain + spread * draw(), 0, 1))
                yield f"P{patient + 1:02}", f"frame_{frame}", model, round(value, 4)


def table(listed: Iterable[tuple[Any, ...]], metric: str = "dice") -> pl.DataFrame:
    """The rows as a table."""
    return pl.DataFrame([*listed], schema=["patient", "frame", "model", metric], orient="row")
