"""Submissions of a team as rows: what its members may see of each, and two beside each other."""

from __future__ import annotations

from typing import Any

from surgeval.host.acts.boards import public_board, team_values, team_values_of
from surgeval.host.acts.challenge import current_challenge
from surgeval.host.acts.quotas import SCORED
from surgeval.host.acts.refused import REMEDIES
from surgeval.host.pages.words import NEXT_BY_STAGE, SETTLED
from surgeval.host.people.models import Team
from surgeval.host.runs.models import Job, JobState, Submission
from surgeval.submissions.stages import Stage


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
        "silence": why_no_value(submission),
        "settled": submission.stage in SETTLED,
        "runs": submission.runs.order_by("number"),
        "progress": sum(job.progress for job in Job.objects.filter(submission=submission, state=JobState.CLAIMED)),
    }


def advice_on(submission: Submission) -> str:
    """What the team should do next about a submission."""
    return why_no_value(submission) or NEXT_BY_STAGE.get(Stage(submission.stage), "")


def why_no_value(submission: Submission) -> str:
    """Why the team sees no value of a submission that was scored; empty where it sees one, or it was not."""
    if submission.stage not in SCORED or team_values(submission):
        return ""
    phase = current_challenge().phase(submission.phase)
    if any(public_board(phase.slug, board) for board in phase.boards):
        return (
            f"The boards of this phase have another submission of your team: the {phase.counted} one counts. "
            "Values of this one stay hidden."
        )
    return "It is scored. Values of this phase are shown when its board is published; nothing is left to do until then."


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
