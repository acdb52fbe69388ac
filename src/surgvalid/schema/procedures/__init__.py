"""Annotated procedures: tracks, events, phases, the ledger of foreign objects, and their files."""

__all__ = [
    "foreign_objects",
    "ledger",
    "procedure_files",
    "procedure_problems",
    "spans",
    "tracks",
]
