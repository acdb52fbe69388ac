"""What one person may ask about his own data: a copy of it, and that it is forgotten."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.sessions.models import Session
from django.utils import timezone

from surgvalid.host.acting import acting, actor
from surgvalid.host.acts.refused import Refused
from surgvalid.host.people.acts import address_mark, role_of
from surgvalid.host.people.models import BrowserSighting, Invitation, MemberRole, Membership, User
from surgvalid.host.people.teams import end_memberships, members_of, team_of

PROFILE = ("email", "name", "institution", "country", "organiser_lab", "wants_mail", "date_joined", "last_login")


def data_of(user: User) -> dict[str, Any]:
    """Everything that is stored about a person and can be tied to him, ready for JSON; secrets are left out."""
    from surgvalid.host.runs.models import AccessToken, Submission  # the two apps' models refer to each other

    return {
        "profile": {field: _plain(getattr(user, field)) for field in PROFILE},
        "addresses": list(EmailAddress.objects.filter(user=user).values("email", "verified", "primary")),
        "teams": [
            {"team": one.team.name, "joined": _plain(one.joined_at), "left": _plain(one.left_at)}
            for one in Membership.objects.filter(user=user).select_related("team")
        ],
        "terms": [
            {"version": one.version, "text_sha256": one.text_sha256, "accepted": _plain(one.accepted_at)}
            for one in user.acceptances.all()
        ],
        "role": role_of(user),
        "tokens": [
            {"name": one.name, "made": _plain(one.made_at), "revoked": _plain(one.revoked_at)}
            for one in AccessToken.objects.filter(user=user)
        ],
        "second_factors": list(Authenticator.objects.filter(user=user).values_list("type", flat=True)),
        "other_providers": list(SocialAccount.objects.filter(user=user).values_list("provider", flat=True)),
        "browsers": [
            {"first": _plain(one.first_seen), "last": _plain(one.last_seen)}
            for one in BrowserSighting.objects.filter(user=user)
        ],
        "invitations_received": list(
            Invitation.objects.filter(email__iexact=user.email).values_list("team__name", flat=True)
        ),
        "submissions_handed_in": [
            str(one) for one in Submission.objects.filter(made_by=user).values_list("pk", flat=True)
        ],
    }


def forget(user: User) -> None:
    """Nothing; the account is a pseudonym without address, and cannot sign in. What the team achieved stays."""
    team = team_of(user)
    if team is not None and team.leader_id == user.pk and len(members_of(team)) > 1:
        raise Refused("leader-leaves", "you lead a team. Hand the lead to another member before you delete your data.")
    if role_of(user) is MemberRole.OWNER:
        raise Refused("owner-leaves", "you own this challenge. Let another owner take your role away first.")
    with acting(actor(None), "forget person", f"user-{user.pk}"):
        email = user.email
        end_memberships(user=user)
        user.past_address = address_mark(email)
        for kept in (EmailAddress, Authenticator, SocialAccount):
            kept.objects.filter(user=user).delete()
        Invitation.objects.filter(email__iexact=email).update(email=f"deleted-{user.pk}@invalid.invalid")
        end_sessions(user)
        user.email, user.name = f"deleted-{user.pk}@invalid.invalid", f"deleted person {user.pk}"
        user.institution, user.country = "", ""
        user.is_active, user.wants_mail, user.deleted_at = False, False, timezone.now()
        user.set_unusable_password()
        user.save()


def end_sessions(user: User) -> None:
    """Nothing; every browser of the person is signed out."""
    for session in Session.objects.filter(expire_date__gte=timezone.now()).iterator():
        if str(session.get_decoded().get("_auth_user_id")) == str(user.pk):
            session.delete()


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
