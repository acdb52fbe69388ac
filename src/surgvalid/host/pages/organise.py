"""Pages for organisers: what goes on, and acts on submissions, teams, leaderboards, qualification and prizes."""

from __future__ import annotations

from datetime import timedelta

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from surgvalid.host.acting import actor, log_problems, now
from surgvalid.host.acts import submissions as acts
from surgvalid.host.acts.challenge import announce
from surgvalid.host.acts.quotas import UNDER_WAY, usage_of
from surgvalid.host.acts.refused import Refused
from surgvalid.host.acts.uploads import free_bytes
from surgvalid.host.backups import last_backup
from surgvalid.host.outbox import unsent
from surgvalid.host.pages.answers import attempted, page, with_form
from surgvalid.host.pages.forms import (
    AnnouncementForm,
    EligibilityForm,
    FlagForm,
    QuotaForm,
    RoleForm,
)
from surgvalid.host.pages.history import shown_to_team, text_of_containers
from surgvalid.host.pages.permissions import me, person, posted
from surgvalid.host.pages.public import phase_facts
from surgvalid.host.pages.site import challenge_now
from surgvalid.host.people import acts as people_acts
from surgvalid.host.people import teams
from surgvalid.host.people.models import Eligibility, MemberRole, OrganiserRole, Team, User
from surgvalid.host.runs.models import (
    Announcement,
    BoardSnapshot,
    GateDecision,
    Job,
    LogEntry,
    QuotaGrant,
    Submission,
    WorkerToken,
)
from surgvalid.host.seals import row_problems
from surgvalid.submissions.stages import HELD, Stage

ON_A_PAGE = 50


def organise(request: HttpRequest) -> HttpResponse:
    """What goes on: phases, submissions by stage, the queue, workers, flags."""
    challenge = challenge_now()
    stages = Submission.objects.values("phase", "stage").annotate(count=Count("pk")).order_by("phase", "stage")
    jobs = Job.objects.filter(state__in=("waiting", "claimed")).values("kind", "state").annotate(count=Count("pk"))
    return page(
        request,
        "organise/overview",
        "Organise",
        phases=[phase_facts(phase) for phase in challenge.phases] if challenge else [],
        stages=stages,
        jobs=jobs.order_by("kind", "state"),
        workers=WorkerToken.objects.filter(revoked_at__isnull=True).order_by("name"),
        teams=Team.objects.filter(merged_into__isnull=True).count(),
        flags=len([flag for flag in people_acts.flags() if flag.review is None]),
        undescribed=Submission.objects.filter(description__isnull=False, description_verdict="").count(),
        unpublished=_unpublished(),
        undecided=acts.undecided(Submission.objects.all()),
        unsent=unsent().count(),
        backup=last_backup(),
        backup_due=(made := last_backup()) is None or now() - made > timedelta(days=2),
        free=free_bytes(),
    )


def _unpublished() -> int:
    """Leaderboards whose newest snapshot waits; older ones are past."""
    rows = BoardSnapshot.objects.order_by("number").values_list("phase", "board", "publication__published_at")
    return list({(phase, board): at for phase, board, at in rows}.values()).count(None)


def submissions(request: HttpRequest) -> HttpResponse:
    """Every submission, newest first; filtered by phase and stage."""
    chosen = Submission.objects.select_related("team", "made_by")
    phase, stage = request.GET.get("phase", ""), request.GET.get("stage", "")
    chosen = chosen.filter(phase=phase) if phase else chosen
    chosen = chosen.filter(stage=stage) if stage else chosen
    shown = Paginator(chosen, ON_A_PAGE).get_page(request.GET.get("page"))
    return page(
        request,
        "organise/submissions",
        "Submissions",
        shown=shown,
        phase=phase,
        stage=stage,
        stages=sorted(set(Submission.objects.order_by().values_list("stage", flat=True))),
    )


