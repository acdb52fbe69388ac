"""A board as pages show it: rounded, with the names of teams, and its rows drawn once for everybody who looks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from surgeval.host.acts.boards import rounded_rows
from surgeval.host.acts.challenge import current_challenge
from surgeval.host.challenge.challenge import Challenge
from surgeval.host.people.models import Eligibility, Team
from surgeval.host.runs.models import BoardSnapshot, LogHead


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
def _drawn_row(
    items: tuple[tuple[str, Any], ...], kinds: tuple[type, ...], digits: int, is_mine: bool
) -> SafeString:  # fmt: skip
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
        subject = one.get("subject", "").removeprefix(f"{snapshot.board} board").strip(" ,()")
        about.setdefault(one["message"].rstrip("."), []).extend([subject] if subject else [])
    sentences = []
    for message, subjects in about.items():
        words = re.sub(r"\b(?:team|baseline)-[a-z0-9-]+", lambda code: names.get(code[0], code[0]), message)
        where = f" ({'; '.join(subjects)})" if subjects else ""
        sentences.append(f"{words[:1].upper()}{words[1:]}{where}.")
    return sentences
