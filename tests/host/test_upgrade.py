"""Tables of the first version come to this one with everything in them, on both databases."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from surgeval.host.log.acting import acting, log_problems
from surgeval.host.runs.models import LogEntry

pytestmark = pytest.mark.database
ROWS = 25


def test_a_service_of_the_first_version_is_upgraded_with_its_log(home: object) -> None:
    for number in range(ROWS):
        with acting("user-1", "act", f"team-{number}"):
            pass
    call_command("migrate", "runs", "0001", verbosity=0)  # as the first version had it: no guards
    with transaction.atomic():
        assert LogEntry.objects.filter(number=ROWS).update(actor="user-1") == 1
    call_command("migrate", verbosity=0)
    assert LogEntry.objects.count() == ROWS
    assert log_problems() == []
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        LogEntry.objects.update(actor="x")


def test_the_models_and_the_migrations_agree(home: object) -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    assert {"runs_job", "runs_logentry", "people_team"} <= set(tables)
