"""The journal of a run: each answer on disk before the next question is asked.

`answers.jsonl` has one line per question, in the order asked; `events.jsonl` says what happened besides
(starts, restarts, repeats). Both only grow. A line that a kill cut off is set aside when the run goes
on, and its question is asked again. Against a full disk the journal holds a reserve: it is given up so that the
answer just received is still written, and then the run stops.

Restarts are counted from it: a container is lost when it ends, does not answer `GET /health` in time or never becomes
ready. Starting another one for the same video is a restart, of which each video has as many as the rules say; what one
video spent is not missing in the next. Nothing is kept in memory that the journal does not hold, so a run that was
killed and goes on has spent what it had spent.
"""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from surgvalid.asking.lines import DAMAGED, LineFile
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.errors import FileUnreadable, Misuse, RunInterrupted
from surgvalid.schema.documents import json_text
from surgvalid.schema.shown_text import visible_log

ANSWERS, EVENTS, RUN, RESERVE = "answers.jsonl", "events.jsonl", "run.json", "reserve"
LOG, TROUBLE_LOG = "log.txt", "log-of-trouble.txt"
_LOCK = ".lock"
_NAMED = 5
_RESERVE_BYTES = 256 * 1024
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


@dataclass(frozen=True, slots=True)
class Record:
    """What became of one question, measured here."""

    case: str
    video: str
    outcome: ExchangeOutcome
    latency_s: float = 0.0
    content: str | None = None
    detail: str = ""
    extra: Mapping[str, Any] | None = None
    session: int = 0
    """Number of the container within the run, from 1."""
    attempt: int = 1
    """Above 1 when it was asked again after a failure on our side."""
    usage: Mapping[str, float] | None = None
    """What the container used for this answer, as the kernel counts it."""
    broke: bool = False
    """Whether the container was lost with this question."""

    def as_line(self) -> bytes:
        """The line of the journal, empty fields left out."""
        row = {key: value for key, value in asdict(self).items() if value not in (None, "") and value is not False}
        return json_text(row).encode("utf-8") + b"\n"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Record:
        """The record in a line of the journal."""
        known = {key: value for key, value in row.items() if key in cls.__dataclass_fields__}
        return cls(**known | {"outcome": ExchangeOutcome(row["outcome"])})


