"""Words that templates use."""

__all__ = [
    "house",
]
