"""Models beside each other on the same cases: differences, tests, strata, aggregation, profiles."""

__all__ = [
    "aggregation",
    "class_contrasts",
    "comparison",
    "contrasts",
    "corrections",
    "ensembles",
    "profiles",
    "strata",
]
