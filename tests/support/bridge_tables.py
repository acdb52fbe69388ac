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


LOST = (pl.col("model") == "org/alpha") & (pl.col("case") == "v3-q1")
REFUSED = pl.when(LOST).then(pl.lit("refused")).otherwise(pl.lit("answered"))
HOLES = {
    "a score is empty": bridge_rows().with_columns(value=pl.when(~LOST).then("value")),
    "a row is absent": bridge_rows().filter(~LOST),
    "a question was refused": bridge_rows().with_columns(value=pl.when(~LOST).then("value"), status=REFUSED),
}
"""One score is not there: by default the case is left out for both models, and where it was refused it counts as 0."""


def bridge_study() -> StudyResult:
    return study(bridge_rows())
