"""Judges of free text: one file per kind, found by its name; verdicts are data."""
