"""Tables of `surgvalid report supplement`: those of the verbs it calls, for all models together."""

from __future__ import annotations

from surgvalid.results.tables import failures, ranking, scoring, statistics
from surgvalid.results.tables.table import Column, Mark, Table, declared, text

_TABLES = declared(__name__)
CONTENTS = _TABLES["contents"]


def _named(name: str, table: Table, /, **first: Column) -> Table:
    """A table of another verb under the name of its file here; columns that come first say whose rows they are."""
    marks: tuple[Mark, ...] = ("more", "unread") if table.more else ("unread",)
    return Table(name, table.about, *marks, **first, **table.columns)


HEADLINES = Table(
    "headlines",
    "One primary result of one model: of all questions, of the clinical ones.",
    "unread",
    model=text,
    **{name: column for name, column in scoring.SUMMARY.columns.items() if name not in ("level", "estimand")},
)
VALUES = _named("values", statistics.INTERVAL)
OOD_GAPS = _named("ood_gaps", scoring.OOD_GAP, model=text)
TARGETED = _named("targeted_metrics", scoring.TARGETED, model=text)
STRATA = _named("strata", statistics.STRATA)
COOCCURRENCE = _named("cooccurrence", statistics.COOCCURRENCE)
ADJUSTED = _named("adjusted", statistics.ADJUSTED)
MIXED = _named("mixed_effects", failures.EFFECTS)
VARIABILITY = _named("variability", statistics.VARIABILITY)
INFLUENCE = statistics.INFLUENCE
PLACES = _named("places", ranking.PLACES)
STABILITY = _named("place_stability", ranking.STABILITY)
FREQUENCIES = _named("place_frequencies", ranking.PLACE_FREQUENCIES)
DIFFERENCES = _named("differences", statistics.COMPARE)
ENSEMBLES = _named("ensembles", statistics.ENSEMBLES)
OUTCOMES = _TABLES["outcomes"]
HARDEST = _TABLES["hardest"]

SUPPLEMENT = (
    CONTENTS,
    HEADLINES,
    VALUES,
    OOD_GAPS,
    TARGETED,
    STRATA,
    COOCCURRENCE,
    ADJUSTED,
    MIXED,
    VARIABILITY,
    INFLUENCE,
    PLACES,
    STABILITY,
    FREQUENCIES,
    DIFFERENCES,
    ENSEMBLES,
    OUTCOMES,
    HARDEST,
)
