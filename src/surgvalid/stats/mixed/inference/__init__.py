"""What a fitted mixed model says: tests, marginal means, diagnostics, tables."""

__all__ = ["adjusted", "diagnostics", "fit_tables", "term_tests"]
