"""Pages of organisers on workers, costs, exports, and whom every team names for the paper."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import NamedTuple

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from surgvalid.errors import SurgvalidError
from surgvalid.host import places
from surgvalid.host.acting import acting
from surgvalid.host.acts import tokens
from surgvalid.host.costs import cost_of
from surgvalid.host.exports import export, export_place
from surgvalid.host.pages.answers import attempted, page, sentence, whole_number, with_form
from surgvalid.host.pages.forms import WorkerForm
from surgvalid.host.pages.permissions import me, posted
from surgvalid.host.pages.site import challenge_now
from surgvalid.host.people.models import Team
from surgvalid.host.people.teams import open_teams
from surgvalid.host.runs.models import GateDecision, WorkerToken
from surgvalid.schema.shown_text import as_cell


def exports(request: HttpRequest) -> HttpResponse:
    """Archives that were made, and a form for another."""
    made = [{"name": one.name, "size": one.stat().st_size} for one in _archives()]
    return page(request, "organise/exports", "Exports", made=made)


def make_export(request: HttpRequest) -> HttpResponse:
    """Writes an archive of what the challenge came to."""
    hidden = request.POST.get("hidden") == "yes"

    def act() -> None:
        place = export_place(with_hidden=hidden)
        with acting(me(request), "export", place.name, with_hidden=hidden):
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
    except (SurgvalidError, OSError) as error:
        problem = sentence(error)
    return page(request, "organise/costs", "Costs", rows=rows, teams=teams, here=here, problem=problem)


def listed(request: HttpRequest) -> HttpResponse:
    """Whom every team names for the paper, those that qualified first."""
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
    """Whom a team names, and whether it qualified."""

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


def workers(request: HttpRequest) -> HttpResponse:
    """Every worker that has a token, those whose token was taken back too."""
    return page(
        request,
        "organise/workers",
        "Workers",
        workers=WorkerToken.objects.order_by("-revoked_at", "name"),
        form=WorkerForm(phases=_phases()),
        new_token=request.session.pop("new_worker_token", None),
    )


def make_worker(request: HttpRequest) -> HttpResponse:
    """Makes the token of a worker, and shows it once."""
    form = WorkerForm(request.POST, phases=_phases())

    def act() -> None:
        given = form.cleaned_data
        made, text = tokens.make_worker_token(
            me(request), given["name"], tokens.KINDS[given["kind"]], phases=given["phases"]
        )
        request.session["new_worker_token"] = {"name": made.name, "text": text, "kind": given["kind"]}

    return with_form(
        request, form, act, done="The token is made. Copy it now: it is shown once.", to="organise_workers"
    )


def worker_here(request: HttpRequest) -> HttpResponse:
    """Lets the service start a worker beside itself."""
    act = lambda: tokens.worker_here(me(request), posted(request, "kind"))  # noqa: E731
    return attempted(request, act, done="It starts in a few seconds.", to="organise_workers")


def revoke_worker(request: HttpRequest, token: int) -> HttpResponse:
    """Takes the token of a worker back."""
    stored = get_object_or_404(WorkerToken, pk=token)
    act = lambda: tokens.revoke_worker_token(me(request), stored)  # noqa: E731
    done = f"{stored.name} gets no more jobs. What it does now goes to another worker when its lease ends."
    return attempted(request, act, done=done, to="organise_workers")


def _phases() -> list[tuple[str, str]]:
    challenge = challenge_now()
    return [(phase.slug, phase.title) for phase in challenge.phases] if challenge else []
