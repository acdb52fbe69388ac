"""Tables of `study`."""

from __future__ import annotations

from surgeval.results.tables import statistics
from surgeval.results.tables.table import Table, number, text, whole

VALUES = Table("values", statistics.INTERVAL.about, "more", **statistics.INTERVAL.columns)
PAIRS = Table(
    "pairs", "The model with the best value and another one, the next best first.",
    **{name: column for name, column in statistics.COMPARE.columns.items() if name not in ("p_false_claim", "favours")},
    p_corrected=number("of all pairs of models", needed=False), tests=whole("pairs that were corrected for"),
    difference_videos=number("mean over patients of the difference within each", needed=False),
    difference_scored=number("where both have a score, if some are not there for no reason given", needed=False),
    p_scored=number("of that difference, uncorrected", needed=False),
)  # fmt: skip
PATIENTS = Table(
    "patients", "One model and one patient (or video).",
    model=text, video=text, value=number("mean over the cases", needed=False), cases=whole,
)  # fmt: skip
HARD_CASES = Table(
    "hard_cases", "The cases that are worst for the typical model, the worst first.",
    case=text, video=text, value=number("median over models"),
    worst=text("the models that fail most, joined by commas; (no score): it has none there; all models: no difference"),
)  # fmt: skip
STRATA = Table("strata", statistics.STRATA.about, **statistics.STRATA.columns)
READINGS = Table("readings", "What was taken for what.", sentence=text)
STUDY = (VALUES, PAIRS, PATIENTS, HARD_CASES, STRATA, READINGS)
