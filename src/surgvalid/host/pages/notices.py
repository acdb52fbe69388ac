"""Mail to a team when one of its submissions comes to rest, or it qualifies; never with a value in it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models.signals import post_save
from django.dispatch import receiver

from surgvalid.host.pages.history import SETTLED, STAGE_WORDS, advice_on
from surgvalid.host.pages.site import challenge_name
from surgvalid.host.people.models import Team
from surgvalid.host.people.teams import members_of
from surgvalid.host.runs.models import GateDecision, StageChange

FOOT = "\n\n{address}\nSwitch these mails off on the page of your account.\n"


@receiver(post_save, sender=StageChange)
def on_stage(sender: Any, instance: StageChange, created: bool, **more: Any) -> None:
    """Nothing; members who want mail read that a submission came to rest, once that is stored."""
    submission = instance.submission
    if created and instance.stage in SETTLED and submission.team_id is not None:
        words = f"Submission {submission.pk} is {STAGE_WORDS[instance.stage]}."
        _tell(submission.team, words, f"{words} {advice_on(submission)}", f"/submissions/{submission.pk}/")


@receiver(post_save, sender=GateDecision)
def on_gate(sender: Any, instance: GateDecision, created: bool, **more: Any) -> None:
    """Nothing; members who want mail read that they qualified."""
    if created and instance.opened:
        words = f"Your team may enter the phase {instance.phase}."
        _tell(instance.team, words, words, "/submit/")


def _tell(team: Team, subject: str, text: str, path: str) -> None:
    """Send it after the act was stored; mail that cannot be sent undoes nothing."""
    people = [user.email for user in members_of(team) if user.wants_mail and user.is_active]
    address = f"{settings.ADDRESS.geturl().rstrip('/')}{path}" if settings.ADDRESS.hostname else path

    def send() -> None:
        title = f"[{challenge_name()}] {subject}"
        mails = [EmailMessage(title, text + FOOT.format(address=address), to=[one]) for one in people]
        get_connection().send_messages(mails)

    transaction.on_commit(send, robust=True)
