"""Tables of `surgvalid evaluate` and `surgvalid data simulate`."""

from __future__ import annotations

from surgvalid.results.tables.statistics import COMPARE
from surgvalid.results.tables.table import Table, number, text, whole

_RECORD = {
    "better": text("larger or smaller", needed=False),
    "estimand": text("what the value is a value of", needed=False),
    "conventions": text("choices without which the number means nothing", needed=False),
}
_NOTE = {"note": text("what is odd about the row", needed=False)}
_HOW = {
    "sd": number("of the value: standard error by the jackknife, or over resamples", needed=False),
    "df": number("degrees of freedom of the interval; empty where a method draws", needed=False),
    "videos": whole(needed=False),
    "effective_videos": number("videos of equal size that would carry as much", needed=False),
    "method": text("that gave the interval; none where the data carry none", needed=False),
}
_SPREAD = {
    "value": number(needed=False),
    "low": number("of the interval over videos", needed=False),
    "high": number(needed=False),
    **_HOW,
}

METRICS = Table(
    "metrics",
    "One metric.",
    metric=text,
    value=number,
    low=number("of the interval over videos"),
    high=number,
    floor=number("best value of a trivial predictor on the same references", needed=False),
    floor_predictor=text("which predicts that; it ignores its input", needed=False),
    **_HOW,
    **_RECORD,
    **_NOTE,
)
SANITY = Table(
    "sanity",
    "One check of predictions, references and videos that ran.",
    check=text("code of its finding"),
    outcome=text("ok, note, warning or error"),
    evidence=text("what was seen"),
    hint=text("what would mend it"),
    conventions=text("when the check speaks"),
)
PER_VIDEO = Table(
    "per_video",
    "One metric in one video.",
    video=text,
    metric=text(needed=False),
    value=number(needed=False),
    **_RECORD,
)
PER_CLASS = Table(
    "per_class",
    "One metric of one class.",
    **{"class": text(needed=False)},
    metric=text,
    **_SPREAD,
    **_RECORD,
    **_NOTE,
    references=whole("how often the class occurs", needed=False),
)
PER_STRATUM = Table(
    "per_stratum",
    "One metric on the cases of one stratum.",
    stratum=text("column", needed=False),
    stratum_value=text(needed=False),
    cases=whole(needed=False),
    metric=text,
    **_SPREAD,
    **_RECORD,
    **_NOTE,
)
RELIABILITY = Table(
    "reliability",
    "One bin of a calibration error.",
    metric=text,
    task=text,
    bin=whole(needed=False),
    share=number("of the cases"),
    confidence=number("mean"),
    observed=number("share that was right"),
    conventions=text(needed=False),
)
COMPAT = Table(
    "compat",
    "One metric that reproduces a flawed scorer, beside the corrected one.",
    "unread",
    metric=text,
    value=number,
    corrected_metric=text,
    corrected_value=number,
    difference=number,
    low=number("of the difference"),
    high=number,
    videos=whole,
    conventions=text,
    corrected_conventions=text,
)
COCO_SUMMARY = Table(
    "coco_summary",
    "One of the twelve numbers of the COCO protocol.",
    "unread",
    number=text("its name"),
    value=number,
    better=text("larger or smaller"),
    estimand=text,
    conventions=text,
)
DETECTION_ERRORS = Table(
    "detection_errors",
    "One way in which detections are wrong, by TIDE: mended alone, gains do not add up.",
    "unread",
    error=text("class, place, both, duplicate, background (detections) or missed (references)"),
    objects=whole,
    ap50=number("AP at IoU 0.5 if only this were mended"),
    gain=number("by how much that is more"),
    conventions=text,
)
INSTANCES = Table(
    "instances",
    "Pixels of one instance in one image: successes and trials of a failure analysis.",
    "unread",
    case=text,
    video=text,
    reference_id=whole("empty for an invented instance"),
    prediction_id=whole("empty for a missed one"),
    true_positive=whole,
    predicted=whole,
    reference=whole,
    conventions=text,
)


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

PROCEDURES = Table(
    "procedures",
    "One simulated procedure.",
    video=text,
    procedure_type=text,
    center=text,
    duration_s=whole,
    objects=whole(needed=False),
    events=whole(needed=False),
    masked_s=number("seconds without an image", needed=False),
)

POOLED_SITES = Table(
    "pooled",
    "One model and one metric over the videos of all sites.",
    model=text,
    metric=text,
    **_SPREAD,
    sites=whole("that have the metric"),
    **_RECORD,
    **_NOTE,
)
SITE_COMPARISONS = Table("comparisons", COMPARE.about, **COMPARE.columns)
SITES = Table(
    "sites",
    "What one site shared of one model.",
    site=text,
    model=text,
    videos=whole,
    left_out=whole("videos with too few cases to be shared"),
    minimum_cases=whole("of a video that is shared"),
)
SITE_COUNTS = Table(
    "counts",
    "How often one model was right in one video under one combination of properties, which are further columns.",
    "more",
    "unread",
    model=text,
    site=text,
    metric=text,
    video=text,
    successes=whole,
    trials=whole,
)
_OF_SITES = (POOLED_SITES, SITE_COMPARISONS, SITES, SITE_COUNTS)
_OF_BOXES = (COCO_SUMMARY, DETECTION_ERRORS)
_ALL = (METRICS, SANITY, PER_VIDEO, PER_CLASS, PER_STRATUM, RELIABILITY, COMPAT, *_OF_BOXES, INSTANCES)
COMBINE = (*_ALL, *_OF_SITES)
EVALUATE = (*_ALL, *BOARDS.values())
SIMULATE = (PROCEDURES,)
