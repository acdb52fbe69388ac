"""P2.7: a metric's known limits meet data on which they matter."""

from __future__ import annotations

from collections.abc import Iterator

from surgvalid.audit.evidence import AuditEvidence, Look, NotThere, Weight, failed, judged, passed
from surgvalid.audit.measures import coded, estimate, listed, means
from surgvalid.audit.pitfall import Category, Pitfall
from surgvalid.audit.study import AuditedStudy

ABOUT = Pitfall(
    "P2.7",
    "Limits of the metric itself",
    Category.METRICS,
    "Every metric has properties that mislead on some data: accuracy where one class is nearly everything, overlap of "
    "tiny objects, values that a predictor without eyes reaches.",
    ("unreliable", "undetected"),
    (),
    "The share of the largest class where only metrics are reported that it decides (accuracy and the like), and "
    "values no better than those of trivial predictors on the same references. Fails where the largest class has 80 % "
    "of the cases or more, and where a main value does not beat its trivial baseline.",
    "Report a metric that weighs classes alike (balanced accuracy, macro F1) beside accuracy, and trivial baselines "
    "beside everything.",
)
BY_FREQUENCY = frozenset(
    "accuracy correct phase_accuracy label_accuracy micro_f1 micro_precision micro_recall micro_jaccard weighted_f1 "
    "weighted_precision weighted_recall weighted_jaccard top_k_accuracy video_accuracy acc".split()
)
"""Metrics that frequent classes decide."""
LARGEST = 0.8
FLOOR = "no-better-than-trivial"


def largest_class(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether one class decides every reported metric."""
    cases = study.table("cases", "reference").drop_nulls("reference")
    names = study.metric_names
    if not names:
        raise NotThere("a metric")
    labels, reference = coded(cases["reference"])
    counts = [int((reference == place).sum()) for place in range(len(labels))]
    largest = counts.index(max(counts))
    videos, codes = coded(study.units(cases["video"]))
    share = means((reference == largest).astype(float), codes)
    number = estimate("share of the largest class", share, 0, videos, subject=labels[largest])
    others = [name for name in names if name.lower() not in BY_FREQUENCY]
    text = f"{share.value[0]:.0%} of {len(reference):,} cases are {labels[largest]!r}"
    if share.value[0] >= LARGEST and not others:
        yield failed(
            f"{text}, and frequent classes decide all that is reported ({listed(names)}).", number, weight=Weight.HIGH
        )
    elif share.value[0] >= LARGEST:
        yield passed(f"{text}; {listed(others)} do not follow the largest class alone.", number)
    else:
        yield passed(f"{text}.", number)


def above_trivial_baselines(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """What the checks before numbers said of trivial predictors."""
    seen = [result.frame("sanity") for result in study.of("evaluate", "combine")]
    rows = [row for frame in seen for row in frame.to_dicts() if row.get("check") == FLOOR]
    if not rows:
        raise NotThere("an evaluation with trivial baselines")
    bad = [str(row["evidence"]) for row in rows if row["outcome"] in ("warning", "error")]
    yield judged(
        bad,
        f"{''.join(bad[:1])}{f' (so in {len(bad)} evaluations)' if len(bad) > 1 else ''}",
        f"The main value beats trivial predictors in {len(rows)} evaluations.",
        weight=Weight.HIGH,
    )


LOOKS = (
    Look("one class that decides the metric", largest_class),
    Look("values above trivial baselines", above_trivial_baselines, needed=False),
)
