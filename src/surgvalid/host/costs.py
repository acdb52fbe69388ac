"""What a phase can cost at most, before it opens: GPU hours if every answer takes its whole budget."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from surgvalid.asking.plan import PlanState
from surgvalid.host.challenge.challenge import ChallengePhase
from surgvalid.schema.questions.question_files import load_questions


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Worst cases of a phase, in hours of one GPU (or of one machine, where the phase has none)."""

    phase: str
    questions: int
    videos: int
    answers_hours: float
    """Of one submission whose every answer takes the whole budget."""
    starts_hours: float
    """Of its containers, if each start takes the whole budget for that; restarts come on top in `worst_hours`."""
    one_hours: float
    """One submission: answers and starts."""
    worst_hours: float
    """One submission with every restart that the phase allows."""
    quota_hours: float
    """Every team uses its quota, each submission at `answers_hours` plus `starts_hours`."""
    attempts_hours: float
    """Every team uses every attempt, each at `worst_hours`."""
    price: float
    """Of `attempts_hours`; 0 where the file names no price."""


def cost_of(phase: ChallengePhase, folder: Path, *, teams: int) -> Cost:
    """What a phase can cost at most with so many teams."""
    requests = load_questions(folder / phase.questions / "request.json", ()).requests.values()
    questions, videos = len(requests), len({request.video for request in requests})
    rules = phase.rules.budget
    starts = {PlanState.PER_QUESTION: questions, PlanState.PER_VIDEO: videos, PlanState.FREE: phase.shards}[rules.state]
    answers = questions * rules.budget_s / 3600
    starting = starts * rules.start_up_s / 3600
    worst = answers + starting + videos * rules.most_restarts * rules.start_up_s / 3600
    attempts = teams * phase.attempts * worst
    return Cost(
        phase=phase.slug,
        questions=questions,
        videos=videos,
        answers_hours=answers,
        starts_hours=starting,
        one_hours=answers + starting,
        worst_hours=worst,
        quota_hours=teams * phase.quota * (answers + starting),
        attempts_hours=attempts,
        price=attempts * phase.gpu_price_per_hour,
    )
