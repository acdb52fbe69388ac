"""The table in which failed sign-ins are counted, shared by every process."""

from __future__ import annotations

from django.core.management import call_command
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def make_cache(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Nothing; the table of the cache is there."""
    call_command("createcachetable", database=schema_editor.connection.alias, verbosity=0)


class Migration(migrations.Migration):
    dependencies = [("people", "0001_initial")]
    operations = [migrations.RunPython(make_cache, migrations.RunPython.noop)]
