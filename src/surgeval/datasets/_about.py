"""What a file of an annotation tool may leave unsaid, and what comes back from reading one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from surgeval.errors import Misuse
from surgeval.schema.findings import Finding
from surgeval.schema.tracks import Procedure

UNKNOWN = "unknown"
"""Stands for a procedure type or centre that neither the file nor the caller told."""


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

    def __post_init__(self) -> None:
        for name in ("fps", "duration_s", "width_px", "height_px"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e9:
                raise Misuse(f"{name} must be positive, got {value}")


class Annotations(NamedTuple):
    """What a file holds, and what was noticed while reading it."""

    procedures: list[Procedure]
    findings: list[Finding]
