"""Pages on which organisers publish: leaderboards with embargo, qualification with its evidence, prizes with a
signature.
"""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from surgvalid.host.acting import actor
from surgvalid.host.acts import prizes as money
from surgvalid.host.acts import publishing as acts
from surgvalid.host.acts.boards import public_leaderboard
from surgvalid.host.acts.gates import decide_by_hand
from surgvalid.host.acts.refused import Refused
from surgvalid.host.acts.submissions import refresh_boards
from surgvalid.host.pages.answers import attempted, page, whole_number
from surgvalid.host.pages.boards import shown_board
from surgvalid.host.pages.permissions import me, person, posted
from surgvalid.host.pages.site import challenge_now
from surgvalid.host.people.models import Team
from surgvalid.host.runs.models import BoardSnapshot, GateDecision, PrizeProposal

DIGITS = 6
"""That organisers see of values."""


def snapshots(request: HttpRequest) -> HttpResponse:
    """Every snapshot of every leaderboard, newest first, and whether it is published."""
    listed = BoardSnapshot.objects.select_related("publication").defer("tables").order_by("-pk")[:100]
    return page(request, "organise/snapshots", "Leaderboards to publish", listed=listed)


def refresh(request: HttpRequest) -> HttpResponse:
    """Lets the leaderboards of a phase be made anew, as after descriptions were read or a team was excluded."""
    phase, reason = posted(request, "phase"), posted(request, "reason")
    act = lambda: refresh_boards(me(request), phase, reason=reason)  # noqa: E731
    return attempted(request, act, done="A worker makes the leaderboards anew; they appear here.", to="organise_boards")


def snapshot(request: HttpRequest, number: int) -> HttpResponse:
    """One snapshot with every digit that was rounded away for the public, what went in, and acts on it."""
    stored = get_object_or_404(BoardSnapshot.objects.select_related("publication", "version"), pk=number)
    challenge = challenge_now()
    rules = challenge.phase(stored.phase) if challenge else None
    shown = shown_board(stored, DIGITS)
    names = shown.names()
    return page(
        request,
        "organise/snapshot",
        f"{rules.title if rules else stored.phase}: {stored.board} leaderboard, number {stored.number}",
        snapshot=stored,
        publication=getattr(stored, "publication", None),
        public=public_leaderboard(stored.phase, stored.board) == stored,
        rows=shown.html(mine=""),
        limits=shown.limits,
        currency=rules.prizes.currency if rules and rules.prizes else "",
        proposals=[_shown(one, names) for one in PrizeProposal.objects.filter(snapshot=stored).order_by("-pk")],
    )


def _shown(proposal: PrizeProposal, names: dict[str, str]) -> dict[str, object]:
    rows = proposal.signed_rows or proposal.rows
    return {
        "one": proposal,
        "shown": [{**row, "name": names.get(row["model"], row["model"])} for row in rows],
    }


def publish(request: HttpRequest, number: int) -> HttpResponse:
    """Publishes a snapshot."""
    stored = get_object_or_404(BoardSnapshot, pk=number)
    act = lambda: acts.publish(me(request), stored, reason=posted(request, "reason"))  # noqa: E731
    return attempted(
        request, act, done="Everybody sees the leaderboard.", to="organise_snapshot", parts={"number": number}
    )


def withdraw(request: HttpRequest, number: int) -> HttpResponse:
    """Takes a publication back."""
    stored = get_object_or_404(BoardSnapshot, pk=number)
    act = lambda: acts.withdraw(me(request), stored, reason=posted(request, "reason"))  # noqa: E731
    done = "Nobody sees the leaderboard; its page says why."
    return attempted(request, act, done=done, to="organise_snapshot", parts={"number": number})


def embargo(request: HttpRequest, number: int) -> HttpResponse:
    """Chooses a snapshot for publication, not before a time."""
    stored = get_object_or_404(BoardSnapshot, pk=number)

    def act() -> None:
        until = _time(posted(request, "until"))
        acts.embargo(me(request), stored, until, reason=posted(request, "reason"))

    return attempted(request, act, done="The embargo holds.", to="organise_snapshot", parts={"number": number})


def gate(request: HttpRequest) -> HttpResponse:
    """Who met which qualification criterion, on which evidence."""
    challenge = challenge_now()
    newest: dict[tuple[int, str], GateDecision] = {}
    for decision in GateDecision.objects.select_related("team").order_by("pk"):
        newest[decision.team_id, decision.phase] = decision
    gated = [phase for phase in challenge.phases if phase.gate] if challenge else []
    teams = Team.objects.filter(merged_into__isnull=True).order_by("name")
    decisions = sorted(newest.values(), key=lambda one: (one.phase, not one.opened, one.team.name))
    return page(request, "organise/gate", "Qualification", decisions=decisions, gated=gated, teams=teams)


def open_gate(request: HttpRequest) -> HttpResponse:
    """Decides a qualification criterion by hand, with a reason."""
    stored = get_object_or_404(Team, pk=whole_number(posted(request, "team")))
    opened, reason = request.POST.get("opened") == "yes", posted(request, "reason")
    phase = posted(request, "phase")

    def act() -> None:
        decide_by_hand(me(request), stored, phase, opened=opened, reason=reason)

    return attempted(request, act, done="The decision is stored, with your reason.", to="organise_gate")


def propose(request: HttpRequest, number: int) -> HttpResponse:
    """Lets the rule propose prizes by a snapshot."""
    stored = get_object_or_404(BoardSnapshot, pk=number)
    act = lambda: money.propose_prizes(me(request), stored)  # noqa: E731
    done = "The rule proposes these prizes. Check and sign them."
    return attempted(request, act, done=done, to="organise_snapshot", parts={"number": number})


def sign(request: HttpRequest, number: int, proposal: int) -> HttpResponse:
    """Signs prizes, as proposed or with other amounts."""
    stored = get_object_or_404(PrizeProposal, pk=proposal, snapshot=number)
    user = person(request)

    def act() -> None:
        amounts = {row["model"]: _amount(request.POST.get(f"amount-{row['model']}", "")) for row in stored.rows}
        money.sign_prizes(actor(user), stored, user, amounts=amounts, reason=posted(request, "reason"))

    return attempted(request, act, done="The prizes are signed.", to="organise_snapshot", parts={"number": number})


def withdraw_prizes(request: HttpRequest, number: int, proposal: int) -> HttpResponse:
    """Takes signed prizes back."""
    stored = get_object_or_404(PrizeProposal, pk=proposal, snapshot=number)

    def act() -> None:
        money.withdraw_prizes(me(request), stored, reason=posted(request, "reason"))

    done = "The prizes are withdrawn; the leaderboard says why."
    return attempted(request, act, done=done, to="organise_snapshot", parts={"number": number})


def _time(text: str) -> datetime:
    """The moment that a text names: in UTC, unless it says another offset."""
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused("time-unreadable", f"'{text[:40]}' is no time. Write it as 2026-10-04T18:00, in UTC.")


def _amount(text: str) -> float:
    try:
        value = float(text or 0)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise Refused("amount-unreadable", f"'{text[:40]}' is no amount of money. Write it as 1250.50.")
    return value
