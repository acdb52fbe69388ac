"""The content store: what was asked once is not asked again, whichever run asked it.

A folder of segments, JSON Lines that only grow. The key of a reply is a hash of everything that can change
it. Each reply goes out in one write as soon as it exists, so an interrupted run loses only the questions
under way. Every writer has a segment of its own, under a lock that ends with its process. Who claims a question
before he asks it asks nothing that another run asks at the same time; where two did all the same, the first line
counts. Failures are no replies and never stored.

The segments are the truth. What is kept in memory is where each key stands (16 bytes per reply), rebuilt at
opening: an index on disk would have to be trusted, and reading the beginnings of a million lines takes a second.
A single file is read as well, since stores were one file before; several runs may append to it too.

A claim locks one byte of an empty file, at a place that the key gives. A lock ends with its process, however that
ends: nothing is left behind that would have to be cleaned up or that could outlive its owner.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from surgvalid.asking.lines import LineFile, check_system, is_being_written, lines_set_aside, object_in, raw_lines
from surgvalid.errors import FileUnreadable, RunInterrupted
from surgvalid.schema.legacy import where_it_is

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PLACE_LETTERS = 15
"""Hexadecimal digits of a key that give the place: the longest that every system takes."""
_FLOCK = "hhqqi4x"
"""Kind, from where, place, length and process of a lock, as 64-bit Linux lays them out."""


class Claims:
    """Claims on questions by one run. Two of these in one process keep each other out as well, where the system can.

    Args:
        path: The file; made at the first claim.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    def take(self, key: str) -> bool:
        """Whether the question is this run's to ask, until it is given back; not so while another run asks it.

        Where files cannot be locked, such as on some network drives, every question is.

        Raises:
            OSError: The file cannot be made.
        """
        if self._fd < 0:
            check_system(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._lock(key, fcntl.F_WRLCK)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            return True
        return True

    def give_back(self, key: str) -> None:
        """Let others ask it: the reply is stored, or there is none."""
        if self._fd >= 0:
            self._lock(key, fcntl.F_UNLCK)

    def close(self) -> None:
        """Give back whatever is claimed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _lock(self, key: str, kind: int) -> None:
        place = int(key[:_PLACE_LETTERS], 16)
        if sys.platform == "linux" and sys.maxsize > 2**32:
            # Locks of an open file: those of a process would all end as soon as it closes the file anywhere.
            fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, place, 1, 0))
        else:
            fcntl.lockf(self._fd, fcntl.LOCK_UN if kind == fcntl.F_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)


VERDICT, ANSWER = "verdict", "answer"
_CLAIMS = ".claims"
_KEY_START, _KEY_LETTERS = b'{"key": "', 40
_OFFSET_BITS = 44
_FOLD = 65536
_READ = 4096
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Asked:
    """Everything that can change a reply."""

    kind: str
    """`verdict` or `answer`."""
    asker: str
    """The judge or the model."""
    content: tuple[Any, ...]
    """What it was shown, as plain data."""
    prompt: str = ""
    """Version of the prompt, the reading of the reply included."""
    revision: str = ""
    """Of the model: a commit or a digest, where the name alone does not fix it."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    media: str = ""
    """Hash of the plan by which media were cut, sampled and scaled."""

    @property
    def key(self) -> str:
        """The hash under which the reply is kept."""
        parts = [
            self.kind,
            self.asker,
            self.revision,
            sorted(self.parameters.items()),
            self.prompt,
            self.content,
            self.media,
        ]
        return hashed(parts)


def hashed(content: Any) -> str:
    """The hash of plain data: 40 hexadecimal digits."""
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=20).hexdigest()


