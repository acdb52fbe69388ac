"""Leaderboards before everybody: chosen under embargo, published, withdrawn; each with a reason."""

from __future__ import annotations

from datetime import datetime

from surgvalid.host.acting import acting
from surgvalid.host.acts.boards import public_leaderboard
from surgvalid.host.acts.refused import Refused, reason_of
from surgvalid.host.runs.models import BoardSnapshot, Publication


def embargo(actor: object, snapshot: BoardSnapshot, until: datetime, *, reason: str) -> Publication:
    """A snapshot that is chosen for publication, and that nobody else sees before a time."""
    facts = {"digest": snapshot.digest, "until": until.isoformat(), "reason": reason_of(reason)}
    with acting(actor, "embargo", f"board-{snapshot.pk}", **facts):
        made, _ = Publication.objects.get_or_create(snapshot=snapshot)
        if made.published_at is not None:
            raise Refused("not-now", "it was published already.")
        made.embargo_until, made.reason = until, reason.strip()
        made.save()
    return made


def publish(actor: object, snapshot: BoardSnapshot, *, reason: str) -> Publication:
    """A snapshot that everybody sees from now on, in place of the one before, whichever is newer.

    Raises:
        Refused: Its embargo has not ended, or everybody sees it already.
    """
    facts = {"digest": snapshot.digest, "reason": reason_of(reason)}
    with acting(actor, "publish", f"board-{snapshot.pk}", **facts) as doing:
        shown = public_leaderboard(snapshot.phase, snapshot.board)
        if shown == snapshot:
            raise Refused("not-now", "it is public already.")
        made, _ = Publication.objects.get_or_create(snapshot=snapshot)
        if made.embargo_until is not None and doing.at < made.embargo_until:
            raise Refused("embargo", f"its embargo ends at {made.embargo_until.isoformat()}.")
        made.published_at, made.reason, made.withdrawn_at, made.withdrawn_reason = doing.at, reason.strip(), None, ""
        made.save()
        doing.about(doing.subject, instead_of=None if shown is None else f"board-{shown.pk}")
    return made


def withdraw(actor: object, snapshot: BoardSnapshot, *, reason: str) -> Publication:
    """A publication that was taken back: nobody sees the leaderboard, and its page says since when and why.

    Raises:
        Refused: It is not the one that everybody sees.
    """
    facts = {"digest": snapshot.digest, "reason": reason_of(reason)}
    with acting(actor, "withdraw", f"board-{snapshot.pk}", **facts) as doing:
        if public_leaderboard(snapshot.phase, snapshot.board) != snapshot:
            raise Refused("not-now", "it is not the leaderboard that everybody sees.")
        made = Publication.objects.get(snapshot=snapshot)
        made.withdrawn_at, made.withdrawn_reason = doing.at, reason.strip()
        made.save()
    return made
