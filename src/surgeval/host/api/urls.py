"""Every address that programs speak to."""

from __future__ import annotations

from django.urls import path

from surgeval.host.api import entrants, workers

urlpatterns = [
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
