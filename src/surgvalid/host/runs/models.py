"""The tables of a hosted challenge. `surgvalid.host.acts` writes them, everybody else reads.

Rows of the log, of versions of the challenge and of leaderboards never change: the database itself refuses it
(migration `0002_never_changed`).
"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.db import models

from surgvalid.submissions.stages import Stage

ORGANISERS = "organisers"


class JobKind(models.TextChoices):
    """What a job does. A worker token holds duties; those of inference and the trusted ones never mix."""

    INTAKE = "intake", "look at what was handed in, without running it"
    INFERENCE = "inference", "ask every question of a shard; no references"
    SCORING = "scoring", "score the answers; nothing of a team is run"
    BOARD = "board", "rank everybody of a phase"


class JobState(models.TextChoices):
    """Where a job stands."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class LogHead(models.Model):
    """The end of the log, in one row. Every act holds it, so acts happen one after another."""

    number = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=64, default="0" * 64)


class LogEntry(models.Model):
    """One act: who did what, to what, when. Its digest covers the one before."""

    number = models.PositiveBigIntegerField(primary_key=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=80)
    act = models.CharField(max_length=40)
    subject = models.CharField(max_length=80, db_index=True)
    facts = models.TextField()
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ("number",)

    @property
    def shown_facts(self) -> str:
        """The facts as people read them, without the seals of rows."""
        facts = {name: value for name, value in json.loads(self.facts).items() if name != "seals"}
        return json.dumps(facts, sort_keys=True, ensure_ascii=False)


class ChallengeVersion(models.Model):
    """The challenge file as it was at some time, and what was changed in it, for everybody to read."""

    number = models.PositiveIntegerField(unique=True)
    text = models.TextField()
    digest = models.CharField(max_length=64)
    note = models.TextField()
    changes = models.JSONField(default=list)
    """One row per changed setting: name, old and new value."""
    at = models.DateTimeField()

    class Meta:
        ordering = ("number",)


class Upload(models.Model):
    """A file on its way in, or received. Its bytes lie in the store under the key."""

    team_id: int | None
    key = models.CharField(max_length=32, unique=True)
    team = models.ForeignKey("people.Team", null=True, on_delete=models.PROTECT, related_name="uploads")
    """None: the organisers, for a baseline."""
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    phase = models.CharField(max_length=60)
    name = models.CharField(max_length=80)
    """`image.tar`, or the name of the description."""
    size_bytes = models.PositiveBigIntegerField()
    digest = models.CharField(max_length=64)
    announced_at = models.DateTimeField()
    """What counts for a deadline: from here on the digest fixes every byte."""
    received_at = models.DateTimeField(null=True)


class Submission(models.Model):
    """What a team handed in for a phase."""

    team_id: int | None
    runs: Any
    history: Any
    team = models.ForeignKey("people.Team", null=True, on_delete=models.PROTECT, related_name="submissions")
    baseline = models.CharField(max_length=60, blank=True)
    """The baseline that this is, where the organisers handed it in."""
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    phase = models.CharField(max_length=60)
    version = models.ForeignKey(ChallengeVersion, on_delete=models.PROTECT)
    rules = models.JSONField()
    """Every limit of the phase as it held when this was handed in; runs keep to it."""
    image = models.ForeignKey(Upload, on_delete=models.PROTECT, related_name="+")
    description = models.ForeignKey(Upload, null=True, on_delete=models.PROTECT, related_name="+")
    image_digest = models.CharField(max_length=80, blank=True, db_index=True)
    """Of what the image holds, as intake reports it; one that two teams share is flagged."""
    at = models.DateTimeField()
    stage = models.CharField(max_length=24, default=Stage.UPLOADED.value, db_index=True)
    stage_at = models.DateTimeField()
    codes = models.JSONField(default=list)
    """In words of the system, never of the container."""
    problems = models.JSONField(default=list)
    """What intake refused, for its team."""
    answered = models.PositiveIntegerField(default=0)
    values = models.JSONField(default=dict)
    """Mean accuracy over buckets by leaderboard; its team sees them as the phase allows."""
    ladder = models.JSONField(default=dict)
    """In a phase that counts so, by leaderboard: whether this one took the place of the one before (`climbed`), and
    the `value` that counts since then. Nobody but the organisers sees another.
    """
    description_verdict = models.CharField(max_length=12, blank=True)
    """`sufficient` or `insufficient`, once a judge has read it."""

    class Meta:
        ordering = ("-pk",)
        indexes = (
            models.Index(fields=("phase", "stage")),
            models.Index(fields=("team", "phase")),
        )

    @property
    def model_name(self) -> str:
        """What tables call it: the same for every submission of a team."""
        return f"baseline-{self.baseline}" if self.baseline else f"team-{self.team_id}"


