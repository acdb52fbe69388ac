"""Acts on accounts, roles and eligibility, and signs that one person uses several accounts or teams.

With `teams` and `privacy` the only writers of people's tables. Names that strangers choose and everybody reads have
only letters that can be seen, and one spelling for one look. A sign points, and an organiser decides.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count
from django.utils import timezone
from django.utils.crypto import salted_hmac

from surgvalid.host.acting import acting, actor
from surgvalid.host.acts.refused import Refused
from surgvalid.host.acts.tokens import digest
from surgvalid.host.people.models import (
    BrowserSighting,
    Eligibility,
    FlagReview,
    MemberRole,
    Membership,
    OrganiserRole,
    Team,
    User,
)

_UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}
"""Characters that Unicode counts as letters or marks and that show nothing: fillers and selectors of variants."""


def readable(text: str, *, what: str) -> str:
    """The text as it is stored: in the spelling that Unicode calls compatible, with single spaces.

    Raises:
        Refused: It has characters that nobody sees, by which it could look like another one.
    """
    words = " ".join(unicodedata.normalize("NFKC", text).split())
    hidden = sorted({one for one in words if unicodedata.category(one) in _UNSEEN or one in _BLANK})
    if hidden:
        codes = ", ".join(f"U+{ord(one):04X}" for one in hidden[:5])
        raise Refused("letters-unseen", f"{what} has characters that cannot be seen ({codes}). Type it without them.")
    return words


def look(name: str) -> str:
    """What two names share that differ by case and spelling alone."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def address_mark(email: str) -> str:
    """A digest of an address by the key of the service; of spellings that reach one mailbox, the same."""
    box, _, host = unicodedata.normalize("NFKC", email.strip()).casefold().partition("@")
    box, host = box.partition("+")[0], "gmail.com" if host == "googlemail.com" else host
    plain = f"{box.replace('.', '') if host == 'gmail.com' else box}@{host}"
    return salted_hmac("surgvalid.host.address", plain, algorithm="sha256").hexdigest()


def accounts_of(user: User) -> list[User]:
    """The account of a person, and those that he deleted before."""
    return [user, *User.objects.filter(past_address=address_mark(user.email)).exclude(pk=user.pk)]


RANK = {MemberRole.VIEWER: 0, MemberRole.JUDGE: 1, MemberRole.EDITOR: 2, MemberRole.OWNER: 3}


def role_of(user: object) -> MemberRole | None:
    """The role of a person among the organisers, or None; nobody signed in has none."""
    if not isinstance(user, User) or not user.is_active:
        return None
    given = OrganiserRole.objects.filter(user=user).first()
    return MemberRole(given.role) if given else None


def has_role(user: object, least: MemberRole) -> bool:
    """Whether the person may do what that role may."""
    role = role_of(user)
    return role is not None and RANK[role] >= RANK[least]


def give_role(user: User, role: MemberRole, *, by: User | None) -> OrganiserRole:
    """The stored role; `by` is None where the command line of the machine gives it."""
    if by is not None and not has_role(by, MemberRole.OWNER):
        raise Refused("role-needed", "only an owner gives roles.")
    with acting(actor(by), "give role", f"user-{user.pk}", role=role.value):
        _check_an_owner_stays(user, role)
        given, _ = OrganiserRole.objects.update_or_create(
            user=user, defaults={"role": role.value, "given_at": timezone.now()}
        )
    return given


def first_secret() -> str:
    """What the address ends with by which the first owner comes in; empty once there is one."""
    if OrganiserRole.objects.filter(role=MemberRole.OWNER).exists():
        return ""
    return salted_hmac("surgvalid.host.first", MemberRole.OWNER, algorithm="sha256").hexdigest()


def take_role(user: User, *, by: User) -> None:
    """Nothing; the person organises no longer."""
    if not has_role(by, MemberRole.OWNER):
        raise Refused("role-needed", "only an owner takes roles away.")
    with acting(actor(by), "take role", f"user-{user.pk}"):
        _check_an_owner_stays(user, None)
        OrganiserRole.objects.filter(user=user).delete()


