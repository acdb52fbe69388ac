"""What a challenge is: its phases, leaderboards, qualification, prizes, people and texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from surgvalid.errors import UnknownName
from surgvalid.host.challenge.entries import is_within
from surgvalid.stats.ranking.ladder import blind_reach
from surgvalid.submissions.phase import SubmissionPhase as Rules

BOARDS = ("technical", "clinical")
VISIBILITIES = {
    "public": "the leaderboard is for everybody as soon as it is made",
    "team": "a team sees its own values; the leaderboard waits for publication",
    "hidden": "nobody but the organisers sees a value before publication",
}
COUNTED = {
    "best": "the best submission counts",
    "last": "the last submission counts",
    "ladder": "the first submission counts until one is better by more than guessing at the same questions explains; "
    "no other value is shown",
}


@dataclass(frozen=True, kw_only=True)
class QualificationCriterion:
    """Who may enter a phase: those who beat baselines in another one."""

    phase: str
    boards: tuple[str, ...] = BOARDS
    baselines: tuple[str, ...] = ()
    """All of these must be beaten, on one and the same leaderboard."""
    least_boards: int = 1


@dataclass(frozen=True, kw_only=True)
class Prizes:
    """Money for the leaderboards of a phase."""

    pools: Mapping[str, float]
    currency: str = "USD"
    needs_description: bool = True
    four_eyes: bool = False
    """Who proposes does not sign."""


@dataclass(frozen=True, kw_only=True)
class ChallengePhase:
    """One phase. Phases may overlap."""

    slug: str
    title: str
    rules: Rules
    """What `surgvalid submission` calls a phase file: every limit of a run."""
    opens: datetime
    closes: datetime
    upload_grace_s: float = 6 * 3600.0
    """An upload announced before the end may still arrive so much later: its digest fixed every byte."""
    quota: int = 10
    """Scored submissions of a team."""
    attempts: int = 30
    """Submissions of any outcome."""
    open_at_once: int = 2
    """Submissions of a team that are under way."""
    public_data: bool = False
    """Whoever takes part has the questions and media: teams read what their containers wrote."""
    team_gb: float = 200.0
    """Bytes of a team that are kept for the phase."""
    counted: str = "best"
    visibility: str = "public"
    decimals: int = 3
    boards: tuple[str, ...] = BOARDS
    shards: int = 1
    gate: QualificationCriterion | None = None
    prizes: Prizes | None = None
    needs_description: bool = False
    questions: str = ""
    question_count: int = 0
    references: str = ""
    judges: tuple[str, ...] = ()
    gpu_price_per_hour: float = 0.0

    @property
    def probing(self) -> str:
        """What values that teams see give away about the questions; empty where they see none before it ends."""
        if self.visibility == "hidden" or not self.question_count:
            return ""
        if self.counted == "ladder":
            return "A submission that does not climb tells its team one bit: that it does not."
        bits = math.log2(10**self.decimals + 1) * len(self.boards)
        return (
            f"Each scored submission tells its team up to {bits:.0f} bits about the references. With all {self.quota} "
            "a system that looks at nothing can be expected to get "
            f"{blind_reach(self.question_count, self.quota):.2f} of {self.question_count:,} yes-or-no questions right, "
            "in place of 0.50."
        )

    def is_open(self, at: datetime) -> bool:
        """Whether something may be handed in; the closing second still belongs to the phase."""
        return is_within(at, self.opens, self.closes)


@dataclass(frozen=True, kw_only=True)
class RankingRule:
    """How leaderboards are made: a rule of `surgvalid rank` and its options."""

    rule: str = "focus"
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TeamRules:
    """Who may take part, and how teams are made."""

    most_members: int = 10
    registration_opens: datetime | None = None
    registration_closes: datetime | None = None
    countries_refused: tuple[str, ...] = ()
    coauthors: int = 3


@dataclass(frozen=True, kw_only=True)
class Challenge:
    """A whole challenge, checked."""

    name: str
    slug: str
    zone: str
    contact: str
    phases: tuple[ChallengePhase, ...]
    ranking: RankingRule
    teams: TeamRules
    baselines: Mapping[str, str]
    """Short name to title, in their order."""
    terms_version: str
    terms: str
    """The file with their text."""
    texts: Mapping[str, str]
    """Page to file."""
    digest: str
    """Of the file, and of the files with questions and texts that it names."""
    text: str
    """The file."""

    def phase(self, slug: str) -> ChallengePhase:
        """The phase of that short name.

        Raises:
            UnknownName: There is none.
        """
        for phase in self.phases:
            if phase.slug == slug:
                return phase
        raise UnknownName("phase", slug, [phase.slug for phase in self.phases])
