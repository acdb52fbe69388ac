"""P3.4: values without intervals."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from surgvalid.audit.evidence import AuditEvidence, AuditNumber, Look, NotThere, Weight, failed, judged, passed
from surgvalid.audit.measures import listed
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy

ABOUT = Pitfall(
    "P3.4",
    "Values without uncertainty",
    Category.REPORTING,
    "Values are printed without an interval, so nobody sees how much they would move with other patients, and orders "
    "are read from the third digit.",
    ("unreliable",),
    (
        Seldom(39.1, "reported neither variability nor uncertainty", 46),
        Seldom(2.2, "reported confidence intervals", 46),
    ),
    "Whether every reported number has an interval: in the table of reported numbers, or in the results that verbs "
    "wrote. Fails where one has none, and where a printed number lies outside its own interval; what the data cannot "
    "carry (one or two videos) and says so is no failure.",
    "Give every value its interval over videos, and say how it was made.",
)
_TABLES = {"evaluate": "metrics", "combine": "metrics", "score": "summary", "rank": "buckets", "interval": "result",
           "compare": "result", "strata": "result"}  # fmt: skip


def reported_numbers(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The numbers that the study reports."""
    frame = study.table("reported").drop_nulls("value")
    ends = [name for name in ("low", "high") if name in frame.columns]
    bare = frame if len(ends) < 2 else frame.filter(pl.any_horizontal(pl.col(name).is_null() for name in ends))
    number = AuditNumber(
        "share of reported numbers with an interval", 1 - bare.height / max(1, frame.height), n=frame.height
    )
    text = f"{frame.height - bare.height} of {frame.height} reported numbers have an interval"
    names = [f"{model} {metric}" for model, metric in bare.select("model", "metric").iter_rows()]
    yield judged(bare.height, f"{text}; without: {listed(names)}.", f"{text}.", number)
    if len(ends) == 2:
        yield from _hold_their_value(frame)


def _hold_their_value(frame: pl.DataFrame) -> Iterator[AuditEvidence]:
    """Intervals that do not hold the number they are printed beside."""
    held = frame.drop_nulls(["low", "high"])
    off = held.filter(~pl.col("value").is_between("low", "high"))
    if off.height:
        names = [
            f"{row['model']} {row['metric']} {row['value']:g} [{row['low']:g}, {row['high']:g}]"
            for row in off.to_dicts()
        ]
        yield failed(f"Numbers outside their own interval: {listed(names)}.", weight=Weight.HIGH)


def results(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The numbers in results that verbs wrote, or what the study says of them."""
    counts = [_with_interval(result.frame(_TABLES[result.kind])) for result in study.of(*_TABLES)]
    counts = [(bare, every) for bare, every in counts if every]
    if counts:
        bare, every = sum(one for one, _ in counts), sum(one for _, one in counts)
        number = AuditNumber("share of values with an interval", 1 - bare / every, n=every)
        text = f"{every - bare:,} of {every:,} values in {len(counts)} results have an interval, or say why not."
        yield judged(bare, text, text, number, weight=Weight.LOW)
    elif "reported" in study.tables:
        raise NotThere("results of verbs")
    elif study.answer("intervals") is False or str(study.answer("intervals")).lower() in ("none", "no"):
        yield failed("By the study's own word values have no intervals.")
    else:
        yield passed(f"The study says that values have intervals over {study.answer('intervals')}.")


def _with_interval(frame: pl.DataFrame) -> tuple[int, int]:
    """Values without an interval and without a reason for it, and all values."""
    value = next((name for name in ("value", "accuracy", "difference", "delta") if name in frame.columns), None)
    if value is None or not {"low", "high"} <= set(frame.columns):
        return 0, 0
    held = frame.drop_nulls(value)
    bare = held.filter(pl.col("low").is_null() | pl.col("high").is_null())
    said_why = [name for name in ("note", "method") if name in bare.columns]
    unexplained = bare.filter(pl.all_horizontal(pl.col(name).is_null() for name in said_why)) if said_why else bare
    if "videos" in unexplained.columns:
        unexplained = unexplained.filter(pl.col("videos").is_null() | (pl.col("videos") > 2))
    return unexplained.height, held.height


def either(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Reported numbers where there are some, else results."""
    yield from (reported_numbers(study) if "reported" in study.tables else results(study))


LOOKS = (Look("intervals of reported numbers", either),)
