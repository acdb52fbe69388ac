"""A service as the first version left it: every row of the demo, put into tables as that version had them.

`python tests/support/host_upgrade.py FOLDER` wrote the file from the folder of `surgvalid host demo` while the columns
were those of the first migrations. It is not written again: that would only show that a version reads what it writes.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
from typing import Any

from repository import REPOSITORY

STORED = REPOSITORY / "tests" / "host" / "data" / "first-version.json.xz"
FIRST = [("people", "0001_initial"), ("runs", "0001_initial")]
TABLES = ("people", "runs", "account")


def dump(apps: Any) -> dict[str, list[dict[str, Any]]]:
    """Every row of the tables that a service writes, by model."""

    rows = {
        model._meta.label: list(model._base_manager.order_by("pk").values())
        for label in TABLES
        for model in apps.get_app_config(label).get_models()
    }
    found: dict[str, list[dict[str, Any]]] = json.loads(json.dumps(rows, cls=_Exact))
    return found


class _Exact(json.JSONEncoder):
    def default(self, value: Any) -> Any:
        return value.isoformat()  # microseconds too: the log is sealed over them


def stored() -> dict[str, list[dict[str, Any]]]:
    """The rows as they were."""
    content: dict[str, list[dict[str, Any]]] = json.loads(lzma.decompress(STORED.read_bytes()))
    return content


def fill(apps: Any) -> None:
    """Put the rows into the tables that these models, those of a migration, have."""
    from django.core.management.color import no_style
    from django.db import connection, transaction

    models = []
    with transaction.atomic():
        for label, rows in stored().items():
            model = apps.get_model(label)
            models.append(model)
            fields = {field.attname: field for field in model._meta.concrete_fields}
            model._base_manager.bulk_create(
                model(**{name: fields[name].to_python(value) for name, value in row.items()}) for row in rows
            )
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


if __name__ == "__main__":
    os.environ |= {"SURGVALID_HOST": sys.argv[1], "DJANGO_SETTINGS_MODULE": "surgvalid.host.settings"}
    import django
    from django.apps import apps as current

    django.setup()
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_bytes(lzma.compress(json.dumps(dump(current), sort_keys=True).encode(), preset=9))
