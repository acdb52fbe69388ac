"""Score tables in; intervals, tests, strata, aggregation, agreement and rankings out."""
