"""Every address of the service: pages with who may open them, allauth's own, and those of programs."""

from __future__ import annotations

from django.urls import include, path

from surgvalid.host.api import entrants, workers
from surgvalid.host.pages.table import patterns

API = [
    path("standing", entrants.standing),
    path("uploads", entrants.new_upload),
    path("uploads/<str:key>", entrants.one_upload),
    path("submissions", entrants.all_submissions),
    path("submissions/<int:number>", entrants.one_submission),
    path("submissions/<int:number>/cancel", entrants.cancel_submission),
    path("worker/claim", workers.claim),
    path("worker/jobs/<int:number>/beat", workers.beat),
    path("worker/jobs/<int:number>/image", workers.image),
    path("worker/jobs/<int:number>/input", workers.inputs),
    path("worker/jobs/<int:number>/output", workers.output),
    path("worker/jobs/<int:number>/report", workers.report),
]
urlpatterns = [
    *patterns(),
    path("accounts/", include("allauth.urls")),
    path("api/", include(API)),
]
handler403 = "surgvalid.host.pages.answers.forbidden"
handler404 = "surgvalid.host.pages.answers.not_here"
handler500 = "surgvalid.host.pages.answers.broken"
