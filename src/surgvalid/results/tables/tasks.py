"""Tables of models that are asked: `task`, `ask`, `submission`."""

from __future__ import annotations

from surgvalid.results.tables.evaluation import METRICS, PER_CLASS, PER_STRATUM, PER_VIDEO, SANITY
from surgvalid.results.tables.table import declared

_TABLES = declared(__name__)
POLICIES = _TABLES["policies"]
READINGS = _TABLES["readings"]
READING_POLICIES = _TABLES["reading_policies"]
READING_PATHS = _TABLES["reading_paths"]
ANSWERS = _TABLES["answers"]
COSTS = _TABLES["costs"]
TASKS = _TABLES["tasks"]
BOARD = _TABLES["board"]
CONTRASTS = _TABLES["contrasts"]
MATRIX = _TABLES["matrix"]
TASK = (
    METRICS,
    SANITY,
    PER_VIDEO,
    PER_CLASS,
    PER_STRATUM,
    POLICIES,
    READINGS,
    READING_POLICIES,
    READING_PATHS,
    ANSWERS,
    COSTS,
    BOARD,
    MATRIX,
    CONTRASTS,
)
OUTCOMES = _TABLES["outcomes"]
ASK = (OUTCOMES,)
CHECKS = _TABLES["checks"]
SHARDS = _TABLES["shards"]
HISTORY = _TABLES["history"]
SUBMISSION = (CHECKS, SHARDS, HISTORY)
