"""What a file of an annotation tool may leave unsaid, and what comes back from reading one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from surgeval.errors import Misuse
from surgeval.schema.declaration import Declaration, declared
from surgeval.schema.findings import Finding
from surgeval.schema.tracks import EventKind, Procedure

UNKNOWN = "unknown"
"""Stands for a procedure type or centre that neither the file nor the caller told."""


_UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
"""What Label Studio puts before the name of a file that was uploaded."""


class Film(NamedTuple):
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
    duration_s: int | None = None
    width_px: int | None = None
    height_px: int | None = None
    fps: float | None = None
    """Frames per second of the frame numbers in the file; where no one says, 1."""
    instruments: Collection[str] = ()
    """Labels that are instruments, not foreign objects."""
    annotated: Collection[str] = ()
    """What was looked for, in the words of `declared`; nothing where nobody says."""
    stills: bool = False
    """Whether every image is a video of its own, of one second."""
    films: Mapping[str, Film] = field(default_factory=dict)
    """The films of videos by name; that of the only video of a file may be called ''."""

    @property
    def declared(self) -> Declaration | None:
        """What was looked for, or None where nobody says."""
        return declared(self.annotated, kinds=tuple(EventKind)) if self.annotated else None

    def film_of(self, video: str) -> Film | None:
        """The film of a video, by its name or by that under which it was uploaded."""
        names = (video, _UPLOADED.sub("", video, count=1), "")
        return next((self.films[name] for name in names if name in self.films), None)

    def __post_init__(self) -> None:
        _ = self.declared  # an unknown word is refused here, not at the end of a long file
        for name in ("fps", "duration_s", "width_px", "height_px"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e9:
                raise Misuse(f"{name} must be positive, got {value}")


class Annotations(NamedTuple):
    """What a file holds, and what was noticed while reading it."""

    procedures: list[Procedure]
    findings: list[Finding]
