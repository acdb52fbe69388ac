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
from itertools import combinations
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from surgvalid.errors import Misuse, SurgvalidError, TableInvalid
from surgvalid.questions.stages.history import (
    VERDICTS,
    Action,
    History,
    HistoryEntry,
    ReviewState,
    entries_from,
    entry_problem,
    standing,
)
from surgvalid.stats.agreement.report import agreement

COLUMNS = tuple(HistoryEntry.__dataclass_fields__)
LONGEST_NOTE = 2_000


def now() -> str:
    """This moment (ISO 8601, UTC)."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class ReviewLog:
    """The history in a file. What others append is seen; what is there is read once and never written again."""

    def __init__(self, path: Path, *, clock: Callable[[], str] = now) -> None:
        self.path, self._clock, self._lock = path, clock, Lock()
        self._read_bytes = 0
        self._entries: list[HistoryEntry] = []
        self._of: dict[str, list[HistoryEntry]] = {}

    @property
    def history(self) -> History:
        """Everything so far.

        Raises:
            TableInvalid: The file is no history.
        """
        self._read_on()
        return History(tuple(self._entries))

    def of(self, item: str) -> list[HistoryEntry]:
        """What still counts of what was done to one item."""
        self._read_on()
        return standing(self._of.get(item, ()))

    def _read_on(self) -> None:
        """Take in what was appended since the last look."""
        size = self.path.stat().st_size if self.path.is_file() else 0
        if size < self._read_bytes:
            self._read_bytes, self._entries, self._of = 0, [], {}
        if size == self._read_bytes:
            return
        with open(self.path, "rb") as handle:
            handle.seek(self._read_bytes)
            data = handle.read()
        data = data[: data.rfind(b"\n") + 1]
        new = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), COLUMNS))
        if not self._read_bytes and tuple(new.pop(0).values()) != COLUMNS:
            raise TableInvalid(str(self.path), [f"the columns must be {', '.join(COLUMNS)}"])
        self._read_bytes += len(data)
        last_at = self._entries[-1].at if self._entries else ""
        for entry in entries_from(new, known=self._of, last_at=last_at):
            self._entries.append(entry)
            self._of.setdefault(entry.item, []).append(entry)

    def propose(self, items: Iterable[str], who: str) -> None:
        """Add the items that nobody proposed yet."""
        with self._lock:
            self._read_on()
            at = self._at()
            append(self.path, [HistoryEntry(item, Action.PROPOSED, who, at) for item in items if item not in self._of])

    def add(
        self, item: str, action: Action, who: str, *, field: str = "", before: str = "", after: str = "", note: str = ""
    ) -> None:
        """Add what somebody did.

        Raises:
            Misuse: It cannot follow what is there.
        """
        with self._lock:
            self._read_on()
            at, note = self._at(), " ".join(note.split())[:LONGEST_NOTE]
            entry = HistoryEntry(item, action, who, at, field, before, after, note)
            if problem := entry_problem(entry, item in self._of, at):
                raise Misuse(problem)
            append(self.path, [entry])

    def _at(self) -> str:
        """This moment, or that of the last entry where a clock was set back."""
        return max(self._clock(), self._entries[-1].at) if self._entries else self._clock()


def append(path: Path, entries: Iterable[HistoryEntry]) -> None:
    """Add entries to the file of a history; what stands there is not touched."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    if not path.is_file() or not path.stat().st_size:
        lines.writerow(COLUMNS)
    lines.writerows([str(value) for value in astuple(entry)] for entry in entries)
    with open(path, "a", encoding="utf-8", newline="") as handle:
        handle.write(text.getvalue())
        handle.flush()
        os.fsync(handle.fileno())


_REPLICATES = 500
NEARLY_ALL = 0.8
"""From this share of equal verdicts on, kappa says little."""


def latest(history: History) -> dict[str, dict[str, HistoryEntry]]:
    """By item and person, their last verdict that they did not take back."""
    of_item: dict[str, list[HistoryEntry]] = {}
    for entry in history.entries:
        if entry.action in (*VERDICTS, Action.UNDONE):
            of_item.setdefault(entry.item, []).append(entry)
    return {item: votes for item, listed in of_item.items() if (votes := {e.who: e for e in standing(listed)})}


def work_lists(items: Sequence[str], raters: Sequence[str]) -> dict[str, Sequence[str]]:
    """By item, the two raters who see it: pairs take turns, so that every pair sees as many of every kind."""
    pairs = list(combinations(raters, min(2, len(raters))))
    return {item: pairs[place % len(pairs)] for place, item in enumerate(items)}


def queue(history: History, lists: Mapping[str, Sequence[str]]) -> list[str]:
    """Items on which somebody decides: objected to, not decided since, once all who see them have had their say."""
    votes, states = latest(history), history.states()
    return [
        item
        for item, people in lists.items()
        if states.get(item) is ReviewState.DISPUTED and votes.get(item, {}).keys() >= {*people}
    ]


def progress(history: History, raters: Sequence[str], lists: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """How many items of their list each has rated, and where all stand."""
    votes, mine = latest(history), {who: [i for i, people in lists.items() if who in people] for who in raters}
    rated = {who: [sum(who in votes.get(item, {}) for item in items), len(items)] for who, items in mine.items()}
    return {"rated": rated, "states": dict(Counter(str(s) for i, s in history.states().items() if i in lists))}


def agreement_of(history: History, videos: Mapping[str, str]) -> tuple[list[dict[str, Any]], str]:
    """Coefficients of agreement with intervals (whole videos resampled), or why there are none."""
    rows = [
        (item, videos[item], who, _label(entry))
        for item, by in latest(history).items()
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
    texts = [finding.text for finding in result.findings]
    top = table["verdict"].value_counts(sort=True)["count"][0] / table.height
    if top >= NEARLY_ALL:
        texts.append(
            f"{100 * top:.0f} % of the verdicts are the same. Kappa can then be low however well raters agree, since "
            "it takes most agreement for chance; percent agreement and Gwet's AC1 say more."
        )
    return result.table.to_dicts(), " ".join(texts)


def _label(entry: HistoryEntry) -> str:
    """What counts as the same verdict: right, wrong, or wrong with the same correction."""
    return str(entry.action) if not entry.after else f"{entry.action}: {entry.after}"
