"""The Django app `people`."""

from __future__ import annotations

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """Accounts and teams."""

    name = "surgvalid.host.people"
    label = "people"
    default_auto_field = "django.db.models.BigAutoField"
