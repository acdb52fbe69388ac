"""How an act is done: alone, whole or not at all, and with one entry in the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import Model
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from surgvalid.host.log_chain import BEGINNING, LogRecord, facts_text, problems, sealed
from surgvalid.host.people.models import User
from surgvalid.host.runs.models import BoardSnapshot, LogEntry, LogHead
from surgvalid.host.seals import FACT, TABLES, Row, seals_of

SYSTEM = "system"


def now() -> datetime:
    """The time of an act; tests put another clock here."""
    return datetime.now(UTC)


class Acting:
    """An act under way: its time, and the facts that its entry will have."""

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.subject = ""
        self.facts: dict[str, Any] = {}
        self.end: tuple[int, str] = (0, BEGINNING)
        """The log before this act."""
        self.rows: set[Row] = set()
        """What was written, of what is sealed."""

    def about(self, subject: object, **facts: Any) -> None:
        """Say what the act is done to, and further facts."""
        self.subject = str(subject)
        self.facts |= facts


_UNDER_WAY: ContextVar[Acting | None] = ContextVar("acting", default=None)


@receiver((post_save, post_delete))
def _on_write(sender: type[Model], instance: Model, **_: Any) -> None:
    doing = _UNDER_WAY.get()
    if doing is not None and sender._meta.label in TABLES:
        doing.rows.add((sender._meta.model_name or "", instance.pk))


@contextmanager
def acting(actor: object, act: str, subject: object = "", **facts: Any) -> Iterator[Acting]:
    """An act: nobody else acts meanwhile, and what it writes is kept together with its entry, or not at all.

    Every act holds the one row that has the end of the log. Acts are few and short, so one at a time is fast enough,
    and no two of them can see the same free place. Rows that results depend on are sealed by the entry: save them one
    by one, for of an update of many at once nobody hears.

    Args:
        actor: Who acts; `user-7`, `worker-gpu1`, `system`. Never a name or an address: entries stay for ever.
        act: A verb.
        subject: What it is done to, as `submission-12`.
        facts: Further facts of the entry.
    """
    with transaction.atomic():
        head = LogHead.objects.select_for_update().get_or_create(pk=1)[0]
        doing = Acting(now())
        doing.end = (head.number, head.digest)
        doing.about(subject, **facts)
        held = _UNDER_WAY.set(doing)
        try:
            yield doing
        finally:
            _UNDER_WAY.reset(held)
        if doing.rows:
            doing.facts[FACT] = seals_of(doing.rows)
        entry = sealed(head.number + 1, doing.at, str(actor), act, doing.subject, facts_text(doing.facts), head.digest)
        LogEntry.objects.create(**entry._asdict())
        LogHead.objects.filter(pk=1).update(number=entry.number, digest=entry.digest)


def log_problems(*, witnesses: dict[int, str] | None = None) -> list[str]:
    """What is wrong with the log of this service; the ends that leaderboards were made with are witnesses too."""
    head = LogHead.objects.filter(pk=1).first()
    end = (head.number, head.digest) if head else (0, BEGINNING)
    seen = dict(BoardSnapshot.objects.values_list("log_number", "log_digest")) | (witnesses or {})
    rows = LogEntry.objects.order_by("number").values_list(*LogRecord._fields)
    return list(problems((LogRecord(*row) for row in rows.iterator()), end=end, witnesses=seen))


def actor(user: User | None) -> str:
    """Who acts, as entries of the log say it; nobody is the machine's own command line.

    By number, so that a forgotten name leaves no trace in the log.
    """
    return SYSTEM if user is None else f"user-{user.pk}"
