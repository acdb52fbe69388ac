"""Pages on what a challenge can cost, and what it came to: the forecast, exports, and the authors of its paper."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import NamedTuple

from django.http import FileResponse, Http404, HttpRequest, HttpResponse

from surgeval.errors import SurgevalError
from surgeval.host import places
from surgeval.host.costs import cost_of
from surgeval.host.exports import export, export_place
from surgeval.host.log.acting import acting
from surgeval.host.pages.answers import attempted, page, sentence, whole_number
from surgeval.host.pages.permissions import person
from surgeval.host.pages.site import challenge_now
from surgeval.host.people.journal import actor
from surgeval.host.people.models import Team
from surgeval.host.people.teams import open_teams
from surgeval.host.runs.models import GateDecision
from surgeval.schema.shown_text import as_cell

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


def exports(request: HttpRequest) -> HttpResponse:
    """Archives that were made, and a form for another."""
    made = [{"name": one.name, "size": one.stat().st_size} for one in _archives()]
    return page(request, "organise/exports", "Exports", made=made)


def make_export(request: HttpRequest) -> HttpResponse:
    """Writes an archive of what the challenge came to."""
    hidden = request.POST.get("hidden") == "yes"

    def act() -> None:
        place = export_place(with_hidden=hidden)
        with acting(actor(person(request)), "export", place.name, with_hidden=hidden):
            pass  # noted before it is written, which takes longer than an act may
        export(place, with_hidden=hidden)
        shutil.rmtree(place)  # the archive has it all

    return attempted(request, act, done="The archive is written.", to="organise_exports")


def export_file(request: HttpRequest, name: str) -> FileResponse:
    """One archive."""
    chosen = next((one for one in _archives() if one.name == name), None)
    if chosen is None:
        raise Http404
    return FileResponse(chosen.open("rb"), as_attachment=True, filename=name, content_type="application/x-tar")


def _archives() -> list[Path]:
    return sorted(export_place(with_hidden=False).parent.glob("*.tar"), reverse=True)


def coauthors(request: HttpRequest) -> HttpResponse:
    """Whom every team names for the paper, those that passed a gate first."""
    return page(request, "organise/coauthors", "Co-authors", listed=_authors())


def coauthors_table(request: HttpRequest) -> HttpResponse:
    """The same as CSV, one author in a line."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["team", "passed a gate", "author"])
    for row in _authors():
        writer.writerows([as_cell(row.team.name), "yes" if row.passed else "", as_cell(name)] for name in row.names)
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="coauthors.csv"'
    return response


class Authors(NamedTuple):
    """Whom a team names, and whether it passed a gate."""

    team: Team
    passed: bool
    names: list[str]


def _authors() -> list[Authors]:
    newest: dict[tuple[int, str], bool] = {}
    for team, phase, opened in GateDecision.objects.order_by("pk").values_list("team", "phase", "opened"):
        newest[team, phase] = opened
    passed = {team for (team, _), opened in newest.items() if opened}
    rows = [Authors(team, team.pk in passed, team.coauthors.splitlines()) for team in open_teams()]
    return sorted(rows, key=lambda row: not row.passed)
