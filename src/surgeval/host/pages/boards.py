"""Boards: who stands where, as published; organisers see the newest one before it is."""

from __future__ import annotations

import csv
import io
from functools import lru_cache
from typing import Any

import polars as pl
from django.http import Http404, HttpRequest, HttpResponse

from surgeval.host.acts.boards import public_board, rounded_rows
from surgeval.host.challenge.challenge import VISIBILITIES, Challenge, ChallengePhase
from surgeval.host.pages.answers import page
from surgeval.host.pages.shown_board import shown_board
from surgeval.host.pages.site import challenge_now
from surgeval.host.people.models import User
from surgeval.host.people.teams import team_of
from surgeval.host.runs.models import BoardSnapshot, PrizeProposal
from surgeval.schema.shown_text import as_cell

COLUMNS = ("place", "name", "macro_accuracy", "macro_low", "macro_high", "copeland", "win_rate", "place_low",
           "place_high", "p_first", "p_top3", "baseline")  # fmt: skip


def boards(request: HttpRequest) -> HttpResponse:
    """Every board, and whether it is published."""
    challenge = _challenge()
    listed = [
        {"phase": phase, "boards": [(board, public_board(phase.slug, board)) for board in phase.boards]}
        for phase in challenge.phases
    ]
    return page(request, "boards", "Boards", listed=listed)


def board(request: HttpRequest, phase: str, board: str) -> HttpResponse:
    """One published board."""
    rules, snapshot = _published(phase, board)
    mine = team_of(request.user) if isinstance(request.user, User) else None
    shown = shown_board(snapshot, rules.decimals) if snapshot else None
    return page(
        request,
        "board",
        f"{rules.title}: {board} board",
        phase=rules,
        board=board,
        snapshot=snapshot,
        rows=shown.html(f"team-{mine.pk}" if mine else "") if shown else "",
        limits=shown.limits if shown else (),
        prizes=_prizes(snapshot, shown.names()) if snapshot and shown else None,
        visibility=VISIBILITIES[rules.visibility],
        currency=rules.prizes.currency if rules.prizes else "",
    )


def _prizes(snapshot: BoardSnapshot, names: dict[str, str]) -> dict[str, Any] | None:
    """What was signed by this board: who gets how much, and why so."""
    signed = PrizeProposal.objects.filter(snapshot=snapshot, signed_at__isnull=False).last()
    if signed is None:
        return None
    paid = [{**row, "name": names.get(row["model"], row["model"])} for row in signed.signed_rows if row["amount"]]
    return {"signed_at": signed.signed_at, "reason": signed.reason, "paid": paid}


def board_table(request: HttpRequest, phase: str, board: str) -> HttpResponse:
    """The published board as CSV; texts of teams cannot act as formulas in a spreadsheet."""
    rules, snapshot = _published(phase, board)
    if snapshot is None:
        raise Http404
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in shown_board(snapshot, rules.decimals).rows:
        writer.writerow([_cell(row.get(name)) for name in COLUMNS])
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{phase}-{board}.csv"'
    return response


def board_picture(request: HttpRequest, phase: str, board: str) -> HttpResponse:
    """The published board as a picture of the report room, drawn from the rounded values."""
    rules, snapshot = _published(phase, board)
    if snapshot is None:
        raise Http404
    names = tuple(shown_board(snapshot, rules.decimals).names().items())
    return HttpResponse(picture_of(snapshot.pk, rules.decimals, names), content_type="image/svg+xml")


@lru_cache(maxsize=32)
def picture_of(snapshot: int, decimals: int, names: tuple[tuple[str, str], ...]) -> str:
    """The picture of a snapshot, which never changes; drawn once for each set of names."""
    from surgeval.report.charts.board import board as chart  # needs the extra `report`, as other pages do not

    called = dict(names)
    rows = rounded_rows(BoardSnapshot.objects.get(pk=snapshot), decimals)
    frame = pl.DataFrame([{**row, "model": called[row["model"]]} for row in rows], infer_schema_length=None)
    intervals = {"place_low", "place_high"} <= set(frame.columns)
    macro = {"macro_low", "macro_high"} <= set(frame.columns)
    return chart(frame, frame if intervals else None, summary=frame if macro else None).svg()


def _published(phase: str, board: str) -> tuple[ChallengePhase, BoardSnapshot | None]:
    challenge = _challenge()
    rules = next((one for one in challenge.phases if one.slug == phase), None)
    if rules is None or board not in rules.boards:
        raise Http404
    return rules, public_board(phase, board)


def _challenge() -> Challenge:
    challenge = challenge_now()
    if challenge is None:
        raise Http404
    return challenge


def _cell(value: Any) -> Any:
    return as_cell(value) if isinstance(value, str) else value
