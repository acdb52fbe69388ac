"""The log only grows, and whoever meddles with it is found out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.host.acting import acting, log_problems
from surgvalid.host.log_chain import BEGINNING, LogRecord, facts_text, problems, sealed
from surgvalid.host.runs.models import LogEntry, LogHead

pytestmark = pytest.mark.database


def chain(count: int) -> list[LogRecord]:
    entries: list[LogRecord] = []
    for number in range(1, count + 1):
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
        before = entries[-1].digest if entries else BEGINNING
        entries.append(sealed(number, at, "user-1", "act", f"s-{number}", facts_text({"n": number}), before))
    return entries


@given(st.integers(1, 8), st.data())
def test_any_change_to_any_entry_is_noticed(count: int, data: st.DataObject) -> None:
    entries = chain(count)
    end = (count, entries[-1].digest)
    assert list(problems(entries, end=end)) == []
    at = data.draw(st.integers(0, count - 1))
    field = data.draw(st.sampled_from(("actor", "act", "subject", "facts", "at", "number")))
    value = {"at": entries[at].at + timedelta(microseconds=1), "number": count + 5}.get(field, "changed")
    meddled = [*entries[:at], entries[at]._replace(**{field: value}), *entries[at + 1 :]]
    assert list(problems(meddled, end=end))
    resealed = [*entries[:at], sealed(*meddled[at][:-1]), *entries[at + 1 :]]
    assert list(problems(resealed, end=end))
    assert list(problems([*entries[:at], *entries[at + 1 :]], end=end))


def test_a_log_whose_end_was_cut_off_is_noticed_by_a_board_even_with_a_new_end() -> None:
    entries = chain(5)
    cut = entries[:3]
    assert list(problems(cut, end=(3, cut[-1].digest))) == []
    assert list(problems(cut, end=(3, cut[-1].digest), witnesses={5: entries[-1].digest})) == [
        "a leaderboard was made with entry 5, which is missing"
    ]


def test_an_act_leaves_one_entry_and_a_failed_one_leaves_nothing(home: object) -> None:
    with acting("user-1", "greet", "team-1", word="hello") as doing:
        doing.about("team-2", more=1)
    with pytest.raises(ZeroDivisionError), acting("user-1", "fail"):
        1 / 0
    entry = LogEntry.objects.get()
    assert (entry.actor, entry.act, entry.subject, entry.facts) == (
        "user-1", "greet", "team-2", '{"more":1,"word":"hello"}',
    )  # fmt: skip
    assert log_problems() == []


def test_the_database_itself_refuses_to_change_the_log(home: object) -> None:
    with acting("user-1", "greet"):
        pass
    for meddle in (lambda: LogEntry.objects.update(actor="x"), lambda: LogEntry.objects.all().delete()):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            meddle()
    assert log_problems() == []


def test_someone_who_removes_the_guard_is_found_out(home: object) -> None:
    for word in ("a", "b", "c"):
        with acting("user-1", word):
            pass
    with connection.cursor() as cursor:
        names = ["no_UPDATE", "no_DELETE"] if connection.vendor == "sqlite" else ["never"]
        for name in names:
            table = " ON runs_logentry" if connection.vendor != "sqlite" else ""
            cursor.execute(f"DROP TRIGGER runs_logentry_{name}{table}")
    LogEntry.objects.filter(number=2).update(actor="user-9")
    assert log_problems() == ["entry 2 is not what was sealed"]
    LogEntry.objects.filter(number=3).delete()
    assert log_problems()[-1] == "the log ends with entry 2; its end was noted as 3"
    LogHead.objects.update(number=2)
    assert log_problems()
