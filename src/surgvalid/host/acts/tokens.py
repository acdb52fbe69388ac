"""Secrets that are shown once, kept as digests and revoked at will: of workers, persons' programs, invitations."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet

from surgvalid.host.acting import acting, now
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.refused import Refused, reason_of
from surgvalid.host.runs.models import AccessToken, JobKind, WorkerToken


def new_secret() -> str:
    """A fresh secret of 256 bits that fits into an address."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is stored instead of it; a plain hash is enough, because the secret cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()


UNTRUSTED = frozenset({JobKind.INFERENCE.value})
"""Duties that run what strangers wrote; no token has one of these and one of the others."""


KINDS = {
    "inference": sorted(UNTRUSTED),
    "trusted": sorted(set(JobKind.values) - UNTRUSTED),
}
HERE = "here-"
"""How the names of workers begin that the service starts itself."""


def worker_here(actor: object, kind: str) -> WorkerToken:
    """The worker of a kind that the service starts on its own machine, until its token is taken back.

    Raises:
        Refused: There is one already.
    """
    if kind not in KINDS or WorkerToken.objects.filter(name__startswith=f"{HERE}{kind}", revoked_at=None).exists():
        raise Refused("not-now", f"one worker of each kind ({', '.join(KINDS)}) runs on the machine of the service.")
    name = f"{HERE}{kind}-{WorkerToken.objects.count() + 1}"
    return make_worker_token(actor, name, KINDS[kind], here=True)[0]


def renew_worker_token(actor: object, token: WorkerToken) -> str:
    """Another text of a worker's token, which is never shown; the one before opens nothing any more."""
    text = f"sgw_{new_secret()}"
    with acting(actor, "renew-worker-token", f"worker-{token.pk}"):
        token.digest = digest(text)
        token.save(update_fields=("digest",))
    return text


def make_worker_token(
    actor: object, name: str, duties: Collection[str], *, phases: Sequence[str] = (), here: bool = False
) -> tuple[WorkerToken, str]:
    """A new token and its text, which is never shown again.

    Raises:
        Refused: Unknown duties, or some that must not meet: who runs strangers' programs never sees references.
    """
    wanted = {str(duty) for duty in duties}
    if not wanted or wanted - set(JobKind.values):
        raise Refused("not-now", f"duties are some of {', '.join(JobKind.values)}; got {', '.join(sorted(wanted))}.")
    if wanted & UNTRUSTED and wanted - UNTRUSTED:
        raise Refused("not-now", "inference runs strangers' programs: its worker has no other duty.")
    if name.strip().startswith(HERE) and not here:
        raise Refused("not-now", f"names that begin with {HERE} are of workers that the service starts itself.")
    text = f"sgw_{new_secret()}"
    with acting(actor, "make-worker-token", name=name, duties=sorted(wanted), phases=list(phases)) as doing:
        if WorkerToken.objects.filter(name=name.strip()).exists():
            raise Refused(
                "not-now", f"a worker is or was called '{name.strip()}'; the log tells them by name. Take another one."
            )
        made = WorkerToken.objects.create(
            name=reason_of(name, most=80),
            digest=digest(text),
            duties=sorted(wanted),
            phases=list(phases),
            made_at=doing.at,
        )
        doing.about(f"worker-{made.pk}")
    return made, text


def revoke_worker_token(actor: object, token: WorkerToken) -> None:
    """A token that opens nothing any more; what its worker does now is claimed by others when the lease ends."""
    with acting(actor, "revoke-worker-token", f"worker-{token.pk}") as doing:
        token.revoked_at = token.revoked_at or doing.at
        token.save(update_fields=("revoked_at",))


def worker_of(text: str) -> WorkerToken | None:
    """Whose token this is; None for nobody's and for revoked ones."""
    worker = WorkerToken.objects.filter(digest=digest(text), revoked_at=None).first() if text else None
    if worker is not None:
        WorkerToken.objects.filter(pk=worker.pk).update(seen_at=now())
    return worker


def is_workers(text: str) -> bool:
    """Whether a worker has this token, or had it until now; nothing is noted."""
    return bool(text) and WorkerToken.objects.filter(digest=digest(text), revoked_at=None).exists()


def is_persons(text: str) -> bool:
    """Whether an active person has this token; nothing is noted."""
    return bool(text) and _living(text).filter(user__is_active=True).exists()


def _living(text: str) -> QuerySet[AccessToken]:
    known = AccessToken.objects.filter(digest=digest(text), revoked_at=None)
    return known.filter(Q(ends_at=None) | Q(ends_at__gt=now()))


SCOPES = {"push": "hand in, stop and read", "read": "read alone"}
DAYS = 30
"""A token lasts where no phase is to come."""


def make_access_token(actor: object, user: Any, name: str, *, scope: str = "push") -> tuple[AccessToken, str]:
    """A new token of a person's own programs and its text, which is never shown again; it ends with the last phase."""
    text = f"sgu_{new_secret()}"
    if scope not in SCOPES:
        raise Refused("not-now", f"a token is for one of {', '.join(SCOPES)}; got {scope!r}.")
    ends = [phase.closes + timedelta(seconds=phase.upload_grace_s) for phase in current_challenge().phases]
    end = max(ends) if max(ends) > now() else now() + timedelta(days=DAYS)
    with acting(actor, "make-access-token", f"user-{user.pk}") as doing:
        made = AccessToken.objects.create(
            user=user, name=reason_of(name, most=80), digest=digest(text), made_at=doing.at, scope=scope, ends_at=end
        )
    return made, text


def revoke_access_token(actor: object, token: AccessToken) -> None:
    """A token that opens nothing any more."""
    with acting(actor, "revoke-access-token", f"user-{token.user_id}") as doing:
        AccessToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=doing.at)


def person_of(text: str, *, changes: bool) -> Any:
    """The active person whose token this is, or None.

    Raises:
        Refused: Something is to be changed by a token that only reads.
    """
    token = _living(text).select_related("user").first()
    if not text or token is None or not token.user.is_active:
        return None
    if changes and token.scope == "read":
        raise Refused("scope-missing", "this token only reads.")
    AccessToken.objects.filter(pk=token.pk).update(seen_at=now())
    return token.user
