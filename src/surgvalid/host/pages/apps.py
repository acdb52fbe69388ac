"""The Django app `pages`, which has templates and static files and no tables."""

from __future__ import annotations

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Pages."""

    name = "surgvalid.host.pages"
    label = "pages"

    def ready(self) -> None:
        """Nothing; from now on teams are told when something comes to rest."""
        from surgvalid.host.pages import notices  # noqa: F401  # connects itself
