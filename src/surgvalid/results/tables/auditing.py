"""Tables of `audit`: of a study, of label errors, of data cards and of printed tables."""

from __future__ import annotations

from surgvalid.results.tables.table import declared

_TABLES = declared(__name__)
CHECKS = _TABLES["checks"]
EVIDENCE = _TABLES["evidence"]
NUMBERS = _TABLES["numbers"]
QUESTIONS = _TABLES["questions"]
ITEMS = _TABLES["items"]
LABEL_ERRORS = _TABLES["label_errors"]
STUDY_AUDIT = (CHECKS, EVIDENCE, NUMBERS, QUESTIONS, ITEMS, LABEL_ERRORS)
CARD_COUNTS = _TABLES["card_counts"]
CARD_CLASSES = _TABLES["card_classes"]
CARD = (CARD_COUNTS, CARD_CLASSES)
FINDINGS = _TABLES["findings"]
COLUMNS = _TABLES["columns"]
CELLS = _TABLES["cells"]
AUDIT = (FINDINGS, COLUMNS, CELLS)
