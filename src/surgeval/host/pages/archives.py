"""Pages on exports: archives of what a challenge came to."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.http import FileResponse, Http404, HttpRequest, HttpResponse

from surgeval.host.exports import export, export_place
from surgeval.host.log.acting import acting
from surgeval.host.pages.answers import attempted, page
from surgeval.host.pages.permissions import person
from surgeval.host.people.journal import actor


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
