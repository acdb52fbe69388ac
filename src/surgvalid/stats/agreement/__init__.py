"""Agreement between raters: coefficients, the ratings they are computed from, and a report with intervals."""

__all__ = ["coefficients", "ratings", "report", "tolerance"]
