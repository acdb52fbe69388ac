"""Checks of what others print and claim: for reviewers, organisers and authors, with the evidence shown."""

__all__ = [
    "audit",
    "data_card",
    "evidence",
    "guideline",
    "new_study",
    "pitfall",
    "study",
    "study_files",
    "tables",
]
