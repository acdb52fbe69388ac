"""Mail waits in a table; tokens of persons have a scope and an end."""

from __future__ import annotations

from importlib import import_module

from django.db import migrations, models

table = import_module("surgvalid.host.runs.migrations.0001_initial").table
add = import_module("surgvalid.host.runs.migrations.0003_money_and_evidence").add


class Migration(migrations.Migration):
    dependencies = (("runs", "0003_money_and_evidence"),)
    operations = (
        add("accesstoken", "scope", models.CharField(max_length=8, default="push")),
        add("accesstoken", "ends_at", models.DateTimeField(null=True)),
        table(
            "Mail",
            ("to", models.TextField()),
            ("subject", models.TextField()),
            ("text", models.TextField()),
            ("made_at", models.DateTimeField()),
            ("next_at", models.DateTimeField(db_index=True)),
            ("tries", models.PositiveIntegerField(default=0)),
            ("problem", models.TextField(blank=True)),
            ordering=("pk",),
        ),
    )
