"""Printed tables of results: read as they are printed, and held against what no data could give."""

__all__ = ["audit"]
