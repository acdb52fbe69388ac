"""Leaderboards: who stands where, as published; organisers see the newest one before it is.

Values are rounded, teams have their names, and rows are drawn once for everybody who looks.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from surgvalid.host import places
from surgvalid.host.acts.boards import last_publication, public_leaderboard, rounded_rows
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.challenge.challenge import VISIBILITIES, Challenge, ChallengePhase
from surgvalid.host.pages.answers import page
from surgvalid.host.pages.site import challenge_here
from surgvalid.host.people.models import Eligibility, Team, User
from surgvalid.host.people.teams import team_of
from surgvalid.host.runs.models import BoardSnapshot, LogHead, PrizeProposal
from surgvalid.report.chart import WIDE_PX
from surgvalid.report.drawing.svg import DARK, LIGHT
from surgvalid.schema.shown_text import as_cell


class ShownBoard(NamedTuple):
    """What a snapshot says as things stand."""

    rows: tuple[Mapping[str, Any], ...]
    """Values rounded, with the name of each entry and why it gets no award."""
    limits: tuple[str, ...]
    """What the ranking itself found to be careful about, a sentence each."""
    digits: int
    drawn: tuple[SafeString, ...]
    """The rows as HTML, nobody's row marked."""

    def names(self) -> dict[str, str]:
        """What each entry is called."""
        return {row["model"]: row["name"] for row in self.rows}

    def html(self, mine: str) -> SafeString:
        """All rows, with that of one's team marked."""
        lines = list(self.drawn)
        for number, row in enumerate(self.rows):
            if row["model"] == mine:
                lines[number] = _drawn(row, self.digits, is_mine=True)
        return SafeString("".join(lines))


def shown_board(snapshot: BoardSnapshot, digits: int) -> ShownBoard:
    """A snapshot as pages show it; made anew after an act, and kept until the next.

    A snapshot never changes, and names and eligibility change by acts alone, so the end of the log says whether what
    was drawn still holds. It is read before they are: what changes in between is drawn too early, never too late.
    """
    head = LogHead.objects.filter(pk=1).values_list("number", "digest").first()
    return _shown(snapshot.pk, digits, head)


@lru_cache(maxsize=16)
def _shown(snapshot: int, digits: int, _log_end: tuple[int, str] | None) -> ShownBoard:
    stored = BoardSnapshot.objects.get(pk=snapshot)
    rows = _named(rounded_rows(stored, digits), current_challenge())
    return ShownBoard(
        tuple(rows), tuple(_limits(stored, rows)), digits, tuple(_drawn(row, digits, is_mine=False) for row in rows)
    )


def _drawn(row: Mapping[str, Any], digits: int, *, is_mine: bool) -> SafeString:
    """A row, drawn once for as long as it says the same: most acts change no row."""
    kinds = tuple(map(type, row.values()))  # 1 and 1.0 are equal, and not shown alike
    return _drawn_row(tuple(row.items()), kinds, digits, is_mine)


@lru_cache(maxsize=4096)
def _drawn_row(items: tuple[tuple[str, Any], ...], kinds: tuple[type, ...], digits: int, is_mine: bool) -> SafeString:
    return render_to_string("pages/_board_row.html", {"row": dict(items), "digits": digits, "is_mine": is_mine})


def _named(rows: list[dict[str, Any]], challenge: Challenge) -> list[dict[str, Any]]:
    numbers = [int(row["model"].removeprefix("team-")) for row in rows if row["model"].startswith("team-")]
    teams = dict(Team.objects.filter(pk__in=numbers).values_list("pk", "name"))
    names = {f"team-{number}": name for number, name in teams.items()}
    barred = Eligibility.objects.filter(team__in=numbers, may_win=False).values_list("team_id", "reason")
    unpaid = {f"team-{number}": reason for number, reason in barred}
    for row in rows:
        row["name"] = names.get(row["model"]) or _baseline_name(row["model"], challenge)
        row["unpaid"] = unpaid.get(row["model"], "")
    return rows


def _baseline_name(model: str, challenge: Challenge) -> str:
    slug = model.removeprefix("baseline-")
    return challenge.baselines.get(slug, slug)


def _limits(snapshot: BoardSnapshot, rows: list[dict[str, Any]]) -> list[str]:
    names = {row["model"]: row["name"] for row in rows}
    about: dict[str, list[str]] = {}
    for one in snapshot.findings:
        subject = one.get("subject", "").removeprefix(f"{snapshot.board} leaderboard").strip(" ,()")
        about.setdefault(one["message"].rstrip("."), []).extend([subject] if subject else [])
    sentences = []
    for message, subjects in about.items():
        words = re.sub(r"\b(?:team|baseline)-[a-z0-9-]+", lambda code: names.get(code[0], code[0]), message)
        where = f" ({'; '.join(subjects)})" if subjects else ""
        sentences.append(f"{words[:1].upper()}{words[1:]}{where}.")
    return sentences


