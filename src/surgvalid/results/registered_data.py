"""What a registration says of the data: the planned number of videos, exclusions with reasons, the cases first seen.

Settings alone bind nothing: who may choose the patients afterwards can show nearly anything with the settings of
before. So a run under a registration counts its videos against the planned number, and each that was excluded stands
there by name with a reason. The names of the cases of the first run of a verb are kept beside the registration
(`looks.json`) as hashes with a salt: nobody reads a patient's name there, and a later run with other cases is noticed.
Each run is added to that file with its deviations, and its hash goes into the result: two first looks have two hashes.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_json

LOOKS = "looks.json"
SIZE, CASES, ADDED = "sample_size", "cases", "added"
"""What a reason is given for where the data differ, beside the names of excluded videos."""
_SEEN: ContextVar[set[tuple[str, str]] | None] = ContextVar("_SEEN", default=None)


@contextmanager
def seen_cases() -> Iterator[set[tuple[str, str]]]:
    """Video and case of all that is analysed while it is open."""
    seen: set[tuple[str, str]] = set()
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


def note_cases(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows as they are, their videos and cases noted; of rows that name neither nothing is known."""
    names = [name for name in ("patient", "video", "case") if name in frame.columns]
    if (seen := _SEEN.get()) is not None and names:
        columns = (frame[name].cast(pl.String) for name in (names[0], names[-1]))
        seen.update((video, case) for video, case in zip(*columns, strict=True) if video is not None)
    return frame


def read_looks(registration: Path, sha256: str) -> dict[str, Any]:
    """What was run under the registration in a file: `salt`, `first` by verb, `runs`; all new where nothing was.

    Raises:
        FileUnreadable: The file is not what surgvalid writes.
    """
    path = registration.with_name(LOOKS)
    new = {"registration": sha256, "salt": secrets.token_hex(16), "first": {}, "runs": []}
    if not path.is_file():
        return new
    stored = read_json(path)
    if not isinstance(stored, dict) or any(type(stored.get(key)) is not type(new[key]) for key in new):
        raise FileUnreadable(str(path), ["no record of runs under a registration"])
    return stored if stored["registration"] == sha256 else new


class DataDifferences(NamedTuple):
    """How the data of a run differ from what was registered and first seen, in words by what needs a reason."""

    explainable: dict[str, str]
    unnamed: str
    """What no reason given for all of it together explains; empty where there is nothing."""


def data_differences(
    planned: int | None, looks: Mapping[str, Any], verb: str, seen: set[tuple[str, str]], named: set[str]
) -> DataDifferences:
    """The differences of a run, where `named` are the videos that a reason is given for."""
    videos, salt = {video for video, _ in seen}, str(looks["salt"])
    words = {name: f"{name} was excluded" for name in sorted(named - videos)}
    excluded = {_hash(salt, name) for name in words}
    if planned is not None and len(videos) + len(words) != planned:
        also = f" and {len(words)} excluded" if words else ""
        words[SIZE] = f"{SIZE} is {len(videos)}{also}, registered was {planned}"
    if (first := looks["first"].get(verb)) is None:
        return DataDifferences(words, "")
    here, now = {_hash(salt, name) for name in videos}, {_hash(salt, *pair) for pair in seen}
    if thinned := len({first["cases"][one] for one in first["cases"].keys() - now} & here):
        words[CASES] = f"{CASES} of the first look are missing in {thinned} videos"
    if new := len(now - first["cases"].keys()):
        words[ADDED] = f"{new} cases were {ADDED} after the first look"
    lost = len(set(first["videos"]) - here - excluded)
    unnamed = f"{lost} videos of the first look are not here; name each with --deviation NAME=REASON" if lost else ""
    return DataDifferences(words, unnamed)


def add_run(
    registration: Path, looks: dict[str, Any], verb: str, seen: set[tuple[str, str]], deviations: Mapping[str, Any]
) -> str:
    """Keep a run beside its registration, and give the hash of the first look of its verb."""
    salt, today = str(looks["salt"]), datetime.now(UTC).date().isoformat()
    names = sorted({_hash(salt, video) for video, _ in seen})
    cases = dict(sorted((_hash(salt, *pair), _hash(salt, pair[0])) for pair in seen))
    first = looks["first"].setdefault(verb, {"date": today, "videos": names, "cases": cases})
    run = {"verb": verb, "videos": len(names), "cases": len(cases), "deviations": deviations}
    if run not in [{key: one.get(key) for key in run} for one in looks["runs"]]:
        looks["runs"].append({"date": today, **run})
    path = registration.with_name(LOOKS)
    waiting = path.with_name(f".{LOOKS}.{os.getpid()}")
    waiting.write_text(json.dumps(looks, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace")
    os.replace(waiting, path)
    return _hash(salt, json.dumps(first, sort_keys=True))


def _hash(*names: str) -> str:
    return hashlib.sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:32]
