"""A table for `surgvalid analyse failures`: each FRAME answer of the model, with what may have made it fail.

python -m examples.sees.failing EVALUATION OUT.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

SMALL = 0.004
"""An object is small below this share of the image."""
FROM = 0.25
"""An artefact counts from this strength on."""
ARTEFACTS = {
    "smoke": "background_smoke", "blood": "background_blood", "reflections": "background_reflections",
    "motion": "background_motion", "dirty_lens": "image_lens_dirty", "dark": "image_too_dark",
}  # fmt: skip


def table(cases: pl.DataFrame) -> pl.DataFrame:
    """One row per FRAME question: right or wrong, and properties as 0 and 1; `objects` counts those in view."""
    frame = cases.filter(pl.col("track") == "frame")
    return frame.select(
        pl.lit("sees").alias("model"), "video", "template", "case", pl.col("sees").cast(pl.Int64).alias("correct"),
        pl.col("new_center").cast(pl.Int64), (pl.col("smallest").fill_null(1.0) < SMALL).cast(pl.Int64).alias("small"),
        (pl.col("occluded") > 0).cast(pl.Int64), "objects",
        *((pl.col(kind) > FROM).cast(pl.Int64).alias(name) for name, kind in ARTEFACTS.items()),
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("evaluation", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args(arguments)
    made = table(pl.read_csv(options.evaluation / "cases.csv", infer_schema_length=None))
    made.write_csv(options.out)
    for name in ("new_center", "small", "occluded", *ARTEFACTS):
        with_it, without = (made.filter(pl.col(name) == value)["correct"] for value in (1, 0))
        print(f"{name}: {with_it.mean() or 0:.3f} right of {len(with_it)} with it, {without.mean() or 0:.3f} without")


if __name__ == "__main__":
    main()
