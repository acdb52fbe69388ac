"""The page on what a challenge can cost at most."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from surgeval.errors import SurgevalError
from surgeval.host import places
from surgeval.host.costs import cost_of
from surgeval.host.pages.answers import page, sentence, whole_number
from surgeval.host.pages.site import challenge_now
from surgeval.host.people.teams import open_teams

MOST_TEAMS = 100_000


def costs(request: HttpRequest) -> HttpResponse:
    """What every phase can cost at most, with so many teams."""
    challenge = challenge_now()
    here = len(open_teams())
    teams = min(whole_number(request.GET.get("teams", "")) or max(here, 1), MOST_TEAMS)
    rows, problem = [], ""
    try:
        for phase in challenge.phases if challenge else ():
            rows.append((phase, cost_of(phase, places.home(), teams=teams)))
    except (SurgevalError, OSError) as error:
        problem = sentence(error)
    return page(request, "organise/costs", "Costs", rows=rows, teams=teams, here=here, problem=problem)
