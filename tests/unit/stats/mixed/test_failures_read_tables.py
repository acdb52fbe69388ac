"""The failure analysis reads a table as every verb does: models, repeats, percentages, wide tables, organs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from surgvalid import failures


def scores() -> pl.DataFrame:
    """Three models on 12 patients with three cases, three seeds each."""
    rng = np.random.default_rng(1)
    rows: list[dict[str, Any]] = []
    for patient in range(12):
        level = 0.8 + rng.normal(0, 0.05)
        for case in range(3):
            smoke = int(rng.random() < 0.5)
            for model in "ABC":
                for seed in range(3):
                    name = {"patient": f"P{patient:02}", "case": f"P{patient:02}_c{case}", "smoke": smoke}
                    dice = min(1.0, level - 0.05 * smoke + rng.normal(0, 0.04))
                    rows.append({**name, "model": model, "seed": seed, "dice": dice})
    return pl.DataFrame(rows)


def averaged() -> pl.DataFrame:
    keys = ["patient", "case", "smoke", "model"]
    return scores().group_by(keys, maintain_order=True).agg(pl.col("dice").mean())


TABLES = {
    "seeds": scores,
    "models in German": lambda: scores().rename({"model": "Netz"}),
    "models as methods": lambda: scores().rename({"model": "Method"}),
    "percentages": lambda: scores().with_columns(pl.col("dice") * 100),
    "a column for each model": lambda: averaged().pivot("model", index=["patient", "case", "smoke"], values="dice"),
    "decimal commas": lambda: averaged().with_columns(
        pl.col("dice").cast(pl.String).str.replace(".", ",", literal=True)
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_one_meaning_has_one_finding(kind: str) -> None:
    plain, other = (failures(table, outcome="dice", fixed="smoke") for table in (averaged(), TABLES[kind]()))
    names = ["term", "estimate", "p_value", "videos", "df"]
    for one, same in zip(plain.table.select(names).rows(), other.table.select(names).rows(), strict=True):
        assert same[0] == one[0]
        assert same[1:] == pytest.approx(one[1:], rel=1e-6)
    assert "these 3 models, on average" in other.prose


def test_organs_are_a_property_like_others() -> None:
    rng = np.random.default_rng(2)
    rows = [
        {"case": f"c{case}", "model": model, "organ": organ, "smoke": case % 2, "dice": 0.8 + rng.normal(0, 0.04)}
        for case in range(12)
        for model in "AB"
        for organ in ("liver", "duct", "tool")
    ]
    found = failures(pl.DataFrame(rows), outcome="dice", fixed=["smoke", "organ"])
    assert {"smoke", "organ[liver]", "organ[tool]"} <= set(found.table["term"])


def test_rows_that_nothing_tells_apart_are_read_all_the_same() -> None:
    frame = scores().drop("case", "seed")
    assert failures(frame, outcome="dice", fixed="smoke").table["videos"][0] == 12
