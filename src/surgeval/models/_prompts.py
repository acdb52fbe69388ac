"""Published prompts: the words for each track and format, and how many frames are shown, in a file with a version."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable, InputInvalid, UnknownName
from surgeval.models._long_video.forms import form_of
from surgeval.schema.formats import FORMATS
from surgeval.schema.questions import TRACK_LIMITS_S, Request

_FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True)
class Prompts:
    """How questions are put."""

    name: str
    system: str
    tracks: Mapping[str, str]
    formats: Mapping[str, str]
    frames: Mapping[str, int]

    def words(self, track: str, request: Request) -> tuple[str, str]:
        """What is entry before and after a question of a track."""
        name, _ = form_of(request.question, request.start_s, request.end_s, ("any class",))
        return self.tracks[track], self.formats[name]


def published() -> list[str]:
    """The prompts that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def read_prompts(which: str | Path) -> Prompts:
    """The prompts of a published name, or of a file.

    Raises:
        UnknownName: It is neither.
        FileUnreadable: The file is no TOML.
        InputInvalid: Something is missing or too much; every problem is listed.
    """
    path = _FOLDER / f"{which}.toml"
    if not path.is_file():
        path = Path(which)
        if not path.is_file():
            raise UnknownName("prompts", str(which), published())
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise FileUnreadable(str(path), [f"not readable as TOML ({error})"]) from None
    if problems := _problems(content):
        raise InputInvalid(str(path), problems)
    tracks = content["tracks"]
    return Prompts(
        content["name"], content["system"].strip(), {track: tracks[track]["text"].strip() for track in tracks},
        content["formats"], {track: tracks[track]["frames"] for track in tracks},
    )  # fmt: skip


def _problems(content: dict[str, Any]) -> list[str]:
    problems = [
        f"{key!r} must be a text" for key in ("name", "system") if not isinstance(content.get(key), str)
    ]  # fmt: skip
    for table, known in (("tracks", tuple(TRACK_LIMITS_S)), ("formats", tuple(FORMATS))):
        given = content.get(table)
        names = set(given) if isinstance(given, dict) else set()
        problems += [f"[{table}] lacks {name!r}" for name in known if name not in names]
        problems += [
            f"[{table}] has {name!r}, which is none of {', '.join(known)}" for name in sorted(names - {*known})
        ]
    for track, entry in content["tracks"].items() if isinstance(content.get("tracks"), dict) else ():
        count = entry.get("frames") if isinstance(entry, dict) else None
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            problems.append(f"[tracks.{track}] must have frames, a whole number of at least 1")
        if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
            problems.append(f"[tracks.{track}] must have a text")
    formats = content.get("formats")
    if isinstance(formats, dict):
        problems += [
            f"[formats] {name!r} must be a text" for name, text in formats.items() if not isinstance(text, str)
        ]
    return problems
