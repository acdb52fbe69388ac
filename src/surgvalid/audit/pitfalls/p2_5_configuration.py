"""P2.5: nobody can tell how a metric was computed."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from surgvalid.audit.evidence import AuditEvidence, Look, NotThere, Weight, failed, judged, passed, quoted
from surgvalid.audit.measures import listed
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy

ABOUT = Pitfall(
    "P2.5",
    "Metrics without a stated configuration",
    Category.METRICS,
    "The same name stands for different computations: which labels, which average, what counts for empty masks and "
    "absent classes, which threshold, tolerance and frame rate. Values under two of them cannot be compared.",
    ("opaque", "unreliable", "undetected"),
    (Seldom(82.6, "did not describe how metrics were computed", 46),),
    "Every reported metric must come with its conventions: those that surgvalid records, or [metrics.NAME] of the "
    "study file. Fails where some have them and others do not, where models were scored under different ones, and "
    "where a model has the same value in all cases of a metric that takes ten or more for every other model.",
    "Write the conventions of every metric beside its value, or compute it with a tool that records them.",
)
MANY = 10
"""Different values of the other models from which on one value in all cases is no chance."""


def recorded(study: AuditedStudy) -> dict[str, bool]:
    """Whether each reported metric has its conventions somewhere."""
    stated = study.scores.facts if study.scores is not None else {}
    known = {name: bool(facts.conventions) for name, facts in stated.items()}
    known |= {name: bool(words) or known.get(name, False) for name, words in study.stated.items()}
    for result in study.of("evaluate", "combine"):
        frame = result.frame("metrics")
        if {"metric", "conventions"} <= set(frame.columns):
            rows = frame.select("metric", "conventions").rows()
            known |= {name: bool(words) or known.get(name, False) for name, words in rows}
    return {name: known.get(name, False) for name in study.metric_names}


def every_metric(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether every metric has its conventions."""
    known = recorded(study)
    if not known:
        raise NotThere("a metric")
    bare = [name for name, has in known.items() if not has]
    if not bare:
        yield passed(f"The conventions of {listed(list(known))} are recorded.")
    elif len(bare) < len(known):
        yield failed(f"No conventions are recorded of {listed(bare)}, beside {len(known) - len(bare)} that have them.")
    elif study.answer("conventions") is False:
        yield failed(f"By the study's own word nothing is recorded of how {listed(bare)} was computed.")
    else:
        yield passed(quoted(study.answer("conventions")))


def same_for_all(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether all models were scored under the same conventions."""
    versions: dict[str, set[str]] = {}
    for result in study.of("evaluate"):
        frame = result.frame("metrics")
        if {"metric", "conventions"} <= set(frame.columns):
            for name, words in frame.select("metric", "conventions").rows():
                versions.setdefault(name, set()).add(str(words))
    profiles = {str(result.options.get("profile")) for result in study.of("score")} - {"None"}
    if not versions and not profiles:
        raise NotThere("results of several models that record their conventions")
    apart = [name for name, kinds in versions.items() if len(kinds) > 1]
    apart += ["the scoring profile"] if len(profiles) > 1 else []
    yield judged(
        apart,
        f"Models were scored under different conventions of {listed(apart)}.",
        "All models were scored under the same conventions.",
        weight=Weight.HIGH,
    )


def varies_for_all(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Models whose scores never vary where those of all others do: they were computed in another way, or not at all."""
    scores, still = study.scored, []
    for name in scores.metrics:
        rows = scores.frame.filter(metric=name).drop_nulls("value").group_by("model")
        spread = rows.agg(pl.len(), pl.col("value").n_unique().alias("kinds"), pl.col("value").first()).sort("model")
        if spread.filter(pl.col("kinds") >= MANY).height < max(1, spread.height - 1):
            continue
        bare = spread.filter(pl.col("kinds") == 1, pl.col("len") >= MANY).to_dicts()
        still += [f"{row['model']} has {name} {row['value']:g} in all {row['len']} cases" for row in bare]
    yield judged(
        still,
        f"Scores that never vary, where those of other models do: {listed(still)}.",
        "No model's scores stand still.",
    )


LOOKS = (
    Look("conventions of every metric", every_metric),
    Look("scores that never vary", varies_for_all, needed=False, scored=True),
    Look("one set of conventions for all models", same_for_all, needed=False),
)
