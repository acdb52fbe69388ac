"""Everything that can happen in a hosted challenge. Each act is one transaction and one entry of the log."""

__all__ = ["tokens"]