class ContentStore:
    """Replies on disk, shared between runs, processes and threads.

    Args:
        path: A folder of segments, or one file of an earlier version; made at the first reply.

    Raises:
        FileUnreadable: The file exists and not one of its lines is a reply. Nothing is appended to
            somebody's other file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = where_it_is(path)
        self.problems: list[str] = []
        """Lines that could not be read and were not set aside before; what they held will be asked again."""
        self._one_file = self.path.is_file() or self.path.suffix == ".jsonl"
        self._segments: list[Path] = []
        self._files: dict[int, int] = {}
        self._keys, self._places = np.empty(0, np.uint64), np.empty(0, np.uint64)
        self._recent: dict[int, list[int]] = {}
        self._looked_up_to: dict[Path, int] = {}
        """Of each segment, where what was looked at ends."""
        self._writer: LineFile | None = None
        self._claims = Claims(self.path.with_name(self.path.name + _CLAIMS) if self._one_file else self.path / _CLAIMS)
        self._lock = threading.Lock()
        for segment in self.segments():
            self._scan(segment)
        self._fold()
        if self._one_file and self.problems and not len(self._keys):
            raise FileUnreadable(str(self.path), ["is no store of replies; choose another file", *self.problems])

    def segments(self) -> list[Path]:
        """The files of the store, in the order in which they count."""
        if self._one_file:
            return [self.path] if self.path.exists() else []
        with suppress(FileNotFoundError, NotADirectoryError):  # a glob takes several times as long
            names = sorted(os.listdir(self.path))
            return [self.path / name for name in names if name.startswith("segment-") and name.endswith(".jsonl")]
        return []

    def __len__(self) -> int:
        known = np.unique(self._keys)
        return len(known) + sum(not len(self._at(prefix)) for prefix in self._recent)

    def get(self, key: str, read: Callable[[Mapping[str, Any]], _Read | None]) -> _Read | None:
        """What `read` makes of the first stored row with this key that it can read, or None."""
        prefix = int(key[:16], 16)
        for place in [*self._at(prefix).tolist(), *self._recent.get(prefix, ())]:
            row = self._row(place)
            if row is None or row["key"] != key:
                continue
            if (reply := read(row)) is not None:
                return reply
            self._name(place, "no reply of this kind")
        return None

    def put(
        self, key: str, row: Mapping[str, Any], read: Callable[[Mapping[str, Any]], object] = lambda row: row
    ) -> None:
        """Keep a row, on disk when this returns; a row that is there already and can be read stays.

        Raises:
            RunInterrupted: It cannot be written.
        """
        with self._lock:
            if self.get(key, read) is not None:
                return
            line = json.dumps({"key": key, **row}).encode() + b"\n"
            try:
                if self._writer is None:
                    self._writer = self._open_writer()
                    self._note_added(self._writer.path)  # by who wrote it before
                offset = self._writer.add(line)
                if self._one_file:
                    self._note_added(self.path)  # by others meanwhile, and this line
                else:
                    self._note(self._writer.path, key, offset)
                    self._looked_up_to[self._writer.path] = offset + len(line)
            except OSError as error:
                raise self._unwritable(error) from None
            if len(self._recent) >= _FOLD:
                self._fold()

    def claim(self, key: str) -> bool:
        """Whether the question is the caller's to ask, until `release`; not so while another run asks it.

        What others have stored by now is known afterwards, so that whoever gets a claim looks once more before he asks.

        Raises:
            RunInterrupted: Nothing can be written where the store is, so that no reply could be stored either.
        """
        try:
            claimed = self._claims.take(key)
        except OSError as error:
            raise self._unwritable(error) from None
        if claimed:
            self.refresh()
        return claimed

    def release(self, key: str) -> None:
        """Give a claim back: the reply is stored, or there is none."""
        self._claims.give_back(key)

    def refresh(self) -> None:
        """Take note of what other writers added; lines in another form than ours wait for the next opening."""
        with self._lock:
            for segment in self.segments():
                self._note_added(segment)

    def _unwritable(self, error: OSError) -> RunInterrupted:
        why = error.strerror or type(error).__name__
        return RunInterrupted(f"store {self.path}: cannot be written ({why}); nothing stored is lost; free or move it")

    def _note_added(self, segment: Path) -> None:
        start = self._looked_up_to.get(segment, 0)
        if segment.stat().st_size <= start:
            return
        with open(segment, "rb") as handle:
            handle.seek(start)
            for raw in handle:
                if not raw.endswith(b"\n"):
                    break  # still on its way
                if (key := _plain_key(raw)) is not None and _is_key(key):
                    self._note(segment, key, start)
                start += len(raw)
        self._looked_up_to[segment] = start

    def _note(self, segment: Path, key: str, offset: int) -> None:
        place = self._number_of(segment) << _OFFSET_BITS | offset
        self._recent.setdefault(int(key[:16], 16), []).append(place)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Every stored row once, the first of equal keys, read from disk one by one."""
        self._fold()
        for place in np.sort(self._places).tolist():
            row = self._row(place)
            if row is None:
                continue
            earlier = [other for other in self._at(int(row["key"][:16], 16)).tolist() if other < place]
            if not any((other := self._row(first)) and other["key"] == row["key"] for first in earlier):
                yield row

    def close(self) -> None:
        """Give up the segment and close the files; the store can still be read."""
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            self._claims.close()
            for descriptor in self._files.values():
                os.close(descriptor)
            self._files.clear()

    def __enter__(self) -> ContentStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _scan(self, segment: Path) -> None:
        """Add where the keys of a segment stand; only lines in another form than ours are read whole."""
        number, keys, places = self._number_of(segment), array("Q"), array("Q")
        offset, aside = 0, lines_set_aside(segment)
        for line, raw in raw_lines(segment):
            if aside and raw.removesuffix(b"\n") in aside:
                key: str | None = None
            else:
                key = _plain_key(raw) or self._key_in(segment, line, raw)
            if key is not None and _is_key(key):
                keys.append(int(key[:16], 16))
                places.append(number << _OFFSET_BITS | offset)
            offset += len(raw)
            self._looked_up_to[segment] = offset if raw.endswith(b"\n") else offset - len(raw)
        self._keys = np.concatenate([self._keys, np.array(keys, np.uint64)])
        self._places = np.concatenate([self._places, np.array(places, np.uint64)])

    def _key_in(self, segment: Path, line: int, raw: bytes) -> str | None:
        row = object_in(raw)
        if isinstance(row, Mapping) and isinstance(key := row.get("key"), str) and _is_key(key) and raw.endswith(b"\n"):
            return key
        if raw.strip() and (raw.endswith(b"\n") or not is_being_written(segment)):
            what = row if isinstance(row, str) else "cut off" if not raw.endswith(b"\n") else "no stored reply"
            self.problems.append(f"{segment.name} line {line}: {what}")
        return None

    def _fold(self) -> None:
        """Bring all places into order of their keys; equal keys stay in the order of their lines."""
        prefixes = [prefix for prefix, places in self._recent.items() for _ in places]
        keys = np.concatenate([self._keys, np.array(prefixes, np.uint64)])
        recent = np.array([place for places in self._recent.values() for place in places], np.uint64)
        places = np.concatenate([self._places, recent])
        order = np.lexsort((places, keys))
        self._keys, self._places, self._recent = keys[order], places[order], {}

    def _at(self, prefix: int) -> np.ndarray:
        low, high = (np.searchsorted(self._keys, np.uint64(prefix), side) for side in ("left", "right"))
        return self._places[low:high]

    def _row(self, place: int) -> Mapping[str, Any] | None:
        number, offset = place >> _OFFSET_BITS, place & ((1 << _OFFSET_BITS) - 1)
        if number not in self._files:
            check_system(self._segments[number])
            self._files[number] = os.open(self._segments[number], os.O_RDONLY | os.O_CLOEXEC)
        raw, size = b"", _READ
        while not raw.endswith(b"\n"):
            raw = os.pread(self._files[number], size, offset)
            if (newline := raw.find(b"\n")) >= 0:
                raw = raw[: newline + 1]
            elif len(raw) < size:
                break
            size *= 4
        row = object_in(raw)
        if isinstance(row, Mapping) and isinstance(row.get("key"), str):
            return row
        self._name(place, row if isinstance(row, str) else "no stored reply")
        return None

    def _name(self, place: int, what: str) -> None:
        number, offset = place >> _OFFSET_BITS, place & ((1 << _OFFSET_BITS) - 1)
        problem = f"{self._segments[number].name} byte {offset}: {what}"
        if problem not in self.problems:
            self.problems.append(problem)

    def _number_of(self, segment: Path) -> int:
        if segment not in self._segments:
            self._segments.append(segment)
        return self._segments.index(segment)

    def _open_writer(self) -> LineFile:
        """The first segment that nobody writes, or a new one."""
        if self._one_file:
            return LineFile(self.path, alone=False)
        numbers = count(1)
        while True:
            with suppress(BlockingIOError):
                return LineFile(self.path / f"segment-{next(numbers):03}.jsonl", lock=True)


def _plain_key(raw: bytes) -> str | None:
    """The key of a line as it is written here, found without reading the rest."""
    end = _KEY_LETTERS + len(_KEY_START)
    if raw.startswith(_KEY_START) and raw.endswith(b"}\n") and raw[end : end + 1] == b'"':
        return raw[len(_KEY_START) : end].decode("ascii", "replace")
    return None


def _is_key(key: str) -> bool:
    return len(key) == _KEY_LETTERS and all(letter in "0123456789abcdef" for letter in key)
