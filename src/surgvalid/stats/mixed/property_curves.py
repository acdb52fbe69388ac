"""What is lost along every number among the properties, model by model: a curve of difficulty, cut into steps.

A step holds as many rows as any other; its mean loss comes with the interval over whole videos that values have
everywhere. The decision a reader would question: no shape is fitted. Where harm sets in is read off the steps, which
show a threshold, a slope and both ends alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from surgvalid.stats.intervals.video_jackknife import mean_interval
from surgvalid.stats.mixed.attributable import observed_loss
from surgvalid.stats.mixed.inference.grid import is_category
from surgvalid.stats.mixed.model.design import factor_of
from surgvalid.stats.mixed.model.formula import column_of
from surgvalid.stats.mixed.report import FailuresResult

STEPS = 6
FEWEST_VIDEOS = 3
"""A step that fewer hold has no interval."""


def property_curves(result: FailuresResult, models: pl.Series) -> Iterator[dict[str, Any]]:
    """Rows of the table `property_curves`: one for each property that is a number, model and step.

    Args:
        result: A failure analysis whose outcome has a best value, with videos.
        models: The model of every row of the fit.
    """
    fitted, design = result.fit, result.fit.design
    many = pl.Series("many", design.trials if fitted.family == "binomial" else design.weights)
    video = pl.Series("video", factor_of(design.frame, result.tests.video).codes)
    frame = pl.DataFrame(
        [models.alias("model"), video, many, pl.Series("loss", observed_loss(result) * many.to_numpy())]
    )
    worst = 1.0 if fitted.family in ("binomial", "ordered-beta") else np.inf
    for name in dict.fromkeys(column_of(term) for term in design.model.fixed if ":" not in term):
        if name == result.model_column or is_category(fitted, name):
            continue
        values = design.frame[name].cast(pl.Float64).to_numpy()
        edges = np.unique(np.quantile(values, np.linspace(0, 1, STEPS + 1)))
        step = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        rows = frame.with_columns(pl.Series("middle", values), pl.Series("step", step)).sort(
            "step", maintain_order=True
        )
        for (model, at), here in rows.group_by("model", "step", maintain_order=True):
            totals, sizes = here.group_by("video").agg(pl.col("loss", "many").sum()).drop("video").to_numpy().T
            spread = mean_interval(totals[:, None], sizes, level=result.level, low=0, high=worst)
            is_known = len(sizes) >= FEWEST_VIDEOS
            yield {
                "property": name,
                "model": model,
                **{end: float(edges[at + place]) for place, end in enumerate(("from", "to"))},
                "middle": here["middle"].mean(),
                "rows": here.height,
                "videos": len(sizes),
                "loss": float(spread.value[0]),
                "low": float(spread.low[0]) if is_known else None,
                "high": float(spread.high[0]) if is_known else None,
            }
