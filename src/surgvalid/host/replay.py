"""Leaderboards made again from the answers that are archived, and compared with what everybody saw."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.host import places
from surgvalid.host.acts.boards import public_leaderboard
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.submissions import run_folder
from surgvalid.host.challenge.challenge import ChallengePhase
from surgvalid.host.runs.models import BoardSnapshot, Submission
from surgvalid.host.worker import board_values, plain, ranked_board
from surgvalid.submissions.phase import phase_of
from surgvalid.submissions.phase_scores import score_submission
from surgvalid.submissions.stages import SCORES

_TABLE = "scores.parquet"
Said = tuple[str, list[str]]
"""What was made again, and every difference."""


def replays() -> Iterator[Said]:
    """Every leaderboard that everybody sees, made again: answers are scored, models are ranked.

    Answers that a judge scored keep their scores, for a judge need not say the same twice; they are only ranked.
    """
    for phase in current_challenge().phases:
        for board in phase.boards:
            if (snapshot := public_leaderboard(phase.slug, board)) is not None:
                yield _replayed(phase, snapshot)


def _replayed(phase: ChallengePhase, snapshot: BoardSnapshot) -> Said:
    name = f"{phase.slug}, {snapshot.board} leaderboard, number {snapshot.number}"
    differences: list[str] = []
    with TemporaryDirectory(dir=places.store()) as scratch:
        tables = []
        for model, entry in snapshot.inputs.items():
            submission = Submission.objects.get(pk=entry["submission"])
            kept = run_folder(submission, entry["run"]) / SCORES
            if phase.judges:
                tables.append(kept)
                continue
            try:
                made = _scored_again(phase, submission, model, entry["run"], Path(scratch))
            except (SurgvalidError, OSError) as error:
                return name, [f"{name}: the answers of {model} cannot be scored again: {error}"]
            tables.append(made / SCORES)
            if not pl.read_parquet(made / SCORES / _TABLE).equals(pl.read_parquet(kept / _TABLE)):
                differences.append(f"{name}: scores of {model} are not those of its answers")
        try:
            ranked = ranked_board(snapshot.board, tables, snapshot.rule)
        except SurgvalidError as error:
            return name, [*differences, f"{name}: cannot be ranked again: {error}"]
    again = plain(ranked.tables["places"].to_dicts())
    differences += [f"{name}: {one}" for one in _differences(snapshot.tables["places"], again)]
    judged = ", from the scores that its judges gave" if phase.judges else ""
    return f"{name}: {len(again)} places made again{judged}", differences


def _scored_again(phase: ChallengePhase, submission: Submission, model: str, number: int, scratch: Path) -> Path:
    """A copy of a run whose scores are made from its answers and the references, nothing else."""
    place = scratch / f"{submission.pk}-{number}"
    shutil.copytree(run_folder(submission, number), place, ignore=shutil.ignore_patterns(SCORES, ".*"))
    rules = {name: value for name, value in submission.rules.items() if value is not None}
    home = places.home()
    scored = score_submission(
        phase_of(rules, where=f"submission {submission.pk}", folder=home),
        place,
        requests=home / phase.questions / "request.json",
        references=home / phase.references,
        model=model,
    )
    stored = submission.runs.get(number=number).values
    if any(board_values(scored).get(board) != value for board, value in stored.items()):
        raise SurgvalidError(f"its values are {stored}, and come out as {board_values(scored)}")
    return place


def _differences(published: list[dict[str, Any]], again: list[dict[str, Any]]) -> Iterator[str]:
    old, new = ({row["model"]: row for row in rows} for rows in (published, again))
    for model in sorted(old.keys() | new.keys()):
        if model not in old or model not in new:
            yield f"{model} is {'not on it' if model not in new else 'missing on it'}"
        elif wrong := [name for name in new[model] if old[model].get(name) != new[model][name]]:
            changes = "; ".join(f"{one} was {old[model].get(one)}, comes out as {new[model][one]}" for one in wrong)
            yield f"{model}: {changes}"