class StageChange(models.Model):
    """A stage that a submission reached, for the history on its page."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="history")
    stage = models.CharField(max_length=24)
    at = models.DateTimeField()
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ("pk",)


class RunRecord(models.Model):
    """One run of a submission over all questions of its phase. A re-run is another one."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()
    shards = models.PositiveIntegerField()
    reason = models.TextField(blank=True)
    """Why it was run again."""
    made_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    inferred_at = models.DateTimeField(null=True)
    scored_at = models.DateTimeField(null=True)
    answered = models.PositiveIntegerField(default=0)
    values = models.JSONField(default=dict)
    scores_digest = models.CharField(max_length=64, blank=True)
    """Of the folder of scores: its manifest."""
    references_digest = models.CharField(max_length=64, blank=True)
    files = models.JSONField(default=dict)
    """Every file of its folder by its place there, with its SHA-256."""
    kept = models.TextField(blank=True, default="")
    """Why it stands, although something was wrong on our side."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=("submission", "number"), name="one_run_per_number"),)


class WorkerToken(models.Model):
    """What a worker shows. Only a digest of it is kept."""

    name = models.CharField(max_length=80, unique=True)
    digest = models.CharField(max_length=64, unique=True)
    duties = models.JSONField()
    phases = models.JSONField(default=list)
    """Only jobs of these phases; all where empty."""
    made_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)


class AccessToken(models.Model):
    """What `surgvalid submission push` shows for a person. Only a digest of it is kept."""

    user_id: int
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_tokens")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField()
    scope = models.CharField(max_length=8, default="push")
    """`push`, or `read`: nothing is handed in or stopped by it."""
    ends_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)


class Job(models.Model):
    """Something that a worker does, under a lease."""

    submission_id: int | None
    run_id: int | None
    kind = models.CharField(max_length=12, choices=JobKind.choices)
    phase = models.CharField(max_length=60)
    submission = models.ForeignKey(Submission, null=True, on_delete=models.CASCADE, related_name="jobs")
    run = models.ForeignKey(RunRecord, null=True, on_delete=models.CASCADE, related_name="jobs")
    owner = models.CharField(max_length=60)
    """Whom it is done for, in fair order: the name that tables have for the team."""
    shard = models.CharField(max_length=16, default="1/1")
    gpu_memory_mb = models.PositiveIntegerField(default=0)
    """The least that the worker's GPU must have; 0: none is needed."""
    facts = models.JSONField(default=dict)
    """What the job is about beyond its submission, fixed when it was claimed."""
    made_at = models.DateTimeField()
    state = models.CharField(max_length=12, choices=JobState.choices, default=JobState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    most_attempts = models.PositiveIntegerField(default=3)
    fencing = models.PositiveIntegerField(default=0)
    """Grows with every claim; reports with an older number are refused."""
    worker = models.ForeignKey(WorkerToken, null=True, on_delete=models.SET_NULL, related_name="jobs")
    lease_until = models.DateTimeField(null=True)
    beat_at = models.DateTimeField(null=True)
    progress = models.PositiveIntegerField(default=0)
    code = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ("pk",)
        indexes = (models.Index(fields=("state", "kind")), models.Index(fields=("owner", "state")))


class QuotaGrant(models.Model):
    """Submissions that the organisers gave a team beyond the quota of a phase."""

    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="quota_grants")
    phase = models.CharField(max_length=60)
    scored = models.IntegerField(default=0)
    attempts = models.IntegerField(default=0)
    reason = models.TextField()
    at = models.DateTimeField()


