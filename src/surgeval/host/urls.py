"""Every address of the service."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("api/", include("surgeval.host.api.urls"))]
