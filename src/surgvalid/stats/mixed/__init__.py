"""Mixed models: formula and table -> design -> deviance -> optimiser -> inference, one file per step."""

__all__ = [
    "change",
    "failure_fit",
    "failure_table",
    "failures",
    "inference",
    "model",
    "report",
]
