"""P2.1: what is measured is not what the clinic needs."""

from __future__ import annotations

from collections.abc import Iterator

from surgvalid.audit.evidence import AuditEvidence, Look, Weight, failed, passed
from surgvalid.audit.measures import counted, listed
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy

ABOUT = Pitfall(
    "P2.1",
    "Metrics that miss the clinical need",
    Category.METRICS,
    "A metric is popular and says nothing about what a surgeon needs: an outline where borders matter, an answer in "
    "time, no missed event.",
    ("waste",),
    (
        Seldom(80.4, "left it unclear whether clinical needs decided the metrics", 46),
        Seldom(69.4, "did not justify their metrics", 46),
    ),
    "Every declared clinical requirement must name a metric that the study reports. Fails where one names none, or one "
    "that is not reported.",
    "Write down what the clinic needs, choose a metric for each need (Metrics Reloaded helps), and report those.",
)


def needs_have_metrics(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether every requirement has a metric that is reported."""
    needs = study.answer("requirements")
    if needs is False:
        yield failed("By the study's own word no clinical requirement decided the metrics.")
        return
    names = study.metric_names
    bare = [need["requirement"] for need in needs if not need.get("metric")]
    unreported = [
        f"{need['requirement']} ({need['metric']})"
        for need in needs
        if need.get("metric") and study.called(need["metric"]) not in names
    ]
    if bare or unreported:
        parts = [f"no metric measures: {listed(bare)}"] if bare else []
        parts += [f"the metric is not reported: {listed(unreported)}"] if unreported else []
        yield failed(f"{counted(len(needs), 'requirement')}; {'; '.join(parts)}.", weight=Weight.HIGH)
    else:
        pairs = listed([f"{need['requirement']}: {need['metric']}" for need in needs])
        yield passed(f"{counted(len(needs), 'requirement')}, each with a metric that is reported ({pairs}).")


LOOKS = (Look("metrics of clinical requirements", needs_have_metrics),)
