"""What a challenge came to, for papers and archives: tables, leaderboards, log and rules; people stand in it by number.

What is not published yet stays out unless it is asked for, so that an archive can be given away. What organisers wrote
as reasons is in it word for word.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from django.db.models import QuerySet

from surgvalid import __version__
from surgvalid.errors import WouldOverwrite
from surgvalid.host import places
from surgvalid.host.acting import now
from surgvalid.host.acts.boards import board_folder, public_leaderboard
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.submissions import run_folder
from surgvalid.host.people.models import Team
from surgvalid.host.runs.models import (
    BoardSnapshot,
    ChallengeVersion,
    GateDecision,
    LogEntry,
    PrizeProposal,
    Publication,
    RunRecord,
    Submission,
)
from surgvalid.host.tars import files_below, write_tar
from surgvalid.report.report import make_report
from surgvalid.schema.shown_text import as_cell
from surgvalid.submissions.stages import SCORES

WITHHELD = ("propose-prizes", "sign-prizes", "withdraw-prizes")
"""Acts whose entry in the log tells of a leaderboard."""


def export(target: str | Path, *, with_hidden: bool = False, with_report: bool = True) -> Path:
    """A folder with everything, and beside it an archive with a description that repositories of data read.

    Args:
        target: Made; must not exist.
        with_hidden: Add what is not published, and the score of every question: for organisers alone.
        with_report: Add `report.html` of every phase that was published.
    """
    place = Path(target)
    if place.exists():
        raise WouldOverwrite(place, by_force=False)
    place.mkdir(parents=True)
    published = Publication.objects.filter(published_at__lte=now(), withdrawn_at=None)
    public = set(published.values_list("snapshot", flat=True))
    shown = BoardSnapshot.objects.all() if with_hidden else BoardSnapshot.objects.filter(pk__in=public)
    for name, rows in _tables(shown.order_by("pk"), with_hidden=with_hidden).items():
        frame = pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame()
        frame.write_parquet(place / f"{name}.parquet")
        frame.with_columns(_as_cells(frame)).write_csv(place / f"{name}.csv")
    _lines(place / "log.jsonl", _log(None if with_hidden else public))
    for version in ChallengeVersion.objects.all():
        (place / f"challenge-{version.number}.toml").write_text(version.text, encoding="utf-8")
    _boards(place, with_scores=with_hidden, with_report=with_report)
    _json(place / "metadata.json", _metadata())
    write_tar(place.with_suffix(".tar"), files_below(place, f"{place.name}/"))
    return place


def _as_cells(frame: pl.DataFrame) -> list[pl.Expr]:
    """Every text of a table such that a spreadsheet reads it as text."""
    return [
        pl.col(name).map_elements(as_cell, return_dtype=pl.String)
        for name, kind in frame.schema.items()
        if kind == pl.String
    ]


def _log(public: set[int] | None) -> Iterator[dict[str, Any]]:
    """The entries of the log; of those that tell of a leaderboard that is not in `public` the facts are withheld."""
    boards = dict(PrizeProposal.objects.values_list("pk", "snapshot"))
    for entry in LogEntry.objects.order_by("number").values().iterator():
        kind, _, number = entry["subject"].rpartition("-")
        if public is not None and entry["act"] in WITHHELD:
            board = int(number) if kind == "board" else boards.get(int(number))
            entry["facts"] = entry["facts"] if board in public else None
        yield entry


def _tables(shown: QuerySet[BoardSnapshot], *, with_hidden: bool) -> dict[str, list[dict[str, Any]]]:
    on_boards = {row["submission"] for one in shown for row in one.inputs.values()}
    live = {phase.slug for phase in current_challenge().phases if phase.visibility == "public"}

    def values(one: Submission) -> dict[str, float]:
        return one.values if with_hidden or one.phase in live or one.pk in on_boards else {}

    submissions = [
        {
            "submission": one.pk,
            "model": one.model_name,
            "phase": one.phase,
            "stage": one.stage,
            "at": one.at.isoformat(),
            "version": one.version.number,
            "image": one.image_digest,
            "codes": ", ".join(one.codes),
            "answered": one.answered,
            "technical": values(one).get("technical"),
            "clinical": values(one).get("clinical"),
            "description": one.description_verdict,
        }
        for one in Submission.objects.select_related("version").order_by("pk")
    ]
    runs = [
        {
            "submission": one.submission.pk,
            "run": one.number,
            "shards": one.shards,
            "reason": one.reason,
            "answered": one.answered,
            "scores": one.scores_digest,
            "references": one.references_digest,
        }
        for one in RunRecord.objects.select_related("submission").order_by("pk")
    ]
    boards = [
        {
            "phase": one.phase,
            "board": one.board,
            "snapshot": one.number,
            "at": one.at.isoformat(),
            "digest": one.digest,
            **_flat(row),
        }
        for one in shown
        for row in one.tables.get("places", [])
    ]
    kept = set(shown.values_list("pk", flat=True))
    gates = [
        {
            "model": f"team-{one.team_id}",
            "phase": one.phase,
            "opened": one.opened,
            "at": one.at.isoformat(),
            "by_hand": one.by_hand,
            "evidence": json.dumps(_evidence(one, kept), sort_keys=True),
        }
        for one in GateDecision.objects.order_by("pk")
    ]
    prizes = [
        {"phase": one.snapshot.phase, "board": one.snapshot.board, "signed": one.in_force is not None, **_flat(row)}
        for one in PrizeProposal.objects.filter(snapshot__in=kept).select_related("snapshot").order_by("pk")
        if with_hidden or one.in_force is not None
        for row in (one.signed_rows or one.rows)
    ]
    teams = [{"model": f"team-{one.pk}", "team": one.name} for one in Team.objects.order_by("pk")]
    changes = [
        {
            "version": one.number,
            "at": one.at.isoformat(),
            "note": one.note,
            "name": row["name"],
            "old": json.dumps(row["old"]),
            "new": json.dumps(row["new"]),
        }
        for one in ChallengeVersion.objects.all()
        for row in one.changes
    ]
    return {
        "submissions": submissions,
        "runs": runs,
        "boards": boards,
        "gates": gates,
        "prizes": prizes,
        "teams": teams,
        "changes": changes,
    }


def _evidence(decision: GateDecision, kept: set[int]) -> dict[str, Any]:
    """The values on which a qualification criterion was decided, of leaderboards that the export has."""
    return {board: one for board, one in decision.evidence.items() if one["snapshot"] in kept}


def _boards(place: Path, *, with_scores: bool, with_report: bool) -> None:
    for phase in current_challenge().phases:
        shown = [one for board in phase.boards if (one := public_leaderboard(phase.slug, board)) is not None]
        for snapshot in shown:
            source = board_folder(snapshot)
            if source.is_dir():
                shutil.copytree(source, place / phase.slug / snapshot.board)
        if with_scores:
            for run in RunRecord.objects.exclude(scores_digest="").filter(submission__phase=phase.slug):
                source = run_folder(run.submission, run.number) / SCORES
                shutil.copytree(source, place / phase.slug / "scores" / f"{run.submission.pk}-{run.number}")
        if with_report and shown and (place / phase.slug).is_dir():
            title = f"{current_challenge().name}: {phase.title}"
            make_report(place / phase.slug, title=title).to_html(place / phase.slug / "report.html")


def _metadata() -> dict[str, Any]:
    """What repositories of data ask for, in the words of DataCite."""
    challenge = current_challenge()
    return {
        "titles": [{"title": f"Results of {challenge.name}"}],
        "publicationYear": now().year,
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "challenge results"},
        "creators": [{"name": challenge.contact, "nameType": "Organizational"}],
        "version": str(ChallengeVersion.objects.latest("number").number),
        "descriptions": [
            {
                "descriptionType": "TechnicalInfo",
                "description": f"Made by surgvalid {__version__}; rule {challenge.ranking.rule}; digest of the "
                f"challenge {challenge.digest}; the log ends with {LogEntry.objects.latest('number').digest}.",
            }
        ],
    }


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not isinstance(value, list | dict)}


def _json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, default=str) + "\n", encoding="utf-8")


def _lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with open(path, "w", encoding="utf-8") as handle:
        handle.writelines(json.dumps(row, default=str, ensure_ascii=False) + "\n" for row in rows)


def export_place(*, with_hidden: bool) -> Path:
    """Where the page for organisers puts an export; its name says what nobody else may see."""
    return places.store() / "exports" / f"{'hidden' if with_hidden else 'results'}-{now():%Y%m%d-%H%M%S}"
