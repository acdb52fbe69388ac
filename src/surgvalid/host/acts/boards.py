"""Leaderboards as snapshots: what goes in, what is kept, who may see it, and what is paid by it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from surgvalid import __version__
from surgvalid.host import places
from surgvalid.host.acting import Acting, acting, now
from surgvalid.host.acts.challenge import current_challenge, current_version
from surgvalid.host.acts.gates import decide_gates
from surgvalid.host.acts.quotas import SCORED
from surgvalid.host.acts.refused import Refused, reason_of
from surgvalid.host.challenge.challenge import ChallengePhase
from surgvalid.host.people.models import Team
from surgvalid.host.people.teams import why_not_paid
from surgvalid.host.runs.models import BoardSnapshot, Job, PrizeProposal, Publication, Submission

TABLES = ("places", "summary", "stability", "buckets", "gate_evidence", "sensitivity", "prizes")
"""Tables of a ranking that a snapshot keeps; the folder of the leaderboard has all of them."""


def board_folder(snapshot: BoardSnapshot) -> Path:
    """Where every table of a leaderboard is kept, as the ranking wrote them."""
    return places.store() / "boards" / str(snapshot.phase) / f"{snapshot.board}-{snapshot.number}"


def entries_of(phase: ChallengePhase, board: str) -> dict[str, dict[str, Any]]:
    """Who is on a leaderboard now: model to submission, run, and the digest of its scores.

    Of a team's submissions the best by the value of this leaderboard counts, or the last, as the phase says.
    """
    chosen: dict[str, tuple[Any, Submission]] = {}
    for one in Submission.objects.filter(phase=phase.slug, stage__in=SCORED).order_by("pk"):
        value = one.values.get(board, float("-inf"))
        key = (value, -one.pk) if phase.counted == "best" and not one.baseline else (one.pk,)
        if one.model_name not in chosen or key > chosen[one.model_name][0]:
            chosen[one.model_name] = (key, one)
    entries = {}
    for model, (_, submission) in sorted(chosen.items()):
        run = submission.runs.exclude(scores_digest="").order_by("-number")[0]
        entries[model] = {"submission": submission.pk, "run": run.number, "scores": run.scores_digest}
    return entries


def board_facts(phase: ChallengePhase) -> dict[str, Any]:
    """What a worker needs to make the leaderboards of a phase: who is on them, by which rule, and who is not paid."""
    challenge = current_challenge()
    options = dict(challenge.ranking.options)
    boards = {}
    for board in phase.boards:
        entries = entries_of(phase, board)
        baselines = [model for model in entries if model.startswith("baseline-")]
        unpaid = {m: why for m, one in entries.items() if m not in baselines and (why := _unpaid(phase, one))}
        pool = None if phase.prizes is None else phase.prizes.pools.get(board)
        boards[board] = {"entries": entries, "baselines": baselines, "unpaid": unpaid, "prize_pool": pool}
    rule = {"rule": challenge.ranking.rule, "options": options, "program": __version__}
    return {"boards": boards, "rule": rule, "version": current_version().number}


def _unpaid(phase: ChallengePhase, entry: Mapping[str, Any]) -> str:
    submission = Submission.objects.get(pk=entry["submission"])
    needed = phase.prizes is not None and phase.prizes.needs_description
    if needed and submission.description_verdict != "sufficient":
        return "its description was not found sufficient"
    return why_not_paid(Team.objects.get(pk=submission.team_id))


def keep_boards(job: Job, made: Mapping[str, Any], doing: Acting) -> list[BoardSnapshot]:
    """The snapshots of the leaderboards that a worker made; qualification is decided from them, and live ones are
    public at once.
    """
    challenge, phase = current_challenge(), current_challenge().phase(job.phase)
    kept = [_keep(job, board, tables, doing) for board, tables in sorted(made.items()) if board in phase.boards]
    if phase.visibility == "public":
        for snapshot in kept:
            Publication.objects.create(snapshot=snapshot, published_at=doing.at, reason="live leaderboard")
    models = {model for snapshot in kept for model in snapshot.inputs}
    decisions = decide_gates(challenge, job.phase, models, doing.at) if kept else []
    doing.about(
        doing.subject,
        boards=[snapshot.digest for snapshot in kept],
        gates=[{"team": one.team_id, "phase": one.phase, "opened": one.opened} for one in decisions],
    )
    return kept


def _keep(job: Job, board: str, content: Mapping[str, Any], doing: Acting) -> BoardSnapshot:
    facts = job.facts["boards"][board]
    tables = {name: rows for name, rows in content["tables"].items() if name in TABLES}
    sealed = {
        "phase": job.phase,
        "board": board,
        "at": doing.at.isoformat(),
        "inputs": facts["entries"],
        "rule": {
            **job.facts["rule"],
            "baselines": facts["baselines"],
            "unpaid": facts["unpaid"],
            "prize_pool": facts["prize_pool"],
        },
        "tables": tables,
        "findings": list(content.get("findings", [])),
        "log": list(doing.end),
    }
    return BoardSnapshot.objects.create(
        phase=job.phase,
        board=board,
        at=doing.at,
        version=current_version(),
        rule=sealed["rule"],
        number=BoardSnapshot.objects.filter(phase=job.phase, board=board).count() + 1,
        inputs=sealed["inputs"],
        tables=tables,
        findings=sealed["findings"],
        log_number=doing.end[0],
        log_digest=doing.end[1],
        digest=hashlib.sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest(),
    )


def public_leaderboard(phase: str, board: str) -> BoardSnapshot | None:
    """The newest snapshot that everybody may see; pages and exports for the public read nothing else.

    Its tables come with the first look at them, for most pages need none.
    """
    shown = Publication.objects.filter(snapshot__phase=phase, snapshot__board=board, published_at__lte=now()).order_by(
        "-snapshot__number"
    )
    first = shown.select_related("snapshot__version").defer("snapshot__tables", "snapshot__findings").first()
    return None if first is None else first.snapshot


def rounded_rows(snapshot: BoardSnapshot, decimals: int) -> list[dict[str, Any]]:
    """The rows of a leaderboard as they are shown: final ranks from all digits, values rounded, and nothing per
    question.

    Baselines follow the competitors: the final rank of one is that which it would take if it alone were added.
    """
    summary = {row["model"]: row for row in snapshot.tables.get("summary", [])}
    stability = {row["model"]: row for row in snapshot.tables.get("stability", [])}
    rows = []
    for row in snapshot.tables.get("places", []):
        more = summary.get(row["model"], {}) | stability.get(row["model"], {})
        shown = {**more, **row}
        rows.append(
            {name: round(value, decimals) if isinstance(value, float) else value for name, value in shown.items()}
        )
    return sorted(rows, key=lambda row: (row["baseline"], row["place"], -row["macro_accuracy"], row["model"]))


def team_values(submission: Submission) -> dict[str, float]:
    """The values of a submission that its team may see now, rounded; none where the phase hides them."""
    return team_values_of([submission])[0]


def team_values_of(submissions: Sequence[Submission]) -> list[dict[str, float]]:
    """The same for many, in their order; it asks the database no more often than for one."""
    phases = {phase.slug: phase for phase in current_challenge().phases}
    hidden = [phases[slug] for slug in {one.phase for one in submissions} if phases[slug].visibility == "hidden"]
    public = {
        (phase.slug, board): {} if (snapshot := public_leaderboard(phase.slug, board)) is None else snapshot.inputs
        for phase in hidden
        for board in phase.boards
    }

    def shown(one: Submission, board: str) -> bool:
        entry = public.get((one.phase, board), {}).get(one.model_name, {})
        return phases[one.phase].visibility != "hidden" or entry.get("submission") == one.pk

    return [
        {
            board: round(one.values[board], phases[one.phase].decimals)
            for board in phases[one.phase].boards
            if board in one.values and shown(one, board)
        }
        for one in submissions
    ]


def embargo(actor: object, snapshot: BoardSnapshot, until: datetime, *, reason: str) -> Publication:
    """A snapshot that is chosen for publication, and that nobody else sees before a time."""
    facts = {"digest": snapshot.digest, "until": until.isoformat(), "reason": reason_of(reason)}
    with acting(actor, "embargo", f"board-{snapshot.pk}", **facts):
        made, _ = Publication.objects.get_or_create(snapshot=snapshot)
        if made.published_at is not None:
            raise Refused("not-now", "it is public already.")
        made.embargo_until, made.reason = until, reason.strip()
        made.save()
    return made


def publish(actor: object, snapshot: BoardSnapshot, *, reason: str) -> Publication:
    """A snapshot that everybody sees from now on.

    Raises:
        Refused: Its embargo has not ended.
    """
    facts = {"digest": snapshot.digest, "reason": reason_of(reason)}
    with acting(actor, "publish", f"board-{snapshot.pk}", **facts) as doing:
        made, _ = Publication.objects.get_or_create(snapshot=snapshot)
        if made.published_at is not None:
            raise Refused("not-now", "it is public already.")
        if made.embargo_until is not None and doing.at < made.embargo_until:
            raise Refused("embargo", f"its embargo ends at {made.embargo_until.isoformat()}.")
        made.published_at, made.reason = doing.at, reason.strip()
        made.save()
    return made


def propose_prizes(actor: object, snapshot: BoardSnapshot) -> PrizeProposal:
    """What the rule pays by a snapshot, for a person to sign.

    Raises:
        Refused: The leaderboard was made without a pool of money.
    """
    rows = snapshot.tables.get("prizes")
    if rows is None:
        raise Refused("not-now", f"the leaderboards of {snapshot.phase} have no prizes.")
    unpaid = snapshot.rule["unpaid"]
    shown = [{**row, "reason": unpaid.get(row["model"]) or row.get("reason")} for row in rows]
    with acting(actor, "propose-prizes", f"board-{snapshot.pk}", digest=snapshot.digest, rows=shown) as doing:
        return PrizeProposal.objects.create(snapshot=snapshot, rows=shown, at=doing.at)


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
        Refused: Signed already, a model that is not on the leaderboard or is not paid, or more money than the pool has.
    """
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
    with acting(actor, "sign-prizes", f"prizes-{proposal.pk}", rows=signed, reason=reason_of(reason)) as doing:
        fresh = PrizeProposal.objects.get(pk=proposal.pk)
        if fresh.signed_at is not None:
            raise Refused("not-now", "they are signed already.")
        fresh.signed_rows, fresh.signed_by, fresh.signed_at, fresh.reason = signed, by, doing.at, reason.strip()
        fresh.save()
    return fresh
