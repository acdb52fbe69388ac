"""What teams' programs and the upload page speak to: uploads in pieces, and submissions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from surgvalid.errors import Misuse
from surgvalid.host.acting import now
from surgvalid.host.acts import boards, challenge, quotas, submissions, tokens, uploads
from surgvalid.host.acts.gates import is_gate_open
from surgvalid.host.acts.refused import REMEDIES, Refused
from surgvalid.host.api.answers import answered, content_of, whole
from surgvalid.host.people.models import MemberRole, OrganiserRole
from surgvalid.host.people.teams import team_of
from surgvalid.host.runs.models import Submission, Upload


def person(request: HttpRequest) -> Any:
    """Whoever asks: by token, or by session where there is no token.

    Raises:
        Refused: Nobody that is known.
    """
    bearer = getattr(request, "bearer", "")
    who = tokens.person_of(bearer, changes=request.method != "GET") if bearer else request.user
    if who is None or not who.is_authenticated:
        raise Refused("unknown-token", "sign in, or show a token of your account.")
    return who


def owner(request: HttpRequest) -> tuple[Any, Any]:
    """Who asks, and the team that is asked for; None is the organisers, for those of them who may hand in baselines.

    Raises:
        Refused: The person has no team.
    """
    who = person(request)
    team = team_of(who)
    if (
        team is None
        and not OrganiserRole.objects.filter(user=who, role__in=(MemberRole.OWNER, MemberRole.EDITOR)).exists()
    ):
        raise Refused("team-not-ready", "you are in no team.")
    return who, team


@answered("GET")
def standing(request: HttpRequest) -> HttpResponseBase:
    """The person's team, and what it has left in every phase."""
    _, team = owner(request)
    at, rows = now(), []
    for phase in challenge.current_challenge().phases:
        row: dict[str, Any] = {
            "phase": phase.slug,
            "title": phase.title,
            "opens": phase.opens,
            "closes": phase.closes,
            "open": phase.is_open(at),
        }
        if team is not None:
            usage = quotas.usage_of(team, phase)
            row |= {
                "gate_open": is_gate_open(team, phase.slug),
                "scored": usage.scored,
                "under_way": usage.under_way,
                "scored_left": usage.scored_left,
                "attempts_left": usage.attempts_left,
            }
        rows.append(row)
    return JsonResponse({"team": None if team is None else team.name, "phases": rows})


@answered("POST")
def new_upload(request: HttpRequest) -> HttpResponseBase:
    """Announce a file; the same file goes on where it stopped."""
    who, team = owner(request)
    content = content_of(request, phase=str, name=str, size_bytes=int, sha256=str)
    missing = [name for name in ("phase", "name", "size_bytes", "sha256") if content.get(name) is None]
    if missing:
        raise Misuse(f"{', '.join(missing)} must be there")
    upload = uploads.announce_upload(
        f"user-{who.pk}",
        team,
        content["phase"],
        content["name"],
        size_bytes=content["size_bytes"],
        digest=content["sha256"],
        by=who,
    )
    return _upload(upload)


@answered("GET", "PUT", "DELETE")
def one_upload(request: HttpRequest, key: str) -> HttpResponseBase:
    """Say where an upload stands, add the next piece to it, or forget it."""
    who, team = owner(request)
    upload = _owned(key, team)
    if request.method == "DELETE":
        uploads.abandon_upload(f"user-{who.pk}", upload)
        return JsonResponse({})
    if request.method == "PUT":
        piece = request.read(uploads.MOST_PIECE_BYTES + 1)
        length = request.headers.get("Content-Length", "")
        uploads.add_piece(
            upload, offset=whole(request, "offset"), piece=piece, length=int(length) if length.isdigit() else None
        )
    return _upload(upload)


def _owned(key: str, team: Any) -> Upload:
    upload = Upload.objects.filter(key=key, team=team).select_related("team").first()
    if upload is None:
        raise Refused("not-yours", "there is no such upload.")
    return upload


def _upload(upload: Upload) -> HttpResponseBase:
    return JsonResponse(
        {
            "upload": upload.key,
            "received_bytes": uploads.received_bytes(upload),
            "size_bytes": upload.size_bytes,
            "piece_bytes": uploads.MOST_PIECE_BYTES,
        }
    )


@answered("GET", "POST")
def all_submissions(request: HttpRequest) -> HttpResponseBase:
    """The team's submissions, or a new one from uploads that are complete."""
    who, team = owner(request)
    if request.method == "GET":
        mine = list(Submission.objects.filter(team=team).prefetch_related("history")[:200])
        values = boards.team_values_of(mine)
        hidden = _hidden()
        return JsonResponse({"submissions": [_facts(*pair, hidden) for pair in zip(mine, values, strict=True)]})
    content = content_of(request, phase=str, image=str, description=str, baseline=str)
    image = _owned(content.get("image") or "", team)
    description = _owned(content["description"], team) if content.get("description") else None
    made = submissions.hand_in(
        f"user-{who.pk}",
        team,
        content.get("phase") or image.phase,
        image,
        description=description,
        baseline=content.get("baseline") or "",
        by=who,
    )
    return JsonResponse(submission_facts(made), status=201)


@answered("GET")
def one_submission(request: HttpRequest, number: int) -> HttpResponseBase:
    """Where a submission of the team stands."""
    _, team = owner(request)
    return JsonResponse(submission_facts(_submission(number, team)))


@answered("POST")
def cancel_submission(request: HttpRequest, number: int) -> HttpResponseBase:
    """Stop a submission of the team that is under way."""
    who, team = owner(request)
    stopped = submissions.cancel(f"user-{who.pk}", _submission(number, team), reason="cancelled by its team")
    return JsonResponse(submission_facts(stopped))


def _submission(number: int, team: Any) -> Submission:
    mine = Submission.objects.filter(pk=number, team=team).first()
    if mine is None:
        raise Refused("not-yours", "there is no such submission.")
    return mine


def submission_facts(submission: Submission) -> dict[str, Any]:
    """What a team may know of a submission: words of the system alone, and values as the phase shows them."""
    return _facts(submission, boards.team_values(submission), _hidden())


def _hidden() -> frozenset[str]:
    return frozenset(one.slug for one in challenge.current_challenge().phases if one.visibility == "hidden")


def _facts(submission: Submission, values: dict[str, float], hidden: frozenset[str]) -> dict[str, Any]:
    def when(at: datetime) -> datetime:
        """A time of a hidden phase to the minute: how long something took tells of what was asked."""
        return at.replace(second=0, microsecond=0) if submission.phase in hidden else at

    return {
        "submission": submission.pk,
        "phase": submission.phase,
        "stage": submission.stage,
        "at": when(submission.at),
        "codes": submission.codes,
        "problems": submission.problems,
        "remedies": [REMEDIES[code] for code in submission.codes if code in REMEDIES],
        "history": [{"stage": one.stage, "at": when(one.at), "reason": one.reason} for one in submission.history.all()],
        "values": values,
    }
