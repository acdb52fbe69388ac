"""What a mixed model is: formula, families, table, design and the structure of its random effects."""

__all__ = ["design", "failure_settings"]
