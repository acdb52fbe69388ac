"""Prizes and publications can be taken back, runs and leaderboards know their files; of signed prizes the last hold."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.db import migrations, models

GUARDS = import_module("surgvalid.host.runs.migrations.0002_never_changed")
SNAPSHOTS = "runs_boardsnapshot"
TEXT: dict[str, Any] = {"blank": True, "default": ""}


def add(model: str, name: str, field: Any) -> migrations.AddField:
    return migrations.AddField(model_name=model, name=name, field=field)


def last_signed_hold(apps: Any, _: Any) -> None:
    last: dict[str, Any] = {}
    signed = apps.get_model("runs", "PrizeProposal").objects.exclude(signed_at=None).select_related("snapshot")
    for one in signed.order_by("signed_at", "pk"):
        last[f"{one.snapshot.phase}/{one.snapshot.board}"] = one
    for board, one in last.items():
        one.in_force = board
        one.save(update_fields=("in_force",))


def guard_again(_: Any, editor: Any) -> None:
    """SQLite adds a column by a table of another name, which has no guards."""
    if editor.connection.vendor == "sqlite":
        for statement in GUARDS.statements("sqlite", SNAPSHOTS):
            editor.execute(statement.replace("CREATE TRIGGER", "CREATE TRIGGER IF NOT EXISTS"))


class Migration(migrations.Migration):
    dependencies = (("runs", "0002_never_changed"),)
    operations = (
        add("prizeproposal", "in_force", models.CharField(max_length=90, null=True, unique=True)),
        add("prizeproposal", "proposed_by", models.CharField(max_length=80, **TEXT)),
        add(
            "prizeproposal",
            "replaces",
            models.ForeignKey("runs.prizeproposal", models.PROTECT, related_name="+", null=True),
        ),
        add("prizeproposal", "withdrawn_at", models.DateTimeField(null=True)),
        add("prizeproposal", "withdrawn_reason", models.TextField(**TEXT)),
        add("publication", "withdrawn_at", models.DateTimeField(null=True)),
        add("publication", "withdrawn_reason", models.TextField(**TEXT)),
        add("runrecord", "kept", models.TextField(**TEXT)),
        add("runrecord", "files", models.JSONField(default=dict)),
        add("boardsnapshot", "files", models.JSONField(default=dict)),
        migrations.RunPython(guard_again, migrations.RunPython.noop),
        migrations.RunPython(last_signed_hold, migrations.RunPython.noop),
    )