def submission(request: HttpRequest, number: int) -> HttpResponse:
    """One submission as organisers see it: values, jobs, and acts on it."""
    stored = get_object_or_404(Submission.objects.select_related("team", "image", "description"), pk=number)
    return page(
        request,
        "organise/submission",
        f"Submission {number}",
        **shown_to_team(stored),
        all_values=stored.values,
        acts=[(name, name.replace("-", " ").capitalize()) for name in _acts_now(stored)],
        jobs=Job.objects.filter(submission=stored).select_related("worker").order_by("pk"),
        entries=LogEntry.objects.filter(subject=f"submission-{number}").order_by("-number")[:50],
    )


def container_text(request: HttpRequest, number: int) -> HttpResponse:
    """What the containers of the last run wrote, for organisers: of hidden phases it may tell of hidden data."""
    return text_of_containers(get_object_or_404(Submission, pk=number), most_bytes=200_000)


_ACTS = {
    "run-again": (acts.run_again, "It runs again, at no cost to its team."),
    "keep-run": (acts.keep_run, "Its last run stands."),
    "cancel": (acts.cancel, "It is cancelled."),
    "disqualify": (acts.disqualify, "It is disqualified; leaderboards are made anew without it."),
    "reinstate": (acts.reinstate, "It counts again."),
}


def _acts_now(submission: Submission) -> list[str]:
    """The acts that make sense for a submission; each checks again for itself."""
    stage = submission.stage
    if stage in HELD:
        return ["reinstate"]
    if stage in (*UNDER_WAY, Stage.FAILED_INFRA):
        return ["cancel", "disqualify", *(["run-again"] if stage == Stage.FAILED_INFRA else [])]
    keep = ["keep-run"] if acts.undecided(Submission.objects.filter(pk=submission.pk)) else []
    return ["disqualify"] if stage == Stage.INTAKE_REFUSED else [*keep, "run-again", "disqualify"]


def act_on_submission(request: HttpRequest, number: int, act: str) -> HttpResponse:
    """Runs a submission again, cancels, disqualifies or reinstates it, with a reason."""
    stored = get_object_or_404(Submission, pk=number)
    if act not in _ACTS:
        raise Http404
    done, words = _ACTS[act]
    reason = posted(request, "reason")
    return attempted(
        request,
        lambda: done(me(request), stored, reason=reason),
        done=words,
        to="organise_submission",
        parts={"number": number},
    )


def judge(request: HttpRequest, number: int) -> HttpResponse:
    """Stores what a judge thinks of a description."""
    stored = get_object_or_404(Submission, pk=number)
    verdict, reason = posted(request, "verdict"), posted(request, "reason")
    return attempted(
        request,
        lambda: acts.judge_description(me(request), stored, verdict, reason=reason),
        done="The verdict is stored.",
        to="organise_descriptions",
    )


def descriptions(request: HttpRequest) -> HttpResponse:
    """Descriptions that wait for a judge, and those that were read."""
    described = Submission.objects.filter(description__isnull=False).select_related("team", "description")
    shown = Paginator(described.order_by("description_verdict", "-pk"), ON_A_PAGE).get_page(request.GET.get("page"))
    return page(request, "organise/descriptions", "Method descriptions", shown=shown)


def all_teams(request: HttpRequest) -> HttpResponse:
    """Every team, with its size and standing."""
    listed = Team.objects.select_related("leader", "eligibility").annotate(
        handed_in=Count("submissions", distinct=True)
    )
    shown = Paginator(listed.order_by("name"), ON_A_PAGE).get_page(request.GET.get("page"))
    return page(request, "organise/teams", "Teams", shown=shown)


