"""The app."""

from __future__ import annotations

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """Persons and teams, under the label `people`."""

    name = "surgeval.host.people"
    label = "people"
