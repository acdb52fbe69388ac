"""What every plan gives back, and what is said of all of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import polars as pl

from surgeval.schema.findings import Finding
from surgeval.schema.statistic_rules import remark
from surgeval.stats.planning.spread import Spread

SMALL_PILOT = 10


class Planned(NamedTuple):
    """A plan."""

    tables: dict[str, pl.DataFrame]
    verdict: tuple[str, ...]
    """Sentences, the answer first."""
    prose: str
    findings: tuple[Finding, ...]


def small_pilot(videos: int) -> Finding:
    """Said of pilots below `SMALL_PILOT` videos."""
    text = f"The pilot has {videos} videos: how far videos lie apart is hardly known, and with it every number here."
    return remark("pilot-small", text)


def out_of_reach(videos: int) -> Finding:
    """Said where no number up to that one is enough."""
    return remark("out-of-reach", f"No number of videos up to {videos:,} reaches the goal.")


def variances_row(spread: Spread) -> dict[str, Any]:
    """The columns of a spread in the table of components."""
    return {
        "between_sd": math.sqrt(float(spread.between[0])),
        "within_sd": math.sqrt(float(spread.within[0])) if spread.divisible else None,
        "icc": spread.icc if spread.divisible else None,
        "questions": spread.questions,
    }