class Journal:
    """Answers and events of one run, in a folder. Use as a context manager."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        """Open the journal of the run with this identity; an earlier part of it is kept.

        Raises:
            Misuse: The folder holds another run, or another process is at work in it.
            FileUnreadable: The folder holds a journal that cannot be read.
        """
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder)
        try:
            self.resumed = _claim(folder / RUN, identity)
        except BaseException:
            os.close(self._lock)
            raise
        self._answers = LineFile(folder / ANSWERS, sync=True)
        self._events = LineFile(folder / EVENTS, sync=True)
        self._reserve = folder / RESERVE
        _reserve(self._reserve)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def done(self) -> set[str]:
        """The cases with a final outcome so far; a failure on our side is none."""
        records = read_journal(self.folder)
        return {record.case for record in records if record.outcome is not ExchangeOutcome.INFRA_ERROR}

    def add(self, record: Record) -> None:
        """Store a record; when this returns it survives the end of this process.

        Raises:
            RunInterrupted: The disk is full. The record was stored nevertheless if any way was left.
        """
        self._write(self._answers, record.as_line(), f"the answer to {record.case}")

    def event(self, what: str, **facts: Any) -> None:
        """Store what happened besides answers, and when."""
        self._write(self._events, _event_line(what, facts), f"the event {what!r}")

    def keep_log(self, printed: bytes, *, in_trouble: bool) -> None:
        """Keep the end of what the last container printed, and of the last one in which an answer was lost.

        These words are not worth a run: where the disk is full they are left out. Nor may they steer the terminal of
        whoever reads them.
        """
        for name in (LOG, TROUBLE_LOG) if in_trouble and printed.strip() else (LOG,):
            with suppress(OSError):
                (self.folder / name).write_bytes(visible_log(printed))

    def close(self) -> None:
        """Close the files and give the reserve back."""
        self._answers.close()
        self._events.close()
        with suppress(OSError):
            self._reserve.unlink(missing_ok=True)
        os.close(self._lock)

    def _write(self, lines: LineFile, line: bytes, what: str) -> None:
        try:
            lines.add(line)
            return
        except OSError as error:
            if error.errno not in _FULL:
                raise RunInterrupted(f"{lines.path}: cannot be written ({error.strerror}); nothing stored is lost")
        with suppress(OSError):
            self._reserve.unlink(missing_ok=True)
        try:
            lines.add(line)
            fate = "was still stored"
        except OSError:
            fate = "could not be stored and will be asked again"
        raise RunInterrupted(
            f"{lines.path}: the disk is full; {what} {fate}. Free some space and run the same command again: "
            "it goes on after the last stored answer"
        )


def append_event(folder: Path, what: str, **facts: Any) -> None:
    """Store something about a run that has ended."""
    lines = LineFile(folder / EVENTS, sync=True)
    try:
        lines.add(_event_line(what, facts))
    finally:
        lines.close()


def _event_line(what: str, facts: Mapping[str, Any]) -> bytes:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json_text({"event": what, "at": now, **facts}).encode() + b"\n"


def read_journal(folder: str | Path) -> Iterator[Record]:
    """The records of a run, one by one, whether it has ended or not.

    Raises:
        FileUnreadable: A line is no record.
    """
    path = Path(folder) / ANSWERS
    with open(path, "rb") as handle:
        for number, line in enumerate(handle, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield Record.from_row(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise FileUnreadable(str(path), [f"line {number} is no record of an answer"]) from None


def read_events(folder: str | Path) -> Iterator[dict[str, Any]]:
    """What happened in a run besides answers, in order; nothing where there is no run."""
    with suppress(FileNotFoundError), open(Path(folder) / EVENTS, encoding="utf-8") as handle:
        for line in handle:
            if line.endswith("\n"):
                yield json.loads(line)


def final_records(folder: str | Path) -> Iterator[Record]:
    """One record per question: a failure on our side is left out where the question was asked again."""
    failed = {record.case for record in read_journal(folder) if record.outcome is ExchangeOutcome.INFRA_ERROR}
    if failed:
        failed -= {
            r.case for r in read_journal(folder) if r.case in failed and r.outcome is not ExchangeOutcome.INFRA_ERROR
        }
    for record in read_journal(folder):
        if record.outcome is not ExchangeOutcome.INFRA_ERROR:
            yield record
        elif record.case in failed:
            failed.discard(record.case)
            yield record


def stored_run(folder: str | Path) -> dict[str, Any] | None:
    """What a run folder says about the run in it; None when there is none.

    Raises:
        FileUnreadable: The description is broken.
    """
    path = Path(folder) / RUN
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise FileUnreadable(str(path), ["not the description of a run; choose another folder"]) from None
    if not isinstance(settings, dict):
        raise FileUnreadable(str(path), ["not the description of a run; choose another folder"])
    return settings


def forget_run(folder: Path) -> None:
    """Remove the journal in a folder, so that another run can begin there; other files stay.

    Raises:
        Misuse: Another process is at work in it.
    """
    if not folder.is_dir():
        return
    lock = _locked(folder)
    for name in (ANSWERS, EVENTS, RUN, RESERVE, LOG, TROUBLE_LOG, ANSWERS + DAMAGED, EVENTS + DAMAGED):
        (folder / name).unlink(missing_ok=True)
    os.close(lock)


def is_at_work(folder: Path) -> bool:
    """Whether a process is at work in the folder of a run."""
    try:
        os.close(_locked(folder))
    except Misuse:
        return True
    return False


def _locked(folder: Path) -> int:
    """The descriptor that keeps others out of a run's folder until it is closed, or this process ends."""
    import fcntl  # only what runs programs needs it, and that is no Windows machine

    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise Misuse(f"{folder}: another process is at work in it; wait for it, or choose another folder") from None
    return lock


def _claim(path: Path, identity: Mapping[str, Any]) -> bool:
    """Store the identity of the run, or check that the stored one is the same; whether it was stored before."""
    wanted = json.loads(json.dumps(identity, default=str))
    stored = stored_run(path.parent)
    if stored is None:
        draft = path.with_name(path.name + ".part")
        draft.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
        draft.rename(path)
        return False
    if different := list(_differences(wanted, stored)):
        more = f" and {len(different) - _NAMED} more" if len(different) > _NAMED else ""
        raise Misuse(
            f"{path.parent} holds another run: {', '.join(different[:_NAMED])}{more} differ; "
            "choose another folder; a rehearsal starts over with --force"
        )
    return True


def _differences(wanted: Mapping[str, Any], stored: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """What differs between two descriptions, by name, down to the entry."""
    for key in sorted({*wanted, *stored}):
        one, other = wanted.get(key), stored.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _differences(one, other, f"{above}{key}: ")
        elif one != other:
            yield f"{above}{key}"


def _reserve(path: Path) -> None:
    with suppress(OSError), open(path, "wb") as handle:
        handle.write(b"\0" * _RESERVE_BYTES)


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
