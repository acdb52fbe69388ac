"""Mail leaves by rows: a request or an act writes them, a thread sends them, again while nobody answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import QuerySet

from surgvalid.host.acting import now
from surgvalid.host.runs.models import Mail

GIVEN_UP = timedelta(hours=48)
_LONGEST = timedelta(hours=4)


class OutboxBackend(BaseEmailBackend):
    """Writes mail down; in the same transaction as the act that it tells of."""

    def send_messages(self, email_messages: Sequence[Any]) -> int:
        """How many were written down."""
        at = now()
        for one in email_messages:
            Mail.objects.create(to=", ".join(one.to), subject=one.subject, text=one.body, made_at=at, next_at=at)
        return len(email_messages)


def unsent() -> QuerySet[Mail]:
    """Mail that was tried for two days, and is not tried again."""
    return Mail.objects.filter(made_at__lte=now() - GIVEN_UP)


def send_waiting(most: int = 100) -> int:
    """The number of mails sent now. Each is taken by one process alone; the first that fails ends the round."""
    at, sent = now(), 0
    for mail in Mail.objects.filter(next_at__lte=at, made_at__gt=at - GIVEN_UP)[:most]:
        pause = min(timedelta(minutes=2**mail.tries), _LONGEST)
        mine = Mail.objects.filter(pk=mail.pk, next_at=mail.next_at)
        if not mine.update(next_at=at + pause, tries=mail.tries + 1):
            continue
        try:
            connection = get_connection(settings.MAIL_BACKEND)
            EmailMessage(mail.subject, mail.text, to=mail.to.split(", "), connection=connection).send()
        except Exception as error:  # noqa: BLE001 - whatever a mail server does, the mail is kept and told of
            Mail.objects.filter(pk=mail.pk).update(problem=f"{type(error).__name__}: {error}"[:300])
            break
        Mail.objects.filter(pk=mail.pk).delete()
        sent += 1
    return sent
