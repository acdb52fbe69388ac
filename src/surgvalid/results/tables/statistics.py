"""Tables of the verbs that take a score table and answer with one or two tables."""

from __future__ import annotations

from surgvalid.results.tables.table import declared

_TABLES = declared(__name__)
INTERVAL = _TABLES["interval"]
COMPARE = _TABLES["compare"]
STRATA = _TABLES["strata"]
AGGREGATE = _TABLES["aggregate"]
AGREEMENT = _TABLES["agreement"]
TOLERANCE = _TABLES["tolerance"]
PROFILES = _TABLES["profiles"]
IMPROVEMENT = _TABLES["improvement"]
ADJUSTED = _TABLES["adjusted"]
COOCCURRENCE = _TABLES["cooccurrence"]
VARIABILITY = _TABLES["variability"]
DEPENDENCE = _TABLES["dependence"]
WIDTH_RATIO = _TABLES["width_ratio"]
WIDTH_SUMMARIES = _TABLES["width_summaries"]
ENSEMBLES = _TABLES["ensembles"]
INFLUENCE = _TABLES["influence"]
