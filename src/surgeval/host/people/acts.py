"""Acts on accounts, roles and eligibility; with `teams` and `privacy` the only writers of people's tables."""

from __future__ import annotations

from django.utils import timezone

from surgeval.host.acts.refused import Refused
from surgeval.host.log.acting import acting
from surgeval.host.people.journal import actor
from surgeval.host.people.models import (
    BrowserSighting,
    Eligibility,
    FlagReview,
    OrganiserRole,
    Role,
    Team,
    User,
)
from surgeval.host.people.names import readable
from surgeval.host.people.secrets import digest

RANK = {Role.VIEWER: 0, Role.JUDGE: 1, Role.EDITOR: 2, Role.OWNER: 3}


def role_of(user: object) -> Role | None:
    """The role of a person among the organisers, or None; nobody signed in has none."""
    if not isinstance(user, User) or not user.is_active:
        return None
    given = OrganiserRole.objects.filter(user=user).first()
    return Role(given.role) if given else None


def has_role(user: object, least: Role) -> bool:
    """Whether the person may do what that role may."""
    role = role_of(user)
    return role is not None and RANK[role] >= RANK[least]


def give_role(user: User, role: Role, *, by: User | None) -> OrganiserRole:
    """The stored role; `by` is None where the command line of the machine gives it."""
    if by is not None and not has_role(by, Role.OWNER):
        raise Refused("role-needed", "only an owner gives roles.")
    with acting(actor(by), "give role", f"user-{user.pk}", role=role.value):
        _check_an_owner_stays(user, role)
        given, _ = OrganiserRole.objects.update_or_create(
            user=user, defaults={"role": role.value, "given_at": timezone.now()}
        )
    return given


def take_role(user: User, *, by: User) -> None:
    """Nothing; the person organises no longer."""
    if not has_role(by, Role.OWNER):
        raise Refused("role-needed", "only an owner takes roles away.")
    with acting(actor(by), "take role", f"user-{user.pk}"):
        _check_an_owner_stays(user, None)
        OrganiserRole.objects.filter(user=user).delete()


def _check_an_owner_stays(user: User, role: Role | None) -> None:
    others = OrganiserRole.objects.filter(role=Role.OWNER).exclude(user=user)
    if role is not Role.OWNER and role_of(user) is Role.OWNER and not others.exists():
        raise Refused("last-owner", "this is the only owner. Make another one first.")


def save_profile(
    user: User, *, name: str, institution: str, country: str, organiser_lab: bool, wants_mail: bool
) -> None:
    """Nothing; what the person says about himself is stored. A laboratory once declared is not taken back here."""
    if user.organiser_lab and not organiser_lab:
        raise Refused("lab-declared", "you declared an organiser's laboratory. Ask the organisers to correct it.")
    memberships = user.memberships.filter(left_at__isnull=True).select_related("team")
    with acting(actor(user), "change profile", f"user-{user.pk}", organiser_lab=organiser_lab):
        User.objects.filter(pk=user.pk).update(
            name=readable(name, what="your name"),
            institution=readable(institution, what="the institution"),
            country=country.upper(),
            organiser_lab=organiser_lab,
            wants_mail=wants_mail,
        )
        if organiser_lab:
            for membership in memberships:
                narrow_eligibility(membership.team)


def narrow_eligibility(team: Team) -> None:
    """Nothing; a team with an organiser's colleague is listed without awards from then on."""
    Eligibility.objects.get_or_create(team=team)
    Eligibility.objects.filter(team=team, may_win=True).update(
        may_win=False, reason="A member works at an organiser's laboratory: listed, without awards."
    )


def decide_eligibility(team: Team, *, may_take_part: bool, may_win: bool, reason: str, by: User) -> Eligibility:
    """The decision about a team, which it sees with its reason."""
    if not has_role(by, Role.EDITOR):
        raise Refused("role-needed", "only editors and owners decide about eligibility.")
    if not (may_take_part and may_win) and not reason.strip():
        raise Refused("reason-needed", "say why; the team sees it.")
    facts = {"may_take_part": may_take_part, "may_win": may_win, "reason": reason.strip()}
    with acting(actor(by), "decide eligibility", f"team-{team.pk}", **facts):
        decided, _ = Eligibility.objects.update_or_create(
            team=team,
            defaults={
                "may_take_part": may_take_part,
                "may_win": may_win and may_take_part,
                "reason": reason.strip(),
                "decided_by": by,
                "decided_at": timezone.now(),
            },
        )
    return decided


def see_browser(user: User, mark: str) -> None:
    """Nothing; that the account was used from the browser with that mark is stored."""
    BrowserSighting.objects.update_or_create(
        browser_sha256=digest(mark), user=user, defaults={"last_seen": timezone.now()}
    )


def review_flag(kind: str, key: str, note: str, *, by: User) -> FlagReview:
    """What an organiser concluded about a flag."""
    if not has_role(by, Role.EDITOR):
        raise Refused("role-needed", "only editors and owners review flags.")
    if not note.strip():
        raise Refused("reason-needed", "say what you concluded.")
    with acting(actor(by), "review flag", f"{kind}-flag-{key[:16]}", note=note.strip()):
        review, _ = FlagReview.objects.update_or_create(
            kind=kind, key=key, defaults={"note": note.strip(), "reviewed_by": by, "reviewed_at": timezone.now()}
        )
    return review
