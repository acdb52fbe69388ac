"""Pages of one's team: members, invitations, history, and two submissions side by side."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.mail import send_mail
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from surgvalid.host.acts.refused import Refused
from surgvalid.host.pages import site
from surgvalid.host.pages.answers import attempted, page, whole_number, with_form
from surgvalid.host.pages.forms import CoauthorsForm, InviteForm, TeamForm
from surgvalid.host.pages.history import comparison, rows_of_team
from surgvalid.host.pages.permissions import person, posted
from surgvalid.host.people import teams
from surgvalid.host.people.models import Eligibility, Invitation, Team, User
from surgvalid.host.people.rules import accepted_terms, rules_now

MAIL = """{who} invites you to the team "{team}" in {challenge}.

Open this address to accept, with an account for {email}:
{address}

It works once and for 14 days. If you do not know them, ignore this mail.
"""


def team(request: HttpRequest) -> HttpResponse:
    """The team, or how to get one."""
    mine = teams.team_of(person(request))
    if mine is None:
        return page(request, "no_team", "Your team", form=TeamForm(), invitations=_invitations_of(person(request)))
    rules = rules_now()
    members = [
        {"user": one, "mail": teams.has_verified_mail(one), "terms": accepted_terms(one, rules)}
        for one in teams.members_of(mine)
    ]
    return page(
        request,
        "team",
        mine.name,
        team=mine,
        leads=mine.leader_id == person(request).pk,
        members=members,
        unready=[words for _, words in teams.unready(mine, rules)],
        invitations=[one for one in mine.invitations.order_by("-pk") if one.is_open],
        invite_form=InviteForm(),
        coauthors_form=CoauthorsForm(initial={"names": mine.coauthors}),
        eligibility=Eligibility.objects.filter(team=mine).first(),
        rules=rules,
        submissions=rows_of_team(mine),
    )


def found_team(request: HttpRequest) -> HttpResponse:
    """Founds a team."""
    form = TeamForm(request.POST)
    act = lambda: teams.found_team(person(request), form.cleaned_data["name"], rules_now())  # noqa: E731
    return with_form(request, form, act, done="Your team is founded. Invite the others, or submit alone.", to="team")


def invite(request: HttpRequest) -> HttpResponse:
    """Invites somebody by mail."""
    form, mine = InviteForm(request.POST), _mine(request)

    def act() -> None:
        invitation, secret = teams.invite(mine, form.cleaned_data["email"], by=person(request), rules=rules_now())
        address = request.build_absolute_uri(reverse("invitation", kwargs={"secret": secret}))
        words = {"who": person(request), "team": mine, "challenge": site.challenge_name(), "email": invitation.email}
        subject = f"[{site.challenge_name()}] Invitation to the team {mine}"
        send_mail(subject, MAIL.format(address=address, **words), None, [invitation.email])

    return with_form(request, form, act, done="The invitation is on its way.", to="team")


def revoke(request: HttpRequest, invitation: int) -> HttpResponse:
    """Revokes an invitation of one's own team."""
    stored = Invitation.objects.filter(pk=invitation, team=_mine(request)).first()
    if stored is None:
        raise Http404
    act = lambda: teams.revoke_invitation(stored, by=person(request))  # noqa: E731
    return attempted(request, act, done="The invitation is revoked.", to="team")


def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """The invitation behind a mailed address; accepted by a form, so that a mail scanner joins nothing."""
    if request.method == "POST":
        act = lambda: teams.join(person(request), secret, rules_now())  # noqa: E731
        return attempted(request, act, done="You are in the team.", to="team")
    invited = teams.open_invitation(secret)
    fits = invited is not None and invited.email.lower() == person(request).email.lower()
    return page(request, "invitation", "Invitation", invited=invited if fits else None, rules=rules_now())


def leave(request: HttpRequest) -> HttpResponse:
    """Leaves the team."""
    act = lambda: teams.leave(person(request))  # noqa: E731
    return attempted(request, act, done="You left the team.", to="team")


def hand_lead(request: HttpRequest) -> HttpResponse:
    """Hands the lead to another member."""
    heir = User.objects.filter(pk=whole_number(posted(request, "member"))).first()

    def act() -> None:
        if heir is None:
            raise Refused("not-a-member", "only a member of the team can lead it.")
        teams.hand_lead(_mine(request), heir, by=person(request))

    return attempted(request, act, done="The lead is handed over.", to="team")


def coauthors(request: HttpRequest) -> HttpResponse:
    """Names the team's co-authors."""
    form, mine = CoauthorsForm(request.POST), _mine(request)

    def act() -> None:
        teams.name_coauthors(mine, form.cleaned_data["names"].splitlines(), by=person(request), rules=rules_now())

    return with_form(request, form, act, done="The co-authors are stored.", to="team")


def compare(request: HttpRequest) -> HttpResponse:
    """Two submissions of one's own team, side by side."""
    mine = _mine(request)
    chosen = request.GET.getlist("submission")
    if len(chosen) != 2:
        messages.error(request, f"Tick two submissions to compare them; you ticked {len(chosen)}.")
        return HttpResponseRedirect(reverse("team"))
    pair = [mine.submissions.filter(pk=whole_number(number)).first() for number in chosen]
    if None in pair:
        raise Http404
    return page(request, "compare", "Two submissions", pair=pair, rows=comparison(*pair))


def _mine(request: HttpRequest) -> Team:
    mine = teams.team_of(person(request))
    if mine is None:
        raise Http404
    return mine


def _invitations_of(user: Any) -> list[Invitation]:
    return [one for one in Invitation.objects.filter(email__iexact=user.email).select_related("team") if one.is_open]
