"""Tables of `surgvalid score`, `floors`, `diff` and `rehearse`."""

from __future__ import annotations

from surgvalid.results.tables.table import declared

_TABLES = declared(__name__)
SUMMARY = _TABLES["summary"]
TARGETED = _TABLES["targeted"]
OOD_GAP = _TABLES["ood_gap"]
COUNTS = _TABLES["counts"]
LEVERAGE_QUESTIONS = _TABLES["leverage_questions"]
LEVERAGE_VIDEOS = _TABLES["leverage_videos"]
JUDGES = _TABLES["judges"]
JUDGE_AGREEMENT = _TABLES["judge_agreement"]
RESULTS = _TABLES["results"]

FLOORS = _TABLES["floors"]
TEMPLATES = _TABLES["templates"]
UNSEEN_TEMPLATES = _TABLES["unseen_templates"]
MARGINS = _TABLES["margins"]

MOVED = _TABLES["moved"]
CHANGES = _TABLES["changes"]
SETTINGS = _TABLES["settings"]
REHEARSE = _TABLES["rehearse"]

CEILING = _TABLES["ceiling"]

SCORE = (
    SUMMARY,
    OOD_GAP,
    TARGETED,
    COUNTS,
    LEVERAGE_QUESTIONS,
    LEVERAGE_VIDEOS,
    JUDGES,
    JUDGE_AGREEMENT,
    RESULTS,
    CEILING,
)
FLOOR = (FLOORS, TEMPLATES, MARGINS, UNSEEN_TEMPLATES)
DIFF = (MOVED, CHANGES, SETTINGS)
