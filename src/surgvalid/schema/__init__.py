"""Vocabulary and files: what a question, an answer and a score are, and how they are read and written."""

__all__ = [
    "archives",
    "documents",
    "file_kinds",
    "finding_log",
    "findings",
    "left_behind",
    "legacy",
    "metric_facts",
    "model_names",
    "outcomes",
    "procedures",
    "questions",
    "rows",
    "shard",
    "shown_text",
    "statistic_rules",
    "tables",
]
