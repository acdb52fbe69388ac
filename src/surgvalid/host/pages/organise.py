"""Pages for organisers: what goes on, and acts on submissions, teams, leaderboards, qualification and prizes."""

from __future__ import annotations

from pathlib import Path

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from surgvalid.asking.journal import LOG, TROUBLE_LOG
from surgvalid.host.acting import actor, log_problems
from surgvalid.host.acts import submissions as acts
from surgvalid.host.acts.challenge import announce
from surgvalid.host.acts.quotas import UNDER_WAY, usage_of
from surgvalid.host.acts.refused import Refused
from surgvalid.host.pages.answers import attempted, page, with_form
from surgvalid.host.pages.forms import (
    AnnouncementForm,
    EligibilityForm,
    FlagForm,
    QuotaForm,
    RoleForm,
)
from surgvalid.host.pages.history import shown_to_team
from surgvalid.host.pages.permissions import person
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
        flags=len([flag for flag in (*people_acts.browser_flags(), *people_acts.image_flags()) if flag.review is None]),
        undescribed=Submission.objects.filter(description__isnull=False, description_verdict="").count(),
        unpublished=_unpublished(),
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
        acts=[(name, name.replace("-", " ").capitalize()) for name in _acts_now(stored.stage)],
        jobs=Job.objects.filter(submission=stored).select_related("worker").order_by("pk"),
        entries=LogEntry.objects.filter(subject=f"submission-{number}").order_by("-number")[:50],
    )


def container_text(request: HttpRequest, number: int) -> HttpResponse:
    """What the containers of the last run wrote, for organisers alone: it may tell of hidden data."""
    stored = get_object_or_404(Submission, pk=number)
    last = stored.runs.order_by("-number").first()
    shards = sorted(acts.run_folder(stored, last.number).glob("shard-*")) if last else []
    texts = [f"== {shard.name}, {name}\n{tail_of(shard / name)}\n" for shard in shards for name in (TROUBLE_LOG, LOG)]
    response = HttpResponse("".join(texts) or "nothing was written\n", content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="submission-{number}-containers.txt"'
    return response


def tail_of(path: Path, most_bytes: int = 200_000) -> str:
    """The end of a file that a container may have filled; links are not followed."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - most_bytes))
        return file.read(most_bytes).decode("utf-8", "replace").replace("\0", "")


_ACTS = {
    "run-again": (acts.run_again, "It runs again, at no cost to its team."),
    "cancel": (acts.cancel, "It is cancelled."),
    "disqualify": (acts.disqualify, "It is disqualified; leaderboards are made anew without it."),
    "reinstate": (acts.reinstate, "It counts again."),
}


def _acts_now(stage: str) -> list[str]:
    """The acts that make sense at a stage; each checks again for itself."""
    if stage in HELD:
        return ["reinstate"]
    if stage in (*UNDER_WAY, Stage.FAILED_INFRA):
        return ["cancel", "disqualify", *(["run-again"] if stage == Stage.FAILED_INFRA else [])]
    return ["disqualify"] if stage == Stage.INTAKE_REFUSED else ["run-again", "disqualify"]


def act_on_submission(request: HttpRequest, number: int, act: str) -> HttpResponse:
    """Runs a submission again, cancels, disqualifies or reinstates it, with a reason."""
    stored = get_object_or_404(Submission, pk=number)
    if act not in _ACTS:
        raise Http404
    done, words = _ACTS[act]
    reason = request.POST.get("reason", "")
    return attempted(
        request,
        lambda: done(actor(person(request)), stored, reason=reason),
        done=words,
        to="organise_submission",
        parts={"number": number},
    )


def judge(request: HttpRequest, number: int) -> HttpResponse:
    """Stores what a judge thinks of a description."""
    stored = get_object_or_404(Submission, pk=number)
    verdict, reason = request.POST.get("verdict", ""), request.POST.get("reason", "")
    return attempted(
        request,
        lambda: acts.judge_description(actor(person(request)), stored, verdict, reason=reason),
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
        acts.grant_quota(actor(person(request)), stored, **form.cleaned_data)

    return with_form(request, form, act, done="The grant holds from now on.", to="organise_team", parts={"team": team})


def eligibility(request: HttpRequest, team: int) -> HttpResponse:
    """Decides whether a team takes part and may win."""
    stored, form = get_object_or_404(Team, pk=team), EligibilityForm(request.POST)

    def act() -> None:
        people_acts.decide_eligibility(stored, **form.cleaned_data, by=person(request))

    return with_form(request, form, act, done="The team reads your decision.", to="organise_team", parts={"team": team})


def all_flags(request: HttpRequest) -> HttpResponse:
    """Signs of several accounts of one person, and of one image in several teams."""
    listed = [*people_acts.browser_flags(), *people_acts.image_flags()]
    return page(request, "organise/flags", "Flags", flags=sorted(listed, key=lambda flag: flag.review is not None))


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
    problems = log_problems() if checked else []
    return page(request, "organise/log", "Log", shown=shown, subject=wanted, checked=checked, problems=problems)
