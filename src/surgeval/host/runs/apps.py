"""The app."""

from __future__ import annotations

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Submissions, runs and boards, under the label `runs`."""

    name = "surgeval.host.runs"
    label = "runs"
