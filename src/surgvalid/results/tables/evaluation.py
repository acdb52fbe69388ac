"""Tables of `surgvalid evaluate` and `surgvalid data simulate`."""

from __future__ import annotations

from surgvalid.results.tables.statistics import COMPARE
from surgvalid.results.tables.table import Table, declared, text

_TABLES = declared(__name__)
METRICS = _TABLES["metrics"]
SANITY = _TABLES["sanity"]
PER_VIDEO = _TABLES["per_video"]
PER_CLASS = _TABLES["per_class"]
PER_STRATUM = _TABLES["per_stratum"]
RELIABILITY = _TABLES["reliability"]
COMPAT = _TABLES["compat"]
COCO_SUMMARY = _TABLES["coco_summary"]
DETECTION_ERRORS = _TABLES["detection_errors"]
DETECTIONS = _TABLES["detections"]
INSTANCES = _TABLES["instances"]


def _board(name: str, what: str) -> Table:
    return Table(
        name,
        f"One published row, or this run, on the {what} of Endoscapes2023; numbers in percent.",
        "more",
        "unread",
        model=text,
        trained_on=text,
        source=text,
        mark=text,
        conventions=text,
    )


BOARDS = {
    name: _board(f"board_{name}", what)
    for name, what in {"cvs": "critical view of safety", "boxes": "boxes", "masks": "masks"}.items()
}

PROCEDURES = _TABLES["procedures"]

POOLED_SITES = _TABLES["pooled_sites"]
SITE_COMPARISONS = Table("comparisons", COMPARE.about, **COMPARE.columns)
SITES = _TABLES["sites"]
SITE_COUNTS = _TABLES["site_counts"]
_OF_SITES = (POOLED_SITES, SITE_COMPARISONS, SITES, SITE_COUNTS)
_OF_BOXES = (COCO_SUMMARY, DETECTION_ERRORS, DETECTIONS)
_ALL = (METRICS, SANITY, PER_VIDEO, PER_CLASS, PER_STRATUM, RELIABILITY, COMPAT, *_OF_BOXES, INSTANCES)
COMBINE = (*_ALL, *_OF_SITES)
EVALUATE = (*_ALL, *BOARDS.values())
SIMULATE = (PROCEDURES,)
