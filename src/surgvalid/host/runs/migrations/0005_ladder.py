"""What counts on a leaderboard that shows no value of its own for most submissions."""

from __future__ import annotations

from importlib import import_module

from django.db import migrations, models

add = import_module("surgvalid.host.runs.migrations.0003_money_and_evidence").add


class Migration(migrations.Migration):
    dependencies = (("runs", "0004_mail_and_tokens"),)
    operations = (add("submission", "ladder", models.JSONField(default=dict)),)
