"""Where images and videos of cases lie below a root: places with columns in braces, and `*` for any one folder."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from surgeval.errors import Misuse

_DIGITS = re.compile(r"\d+")
_IMAGES = (".png", ".jpg", ".jpeg")
_FORMATTER = string.Formatter()


class Places:
    """Finds files of cases; folders that `*` stands for are listed once."""

    def __init__(self, root: Path, templates: Sequence[str]) -> None:
        self.root, self.templates = root, tuple(templates)
        self._bases = [list(_bases(root, template)) for template in templates]

    def file(self, case: Mapping[str, Any]) -> Path | None:
        """The first file of a case that is there; None where there is none."""
        return next((path for path in self._candidates(case) if path.is_file()), None)

    def looked_for(self, case: Mapping[str, Any]) -> str:
        """The places that were looked at, in words."""
        named = [text for template in self.templates if (text := filled_place(template, case)) is not None]
        return " or ".join(named) or "no place: the case lacks the columns that places name"

    def _candidates(self, case: Mapping[str, Any]) -> list[Path]:
        paths = []
        for template, bases in zip(self.templates, self._bases, strict=True):
            place = filled_place(template, case)
            if place is not None:
                tail = place.rpartition("*/")[2]
                paths += [path for base in bases if (path := _inside(base, tail, self.root)) is not None]
        return paths


def _bases(root: Path, template: str) -> list[Path]:
    """The folders that the part of a place up to its last `*` stands for."""
    head, star, _ = template.rpartition("*/")
    if not star:
        return [root]
    if "{" in head:
        raise Misuse(f"the place {template!r} names a column before a '*'")
    return sorted(path for path in root.glob(f"{head}*") if path.is_dir())


def _inside(base: Path, place: str, root: Path) -> Path | None:
    """The path of a place, unless it would lead out of the root."""
    if PurePosixPath(place).is_absolute() or ".." in PurePosixPath(place).parts:
        return None
    path = base / place
    return path if path.resolve().is_relative_to(root.resolve()) or path.is_symlink() else None


def filled_place(template: str, case: Mapping[str, Any]) -> str | None:
    """A place with the columns of a case filled in; None where the case lacks one.

    Beside its columns a case has `number`, the digits of its video, and the pieces of its name between slashes: `c0`,
    `c1`, ... as texts and `n0`, `n1`, ... as numbers.

    Example:
        >>> filled_place("{c0}/{c1}/image{n2:02}.png", {"case": "liver/01/7", "video": "01"})
        'liver/01/image07.png'
    """
    values = {**_pieces(case), **{name: value for name, value in case.items() if value is not None}}
    try:
        return _FORMATTER.vformat(template, (), values)
    except (KeyError, ValueError, IndexError):
        return None


def _pieces(case: Mapping[str, Any]) -> dict[str, Any]:
    digits = _DIGITS.search(str(case.get("video", "")))
    pieces: dict[str, Any] = {"number": int(digits[0])} if digits else {}
    for place, piece in enumerate(str(case.get("case", "")).split("/")):
        pieces[f"c{place}"] = piece
        if piece.isdigit():
            pieces[f"n{place}"] = int(piece)
    return pieces


def is_image(path: Path) -> bool:
    """Whether a file is an image by its ending."""
    return path.suffix.lower() in _IMAGES
