"""Mixed models: formula and table -> design -> deviance -> optimiser -> inference, one file per step."""

__all__ = [
    "change", "design", "diagnostics", "failure_table", "failures", "fit_tables", "marginal", "report", "residuals",
    "result", "symbols",
]  # fmt: skip