COLUMNS = ("place", "name", "macro_accuracy", "macro_low", "macro_high", "copeland", "win_rate", "place_low",
           "place_high", "p_first", "p_top3", "baseline")  # fmt: skip


def boards(request: HttpRequest) -> HttpResponse:
    """Every leaderboard, and whether it is published."""
    challenge = challenge_here()
    listed = [
        {"phase": phase, "boards": [(board, public_leaderboard(phase.slug, board)) for board in phase.boards]}
        for phase in challenge.phases
    ]
    return page(request, "boards", "Boards", listed=listed)


def board(request: HttpRequest, phase: str, board: str) -> HttpResponse:
    """One published leaderboard."""
    rules, snapshot = _published(phase, board)
    mine = team_of(request.user) if isinstance(request.user, User) else None
    shown = shown_board(snapshot, rules.decimals) if snapshot else None
    return page(
        request,
        "board",
        f"{rules.title}: {board} leaderboard",
        phase=rules,
        board=board,
        snapshot=snapshot,
        rows=shown.html(f"team-{mine.pk}" if mine else "") if shown else "",
        limits=shown.limits if shown else (),
        prizes=_prizes(snapshot, shown.names()) if snapshot and shown else None,
        visibility=VISIBILITIES[rules.visibility],
        last=None if snapshot else last_publication(phase, board),
        currency=rules.prizes.currency if rules.prizes else "",
    )


def _prizes(snapshot: BoardSnapshot, names: dict[str, str]) -> dict[str, Any] | None:
    """What was signed last by this leaderboard: who gets how much, and why so; or since when it holds no more."""
    signed = PrizeProposal.objects.filter(snapshot=snapshot, signed_at__isnull=False).order_by("signed_at", "pk").last()
    if signed is None:
        return None
    paid = [{**row, "name": names.get(row["model"], row["model"])} for row in signed.signed_rows if row["amount"]]
    return {"one": signed, "paid": paid}


def board_table(request: HttpRequest, phase: str, board: str) -> HttpResponse:
    """The published leaderboard as CSV; texts of teams cannot act as formulas in a spreadsheet."""
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
    """The published leaderboard as an image of the subpackage `report`, drawn from the rounded values."""
    rules, snapshot = _published(phase, board)
    if snapshot is None:
        raise Http404
    place = picture_of(
        snapshot, rules.decimals, shown_board(snapshot, rules.decimals).names(), dark="dark" in request.GET
    )
    etag = f'"{place.stem}"'
    if request.headers.get("If-None-Match") == etag:
        return HttpResponse(status=304, headers={"ETag": etag})
    return HttpResponse(place.read_bytes(), content_type="image/svg+xml", headers={"ETag": etag})


_DRAWING = threading.Lock()


def picture_of(snapshot: BoardSnapshot, decimals: int, names: Mapping[str, str], *, dark: bool) -> Path:
    """The image of a snapshot, which never changes, as a file: drawn once for each set of names, for every process."""
    content = hashlib.sha256(json.dumps([snapshot.digest, decimals, sorted(names.items()), dark]).encode()).hexdigest()
    place = places.store() / places.PICTURES / f"{snapshot.pk}-{content[:24]}.svg"
    with _DRAWING:
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = place.with_name(f"{place.name}.{os.getpid()}")
            draft.write_text(_drawn_picture(snapshot, decimals, names, dark=dark), encoding="utf-8")
            draft.rename(place)
    return place


def _drawn_picture(snapshot: BoardSnapshot, decimals: int, names: Mapping[str, str], *, dark: bool) -> str:
    from surgvalid.report.charts.leaderboard import board as chart  # other pages need no images

    rows = rounded_rows(snapshot, decimals)
    frame = pl.DataFrame([{**row, "model": names[row["model"]]} for row in rows], infer_schema_length=None)
    intervals = {"place_low", "place_high"} <= set(frame.columns)
    macro = {"macro_low", "macro_high"} <= set(frame.columns)
    made = chart(frame, frame if intervals else None, summary=frame if macro else None)
    colours = DARK if dark else LIGHT
    return made.image.draw(WIDE_PX).svg(title=made.title, alt=made.alt, colours=colours)


def _published(phase: str, board: str) -> tuple[ChallengePhase, BoardSnapshot | None]:
    challenge = challenge_here()
    rules = next((one for one in challenge.phases if one.slug == phase), None)
    if rules is None or board not in rules.boards:
        raise Http404
    return rules, public_leaderboard(phase, board)


def _cell(value: Any) -> Any:
    return as_cell(value) if isinstance(value, str) else value
