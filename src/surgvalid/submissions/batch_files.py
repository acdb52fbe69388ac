"""A batch as files: what goes in, what comes back, and which questions an overrun of its time forfeits.

`request.json`, `batch.json` and `FO_definitions.json` stand beside the media, which come as a folder, as one
archive, or as archives within an archive. Participants met all three; a container should read each.

The answer file is a stranger's and may be made to exhaust its reader, so it is read row by row under caps. Of all rows
only those are kept that answer a question of the batch. What they may hold is what a server may answer with; a row
that holds more spoils its own answer alone.

A batch of B questions may take `setup + B x share` seconds (120 s and the track's 5, 15 or 30 s). What
participants reported of the platform: an overrun forfeits a share of the questions, chosen by the platform,
the same ones each time, spread over the buckets and not the slow ones; from 20 % overrun on the whole batch
is forfeited. The exact selection was never published. Here the share grows linearly, from nothing at the
allowance to everything at 20 % beyond it; buckets lose in proportion to their size (largest remainder), and
within a bucket the order of a hash of the identifier decides.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surgvalid.asking.messages import MOST_BODY_BYTES
from surgvalid.asking.plan import Aliases, place
from surgvalid.errors import UnknownName
from surgvalid.schema.procedures.foreign_objects import definitions_text, read_definitions
from surgvalid.schema.questions.question_rows import response_from_row
from surgvalid.schema.questions.questions import Request, Response
from surgvalid.video.batch_files import LAYOUTS as LAYOUTS
from surgvalid.video.batch_files import pack_images, write_descriptions

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")


def batch_names(requests: Sequence[Request], aliases: Aliases) -> dict[str, str]:
    """The identifier of each case inside: its own where all are plain file names, else opaque ones."""
    if all(_PLAIN_NAME.fullmatch(request.case) for request in requests):
        return {request.case: request.case for request in requests}
    return {request.case: aliases.of("case", request.case) for request in requests}


def write_batch(
    folder: Path,
    requests: Sequence[Request],
    media: Mapping[str, Mapping[str, Path]],
    names: Mapping[str, str],
    *,
    layout: str = "folder",
    definitions: Path | None = None,
) -> None:
    """Write a batch into an empty folder.

    Args:
        folder: What becomes /input.
        requests: The questions of the batch.
        media: By case, then by kind; `videos` are offered as `plain`.
        names: By case, the identifier inside.
        layout: One of `LAYOUTS`.
        definitions: A foreign-object definitions file; the usual classes without one.

    Raises:
        UnknownName: No such layout.
    """
    if layout not in LAYOUTS:
        raise UnknownName("layout", layout, LAYOUTS)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [request.as_row() | {"qID": names[request.case]} for request in requests]
    files = _files(requests, media, names)
    endings = {kind: path.suffix for (kind, _), path in files.items()}
    text = None if definitions is None else definitions_text(read_definitions(definitions))
    write_descriptions(rows, folder, endings=endings, definitions=text)
    if layout == "folder":
        _as_folder(folder, files)
    else:
        pack_images(folder, files, nested=layout == "nested-zip")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _files(
    requests: Sequence[Request], media: Mapping[str, Mapping[str, Path]], names: Mapping[str, str]
) -> dict[tuple[str, str], Path]:
    """Source files by kind and file name inside."""
    files: dict[tuple[str, str], Path] = {}
    for request in requests:
        for kind, path in media.get(request.case, {}).items():
            inside = "plain" if kind == "videos" else kind
            files.setdefault((inside, f"{names[request.case]}{path.suffix.lower()}"), path)
    return files


def _as_folder(folder: Path, files: Mapping[tuple[str, str], Path]) -> None:
    for (kind, name), source in files.items():
        target = folder / kind / name
        target.parent.mkdir(exist_ok=True)
        place(source, target)


SETUP_S = 120.0
SATURATION = 0.20


def allowance_s(questions: int, share_s: float, *, setup_s: float = SETUP_S) -> float:
    """The seconds that a batch may take.

    Example:
        >>> allowance_s(20, 5.0)
        220.0
    """
    return setup_s + questions * share_s


def forfeited_count(questions: int, used_s: float, allowed_s: float, *, saturation: float = SATURATION) -> int:
    """How many questions of a batch an overrun forfeits.

    Example:
        >>> [forfeited_count(20, used, 220.0) for used in (220.0, 231.0, 242.0, 264.0)]
        [0, 5, 10, 20]
    """
    over = used_s - allowed_s
    if over <= 0:
        return 0
    share = over / (saturation * allowed_s)
    return questions if share >= 1 else math.ceil(questions * share - 1e-9)


def forfeited(
    buckets: Mapping[str, str], used_s: float, allowed_s: float, *, saturation: float = SATURATION
) -> frozenset[str]:
    """The cases of a batch that an overrun forfeits.

    Args:
        buckets: The bucket of each case.
        used_s: Seconds that the batch took.
        allowed_s: Seconds that it was allowed.
        saturation: The overrun, as a share of the allowance, that forfeits everything.
    """
    count = forfeited_count(len(buckets), used_s, allowed_s, saturation=saturation)
    members: dict[str, list[str]] = {}
    for case in sorted(buckets, key=_lot):
        members.setdefault(buckets[case], []).append(case)
    quotas = _largest_remainder({bucket: len(cases) for bucket, cases in members.items()}, count)
    return frozenset(case for bucket, cases in members.items() for case in cases[: quotas[bucket]])


def _lot(case: str) -> str:
    return hashlib.sha256(f"forfeit\x1f{case}".encode("utf-8", "surrogatepass")).hexdigest()


def _largest_remainder(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """`count` seats over the buckets in proportion to their sizes; ties go to the first name."""
    total = sum(sizes.values())
    quotas = {bucket: count * size // total for bucket, size in sizes.items()}
    left = count - sum(quotas.values())
    by_remainder = sorted(sizes, key=lambda bucket: (-(count * sizes[bucket] % total), bucket))
    for bucket in by_remainder[:left]:
        quotas[bucket] += 1
    return quotas


ROW_BYTES = 2 * MOST_BODY_BYTES
"""A row longer than this ends the reading."""
_SPARE_ROWS = 1000
_DEEPEST, _DIGITS, _NAMED = 32, 40, 50
_SPACE = re.compile(r"[ \t\r\n]*")
_DEPTH = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


@dataclass(slots=True)
class Answers:
    """The rows by question, and what was wrong with the file."""

    by_name: dict[str, list[Response]] = field(default_factory=dict)
    problem: str = ""
    """Why reading ended before the end of the file."""
    strange: int = 0
    """Rows that answer no question of the batch, or are none."""
    complaints: list[str] = field(default_factory=list)
    """What was odd about rows that count, the first of it."""


def most_bytes(questions: int) -> int:
    """How large an answer file may be for so many questions."""
    return (questions + _SPARE_ROWS // 100) * MOST_BODY_BYTES


def read_answers(data: bytes, names: Collection[str]) -> Answers:
    """The answers in a file to the questions of these names; nothing that it holds is an error here."""
    answers = Answers()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        answers.problem = f"not UTF-8 text (byte {error.start})"
        return answers
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    if text[at : at + 1] != "[":
        answers.problem = "line 1: expected a list of answers, as in [{...}, ...]"
        return answers
    at = _after(text, at)
    rows = 0
    while text[at : at + 1] not in ("]", ""):
        rows += 1
        if rows > len(names) + _SPARE_ROWS:
            answers.problem = f"more than {rows - 1} rows for {len(names)} questions"
            return answers
        try:
            row, at = _row(text, at)
        except ValueError as error:
            answers.problem = f"line {text.count(chr(10), 0, at) + 1}: {error}"
            return answers
        _keep(row, names, answers)
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if text[at : at + 1] == ",":
            at = _after(text, at)
        elif text[at : at + 1] != "]":
            answers.problem = f"line {text.count(chr(10), 0, at) + 1}: expected ',' or ']' after an answer"
            return answers
    if text[at : at + 1] != "]":
        answers.problem = f"line {text.count(chr(10), 0, at) + 1}: the list is not closed"
    return answers


def _after(text: str, at: int) -> int:
    return _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]


def _row(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at a place, and where it ends.

    Raises:
        ValueError: It is no JSON, too long or nested too deeply.
    """
    piece = text[at : at + ROW_BYTES]
    depth = 0
    for bracket in _DEPTH.finditer(piece):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(bracket.group(), 0)
        if depth > _DEEPEST:
            raise ValueError(f"nested more than {_DEEPEST} deep")
        if depth <= 0 and bracket.group() in ("]", "}"):
            break
    try:
        row, end = _DECODER.raw_decode(piece)
    except json.JSONDecodeError as error:
        if len(piece) == ROW_BYTES:
            raise ValueError(f"an answer of more than {ROW_BYTES:,} characters") from None
        raise ValueError(f"not JSON ({error.msg})") from None
    return row, at + end


def _whole(text: str) -> int | float:
    return int(text) if len(text) < _DIGITS else math.nan


_DECODER = json.JSONDecoder(parse_int=_whole, parse_constant=lambda _: math.nan)


def _keep(row: Any, names: Collection[str], answers: Answers) -> None:
    def complain(code: str, message: str) -> None:
        if len(answers.complaints) < _NAMED:
            answers.complaints.append(f"{code}: {message[:300]}")

    response = response_from_row(row, None, complain) if isinstance(row, dict) else None
    if response is None or response.case not in names:
        answers.strange += 1
        return
    fits = response.content is None or len(response.content) <= MOST_BODY_BYTES
    kept = Response(response.case, response.content if fits else None, response.latency_s)
    answers.by_name.setdefault(response.case, []).append(kept)
