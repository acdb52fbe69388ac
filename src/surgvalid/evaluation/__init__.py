"""Predictions of any model against references: one file per kind reads them, `measure` makes the numbers.

`run.evaluate` is the public entry. Nothing is dropped or filled in silently: rows that do not pair up are
refused with an explanation, and every number carries the conventions it was computed under.
"""

__all__ = [
    "alignment",
    "combine",
    "data_sets",
    "detection",
    "folders",
    "measure",
    "predictions",
    "result",
    "run",
    "sanity",
    "sharing",
    "sites",
]
