"""P2.2: no metric looks at time."""

from __future__ import annotations

from collections.abc import Iterator

from surgvalid.audit.evidence import AuditEvidence, Look, NotThere, failed, passed
from surgvalid.audit.measures import estimate, grid_means, listed
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.audit.timelines import grid, restlessness, timelines

ABOUT = Pitfall(
    "P2.2",
    "No metric of time",
    Category.METRICS,
    "Frames are scored one by one. Whether predictions flicker, come late or lose an object between two frames is not "
    "seen, although a system in the operating room is used over time.",
    ("undetected",),
    (Seldom(77.2, "did not assess properties of time", 35),),
    "Whether any reported metric sees time; where predictions over time are there, how often they change for each "
    "change of the reference. Fails where the study has predictions over time, or is of that kind, and no such one.",
    "Report a metric of time beside the frame-wise one: segmental edit score or F1, flicker, transition delay, HOTA, "
    "latency.",
)
_BEGINNINGS = (
    "segment_", "transition_", "flicker", "short_segment", "spurious_switches", "temporal", "latency", "deadline",
    "hota", "assa", "idf1", "mota", "id_switch", "mask_stability", "edit", "seg_f1", "delay", "fps", "time_to",
)  # fmt: skip
OVER_TIME = frozenset({"phases", "tracking"})
"""Kinds of evaluation whose cases are whole videos."""


def sees_time(metric: str) -> bool:
    """Whether a metric of that name looks at more than one moment, or at when an answer comes.

    Example:
        >>> sees_time("segment_f1_50"), sees_time("dsc")
        (True, False)
    """
    return metric.lower().startswith(_BEGINNINGS)


def metric_of_time(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether a reported metric sees time."""
    names = study.metric_names
    kinds = {str(result.options.get("kind", "")) for result in study.of("evaluate")}
    over_time = "frames" in study.tables or bool(kinds & OVER_TIME)
    timed = [name for name in names if sees_time(name)]
    if timed:
        yield passed(f"{listed(timed)} {'sees' if len(timed) == 1 else 'see'} time.")
    elif not over_time or not names:
        raise NotThere("predictions over time: whether time plays a role cannot be told from scores of single cases")
    else:
        text = f"{names[0]} does not see time" if len(names) == 1 else f"None of {listed(names)} sees time"
        yield failed(f"{text}, although predictions run over time.")


def how_restless(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """How often predictions change for each change of the reference."""
    values, models, videos = grid(timelines(study), restlessness)
    around = grid_means(values, low=0.0)
    numbers = [
        estimate("changes of the prediction for each one of the reference", around, place, videos, subject=model)
        for place, model in enumerate(models)
    ]
    worst = max(numbers, key=lambda number: number.value)
    text = f"{worst.subject} changes {worst.value:.1f} times for each change of the reference (1 is as the procedure)."
    yield passed(text, *numbers, picture="intervals")


LOOKS = (
    Look("a metric that sees time", metric_of_time),
    Look("restlessness of predictions", how_restless, needed=False),
)
