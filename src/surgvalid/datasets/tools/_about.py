"""What a file of an annotation tool may leave unsaid, what comes back from reading one, and what its values spell."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.errors import FileUnreadable, Misuse, ProcedureInvalid
from surgvalid.schema.findings import Finding
from surgvalid.schema.procedures.foreign_objects import INSTRUMENT, Declaration, declared
from surgvalid.schema.procedures.tracks import EventKind, Procedure

_HEAD_BYTES = 1 << 16


def head_of(path: Path) -> str:
    """How a file begins, as text; nothing of a folder.

    Raises:
        FileUnreadable: No such file.
    """
    if path.is_dir():
        return ""
    try:
        with open(path, "rb") as handle:
            head = handle.read(_HEAD_BYTES)
    except OSError as error:
        raise FileUnreadable(str(path), [error.strerror or "cannot be opened"]) from None
    wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    return head.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text exactly as it is.

    Raises:
        ProcedureInvalid: It holds half a character, which no file can.
    """
    try:
        Path(path).write_bytes(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        excerpt = text[max(0, error.start - 20) : error.end + 20]
        raise ProcedureInvalid(str(path), [f"a text holds what UTF-8 cannot write: {excerpt!a}"]) from None


def number(value: Any) -> float | None:
    """The finite number that `value` is or spells, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        return None
    return parsed if math.isfinite(parsed) else None


def whole(value: Any) -> int | None:
    """The whole number that `value` is or spells, or None."""
    parsed = number(value)
    return int(parsed) if parsed is not None and parsed.is_integer() and abs(parsed) < 1 << 53 else None


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing when it is no list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


UNKNOWN = "unknown"
"""Stands for a procedure type or centre that neither the file nor the caller told."""


_UPLOADED = re.compile(r"((?:.*[/\\])?)[0-9a-f]{8}(?:--?|__)(?=[^/\\]+$)")
"""What Label Studio puts before the name of a file that was uploaded."""


def before_upload(names: Sequence[str]) -> Sequence[str]:
    """The names without the mark of an upload, where all bear one."""
    return [_UPLOADED.sub(r"\1", name) for name in names] if all(map(_UPLOADED.match, names)) else names


class VideoFile(NamedTuple):
    """What a video file tells of itself."""

    width_px: int
    height_px: int
    fps: float | None = None
    duration_s: int | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What the caller knows about a file; it wins over what the file says.

    Raises:
        Misuse: A rate or size that cannot be.
    """

    video: str | None = None
    """Name of the video; for files of one video only."""
    procedure_type: str | None = None
    center: str | None = None
    patient: str | None = None
    patient_pattern: str | None = None
    """A regular expression whose first group, in the name of a video or still image, is the patient."""
    duration_s: int | None = None
    width_px: int | None = None
    height_px: int | None = None
    fps: float | None = None
    """Frames per second of the frame numbers in the file; where no one says, 1."""
    instruments: Collection[str] = ()
    """Labels that are instruments, not foreign objects."""
    annotated: Collection[str] = ()
    """What was looked for, in the words of `declared`; nothing where nobody says. `instrument:LABEL` is one more."""
    stills: bool = False
    """Whether every image is a video of its own, of one second."""
    video_files: Mapping[str, VideoFile] = field(default_factory=dict)
    """The video files of videos by name; that of the only video of a file may be called ''."""

    @property
    def declared(self) -> Declaration | None:
        """What was looked for, or None where nobody says."""
        words = [word for word in self.annotated if not word.startswith(INSTRUMENT)]
        return declared(words, kinds=tuple(EventKind)) if words else None

    def is_instrument(self, label: str) -> bool:
        """Whether a label is that of an instrument."""
        return label in self.instruments or INSTRUMENT + label in self.annotated

    @property
    def of_frames(self) -> bool:
        """Whether the caller tells what only frames of a video have."""
        return bool(self.fps or self.video or self.video_files)

    def patient_of(self, video: str) -> str | None:
        """The patient of a video, as the caller tells or as the pattern takes it from the name."""
        match = re.search(self.patient_pattern, video) if self.patient_pattern else None
        return self.patient or (match[1] if match else None)

    def video_file_of(self, video: str) -> VideoFile | None:
        """The video file of a video, by its name or by that under which it was uploaded."""
        names = (video, *before_upload([video]), "")
        return next((self.video_files[name] for name in names if name in self.video_files), None)

    def __post_init__(self) -> None:
        _ = self.declared  # an unknown word is refused here, not at the end of a long file
        try:
            groups = re.compile(self.patient_pattern or "()").groups
        except re.error as error:
            raise Misuse(f"patient pattern {self.patient_pattern!r}: {error}") from None
        if groups < 1:
            raise Misuse(f"patient pattern {self.patient_pattern!r} has no group in brackets, which is the patient")
        for name in ("fps", "duration_s", "width_px", "height_px"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e9:
                raise Misuse(f"{name} must be positive, got {value}")


class Annotations(NamedTuple):
    """What a file holds, and what was noticed while reading it."""

    procedures: list[Procedure]
    findings: list[Finding]