def one_team(request: HttpRequest, team: int) -> HttpResponse:
    """One team: members, quota, eligibility, submissions, qualification criterion."""
    stored = get_object_or_404(Team, pk=team)
    challenge = challenge_now()
    eligibility = Eligibility.objects.filter(team=stored).first()
    decided = {name: getattr(eligibility, name, True) for name in ("may_take_part", "may_win")}
    usage = [(phase, usage_of(stored, phase)) for phase in challenge.phases] if challenge else []
    return page(
        request,
        "organise/team",
        stored.name,
        team=stored,
        members=teams.members_of(stored),
        usage=usage,
        grants=QuotaGrant.objects.filter(team=stored).order_by("-pk"),
        quota_form=QuotaForm(),
        eligibility_form=EligibilityForm(initial=decided | {"reason": getattr(eligibility, "reason", "")}),
        submissions=stored.submissions.all()[:50],
        gates=GateDecision.objects.filter(team=stored),
    )


def grant(request: HttpRequest, team: int) -> HttpResponse:
    """Gives a team more submissions."""
    stored, form = get_object_or_404(Team, pk=team), QuotaForm(request.POST)

    def act() -> None:
        acts.grant_quota(me(request), stored, **form.cleaned_data)

    return with_form(request, form, act, done="The grant holds from now on.", to="organise_team", parts={"team": team})


def eligibility(request: HttpRequest, team: int) -> HttpResponse:
    """Decides whether a team takes part and may win."""
    stored, form = get_object_or_404(Team, pk=team), EligibilityForm(request.POST)

    def act() -> None:
        people_acts.decide_eligibility(stored, **form.cleaned_data, by=person(request))

    return with_form(request, form, act, done="The team reads your decision.", to="organise_team", parts={"team": team})


def all_flags(request: HttpRequest) -> HttpResponse:
    """Signs of several accounts of one person, and of one image in several teams."""
    return page(
        request, "organise/flags", "Flags", flags=sorted(people_acts.flags(), key=lambda flag: flag.review is not None)
    )


def review_flag(request: HttpRequest) -> HttpResponse:
    """Stores what an organiser concluded about a flag."""
    form = FlagForm(request.POST)
    act = lambda: people_acts.review_flag(**form.cleaned_data, by=person(request))  # noqa: E731
    return with_form(request, form, act, done="Your conclusion is stored.", to="organise_flags")


def roles(request: HttpRequest) -> HttpResponse:
    """Who organises."""
    listed = OrganiserRole.objects.select_related("user").order_by("user__email")
    return page(request, "organise/roles", "Roles", listed=listed, form=RoleForm())


def give_role(request: HttpRequest) -> HttpResponse:
    """Gives somebody with an account a role, or takes it away."""
    form = RoleForm(request.POST)

    def act() -> None:
        user = User.objects.filter(email__iexact=form.cleaned_data["email"], is_active=True).first()
        if user is None:
            raise Refused("no-account", "nobody has an account with this address. Let the person register first.")
        if request.POST.get("take") == "yes":
            people_acts.take_role(user, by=person(request))
        else:
            people_acts.give_role(user, MemberRole(form.cleaned_data["role"]), by=person(request))

    return with_form(request, form, act, done="The roles are changed.", to="organise_roles")


def news(request: HttpRequest) -> HttpResponse:
    """What was announced, and a form for more."""
    return page(request, "organise/news", "Announce", form=AnnouncementForm(), news=Announcement.objects.all()[:50])


def say(request: HttpRequest) -> HttpResponse:
    """Announces something to everybody."""
    form, user = AnnouncementForm(request.POST), person(request)
    act = lambda: announce(actor(user), **form.cleaned_data, by=user)  # noqa: E731
    return with_form(request, form, act, done="It is announced.", to="organise_news")


def log(request: HttpRequest) -> HttpResponse:
    """The log, newest first, and whether its seals hold."""
    entries = LogEntry.objects.order_by("-number")
    if wanted := request.GET.get("subject", ""):
        entries = entries.filter(subject=wanted)
    shown = Paginator(entries, ON_A_PAGE).get_page(request.GET.get("page"))
    checked = request.GET.get("verify") == "yes"
    problems = [*log_problems(), *row_problems()] if checked else []
    return page(request, "organise/log", "Log", shown=shown, subject=wanted, checked=checked, problems=problems)
