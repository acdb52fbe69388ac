"""Mail to a team when one of its submissions comes to rest, or it qualifies; never with a value in it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db.models.signals import post_save
from django.dispatch import receiver

from surgvalid.host.acts.refused import REMEDIES
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
        listed = [*submission.problems, *(REMEDIES.get(code, code) for code in submission.codes)]
        if instance.reason not in ("", *submission.codes):
            listed.append(f"The reason: {instance.reason}")
        text = "".join(f"\n- {one}" for one in listed)
        _tell(submission.team, words, f"{words} {advice_on(submission)}{text}", f"/submissions/{submission.pk}/")


@receiver(post_save, sender=GateDecision)
def on_gate(sender: Any, instance: GateDecision, created: bool, **more: Any) -> None:
    """Nothing; members who want mail read that they qualified."""
    if created and instance.opened:
        words = f"Your team may enter the phase {instance.phase}."
        _tell(instance.team, words, words, "/submit/")


def _tell(team: Team, subject: str, text: str, path: str) -> None:
    """Write it down in the act; it is sent once the act is stored."""
    people = [user.email for user in members_of(team) if user.wants_mail and user.is_active]
    title = f"[{challenge_name()}] {subject}"
    here = (
        f"{settings.ADDRESS.geturl().rstrip('/')}{path}" if settings.ADDRESS.hostname else "See the challenge's pages."
    )
    shown = text + FOOT.format(address=here)
    get_connection().send_messages([EmailMessage(title, shown, to=[one]) for one in people])
