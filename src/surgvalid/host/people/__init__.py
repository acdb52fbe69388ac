"""People: accounts, teams, terms, roles, and what one person may ask about his own data."""

__all__ = ["acts", "models"]
