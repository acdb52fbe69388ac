"""What a team has left in a phase.

A submission is counted as scored when it reached `scored`, or failed by its own doing after it had answered something.
Those under way hold a place until they end, so that however many are handed in at once, no more come through than the
quota has room for. Attempts count everything but what failed on our side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet, Sum

from surgvalid.host.challenge.challenge import ChallengePhase
from surgvalid.host.runs.models import QuotaGrant, Submission
from surgvalid.submissions.stages import Stage

UNDER_WAY = [one.value for one in (Stage.UPLOADED, Stage.INTAKE_OK, Stage.QUEUED, Stage.RUNNING, Stage.INFERRED)]
SCORED = [Stage.SCORED.value, Stage.PUBLISHED.value]


@dataclass(frozen=True, kw_only=True)
class QuotaUsage:
    """What a team used and may use in a phase."""

    scored: int
    under_way: int
    attempts: int
    quota: int
    most_attempts: int
    open_at_once: int

    @property
    def scored_left(self) -> int:
        """Scored submissions that may still be handed in; those under way hold a place."""
        return max(0, self.quota - self.scored - self.under_way)

    @property
    def attempts_left(self) -> int:
        """Submissions of any outcome that may still be handed in."""
        return max(0, self.most_attempts - self.attempts)


def usage_of(team: Any, phase: ChallengePhase) -> QuotaUsage:
    """What a team used and may use in a phase."""
    mine: QuerySet[Submission] = Submission.objects.filter(team=team, phase=phase.slug)
    granted = QuotaGrant.objects.filter(team=team, phase=phase.slug).aggregate(
        scored=Sum("scored", default=0), attempts=Sum("attempts", default=0)
    )
    return QuotaUsage(
        scored=mine.filter(counted_as_scored()).count(),
        under_way=mine.filter(stage__in=UNDER_WAY, values={}).count(),
        attempts=mine.exclude(stage=Stage.FAILED_INFRA.value).count(),
        quota=phase.quota + granted["scored"],
        most_attempts=phase.attempts + granted["attempts"],
        open_at_once=phase.open_at_once,
    )


def counted_as_scored() -> Q:
    """Submissions that used a place for good; disqualified and re-run ones that were scored among them."""
    failed = Q(stage=Stage.FAILED_PARTICIPANT.value, answered__gt=0)
    return Q(stage__in=SCORED) | failed | ~Q(values={})


def why_no_more(usage: QuotaUsage) -> tuple[str, str] | None:
    """The code and the sentence that keep a team from handing in one more, or None."""
    if usage.attempts >= usage.most_attempts:
        return "attempts-used", f"{usage.attempts} of {usage.most_attempts} attempts are used."
    if usage.scored >= usage.quota:
        return "quota-used", f"{usage.scored} of {usage.quota} scored submissions are used."
    if usage.scored + usage.under_way >= usage.quota:
        held = f"{usage.scored} of {usage.quota} scored submissions are used and {usage.under_way} are under way."
        return "quota-reserved", held
    if usage.under_way >= usage.open_at_once:
        return "too-many-under-way", f"{usage.under_way} submissions are under way; {usage.open_at_once} may be."
    return None
