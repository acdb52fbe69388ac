"""Leaderboards as snapshots: what goes in, what is kept, and who may see it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surgvalid import __version__
from surgvalid.errors import SurgvalidError
from surgvalid.host import places
from surgvalid.host.acting import Acting, now
from surgvalid.host.acts.challenge import current_challenge, current_version
from surgvalid.host.acts.gates import decide_gates
from surgvalid.host.acts.quotas import SCORED
from surgvalid.host.acts.submissions import run_folder
from surgvalid.host.challenge.challenge import ChallengePhase
from surgvalid.host.people.models import Team
from surgvalid.host.people.teams import why_not_paid
from surgvalid.host.runs.models import BoardSnapshot, Job, Publication, Submission
from surgvalid.stats.ranking import RankOptions
from surgvalid.stats.ranking.ladder import ladder_step
from surgvalid.submissions.stages import SCORES

TABLES = ("places", "summary", "stability", "buckets", "gate_evidence", "sensitivity", "prizes")
"""Tables of a ranking that a snapshot keeps; the folder of the leaderboard has all of them."""


def board_folder(snapshot: BoardSnapshot) -> Path:
    """Where every table of a leaderboard is kept, as the ranking wrote them."""
    return places.store() / "boards" / str(snapshot.phase) / f"{snapshot.board}-{snapshot.number}"


def entries_of(phase: ChallengePhase, board: str) -> dict[str, dict[str, Any]]:
    """Who is on a leaderboard now: model to submission, run, and the digest of its scores.

    Of a team's submissions the best by the value of this leaderboard counts, the last, or the last that climbed, as
    the phase says.
    """
    chosen: dict[str, tuple[Any, Submission]] = {}
    for one in Submission.objects.filter(phase=phase.slug, stage__in=SCORED).order_by("pk"):
        if phase.counted == "ladder" and not one.ladder.get(board, {}).get("climbed", True):
            continue
        value = one.values.get(board, float("-inf"))
        key = (one.pk,) if phase.counted == "last" or one.baseline else (value, -one.pk)
        if one.model_name not in chosen or key > chosen[one.model_name][0]:
            chosen[one.model_name] = (key, one)
    entries = {}
    for model, (_, submission) in sorted(chosen.items()):
        run = submission.runs.exclude(scores_digest="").order_by("-number")[0]
        entries[model] = {"submission": submission.pk, "run": run.number, "scores": run.scores_digest}
    return entries


def ladder_of(phase: ChallengePhase, submission: Submission, scores: Path) -> dict[str, dict[str, Any]]:
    """By leaderboard whether a submission that was just scored climbs to the place of the one that counts, and the
    value that counts then.

    One that cannot be compared, as questions of one video alone cannot be ranked, does not climb.
    """
    steps = {}
    for board, value in submission.values.items():
        last = entries_of(phase, board).get(submission.model_name)
        steps[board] = {"climbed": True, "value": value}
        if last is None or last["submission"] == submission.pk:
            continue
        counted = Submission.objects.get(pk=last["submission"])
        tables = run_folder(counted, last["run"]) / SCORES, scores
        options = RankOptions(board=board, missing=current_challenge().ranking.options.get("missing"))
        try:
            climbed = ladder_step(*tables, options).counts
        except SurgvalidError:
            climbed = False
        if not climbed:
            steps[board] = {"climbed": False, "value": counted.values[board]}
    return steps


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


def keep_boards(
    job: Job, made: Mapping[str, Any], doing: Acting, *, files: Mapping[str, str] | None = None
) -> list[BoardSnapshot]:
    """The snapshots of the leaderboards that a worker made; qualification is decided from them, and live ones are
    public at once.

    Args:
        job: What the worker was to do.
        made: Tables and findings by leaderboard.
        doing: The act that this is part of.
        files: What it sent, by place, with digests.
    """
    challenge, phase = current_challenge(), current_challenge().phase(job.phase)
    kept = [
        _keep(job, board, tables, doing, below(files or {}, board))
        for board, tables in sorted(made.items())
        if board in phase.boards
    ]
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


def below(files: Mapping[str, str], folder: str) -> dict[str, str]:
    """Those files that lie in a folder, by their place there."""
    return {place.removeprefix(f"{folder}/"): one for place, one in files.items() if place.startswith(f"{folder}/")}


def _keep(job: Job, board: str, content: Mapping[str, Any], doing: Acting, files: Mapping[str, str]) -> BoardSnapshot:
    facts = job.facts["boards"][board]
    made = BoardSnapshot(
        phase=job.phase,
        board=board,
        at=doing.at,
        version=current_version(),
        rule={
            **job.facts["rule"],
            "baselines": facts["baselines"],
            "unpaid": facts["unpaid"],
            "prize_pool": facts["prize_pool"],
        },
        number=BoardSnapshot.objects.filter(phase=job.phase, board=board).count() + 1,
        inputs=facts["entries"],
        tables={name: rows for name, rows in content["tables"].items() if name in TABLES},
        findings=list(content.get("findings", [])),
        files=dict(files),
        log_number=doing.end[0],
        log_digest=doing.end[1],
    )
    made.digest = snapshot_digest(made)
    made.save()
    return made


def snapshot_digest(snapshot: BoardSnapshot) -> str:
    """The digest of a leaderboard: of what went in, the rule, what came out, and the log before."""
    columns = ("phase", "board", "inputs", "rule", "tables", "findings")
    sealed = {name: getattr(snapshot, name) for name in columns} | {
        "at": snapshot.at.isoformat(),
        "log": [snapshot.log_number, snapshot.log_digest],
    }
    return hashlib.sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest()


def last_publication(phase: str, board: str) -> Publication | None:
    """The last act of publication of a leaderboard, which may be withdrawn since."""
    made = Publication.objects.filter(snapshot__phase=phase, snapshot__board=board, published_at__lte=now())
    shown = made.select_related("snapshot__version").defer("snapshot__tables", "snapshot__findings")
    return shown.order_by("-published_at", "-snapshot__number").first()


def public_leaderboard(phase: str, board: str) -> BoardSnapshot | None:
    """The snapshot that everybody may see, published last and not withdrawn; pages and exports for the public read
    nothing else.

    Its tables come with the first look at them, for most pages need none.
    """
    last = last_publication(phase, board)
    return None if last is None or last.withdrawn_at is not None else last.snapshot


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
            board: round(one.ladder.get(board, {}).get("value", one.values[board]), phases[one.phase].decimals)
            for board in phases[one.phase].boards
            if board in one.values and shown(one, board)
        }
        for one in submissions
    ]
