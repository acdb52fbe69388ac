"""Score tables in; intervals, tests, strata, aggregation, agreement and rankings out."""

__all__ = [
    "agreement",
    "comparing",
    "draws",
    "intervals",
    "mixed",
    "planning",
    "ranking",
    "verdict",
]
