"""The log: append-only, each entry sealed with the one before."""

__all__ = [
    "acting",
    "chain",
]