def _check_an_owner_stays(user: User, role: MemberRole | None) -> None:
    others = OrganiserRole.objects.filter(role=MemberRole.OWNER).exclude(user=user)
    if role is not MemberRole.OWNER and role_of(user) is MemberRole.OWNER and not others.exists():
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
    stored, _ = Eligibility.objects.get_or_create(team=team)
    if stored.may_win:
        stored.may_win, stored.reason = False, "A member works at an organiser's laboratory: listed, without awards."
        stored.save()


def decide_eligibility(team: Team, *, may_take_part: bool, may_win: bool, reason: str, by: User) -> Eligibility:
    """The decision about a team, which it sees with its reason."""
    if not has_role(by, MemberRole.EDITOR):
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
    if not has_role(by, MemberRole.EDITOR):
        raise Refused("role-needed", "only editors and owners review flags.")
    if not note.strip():
        raise Refused("reason-needed", "say what you concluded.")
    with acting(actor(by), "review flag", f"{kind}-flag-{key[:16]}", note=note.strip()):
        review, _ = FlagReview.objects.update_or_create(
            kind=kind, key=key, defaults={"note": note.strip(), "reviewed_by": by, "reviewed_at": timezone.now()}
        )
    return review


@dataclass(frozen=True)
class Flag:
    """One sign: what was shared, and by whom."""

    kind: str
    key: str
    names: tuple[str, ...]
    teams: tuple[str, ...]
    review: FlagReview | None = None

    @property
    def title(self) -> str:
        """What was seen, in a line."""
        return {
            "address": "An account was deleted and made again",
            "browser": "Several accounts used one browser",
            "image": "Several teams sent the same image",
        }[self.kind]


def flags() -> list[Flag]:
    """Every sign."""
    return [*address_flags(), *browser_flags(), *image_flags()]


def address_flags() -> list[Flag]:
    """Accounts whose address had another account before, that was deleted."""
    deleted = dict(User.objects.exclude(past_address="").values_list("past_address", "pk"))
    living = User.objects.filter(is_active=True) if deleted else ()
    again = {mark: user for user in living if (mark := address_mark(user.email)) in deleted}
    held = Membership.objects.filter(left_at__isnull=True, user__in=again.values()).select_related("team")
    teams, reviews = {one.user_id: (one.team.name,) for one in held}, _reviews("address")
    return [
        Flag("address", mark, (str(user), f"deleted person {deleted[mark]}"), teams.get(user.pk, ()), reviews.get(mark))
        for mark, user in sorted(again.items())
    ]


def browser_flags() -> list[Flag]:
    """Browsers from which accounts of different teams, or of no team, were used."""
    shared = (
        BrowserSighting.objects.values("browser_sha256").annotate(users=Count("user")).filter(users__gt=1)
    ).values_list("browser_sha256", flat=True)
    seen = defaultdict(list)
    for sighting in BrowserSighting.objects.filter(browser_sha256__in=list(shared)).select_related("user"):
        seen[sighting.browser_sha256].append(sighting.user)
    memberships = Membership.objects.filter(left_at__isnull=True).select_related("team")
    teams = {membership.user_id: membership.team.name for membership in memberships}
    reviews = _reviews("browser")
    return [
        Flag(
            "browser",
            key,
            tuple(sorted(str(user) for user in users)),
            tuple(sorted({teams[user.pk] for user in users if user.pk in teams})),
            reviews.get(key),
        )
        for key, users in sorted(seen.items())
    ]


def image_flags() -> list[Flag]:
    """Images that more than one team handed in."""
    from surgvalid.host.runs.models import Submission  # the two apps' models refer to each other

    sent = Submission.objects.exclude(image_digest="").values_list("image_digest", "team_id").distinct()
    teams_of = defaultdict(set)
    for image, team in sent:
        teams_of[image].add(team)
    shared = {image: teams for image, teams in teams_of.items() if len(teams) > 1}
    names = dict(Team.objects.filter(pk__in=set().union(*shared.values()) if shared else ()).values_list("pk", "name"))
    reviews = _reviews("image")
    return [
        Flag("image", image, (), tuple(sorted(names[team] for team in teams)), reviews.get(image))
        for image, teams in sorted(shared.items())
    ]


def _reviews(kind: str) -> dict[str, FlagReview]:
    return {review.key: review for review in FlagReview.objects.filter(kind=kind).select_related("reviewed_by")}
