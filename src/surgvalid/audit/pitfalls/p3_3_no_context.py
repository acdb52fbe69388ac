"""P3.3: a value stands alone, without what would be good, trivial or human."""

from __future__ import annotations

from collections.abc import Iterator

from surgvalid.audit.evidence import (
    AuditEvidence,
    AuditNumber,
    Look,
    NamedNotThere,
    NotThere,
    Weight,
    failed,
    judged,
    passed,
)
from surgvalid.audit.measures import counted, end, listed, number_of
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.intervals.sign_flip_interval import FEWEST_TESTED

ABOUT = Pitfall(
    "P3.3",
    "Values without context",
    Category.REPORTING,
    "A value is printed without what raters reach, what a predictor without eyes reaches, what would be enough for the "
    "clinic, or whether a difference is more than chance.",
    ("opaque", "waste"),
    (Seldom(80.4, "did not put values into context", 46),),
    "Every value against the declared clinical threshold and against trivial baselines, and every claim that one "
    "model is better than another by the exact test over videos. Fails where a claim is not significant at 5 %, "
    "neither by the mean over cases nor by that of video means; values that do not beat their trivial baseline fail "
    "P2.7.",
    "Give the threshold that the task asks for, the agreement of raters, trivial baselines, and tests of differences.",
)
LEVEL = 0.05


def against_threshold(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """How many models reach what is wanted."""
    wanted = study.answer("threshold")
    if wanted is False:
        yield failed("By the study's own word nobody said which value would be good enough.", weight=Weight.LOW)
        return
    matrix = study.directed
    rows = interval(study.scores, **study.options).table.drop_nulls("value").to_dicts()
    numbers = [number_of(f"{matrix.metric.name} (wanted: {wanted:g})", row) for row in rows]
    sign = matrix.metric.sign
    good = [one.subject for one in numbers if sign * (_safe_end(one, sign) - wanted) >= 0]
    reach = [one.subject for one in numbers if sign * (one.value - wanted) >= 0]
    text = f"Wanted: {wanted:g}. {len(reach)} of {len(numbers)} models reach it, {len(good)} with their whole interval"
    yield passed(f"{text}{f' ({listed(good)})' if good else ''}.", *numbers, picture="intervals")


def _safe_end(number: AuditNumber, sign: float) -> float:
    bad_end = number.low if sign > 0 else number.high
    return -sign * float("inf") if bad_end is None else bad_end


def against_trivial_baselines(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """What trivial predictors reach, beside the best model."""
    metrics = [result.frame("metrics") for result in study.of("evaluate", "combine")]
    rows = [row for frame in metrics if {"floor", "value"} <= set(frame.columns) for row in frame.to_dicts()[:1]]
    rows = [row for row in rows if row["floor"] is not None and row["value"] is not None]
    numbers = [
        AuditNumber(f"{row['metric']}: trivial baseline", row["floor"], subject=str(row.get("floor_predictor") or ""))
        for row in rows
    ]
    numbers += [
        AuditNumber(
            "trivial baseline",
            float(row["accuracy"]),
            end(row.get("low")),
            end(row.get("high")),
            subject=str(row.get("floor") or row.get("name") or ""),
        )
        for result in study.of("floors")
        for row in result.frame("floors").to_dicts()[:20]
        if row.get("accuracy") is not None
    ]
    if not numbers:
        raise NotThere("trivial baselines (`surgvalid score baselines`, or an evaluation of predictions)")
    yield passed(f"Beside the values: {counted(len(numbers), 'trivial baseline')}.", *numbers)


def claims_hold(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether claims that one model is better survive the test."""
    if not study.has_answer("claims"):
        if study.of("rank", "rank-tasks", "compare"):
            yield passed("Differences are tested in the results (rank or compare).")
            return
        raise NotThere("claims to be tested (answers.claims), or results of rank or compare")
    matrix = study.directed
    numbers, bad = [], []
    for claim in study.answer("claims"):
        pair = (claim["better"], claim["than"])
        if absent := [name for name in pair if name not in matrix.models]:
            raise NamedNotThere(f"scores of {listed(absent)}, about which a claim is made (answers.claims)")
        rows = (
            compare(study.scores, *pair, estimand=mean, **study.options).table.row(0, named=True)
            for mean in ("rows", "videos")
        )
        row = max(rows, key=lambda row: (matrix.metric.sign * row["difference"] > 0, -(row["p_value"] or 1.0)))
        numbers.append(number_of("difference claimed", row, "difference", subject=" over ".join(pair)))
        p_value = row["p_value"]
        if (row["videos"] or 0) < FEWEST_TESTED or p_value is None:
            bad.append(f"{pair[0]} over {pair[1]} (fewer than {FEWEST_TESTED} videos: no test can show it)")
        elif p_value > LEVEL or matrix.metric.sign * row["difference"] <= 0:
            bad.append(f"{pair[0]} over {pair[1]} ({row['difference']:+.3g}, p = {p_value:.2g})")
    yield judged(
        bad,
        f"Claims that the scores do not carry: {listed(bad)}.",
        f"{counted(len(numbers), 'claim')} tested, significant at {LEVEL:.0%}.",
        *numbers,
        weight=Weight.HIGH,
        picture="intervals",
    )


LOOKS = (
    Look("the value that would be good enough", against_threshold),
    Look("trivial baselines", against_trivial_baselines, needed=False),
    Look("claims of superiority", claims_hold, needed=False, scored=True),
)
