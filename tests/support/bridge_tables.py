"""A small study for the bridges: two models, eight videos."""

from __future__ import annotations

import polars as pl

from surgvalid import study
from surgvalid.studies.study import StudyResult


def bridge_rows() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "model": model,
                "case": f"v{v}-q{q}",
                "video": f"v{v}",
                "metric": "accuracy",
                "value": float((v * 3 + q * 2 + shift) % 5 > shift),
                "centre": "AB"[v % 2],
            }
            for shift, model in ((0, "org/alpha"), (2, "org/beta"))
            for v in range(8)
            for q in range(4)
        ]
    )


def bridge_study() -> StudyResult:
    return study(bridge_rows())
