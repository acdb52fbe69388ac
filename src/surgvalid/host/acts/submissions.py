"""What happens to submissions: handed in, cancelled, run again, disqualified, described, given more room."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from surgvalid.host import places
from surgvalid.host.acting import acting
from surgvalid.host.acts.challenge import current_challenge, current_version
from surgvalid.host.acts.quotas import SCORED, UNDER_WAY, usage_of, why_no_more
from surgvalid.host.acts.refused import Refused, reason_of
from surgvalid.host.acts.uploads import IMAGE, check_in_time, check_worth, discard, receive
from surgvalid.host.challenge.challenge import ChallengePhase
from surgvalid.host.runs.models import (
    Job,
    JobKind,
    JobState,
    QuotaGrant,
    RunRecord,
    StageChange,
    Submission,
    Upload,
)
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.schema.shard import Shard
from surgvalid.submissions.stages import HELD, Stage

VERDICTS = ("sufficient", "insufficient")
OURS = frozenset({"machine-slower", "machine-unknown", "answers-infra-error"})
"""Codes of runs that the organisers have to decide about: again, or as it is."""


def run_folder(submission: Submission, number: int) -> Path:
    """Where a run of a submission is kept: shards, stages and scores."""
    return places.store() / "submissions" / str(submission.pk) / f"run-{number}"


def hand_in(
    actor: object,
    team: Any,
    phase: str,
    image: Upload,
    *,
    description: Upload | None = None,
    baseline: str = "",
    by: Any = None,
) -> Submission:
    """A submission that is now taken, and waits for intake. Handing the same upload in again gives it again.

    Args:
        actor: Who hands it in.
        team: None for a baseline of the organisers.
        phase: Where it takes part.
        image: Its archive; every byte must be there.
        description: Of the method.
        baseline: Which baseline it is, without a team.
        by: The person, where there is one.

    Raises:
        Refused: With the code and what to do.
        UploadRefused: Bytes are missing, or others than announced.
    """
    challenge = current_challenge()
    rules = challenge.phase(phase)
    uploads = [one for one in (image, description) if one is not None]
    if any(one.team_id != (None if team is None else team.pk) or one.phase != phase for one in uploads):
        raise Refused("not-yours", "there is no such upload.")
    if image.name != IMAGE or (description is not None and description.name == IMAGE):
        raise Refused("not-now", "hand in an image, and beside it a description.")
    if (team is None) != bool(baseline) or (baseline and baseline not in challenge.baselines):
        raise Refused("not-now", f"a baseline is one of {', '.join(challenge.baselines) or 'none'}, without a team.")
    if team is not None and not Submission.objects.filter(image=image).exists():
        try:
            _check_team(team, rules, image, described=description is not None)
        except Refused as refusal:
            _forget(actor, uploads, refusal)
            raise
    for upload in uploads:
        receive(actor, upload)
    try:
        return _taken(actor, team, rules, image, description, baseline=baseline, by=by)
    except Refused as refusal:
        _forget(actor, uploads, refusal)
        raise


_FINAL = frozenset({"phase-not-open", "phase-closed", "upload-late", "quota-used", "attempts-used", "gate-closed"})
"""Codes after which the same bytes are of no use; others let a team mend what is missing and hand in again."""


def _forget(actor: object, uploads: list[Upload], refusal: Refused) -> None:
    """Remove what was refused for good."""
    if refusal.code in _FINAL:
        with acting(actor, "refuse-upload", code=refusal.code, uploads=[one.pk for one in uploads]):
            for one in uploads:
                discard(one)


def _taken(
    actor: object,
    team: Any,
    rules: ChallengePhase,
    image: Upload,
    description: Upload | None,
    *,
    baseline: str,
    by: Any,
) -> Submission:
    """The submission of what was received, when all still holds."""
    with acting(actor, "hand-in", phase=rules.slug) as doing:
        if (known := Submission.objects.filter(image=image).first()) is not None:
            doing.about(f"submission-{known.pk}", again=True)
            return known
        if team is not None:
            _check_team(team, rules, image, described=description is not None)
        made = Submission.objects.create(
            team=team,
            baseline=baseline,
            made_by=by,
            phase=rules.slug,
            version=current_version(),
            rules=rules.rules.as_dict(),
            image=image,
            description=description,
            at=doing.at,
            stage_at=doing.at,
        )
        move(made, Stage.UPLOADED, doing.at)
        _queue(made, JobKind.INTAKE, doing.at)
        doing.about(f"submission-{made.pk}", owner=made.model_name, image=image.digest, rules=rules.rules.digest())
    return made


def _check_team(team: Any, rules: ChallengePhase, image: Upload, *, described: bool) -> None:
    check_in_time(rules, image)
    check_worth(team, rules)
    if rules.needs_description and not described:
        raise Refused("description-missing", f"{rules.title} needs a description of the method.")
    if (full := why_no_more(usage_of(team, rules))) is not None:
        raise Refused(*full)


def move(submission: Submission, stage: Stage, at: datetime, *, reason: str = "") -> None:
    """Note the stage of a submission, inside an act."""
    submission.stage, submission.stage_at = stage.value, at
    submission.save()
    StageChange.objects.create(submission=submission, stage=stage.value, at=at, reason=reason)


def queue_run(submission: Submission, at: datetime, *, reason: str = "") -> RunRecord:
    """A new run with a job for each shard, inside an act."""
    phase = current_challenge().phase(submission.phase)
    shards = shards_of(phase)
    run = RunRecord.objects.create(
        submission=submission, number=submission.runs.count() + 1, shards=shards, reason=reason, made_at=at
    )
    for number in range(1, shards + 1):
        _queue(submission, JobKind.INFERENCE, at, run=run, shard=str(Shard(number, shards)))
    return run


def shards_of(phase: ChallengePhase) -> int:
    """Parts of a run: as many as the phase wants, or fewer where one would have no video."""
    requests = load_questions(places.home() / phase.questions / "request.json", ()).requests.values()
    videos = {request.video for request in requests}
    for wanted in range(phase.shards, 1, -1):
        if all(any(Shard(number, wanted).holds(video) for video in videos) for number in range(1, wanted + 1)):
            return wanted
    return 1


def _queue(submission: Submission, kind: JobKind, at: datetime, **facts: Any) -> Job:
    gpu = submission.rules.get("gpu", {}) if kind is JobKind.INFERENCE else {}
    memory_mb = max(gpu.get("memory_mb", 0), 1) if gpu.get("count") else 0
    return Job.objects.create(
        kind=kind,
        phase=submission.phase,
        submission=submission,
        owner=submission.model_name,
        made_at=at,
        gpu_memory_mb=memory_mb,
        **facts,
    )


def queue_scoring(run: RunRecord, at: datetime) -> Job:
    """The job that scores a run, inside an act."""
    return _queue(run.submission, JobKind.SCORING, at, run=run)


def cancel(actor: object, submission: Submission, *, reason: str) -> Submission:
    """A submission that is under way no more; workers stop when they next report."""
    with acting(actor, "cancel", f"submission-{submission.pk}", reason=reason_of(reason)) as doing:
        fresh = Submission.objects.get(pk=submission.pk)
        if fresh.stage not in (*UNDER_WAY, Stage.FAILED_INFRA.value):
            raise Refused("not-now", f"it is {fresh.stage}; only what is under way can be cancelled.")
        _drop_jobs(fresh)
        move(fresh, Stage.CANCELLED, doing.at, reason=reason)
    return fresh


def run_again(actor: object, submission: Submission, *, reason: str) -> RunRecord | None:
    """A new run of a submission, at no cost to its team; None where intake was lost, and has its turn first."""
    with acting(actor, "run-again", f"submission-{submission.pk}", reason=reason_of(reason)) as doing:
        fresh = Submission.objects.get(pk=submission.pk)
        again = (*SCORED, Stage.FAILED_INFRA.value, Stage.FAILED_PARTICIPANT.value, Stage.INFERRED.value)
        if fresh.stage not in again or not (fresh.image_digest or fresh.stage == Stage.FAILED_INFRA.value):
            raise Refused("not-now", f"it is {fresh.stage}; only what intake let in and has ended can be run again.")
        _drop_jobs(fresh)
        run = _from_the_start(fresh, doing.at, reason)
        doing.about(doing.subject, run=run.number if run else 0)
    return run


def undecided(among: QuerySet[Submission]) -> list[Submission]:
    """Those that have come to rest with something wrong on our side, which nobody has decided about yet."""
    ended = (*SCORED, Stage.FAILED_PARTICIPANT.value)
    wrong = [one for one in among.filter(stage__in=ended).exclude(codes=[]) if OURS & set(one.codes)]
    return [one for one in wrong if not one.runs.order_by("-number").values_list("kept", flat=True).first()]


def keep_run(actor: object, submission: Submission, *, reason: str) -> Submission:
    """A submission whose last run stands, although something was wrong on our side."""
    with acting(actor, "keep-run", f"submission-{submission.pk}", reason=reason_of(reason)) as doing:
        if not undecided(Submission.objects.filter(pk=submission.pk)):
            raise Refused("not-now", "there is nothing to decide about its last run.")
        run = submission.runs.order_by("-number")[0]
        run.kept = reason.strip()
        run.save()
        doing.about(doing.subject, run=run.number)
    return submission


def _from_the_start(submission: Submission, at: datetime, reason: str) -> RunRecord | None:
    """A run of what intake let in, inside an act; intake of what it has not seen. What went wrong before is history."""
    submission.codes, submission.problems = [], []
    if submission.image_digest:
        run = queue_run(submission, at, reason=reason)
        move(submission, Stage.QUEUED, at, reason=reason)
        return run
    _queue(submission, JobKind.INTAKE, at)
    move(submission, Stage.UPLOADED, at, reason=reason)
    return None


def disqualify(actor: object, submission: Submission, *, reason: str) -> Submission:
    """A submission that is out of the running; leaderboards are made anew without it."""
    with acting(actor, "disqualify", f"submission-{submission.pk}", reason=reason_of(reason)) as doing:
        fresh = Submission.objects.get(pk=submission.pk)
        if fresh.stage in HELD:
            raise Refused("not-now", f"it is {fresh.stage} already.")
        _drop_jobs(fresh)
        move(fresh, Stage.DISQUALIFIED, doing.at, reason=reason)
        queue_board(fresh.phase, doing.at)
    return fresh


def reinstate(actor: object, submission: Submission, *, reason: str) -> Submission:
    """A submission that counts again, as it was before."""
    with acting(actor, "reinstate", f"submission-{submission.pk}", reason=reason_of(reason)) as doing:
        fresh = Submission.objects.get(pk=submission.pk)
        if fresh.stage not in HELD:
            raise Refused("not-now", f"it is {fresh.stage}; only what is cancelled or disqualified can be reinstated.")
        held = [one.value for one in (*HELD, Stage.REINSTATED)]
        before = fresh.history.exclude(stage__in=held).order_by("-pk")[0]
        StageChange.objects.create(submission=fresh, stage=Stage.REINSTATED.value, at=doing.at, reason=reason)
        if before.stage not in UNDER_WAY:
            move(fresh, Stage(before.stage), doing.at, reason=reason)
        else:
            _from_the_start(fresh, doing.at, reason)
        queue_board(fresh.phase, doing.at)
    return fresh


def grant_quota(actor: object, team: Any, phase: str, *, scored: int = 0, attempts: int = 0, reason: str) -> QuotaGrant:
    """More submissions for a team than the phase gives everybody."""
    current_challenge().phase(phase)
    if scored < 0 or attempts < 0 or not scored + attempts:
        raise Refused("not-now", f"a grant is of at least one; got {scored} scored and {attempts} attempts.")
    facts = {"phase": phase, "scored": scored, "attempts": attempts, "reason": reason_of(reason)}
    with acting(actor, "grant-quota", f"team-{team.pk}", **facts) as doing:
        return QuotaGrant.objects.create(team=team, at=doing.at, **facts)


def judge_description(actor: object, submission: Submission, verdict: str, *, reason: str = "") -> Submission:
    """A submission whose description somebody has read."""
    if verdict not in VERDICTS or submission.description is None:
        raise Refused("not-now", f"a description that was handed in is {' or '.join(VERDICTS)}; got {verdict!r}.")
    facts = {"verdict": verdict, "reason": reason_of(reason) if verdict == VERDICTS[1] else reason}
    with acting(actor, "judge-description", f"submission-{submission.pk}", **facts):
        fresh = Submission.objects.get(pk=submission.pk)
        fresh.description_verdict = verdict
        fresh.save(update_fields=("description_verdict",))
    return fresh


def queue_board(phase: str, at: datetime) -> Job | None:
    """The job that makes the leaderboards of a phase anew, inside an act; one that waits already is enough."""
    waiting = Job.objects.filter(kind=JobKind.BOARD, phase=phase, state=JobState.WAITING).first()
    if waiting is not None or not Submission.objects.filter(phase=phase, baseline="", stage__in=SCORED).exists():
        return waiting
    return Job.objects.create(kind=JobKind.BOARD, phase=phase, owner="boards", made_at=at)


def refresh_boards(actor: object, phase: str, *, reason: str) -> Job | None:
    """The job that makes the leaderboards of a phase anew, as after descriptions were read;
    None where nobody competes.
    """
    current_challenge().phase(phase)
    with acting(actor, "refresh-boards", f"phase-{phase}", reason=reason_of(reason)) as doing:
        return queue_board(phase, doing.at)


def _drop_jobs(submission: Submission) -> None:
    going = (JobState.WAITING, JobState.CLAIMED)
    Job.objects.filter(submission=submission, state__in=going).update(state=JobState.CANCELLED, lease_until=None)
