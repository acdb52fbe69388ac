"""Score tables in; intervals, tests, strata, aggregation, agreement and rankings out."""

__all__ = [
    "adjusted",
    "aggregation",
    "agreement",
    "comparison",
    "contrasts",
    "cooccurrence",
    "dependence",
    "draws",
    "ensembles",
    "influence",
    "interval",
    "intervals",
    "mixed",
    "profiles",
    "ranking",
    "statistic",
    "strata",
]
