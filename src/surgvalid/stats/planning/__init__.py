"""How large a study has to be: from a pilot or from stated spreads to numbers of videos and questions."""

__all__ = [
    "closed_forms",
    "monitoring",
    "orders",
    "settings",
    "sizes",
    "sources",
]
