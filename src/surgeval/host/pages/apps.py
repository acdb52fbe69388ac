"""The Django app `pages`, which has templates and static files and no tables."""

from __future__ import annotations

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Pages."""

    name = "surgeval.host.pages"
    label = "pages"