class BoardSnapshot(models.Model):
    """A leaderboard at some time: what went in, by which rule, and what came out. It never changes."""

    phase = models.CharField(max_length=60)
    board = models.CharField(max_length=20)
    number = models.PositiveIntegerField()
    at = models.DateTimeField()
    version = models.ForeignKey(ChallengeVersion, on_delete=models.PROTECT)
    rule = models.JSONField()
    """Its name, options, and the version of the program."""
    inputs = models.JSONField()
    """Model to submission, run, and the digest of its scores."""
    tables = models.JSONField()
    """Those of the ranking that pages and qualification read, with every digit."""
    findings = models.JSONField(default=list)
    log_number = models.PositiveBigIntegerField()
    """The log as it was then: a log that lost entries since is found out by it."""
    log_digest = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    """Of all of the above."""
    files = models.JSONField(default=dict)
    """Every file of its folder by its place there, with its SHA-256."""

    def is_newest(self) -> bool:
        """Whether no later one of this leaderboard was made."""
        later = BoardSnapshot.objects.filter(phase=self.phase, board=self.board, number__gt=self.number)
        return not later.exists()

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(fields=("phase", "board", "number"), name="one_board_per_number"),)


class Publication(models.Model):
    """A snapshot that is, or will be, for everybody. Embargo and publication are two acts."""

    snapshot = models.OneToOneField(BoardSnapshot, on_delete=models.PROTECT, related_name="publication")
    embargo_until = models.DateTimeField(null=True)
    published_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_reason = models.TextField(blank=True, default="")


class GateDecision(models.Model):
    """Whether a team may enter a phase, with the evidence of each leaderboard."""

    team_id: int
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="gate_decisions")
    phase = models.CharField(max_length=60)
    """The phase that one qualifies for."""
    opened = models.BooleanField()
    evidence = models.JSONField()
    """Per leaderboard: the snapshot, and the team's value against each baseline."""
    at = models.DateTimeField()
    by_hand = models.TextField(blank=True)
    """Why the organisers decided otherwise than the rule."""

    class Meta:
        ordering = ("pk",)


class PrizeProposal(models.Model):
    """What the rule proposes to pay, and what a person signed."""

    snapshot = models.ForeignKey(BoardSnapshot, on_delete=models.PROTECT, related_name="prizes")
    rows = models.JSONField()
    """By the rule: team, place, award place, amount, reason."""
    at = models.DateTimeField()
    proposed_by = models.CharField(max_length=80, blank=True, default="")
    """Who let the rule propose it, as entries of the log say it."""
    signed_rows = models.JSONField(default=list)
    signed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    signed_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    in_force = models.CharField(max_length=90, null=True, unique=True)
    """Phase and leaderboard while it is what is paid: of each at most one."""
    replaces = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_reason = models.TextField(blank=True, default="")


class Mail(models.Model):
    """A mail that waits to be sent; gone once it was."""

    to = models.TextField()
    subject = models.TextField()
    text = models.TextField()
    made_at = models.DateTimeField()
    next_at = models.DateTimeField(db_index=True)
    """When it is tried, or was given to somebody who tries."""
    tries = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True)

    class Meta:
        ordering = ("pk",)


class Announcement(models.Model):
    """Something that the organisers say to everybody."""

    title = models.CharField(max_length=200)
    text = models.TextField()
    at = models.DateTimeField()
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ("-pk",)
