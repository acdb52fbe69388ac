"""Submissions of a team as rows: what stages are called, what to do about each, and two beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.http import HttpResponse

from surgvalid.asking.journal import LOG, TROUBLE_LOG
from surgvalid.host.acts.boards import public_leaderboard, team_values, team_values_of
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.quotas import SCORED
from surgvalid.host.acts.refused import REMEDIES
from surgvalid.host.acts.submissions import run_folder
from surgvalid.host.challenge.challenge import COUNTED
from surgvalid.host.people.models import Team
from surgvalid.host.runs.models import Job, JobState, Submission
from surgvalid.submissions.stages import HELD, Stage

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
SETTLED = frozenset(
    (Stage.INTAKE_REFUSED, Stage.SCORED, Stage.PUBLISHED, Stage.FAILED_PARTICIPANT, Stage.FAILED_INFRA, *HELD)
)
"""Stages after which nothing happens by itself."""
NEXT_BY_STAGE = {
    Stage.UPLOADED: "Wait: the archive is being looked at. This takes a few minutes.",
    Stage.INTAKE_OK: "Wait: the run is being planned.",
    Stage.INTAKE_REFUSED: "Mend what is listed below and hand in again. This cost an attempt, no scored run.",
    Stage.QUEUED: "Wait: teams with fewer runs under way come first. You can close this page.",
    Stage.RUNNING: "Wait: every question is asked within its budget. You can close this page.",
    Stage.INFERRED: "Wait: the answers are being scored.",
    Stage.SCORED: "The result is in. See where your team stands, or hand in the next one.",
    Stage.PUBLISHED: "The result is on the leaderboard.",
    Stage.FAILED_PARTICIPANT: "Read the reasons below, try it with `surgvalid submission rehearse`, and hand in again.",
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


def rows_of_team(team: Team, *, most: int = 200) -> list[dict[str, Any]]:
    """The last submissions of a team, the newest first, with the values that the team may see."""
    listed = list(team.submissions.all()[:most])
    return [{"submission": one, "values": values} for one, values in zip(listed, team_values_of(listed), strict=True)]


def shown_to_team(submission: Submission) -> dict[str, Any]:
    """What the page of a submission shows to its team: stages, codes with remedies, and values as the phase allows."""
    return {
        "submission": submission,
        "history": submission.history.all(),
        "values": team_values(submission),
        "codes": [(code, REMEDIES.get(code, "")) for code in submission.codes],
        "next": advice_on(submission),
        "settled": submission.stage in SETTLED,
        "own_text": reads_own_text(submission) and submission.stage in SETTLED,
        "runs": submission.runs.order_by("number"),
        "progress": sum(job.progress for job in Job.objects.filter(submission=submission, state=JobState.CLAIMED)),
    }


def advice_on(submission: Submission) -> str:
    """What the team should do next about a submission."""
    return why_no_value(submission) or why_another_value(submission) or NEXT_BY_STAGE.get(Stage(submission.stage), "")


def why_no_value(submission: Submission) -> str:
    """Why the team sees no value of a submission that was scored; empty where it sees one, or it was not."""
    if submission.stage not in SCORED or team_values(submission):
        return ""
    phase = current_challenge().phase(submission.phase)
    if any(public_leaderboard(phase.slug, board) for board in phase.boards):
        return (
            f"The leaderboards of this phase have another submission of your team: {COUNTED[phase.counted]}. "
            "Values of this one stay hidden."
        )
    return (
        "It is scored. Values of this phase are shown when its leaderboard is published; nothing is left to do "
        "until then."
    )


def why_another_value(submission: Submission) -> str:
    """That the value of a submission is that of an earlier one; empty where it is its own."""
    if all(one["climbed"] for one in submission.ladder.values()):
        return ""
    kept = " and ".join(sorted(board for board, one in submission.ladder.items() if not one["climbed"]))
    return (
        f"On the {kept} leaderboard this submission does not lie above the one that counts by more than guessing at "
        "the same questions explains. The value there is still that of the earlier one."
    )


def comparison(first: Submission, second: Submission) -> list[tuple[str, Any, Any]]:
    """What differs or matters between two submissions of a team: (what, of the first, of the second)."""
    values = [team_values(one) for one in (first, second)]
    rows = [
        ("Phase", first.phase, second.phase),
        ("Handed in", f"{first.at:%-d %b %Y, %H:%M}", f"{second.at:%-d %b %Y, %H:%M}"),
        ("Image", first.image_digest[:23], second.image_digest[:23]),
        ("Questions answered", first.answered, second.answered),
        ("Codes", ", ".join(first.codes), ", ".join(second.codes)),
    ]
    for board in sorted({*values[0], *values[1]}):
        rows.append((f"Mean accuracy over buckets, {board}", values[0].get(board), values[1].get(board)))
    for name in sorted(first.rules.keys() | second.rules.keys()):
        if first.rules.get(name) != second.rules.get(name):
            rows.append((f"Rules: {name}", first.rules.get(name), second.rules.get(name)))
    return rows


def reads_own_text(submission: Submission) -> bool:
    """Whether its team may read what its containers wrote: on data that the challenge says are public, nowhere else."""
    return current_challenge().phase(submission.phase).public_data and not submission.rules.get("hidden")


def text_of_containers(submission: Submission, *, most_bytes: int = 64 << 10) -> HttpResponse:
    """The end of what each container of the last run wrote, and of what its engine said."""
    last = submission.runs.order_by("-number").first()
    shards = sorted(run_folder(submission, last.number).glob("shard-*")) if last else []
    wrote = [(shard, name, _tail_of(shard / name, most_bytes)) for shard in shards for name in (TROUBLE_LOG, LOG)]
    text = "".join(f"== {shard.name}, {name}\n{tail}\n" for shard, name, tail in wrote) or "nothing was written\n"
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="submission-{submission.pk}-containers.txt"'
    return response


def _tail_of(path: Path, most_bytes: int) -> str:
    """The end of a file that a container may have filled, in letters that can be seen; links are not followed."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - most_bytes))
        text = file.read(most_bytes).decode("utf-8", "replace")
    return "".join(one for one in text if one in "\n\t" or (one.isprintable() and one != "\x7f"))
