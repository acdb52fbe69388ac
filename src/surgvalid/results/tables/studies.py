"""Tables of `study`."""

from __future__ import annotations

from surgvalid.results.tables import statistics
from surgvalid.results.tables.table import Table, declared, number, whole

VALUES = Table("values", statistics.INTERVAL.about, "more", **statistics.INTERVAL.columns)
PAIRS = Table(
    "pairs",
    "The model with the best value and another one, the next best first; intervals hold together over all pairs.",
    "more",
    **{name: column for name, column in statistics.COMPARE.columns.items() if name != "favours"},
    p_corrected=number(
        "over all pairs of models; at most 1 - level exactly where the interval excludes 0", needed=False
    ),
    tests=whole("pairs that were corrected for"),
    difference_videos=number("mean over patients of the difference within each", needed=False),
)
_TABLES = declared(__name__)
PATIENTS = _TABLES["patients"]
HARD_CASES = _TABLES["hard_cases"]
STRATA = Table("strata", statistics.STRATA.about, **statistics.STRATA.columns)
WHY = _TABLES["why"]
READINGS = _TABLES["readings"]
STUDY = (VALUES, PAIRS, PATIENTS, HARD_CASES, STRATA, READINGS, WHY)
