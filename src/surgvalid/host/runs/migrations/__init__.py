"""Steps of the tables from version to version."""

__all__ = ()
