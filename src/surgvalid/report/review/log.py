"""The history of a review, and what raters said in it so far: each by themselves, disputes, and how well they agree.

It is a file to which lines are only ever added, also while others add to it.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.questions.stages.history import Action, History, HistoryEntry, ReviewState, history_from
from surgvalid.schema.tables.table_files import read_frame
from surgvalid.stats.agreement.report import agreement

COLUMNS = tuple(HistoryEntry.__dataclass_fields__)
LONGEST_NOTE = 2_000


def now() -> str:
    """This moment (ISO 8601, UTC)."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class ReviewLog:
    """The history in a file. What others append is seen; what is there is never written again."""

    def __init__(self, path: Path, *, clock: Callable[[], str] = now) -> None:
        self.path, self._clock, self._lock = path, clock, Lock()
        self._size, self._history = -1, History()

    @property
    def history(self) -> History:
        """Everything so far.

        Raises:
            TableInvalid: The file is no history.
        """
        size = self.path.stat().st_size if self.path.is_file() else 0
        if size != self._size:
            self._history = history_from(read_frame(self.path, COLUMNS)) if size else History()
            self._size = size
        return self._history

    def propose(self, items: Iterable[str], who: str) -> None:
        """Add the items that nobody proposed yet."""
        with self._lock:
            known = {entry.item for entry in self.history.entries}
            at = self._at()
            self._append([HistoryEntry(item, Action.PROPOSED, who, at) for item in items if item not in known])

    def add(
        self, item: str, action: Action, who: str, *, field: str = "", before: str = "", after: str = "", note: str = ""
    ) -> None:
        """Add what somebody did.

        Raises:
            Misuse: It cannot follow what is there.
        """
        with self._lock:
            texts = {"field": field, "before": before, "after": after, "note": " ".join(note.split())[:LONGEST_NOTE]}
            entry = self.history.add(item, action, who, at=self._at(), **texts).entries[-1]
            self._append([entry])

    def _at(self) -> str:
        """This moment, or that of the last entry where a clock was set back."""
        entries = self.history.entries
        return max(self._clock(), entries[-1].at) if entries else self._clock()

    def _append(self, entries: list[HistoryEntry]) -> None:
        if not entries:
            return
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        if not self.path.is_file() or not self.path.stat().st_size:
            lines.writerow(COLUMNS)
        lines.writerows([str(value) for value in astuple(entry)] for entry in entries)
        with open(self.path, "a", encoding="utf-8", newline="") as handle:
            handle.write(text.getvalue())
            handle.flush()
            os.fsync(handle.fileno())


VERDICTS = (Action.APPROVED, Action.OBJECTED)
_REPLICATES = 500


def latest(history: History, people: Sequence[str]) -> dict[str, dict[str, HistoryEntry]]:
    """By item and person, their last verdict."""
    votes: dict[str, dict[str, HistoryEntry]] = {}
    for entry in history.entries:
        if entry.action in VERDICTS and entry.who in people:
            votes.setdefault(entry.item, {})[entry.who] = entry
    return votes


def queue(history: History, people: Sequence[str]) -> list[str]:
    """Items on which somebody decides: objected to, and not decided since, once every rater has had their say."""
    votes = latest(history, people)
    states = history.states()
    return [i for i, state in states.items() if state is ReviewState.DISPUTED and len(votes.get(i, {})) >= len(people)]


def progress(history: History, people: Sequence[str], items: Sequence[str]) -> dict[str, Any]:
    """How many items each has rated, and where all stand."""
    votes = latest(history, people)
    rated = {who: sum(who in votes.get(item, {}) for item in items) for who in people}
    states = Counter(str(state) for item, state in history.states().items() if item in set(items))
    return {"items": len(items), "rated": rated, "states": dict(states)}


def agreement_of(
    history: History, people: Sequence[str], videos: Mapping[str, str]
) -> tuple[list[dict[str, Any]], str]:
    """Coefficients of agreement with intervals (whole videos resampled), or why there are none."""
    rows = [
        (item, videos[item], who, _label(entry))
        for item, by in latest(history, people).items()
        if item in videos and len(by) > 1
        for who, entry in by.items()
    ]
    if not rows:
        return [], "no item has the verdicts of two raters yet"
    table = pl.DataFrame(rows, schema=("item", "video", "rater", "verdict"), orient="row")
    try:
        result = agreement(table, rater="rater", label="verdict", unit="item", video="video", replicates=_REPLICATES)
    except SurgvalidError as error:
        return [], str(error)
    return result.table.to_dicts(), " ".join(finding.text for finding in result.findings)


def _label(entry: HistoryEntry) -> str:
    """What counts as the same verdict: right, wrong, or wrong with the same correction."""
    return str(entry.action) if not entry.after else f"{entry.action}: {entry.after}"
