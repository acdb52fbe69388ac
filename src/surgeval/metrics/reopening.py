"""Metrics whose statistics go into a file: how each is opened again, tried before anything is written.

Whoever reads the file combines statistics with a metric opened by name. That this gives the value which stands in the
result is not assumed but computed; a metric that fails is not written and says why.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from surgeval.errors import Misuse, SurgevalError
from surgeval.metrics import METRICS
from surgeval.metrics.packing import options_of
from surgeval.schema.metric import Metric, PackableMetric
from surgeval.schema.statistics_table import MOST_NUMBERS, Recipe, VideoStatistics, numbers_in


def written_down(
    name: str, metric: Metric, statistics: np.ndarray, videos: Sequence[str], cases: Sequence[int] = ()
) -> tuple[Recipe, VideoStatistics]:
    """How to open the metric again, and its statistics as a file can hold them.

    Args:
        name: What the metric is called in the result.
        metric: The metric.
        statistics: One row per video.
        videos: Their names.
        cases: How many cases each has, where known.

    Raises:
        Misuse: It cannot be written down, and why.
    """
    if not isinstance(metric, PackableMetric):
        raise Misuse("it has no `pack` and `unpack`")
    recipe, packed = recipe_of(name, metric), metric.pack(statistics)
    if (size := numbers_in(packed)) > MOST_NUMBERS:
        raise Misuse(f"its statistics are {size:,} numbers, more than {MOST_NUMBERS:,}")
    once = np.ones((1, len(statistics)))
    again = reopened(recipe)
    value, repeated = metric.combine(statistics, once), again.combine(again.unpack(packed), once)
    if not np.array_equal(value, repeated, equal_nan=True):
        raise Misuse(f"opened again it gives {float(repeated[0])!r} and not {float(value[0])!r}")
    return recipe, VideoStatistics(tuple(videos), packed, tuple(cases))


def recipe_of(name: str, metric: Metric) -> Recipe:
    """How a metric is opened again.

    Raises:
        Misuse: No metric of the catalogue is of its class, or an option is no plain data.
    """
    names = [name, metric.facts.name, *METRICS.ours]
    opened = next((known for known in names if known in METRICS and METRICS[known].makes is type(metric)), None)
    if opened is None:
        raise Misuse("no metric of the catalogue is of its class")
    factory, left_out = METRICS[opened], tuple(getattr(metric, "for_preparing", ()))
    options = options_of(metric, type(metric), factory.options, left_out)
    return Recipe(opened, json.dumps(options, sort_keys=True))


def reopened(recipe: Recipe) -> PackableMetric:
    """The metric of a recipe.

    Raises:
        Misuse: It has other options in this version, or it has no statistics that can be read.
    """
    try:
        metric: Any = METRICS[recipe.opened](**recipe.arguments)
    except SurgevalError as error:
        raise Misuse(f"metric {recipe.opened!r} cannot be opened with {recipe.options}: {error}") from None
    if not isinstance(metric, PackableMetric):
        raise Misuse(f"metric {recipe.opened!r} has no `unpack`")
    return metric
