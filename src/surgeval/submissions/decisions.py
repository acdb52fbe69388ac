"""Decisions on a submission: published, cancelled, disqualified, or one of the last two taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surgeval.errors import Misuse
from surgeval.results.manifest import MANIFEST, sha256_of
from surgeval.submissions.phase_status import status_of
from surgeval.submissions.stages import DECISIONS, HELD, SCORES, STAGES, Stage, note_stage

_MOST_REASON = 1000


def mark_submission(run: str | Path, stage: str, *, reason: str) -> dict[str, Any]:
    """The status of a submission after a decision on it was stored, with its reason.

    Args:
        run: The folder of the submission.
        stage: `published`, `cancelled`, `disqualified`, or `reinstated`, which takes the last two back.
        reason: Why; it stays in the history.

    Raises:
        Misuse: No such decision, no reason, or it cannot be taken now.
    """
    folder = Path(run)
    if stage not in [str(one) for one in DECISIONS]:
        raise Misuse(f"a submission is marked as one of {', '.join(DECISIONS)}; got {stage!r}")
    if not reason.strip() or len(reason) > _MOST_REASON:
        raise Misuse(f"a decision needs a reason of 1 to {_MOST_REASON} characters; got {len(reason.strip())}")
    if not (folder / STAGES).exists():
        raise Misuse(f"{folder} holds no submission; name the folder of one")
    now = status_of(folder)["stage"]
    if problem := _not_now(Stage(stage), now):
        raise Misuse(f"{folder} is {now}: {problem}")
    facts = {"scores": sha256_of(folder / SCORES / MANIFEST)} if stage == Stage.PUBLISHED else {}
    note_stage(folder, Stage(stage), reason=reason.strip(), **facts)
    return status_of(folder)


def _not_now(stage: Stage, now: str) -> str:
    """Why a submission cannot be marked so at its present stage, or nothing."""
    if stage is Stage.PUBLISHED and now != Stage.SCORED:
        return "only what is scored can be published"
    if stage is Stage.REINSTATED and now not in HELD:
        return "only what is cancelled or disqualified can be reinstated"
    if stage is Stage.CANCELLED and now in (Stage.PUBLISHED, *HELD):
        return "it can be disqualified, not cancelled" if now == Stage.PUBLISHED else "it is over already"
    return "it is that already" if stage == now else ""
