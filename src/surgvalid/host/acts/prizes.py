"""Money: what the rule pays by a leaderboard, what a person signs, and what is taken back.

Nothing is proposed or signed while anything could still change it: the phase is over, everything handed in has come to
rest and was decided about, every baseline is there, and the leaderboard is the newest, made as it would be made now.
Of each leaderboard one signature holds at most; the database itself refuses a second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from surgvalid.host.acting import acting
from surgvalid.host.acts.boards import board_facts
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.quotas import SCORED, UNDER_WAY
from surgvalid.host.acts.refused import Refused, reason_of
from surgvalid.host.acts.submissions import undecided
from surgvalid.host.acts.uploads import untaken
from surgvalid.host.challenge.challenge import ChallengePhase, Prizes
from surgvalid.host.runs.models import BoardSnapshot, Job, JobKind, JobState, PrizeProposal, Submission
from surgvalid.submissions.stages import Stage


def propose_prizes(actor: object, snapshot: BoardSnapshot) -> PrizeProposal:
    """What the rule pays by a snapshot, for a person to sign.

    Raises:
        Refused: The leaderboard was made without a pool of money, or something can still change it.
    """
    rows = snapshot.tables.get("prizes")
    if rows is None:
        raise Refused("not-now", f"the leaderboards of {snapshot.phase} have no prizes.")
    unpaid = snapshot.rule["unpaid"]
    shown = [{**row, "reason": unpaid.get(row["model"]) or row.get("reason")} for row in rows]
    with acting(actor, "propose-prizes", f"board-{snapshot.pk}", digest=snapshot.digest, rows=shown) as doing:
        check_payable(snapshot, doing.at)
        return PrizeProposal.objects.create(snapshot=snapshot, rows=shown, at=doing.at, proposed_by=str(actor))


def sign_prizes(
    actor: object, proposal: PrizeProposal, by: Any, *, amounts: Mapping[str, float], reason: str
) -> PrizeProposal:
    """A proposal as it is paid: rounded or adjusted by a person, who says why.

    Args:
        actor: Who signs.
        proposal: By the rule.
        by: The person.
        amounts: What each model is paid; those left out as proposed.
        reason: Why these amounts.

    Raises:
        Refused: Signed already, a model that is not on the leaderboard or is not paid, more money than the pool has,
            or something can still change the leaderboard.
    """
    signed = _signed_rows(proposal, amounts)
    board = proposal.snapshot
    with acting(actor, "sign-prizes", f"prizes-{proposal.pk}", rows=signed, reason=reason_of(reason)) as doing:
        prizes = check_payable(board, doing.at)
        fresh = PrizeProposal.objects.get(pk=proposal.pk)
        if prizes.four_eyes and fresh.proposed_by == str(actor):
            raise Refused("four-eyes", "the prizes were proposed by the same person.")
        earlier = PrizeProposal.objects.filter(snapshot__phase=board.phase, snapshot__board=board.board)
        before = earlier.exclude(signed_at=None).order_by("signed_at", "pk").last()
        fresh.signed_rows, fresh.signed_by, fresh.signed_at, fresh.reason = signed, by, doing.at, reason.strip()
        fresh.in_force, fresh.replaces = f"{board.phase}/{board.board}", before
        fresh.save()
        doing.about(doing.subject, digest=board.digest, replaces=None if before is None else f"prizes-{before.pk}")
    return fresh


def _signed_rows(proposal: PrizeProposal, amounts: Mapping[str, float]) -> list[dict[str, Any]]:
    known = {row["model"]: row for row in proposal.rows}
    unknown = [model for model in amounts if model not in known]
    signed = [{**row, "amount": float(amounts.get(model, row.get("amount") or 0.0))} for model, row in known.items()]
    pool = proposal.snapshot.rule["prize_pool"]
    if unknown or any(row["amount"] < 0 for row in signed) or sum(row["amount"] for row in signed) > pool + 1e-9:
        raise Refused("not-now", f"amounts are of models on the leaderboard and {pool:,.2f} together at most.")
    barred = proposal.snapshot.rule["unpaid"]
    if wrong := [
        f"{row['model']} gets no prize: {barred[row['model']]}"
        for row in signed
        if row["amount"] and row["model"] in barred
    ]:
        raise Refused("not-now", f"{'; '.join(wrong)}. Decide that first, and make the leaderboards anew.")
    return signed


def withdraw_prizes(actor: object, proposal: PrizeProposal, *, reason: str) -> PrizeProposal:
    """Prizes that hold no more; the page says since when and why, and others may be signed in their place."""
    with acting(actor, "withdraw-prizes", f"prizes-{proposal.pk}", reason=reason_of(reason)) as doing:
        fresh = PrizeProposal.objects.get(pk=proposal.pk)
        if fresh.in_force is None:
            raise Refused("not-now", "these prizes are not in force.")
        fresh.in_force, fresh.withdrawn_at, fresh.withdrawn_reason = None, doing.at, reason.strip()
        fresh.save()
    return fresh


def check_payable(snapshot: BoardSnapshot, at: datetime) -> Prizes:
    """What the challenge says about its money, where nothing can change a leaderboard any more.

    Raises:
        Refused: Something can; the code says what.
    """
    phase = current_challenge().phase(snapshot.phase)
    if phase.prizes is None or snapshot.board not in phase.boards:
        raise Refused("not-now", f"the {snapshot.board} leaderboard of {phase.slug} has no prizes in the challenge.")
    signed = PrizeProposal.objects.filter(in_force=f"{snapshot.phase}/{snapshot.board}").first()
    if signed is not None:
        raise Refused("prizes-signed", f"prizes of this leaderboard were signed on {signed.signed_at:%-d %B %Y}.")
    _check_over(phase, at)
    if not snapshot.is_newest():
        raise Refused("board-older", f"number {snapshot.number} is not the newest {snapshot.board} leaderboard.")
    if missing := [one for one in current_challenge().baselines if f"baseline-{one}" not in snapshot.inputs]:
        raise Refused("baselines-missing", f"the leaderboard lacks these baselines: {', '.join(missing)}.")
    if changed := _changed(snapshot, phase):
        raise Refused("board-outdated", f"since it was made, other {' and '.join(changed)} hold.")
    return phase.prizes


def _check_over(phase: ChallengePhase, at: datetime) -> None:
    """Nothing, once everything of a phase that can happen by itself or waits for a decision has happened."""
    end = phase.closes + timedelta(seconds=1)
    if at < end:
        raise Refused("phase-open", f"{phase.title} closes at {phase.closes.isoformat()}.")
    mine = Submission.objects.filter(phase=phase.slug)
    grace = end + timedelta(seconds=phase.upload_grace_s)
    if at < grace and untaken().filter(phase=phase.slug, team__isnull=False).exists():
        raise Refused("under-way", f"an upload that was announced in time may arrive until {grace.isoformat()}.")
    open_ones = mine.filter(stage__in=(*UNDER_WAY, Stage.FAILED_INFRA.value)).values_list("pk", flat=True)
    if numbers := sorted(open_ones):
        raise Refused("under-way", f"{_numbered(numbers)} under way, or stopped on our side.")
    going = (JobState.WAITING, JobState.CLAIMED)
    if Job.objects.filter(kind=JobKind.BOARD, phase=phase.slug, state__in=going).exists():
        raise Refused("under-way", "its leaderboards are being made anew.")
    unread = mine.filter(stage__in=SCORED, description__isnull=False, description_verdict="", team__isnull=False)
    numbers = sorted(unread.values_list("pk", flat=True)) if phase.prizes and phase.prizes.needs_description else []
    if waiting := sorted({*numbers, *(one.pk for one in undecided(mine))}):
        raise Refused("undecided", f"{_numbered(waiting)} waiting for a decision of the organisers.")


def _numbered(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:5])) + (" and others" if len(numbers) > 5 else "")
    return f"submission {shown} is" if len(numbers) == 1 else f"submissions {shown} are"


def _changed(snapshot: BoardSnapshot, phase: ChallengePhase) -> list[str]:
    """What would be another if the leaderboard were made now."""
    facts = board_facts(phase)
    mine = facts["boards"][snapshot.board]
    now = {**facts["rule"], **{name: mine[name] for name in ("baselines", "unpaid", "prize_pool")}}
    now = json.loads(json.dumps({"entries": mine["entries"]} | now))
    kept = {"entries": snapshot.inputs} | snapshot.rule
    words = {
        "entries": "submissions", "rule": "rules", "options": "options of the rule", "program": "versions of surgvalid",
        "baselines": "baselines", "unpaid": "reasons to pay a team nothing", "prize_pool": "pools",
    }  # fmt: skip
    return [word for name, word in words.items() if kept.get(name) != now[name]]
