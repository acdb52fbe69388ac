"""Signs that one person uses several accounts or teams; they point, and an organiser decides."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count

from surgeval.host.people.models import BrowserSighting, FlagReview, Membership, Team


@dataclass(frozen=True)
class Flag:
    """One sign: what was shared, and by whom."""

    kind: str
    key: str
    names: tuple[str, ...]
    teams: tuple[str, ...]
    review: FlagReview | None = None

    @property
    def title(self) -> str:
        """What was seen, in a line."""
        return {"browser": "Several accounts used one browser", "image": "Several teams sent the same image"}[self.kind]


def browser_flags() -> list[Flag]:
    """Browsers from which accounts of different teams, or of no team, were used."""
    shared = (
        BrowserSighting.objects.values("browser_sha256").annotate(users=Count("user")).filter(users__gt=1)
    ).values_list("browser_sha256", flat=True)
    seen = defaultdict(list)
    for sighting in BrowserSighting.objects.filter(browser_sha256__in=list(shared)).select_related("user"):
        seen[sighting.browser_sha256].append(sighting.user)
    memberships = Membership.objects.filter(left_at__isnull=True).select_related("team")
    teams = {membership.user_id: membership.team.name for membership in memberships}
    reviews = _reviews("browser")
    return [
        Flag(
            "browser",
            key,
            tuple(sorted(str(user) for user in users)),
            tuple(sorted({teams[user.pk] for user in users if user.pk in teams})),
            reviews.get(key),
        )
        for key, users in sorted(seen.items())
    ]


def image_flags() -> list[Flag]:
    """Images that more than one team handed in."""
    from surgeval.host.runs.models import Submission  # the two apps' models refer to each other

    sent = Submission.objects.exclude(image_digest="").values_list("image_digest", "team_id").distinct()
    teams_of = defaultdict(set)
    for image, team in sent:
        teams_of[image].add(team)
    shared = {image: teams for image, teams in teams_of.items() if len(teams) > 1}
    names = dict(Team.objects.filter(pk__in=set().union(*shared.values()) if shared else ()).values_list("pk", "name"))
    reviews = _reviews("image")
    return [
        Flag("image", image, (), tuple(sorted(names[team] for team in teams)), reviews.get(image))
        for image, teams in sorted(shared.items())
    ]


def _reviews(kind: str) -> dict[str, FlagReview]:
    return {review.key: review for review in FlagReview.objects.filter(kind=kind).select_related("reviewed_by")}
