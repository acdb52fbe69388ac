"""Reading challenge inputs back, whatever layout they come in.

Images are found by their kind and question wherever they lie: in folders, in an archive, in an archive
within the archive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surgvalid.errors import FileUnreadable, InputInvalid
from surgvalid.schema.procedures.foreign_objects import ForeignObject, parse_definitions
from surgvalid.schema.questions.questions import Request, request_from_row
from surgvalid.schema.rows import read_rows
from surgvalid.video.layouts import KINDS
from surgvalid.video.stored_images import FrameImage, images_in_folder

_ENDINGS = {kind: ending for kinds in KINDS.values() for kind, ending in kinds.items()}


@dataclass(frozen=True, slots=True)
class ChallengeInputs:
    """One batch as a container would find it."""

    folder: Path
    requests: tuple[Request, ...]
    classes: tuple[ForeignObject, ...]
    pictures: Mapping[str, Mapping[str, FrameImage]]
    """For each kind (`frames`, or `plain` and `overlayed`), the image of each question."""


def read_inputs(folder: str | Path) -> ChallengeInputs:
    """The inputs in a folder, in any layout.

    Raises:
        FileUnreadable: A file is missing or not what it should be.
        InputInvalid: The files contradict each other, or images are missing; every problem is listed.
    """
    folder = Path(folder)
    problems: list[str] = []
    requests = _requests(folder / "request.json", problems)
    batch = _json(folder / "batch.json", dict)
    definitions = _json(folder / "FO_definitions.json", str)
    kinds = _kinds(batch, folder)
    pictures = images_in_folder(folder, {kind: {f".{_ENDINGS[kind]}"} for kind in kinds})
    problems += _contradictions(requests, batch, kinds, pictures)
    if problems:
        raise InputInvalid(str(folder), problems)
    return ChallengeInputs(folder, requests, parse_definitions(definitions), pictures)


def _requests(path: Path, problems: list[str]) -> tuple[Request, ...]:
    requests = []
    for number, row in enumerate(read_rows(path), start=1):
        request = request_from_row(row, None, lambda _, text, n=number: problems.append(f"request {n}: {text}"))  # type: ignore[misc]
        if request is not None:
            requests.append(request)
    return tuple(requests)


def _json(path: Path, kind: type) -> Any:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise FileUnreadable(str(path), ["no such file"]) from None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise FileUnreadable(str(path), [f"not readable as JSON ({error})"]) from None
    if not isinstance(value, kind):
        wanted = {"dict": "an object", "str": "one JSON string"}[kind.__name__]
        raise FileUnreadable(str(path), [f"expected {wanted}, got {type(value).__name__}"])
    return value


def _kinds(batch: dict[str, Any], folder: Path) -> tuple[str, ...]:
    layout = batch.get("layout")
    kinds = tuple(layout) if isinstance(layout, dict) else ()
    unknown = [kind for kind in kinds if kind not in _ENDINGS]
    if not kinds or unknown:
        raise FileUnreadable(
            str(folder / "batch.json"), [f"'layout' must name some of {', '.join(_ENDINGS)}, got {layout!r}"]
        )
    return kinds


def _contradictions(
    requests: tuple[Request, ...],
    batch: dict[str, Any],
    kinds: tuple[str, ...],
    pictures: Mapping[str, Mapping[str, FrameImage]],
) -> list[str]:
    cases = [request.case for request in requests]
    problems = [f"request {case!r} appears twice" for case in sorted({c for c in cases if cases.count(c) > 1})]
    listed = batch.get("qIDs")
    if not isinstance(listed, list) or sorted(map(str, listed)) != sorted(cases):
        problems.append("batch.json: 'qIDs' are not the questions of request.json")
    if batch.get("batch_size") != len(cases):
        problems.append(f"batch.json: 'batch_size' is {batch.get('batch_size')!r}, but there are {len(cases)} requests")
    for kind in kinds:
        lacking = [case for case in cases if case not in pictures[kind]]
        problems += [f"{kind}: nothing for question {case!r}" for case in lacking]
    return problems
