"""People: accounts, teams, terms, roles, and what one person may ask about his own data."""

__all__ = [
    "acts",
    "adapter",
    "countries",
    "flags",
    "journal",
    "merging",
    "models",
    "names",
    "privacy",
    "rules",
    "secrets",
    "standing",
    "teams",
    "terms",
]
