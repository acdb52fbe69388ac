"""The history of a review as a file to which lines are only ever added, also while others add to it."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from surgeval.questions.stages.history import Action, Entry, History, history_from
from surgeval.schema.table_files import read_frame

COLUMNS = tuple(Entry.__dataclass_fields__)
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
            self._append([Entry(item, Action.PROPOSED, who, at) for item in items if item not in known])

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

    def _append(self, entries: list[Entry]) -> None:
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
