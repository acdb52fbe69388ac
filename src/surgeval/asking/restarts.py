"""How often the container of each video had to be started again: counted as it happens, restored from the journal.

A container is lost when it ends, does not answer `GET /health` in time or never becomes ready. Starting another
one for the same video is a restart, of which each video has as many as the rules say; what one video spent is not
missing in the next. Nothing is kept in memory that the journal does not hold, so a run that was killed and goes on
has spent what it had spent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from surgeval.asking.journal import read_events, read_journal

STARTED, START_FAILED, GAVE_UP = "started", "start_failed", "gave_up"


class Restarts:
    """The restarts of a run, by video."""

    def __init__(self, *, most: int, most_unready: int) -> None:
        self._most, self._most_unready = most, most_unready
        self.spent: Counter[str] = Counter()
        self.lost_in: str | None = None
        """The video whose question lost the container, until another one is started."""
        self.sessions = 0
        """Containers so far; each is known by its number."""
        self._was_ready = False
        self._given_up: set[str] = set()

    def restore(self, folder: Path, current: Collection[str]) -> None:
        """Take over what an earlier part of the run spent; `current` are the cases that share the next container."""
        last: dict[str, str] = {}
        for event in read_events(folder):
            if event["event"] in (STARTED, START_FAILED):
                self.note_start(event["video"], ready=event["event"] == STARTED, planned=event["planned"])
                self.sessions, last = event["session"], event
            elif event["event"] == GAVE_UP:
                self._given_up.add(event["video"])
        broke = any(record.broke and record.session == self.sessions for record in read_journal(folder))
        if broke:
            self.lost_in = last["video"]
        if last and last["case"] not in current:
            self.next_group()

    def is_planned(self, video: str) -> bool:
        """Whether the next start is none that the last container made necessary."""
        return self.lost_in != video

    def refusal(self, video: str) -> str:
        """Why no container is started any more for a question about this video; empty when one is."""
        if not self._was_ready and len(self._given_up - {video}) >= self._most_unready:
            return f"no container became ready for {len(self._given_up - {video})} videos; no other was tried"
        if not self.is_planned(video) and self.spent[video] >= self._most:
            return f"no restart is left after {self.spent[video]} for this video"
        return ""

    def note_start(self, video: str, *, ready: bool, planned: bool) -> None:
        """Count a start that took place."""
        self.spent[video] += not planned
        self._was_ready |= ready
        self.lost_in = None if ready else video

    def give_up(self, video: str) -> bool:
        """Whether this is the first question of the video that is given up."""
        first = video not in self._given_up
        self._given_up.add(video)
        return first

    def next_group(self) -> None:
        """The container of one group of questions is not that of the next, whatever became of it."""
        self.lost_in = None
