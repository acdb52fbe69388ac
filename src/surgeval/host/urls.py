"""Every address of the service: pages with who may open them, allauth's own, and those of programs."""

from __future__ import annotations

from django.urls import include, path

from surgeval.host.pages.table import patterns

urlpatterns = [
    *patterns(),
    path("accounts/", include("allauth.urls")),
    path("api/", include("surgeval.host.api.urls")),
]
handler403 = "surgeval.host.pages.refusals.forbidden"
handler404 = "surgeval.host.pages.refusals.not_here"
handler500 = "surgeval.host.pages.refusals.broken"
