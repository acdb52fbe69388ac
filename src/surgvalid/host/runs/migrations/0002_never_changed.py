"""The database refuses to change or drop rows of the log, of versions of the challenge and of leaderboards."""

from __future__ import annotations

from typing import Any

from django.db import migrations

TABLES = ("runs_logentry", "runs_challengeversion", "runs_boardsnapshot")


def statements(vendor: str, table: str) -> list[str]:
    if vendor == "sqlite":
        return [
            f"CREATE TRIGGER {table}_no_{what} BEFORE {what} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is never changed'); END"
            for what in ("UPDATE", "DELETE")
        ]
    return [
        f"CREATE OR REPLACE FUNCTION {table}_never() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{table} is never changed'; END $$",
        f"CREATE TRIGGER {table}_never BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_never()",
    ]


def guard(_: Any, editor: Any) -> None:
    for table in TABLES:
        for statement in statements(editor.connection.vendor, table):
            editor.execute(statement)


def open_again(_: Any, editor: Any) -> None:
    for table in TABLES:
        names = [f"{table}_no_UPDATE", f"{table}_no_DELETE"] if editor.connection.vendor == "sqlite" else []
        for name in names:
            editor.execute(f"DROP TRIGGER {name}")
        if not names:
            editor.execute(f"DROP FUNCTION {table}_never() CASCADE")


class Migration(migrations.Migration):
    dependencies = (("runs", "0001_initial"),)
    operations = (migrations.RunPython(guard, open_again),)
