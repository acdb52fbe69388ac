"""Tables of `study`."""

from __future__ import annotations

from surgvalid.results.tables import statistics
from surgvalid.results.tables.table import Table, number, text, whole

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
PATIENTS = Table(
    "patients",
    "One model and one patient (or video).",
    model=text,
    video=text,
    value=number("mean over the cases", needed=False),
    cases=whole,
)
HARD_CASES = Table(
    "hard_cases",
    "The cases that are worst for the typical model, the worst first.",
    case=text,
    video=text,
    value=number("median over models"),
    worst=text("the models that fail most, joined by commas; (no score): it has none there; all models: no difference"),
)
STRATA = Table("strata", statistics.STRATA.about, **statistics.STRATA.columns)
WHY = Table(
    "why",
    "One sentence of the verdict and what is behind it.",
    sentence=text,
    rule=text,
    numbers=text(needed=False),
    source=text,
)
READINGS = Table("readings", "What was interpreted as what.", sentence=text)
STUDY = (VALUES, PAIRS, PATIENTS, HARD_CASES, STRATA, READINGS, WHY)
