"""What stages and failure codes are called on pages, and what to do about each."""

from __future__ import annotations

from surgeval.submissions.stages import HELD, Stage

STAGE_WORDS = {
    Stage.UPLOADED.value: "received",
    Stage.INTAKE_OK.value: "accepted",
    Stage.INTAKE_REFUSED.value: "refused at intake",
    Stage.QUEUED.value: "waiting for a machine",
    Stage.RUNNING.value: "running",
    Stage.INFERRED.value: "answered, being scored",
    Stage.SCORED.value: "scored",
    Stage.PUBLISHED.value: "published",
    Stage.FAILED_PARTICIPANT.value: "failed",
    Stage.FAILED_INFRA.value: "stopped on our side",
    Stage.CANCELLED.value: "cancelled",
    Stage.DISQUALIFIED.value: "disqualified",
    Stage.REINSTATED.value: "reinstated",
}
SETTLED = frozenset((Stage.INTAKE_REFUSED, Stage.SCORED, Stage.PUBLISHED, Stage.FAILED_PARTICIPANT,
                     Stage.FAILED_INFRA, *HELD))  # fmt: skip
"""Stages after which nothing happens by itself."""
NEXT_BY_STAGE = {
    Stage.UPLOADED: "Wait: the archive is being looked at. This takes a few minutes.",
    Stage.INTAKE_OK: "Wait: the run is being planned.",
    Stage.INTAKE_REFUSED: "Mend what is listed below and hand in again. This cost an attempt, no scored run.",
    Stage.QUEUED: "Wait: teams with fewer runs under way come first. You can close this page.",
    Stage.RUNNING: "Wait: every question is asked within its budget. You can close this page.",
    Stage.INFERRED: "Wait: the answers are being scored.",
    Stage.SCORED: "The result is in. See where your team stands, or hand in the next one.",
    Stage.PUBLISHED: "The result is on the board.",
    Stage.FAILED_PARTICIPANT: "Read the reasons below, try it with `surgeval rehearse`, and hand in again.",
    Stage.FAILED_INFRA: "Nothing to do: it stopped on our side, at no cost to you; the organisers can run it again.",
    Stage.CANCELLED: "It does not run. Hand in again when you are ready.",
    Stage.DISQUALIFIED: "Read the reason below and write to the organisers.",
}


def stage_mood(value: str) -> str:
    """How a stage is coloured; the word beside it says the same."""
    if value in (Stage.SCORED, Stage.PUBLISHED):
        return "good"
    if value in (Stage.INTAKE_REFUSED, Stage.FAILED_PARTICIPANT, Stage.DISQUALIFIED):
        return "bad"
    return "" if value in (Stage.CANCELLED, Stage.REINSTATED) else "busy"
