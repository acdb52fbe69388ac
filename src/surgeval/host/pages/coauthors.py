"""Pages on whom every team names for the paper."""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse

from surgeval.host.pages.answers import page
from surgeval.host.people.models import Team
from surgeval.host.people.teams import open_teams
from surgeval.host.runs.models import GateDecision
from surgeval.schema.shown_text import as_cell


def listed(request: HttpRequest) -> HttpResponse:
    """Whom every team names for the paper, those that passed a gate first."""
    return page(request, "organise/coauthors", "Co-authors", listed=_authors())


def listed_table(request: HttpRequest) -> HttpResponse:
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
