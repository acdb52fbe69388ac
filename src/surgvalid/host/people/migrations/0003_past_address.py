"""What stays of the address of a deleted account: a keyed digest."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("people", "0002_cache"),)
    operations = (
        migrations.AddField(
            model_name="user",
            name="past_address",
            field=models.CharField(max_length=64, blank=True, default="", db_index=True),
        ),
    )
