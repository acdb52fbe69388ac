"""The app."""

from __future__ import annotations

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Submissions, runs and leaderboards, under the label `runs`."""

    name = "surgvalid.host.runs"
    label = "runs"
