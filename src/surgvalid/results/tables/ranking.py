"""Tables of `surgvalid rank`: the FOCUS leaderboards, and the rules in the tradition of challengeR."""

from __future__ import annotations

from surgvalid.results.tables.table import declared

BUCKET_TOO_SMALL = "bucket-too-small"
"""Code of the findings about buckets with few videos, of which there may be many."""
UNREACHABLE = "correction-unreachable"
"""Code of the findings about buckets in which nothing can be significant, of which there may be many."""
NOTHING_SIGNIFICANT = "nothing-significant"
"""Code of the finding that no pair of models differs significantly in any bucket of a leaderboard."""

_TABLES = declared(__name__)
PLACES = _TABLES["places"]
BUCKETS = _TABLES["buckets"]
PAIRS = _TABLES["pairs"]
STABILITY = _TABLES["stability"]
PLACE_FREQUENCIES = _TABLES["place_frequencies"]
TAU_FREQUENCIES = _TABLES["tau_frequencies"]
SUMMARY = _TABLES["summary"]
DOMINANCE = _TABLES["dominance"]
DIFFERENCES = _TABLES["differences"]
SENSITIVITY = _TABLES["sensitivity"]
INFLUENCE = _TABLES["influence"]
GATE_EVIDENCE = _TABLES["gate_evidence"]
LEADS = _TABLES["leads"]
PRIZES = _TABLES["prizes"]
CHALLENGER = _TABLES["challenger"]

RANKS = _TABLES["ranks"]
CONSENSUS = _TABLES["consensus"]
KENDALL = _TABLES["kendall"]
FOOTRULE = _TABLES["footrule"]
TASK_PAIRS = _TABLES["task_pairs"]
TASK_STABILITY = _TABLES["task_stability"]
FREQUENCIES = _TABLES["frequencies"]
TAU = _TABLES["tau"]
TASK_TAU_FREQUENCIES = _TABLES["task_tau_frequencies"]

FOCUS = (
    PLACES,
    BUCKETS,
    PAIRS,
    STABILITY,
    PLACE_FREQUENCIES,
    TAU_FREQUENCIES,
    SUMMARY,
    DOMINANCE,
    DIFFERENCES,
    SENSITIVITY,
    INFLUENCE,
    GATE_EVIDENCE,
    LEADS,
    PRIZES,
    CHALLENGER,
)
TASKS = (
    RANKS,
    CONSENSUS,
    KENDALL,
    FOOTRULE,
    TASK_PAIRS,
    TASK_STABILITY,
    FREQUENCIES,
    TAU,
    TASK_TAU_FREQUENCIES,
)
