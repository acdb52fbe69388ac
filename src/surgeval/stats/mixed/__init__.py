"""Mixed models: formula and table -> design -> deviance -> optimiser -> inference, one file per step."""

__all__ = ["design", "diagnostics", "failures", "marginal", "report", "residuals", "result", "symbols"]
