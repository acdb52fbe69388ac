"""Small tables and reference data for the tests of mixed models."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from shared_data import shared
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.model.structure import Factor


def stored_inference(name: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """One of the stored data sets for tests of effects, with what R says about it."""
    folder = shared("data", "mixed_models", "inference")
    return pl.read_csv(folder / f"{name}.csv"), json.loads((folder / f"{name}.json").read_text())


def factor(name: str, values: object) -> Factor:
    labels, codes = np.unique(np.asarray(values), return_inverse=True)
    return Factor(name, codes, pl.Series(labels.astype(str)))


def nested_table(seed: int = 0, *, trials: int = 12, cell: float = 0.0) -> pl.DataFrame:
    """40 instances in 15 images in 4 patients, seen by 3 algorithms; two properties, one of them numeric."""
    rng = stream(seed, "nested-table")
    patient = rng.integers(0, 4, 15)
    image = np.sort(rng.integers(0, 15, 40))
    smoke, size = rng.binomial(1, 0.4, 40), rng.normal(0, 1, 40)
    base = 0.4 - 0.7 * smoke + 0.3 * size + rng.normal(0, 0.6, 40) + rng.normal(0, 0.5, 15)[image]
    eta = (base + rng.normal(0, 0.4, 4)[patient[image]])[:, None] + rng.normal(0, 0.5, 3)
    eta = (eta + rng.normal(0, cell, eta.shape)).ravel()
    at = np.repeat(np.arange(40), 3)
    total = rng.integers(1, trials + 1, 120)
    return pl.DataFrame({
        "algorithm": np.tile(["A", "B", "C"], 40),
        "patient": np.char.add("p", patient[image][at].astype(str)),
        "image": np.char.add("f", image[at].astype(str)),
        "instance": np.char.add("i", at.astype(str)),
        "smoke": smoke[at],
        "size": size[at],
        "hits": rng.binomial(total, special.expit(eta)),
        "total": total,
        "correct": rng.binomial(1, special.expit(eta)),
        "count": rng.poisson(np.exp(eta)),
        "score": eta + rng.normal(0, 1, 120),
    })  # fmt: skip


RANDOM = "(1 | algorithm) + (1 | patient) + (1 | image) + (1 | instance)"
