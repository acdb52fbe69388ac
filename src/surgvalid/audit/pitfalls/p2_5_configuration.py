"""P2.5: nobody can tell how a metric was computed."""

from __future__ import annotations

from collections.abc import Iterator

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
    "study file. Fails where some have them and others do not, or where models were scored under different ones.",
    "Write the conventions of every metric beside its value, or compute it with a tool that records them.",
)


def recorded(study: AuditedStudy) -> dict[str, bool]:
    """Whether each reported metric has its conventions somewhere."""
    stated = study.scores.facts if study.scores is not None else {}
    known = {name: bool(facts.conventions) for name, facts in stated.items()}
    known |= {name: bool(words) or known.get(name, False) for name, words in study.conventions.items()}
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


LOOKS = (
    Look("conventions of every metric", every_metric),
    Look("one set of conventions for all models", same_for_all, needed=False),
)
