"""Rows of questions and answers, read a column at a time.

Rows come in two layouts: the official JSON (`qID`, `videoID`, ...) and the fourteen columns of the public data
sets (`id`, `video`, `answer_format`, ...). A value is looked at by itself only where its column holds something odd, so
a million plain rows cost a few passes over lists. Reading never guesses in silence: what is off is said, with the row
it is about, and the caller decides whether that is an error.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from operator import itemgetter, lt
from typing import Any, TypeVar

from surgvalid.errors import UnknownName, nearest
from surgvalid.schema.documents import is_whole
from surgvalid.schema.outcomes import OF_A_RESPONSE, Status
from surgvalid.schema.questions.formats import shown, time_tolerance_s
from surgvalid.schema.questions.questions import (
    DIALS,
    OFFICIAL_RESPONSE_KEYS,
    RECORD_KEYS,
    REFERENCE_KEYS,
    REQUEST_KEYS,
    RESPONSE_KEYS,
    STRATA_COLUMNS,
    Reference,
    Request,
    Response,
)
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import HugeNumber, Row

Complain = Callable[[str, str], None]
"""Called with the code and the text of a problem."""
Notice = Callable[[int, str, str], None]
"""Called with the number of a row among those read together, and the code and the text of a problem."""
Columns = tuple[Sequence[int], list[list[Any]]]
"""The numbers of the rows that can be used, and one list per field of what they hold."""

TEXTS = ("time-is-text", "latency-is-text")
"""Codes of numbers that are written as text, which only JSON tells apart."""

_Made = TypeVar("_Made")
_STRATA = frozenset((*STRATA_COLUMNS, *DIALS))
_SHARED = 80
"""Questions and answers up to this length repeat so often that equal ones are kept once."""
_NOTHING: dict[str, Any] = {}
"""No parameters, or no strata: one for all, never changed."""
_ODD: Any = object()
"""What a reading of plain values gives for one that has to be looked at with its row."""


def request_from_row(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> Request | None:
    """The request in a row, or None when it lacks an identifier."""
    return _of_one(Request, request_columns, row, namespace, complain)


def reference_from_row(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> Reference | None:
    """The reference in a row, or None when identifier, capability or answer cannot be read."""
    return _of_one(Reference, reference_columns, row, namespace, complain)


def response_from_row(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> Response | None:
    """The response in a row, or None when it has no identifier. Odd content is kept or named, never lost."""
    return _of_one(Response, response_columns, row, namespace, complain)


def _of_one(
    kind: Callable[..., _Made],
    read: Callable[..., Columns],
    row: Mapping[str, Any],
    namespace: str | None,
    complain: Complain,
) -> _Made | None:
    kept, columns = read([dict(row)], namespace, lambda _, code, text: None if code in TEXTS else complain(code, text))
    return kind(*(column[0] for column in columns)) if kept else None


# --- columns -------------------------------------------------------------------------------------


def request_columns(rows: list[Row], namespace: str | None, notice: Notice) -> Columns:
    """The requests in rows of one layout; those without an identifier are left out."""
    cases = _cases(rows, namespace, notice)
    rows, kept, (cases,), notice = _usable(rows, [cases], notice)
    data_set = bool(rows) and is_data_set_row(rows[0])
    keys = ("video", "timestamp_start", "timestamp_end") if data_set else ("videoID", "start_time", "end_time")

    def no_video(place: int, value: Any) -> str:
        if not (text := str(value if value is not None else "").strip() and str(value)):
            notice(place, "no-video", f"{keys[0]!r} is missing or empty; the question is its own video")
            return str(cases[place])
        return f"{namespace}/{text}" if namespace else text

    def no_question(place: int, value: Any) -> str:
        notice(place, "no-question", "the question has no text")
        return _shared(str(value or ""))

    prefix = f"{namespace}/" if namespace else ""
    videos = _read(rows, keys[0], lambda text: sys.intern(prefix + text) if text.strip() else _ODD, no_video)
    starts, ends = (_times(rows, key, notice) for key in keys[1:])
    if any(map(lt, ends, starts)):
        for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if end < start:
                notice(place, "window-reversed", f"the window ends ({end:g} s) before it starts ({start:g} s)")
    questions = _read(rows, "question", lambda text: _shared(text) if text.strip() else _ODD, no_question)
    if not data_set:
        _extra_keys(rows, REQUEST_KEYS, "extra-request-keys", notice)
    procedures = _read(rows, "procedure_type", sys.intern, lambda _, value: sys.intern(str(value or "")))
    _halves(rows, (cases, videos, procedures, questions), notice)
    return kept, [list(map(sys.intern, cases)), videos, starts, ends, procedures, questions]


def reference_columns(rows: list[Row], namespace: str | None, notice: Notice) -> Columns:
    """The references in rows of one layout; those without identifier, capability or answer are left out."""

    def no_answer(place: int, value: Any) -> str | None:
        if isinstance(value, str):
            return value
        notice(place, "answer-not-text", f"the reference answer must be text, got {_shown(value)}")
        return None

    data_set = bool(rows) and is_data_set_row(rows[0])
    cases = _cases(rows, namespace, notice)
    primary = "primary_capability" if data_set else "primary"
    capabilities = _read(rows, primary, _known_capability, lambda at, value: _capability(value, partial(notice, at)))
    answers = _read(rows, "answer", _shared, no_answer)
    rows, kept, (cases, capabilities, answers), notice = _usable(rows, [cases, capabilities, answers], notice)
    of_format = "answer_format" if data_set else "format"
    formats = _read(rows, of_format, sys.intern, lambda _, value: sys.intern(str(value)))
    has_strata = not _STRATA.isdisjoint(set().union(*rows))
    strata = [_NOTHING] * len(rows)
    if has_strata:
        strata = [_strata(row, partial(notice, at)) for at, row in enumerate(rows)]
    names = [text for one in strata for text in one.values() if isinstance(text, str)] if has_strata else []
    _halves(rows, (cases, formats, answers, names), notice)
    if not data_set:
        _extra_keys(rows, REFERENCE_KEYS, "extra-reference-keys", notice)
    given = [row.get("format_kwargs") for row in rows]
    parameters = [
        _NOTHING if one is None or one == {} else _parameters(one, partial(notice, at)) for at, one in enumerate(given)
    ]
    if data_set:
        parameters = [_with_tolerance(*one) for one in zip(rows, formats, parameters, strict=True)]
    alike: dict[str, dict[str, Any]] = {}
    parameters = [alike.setdefault(repr(one), one) if one else one for one in parameters]
    listed = [row.get("secondary_capabilities" if data_set else "secondaries") for row in rows]
    secondaries = [() if one is None else _secondaries(one, partial(notice, at)) for at, one in enumerate(listed)]
    flags = [_flags(rows, key, notice) for key in ("ood", "clinical_relevance" if data_set else "clinical")]
    clinical = list(map(bool, flags[1]))
    cases = list(map(sys.intern, cases))
    return kept, [cases, capabilities, formats, answers, parameters, secondaries, flags[0], clinical, strata]


def response_columns(rows: list[Row], namespace: str | None, notice: Notice) -> Columns:
    """The responses in rows; those without an identifier are left out."""
    cases = _cases(rows, namespace, notice)
    rows, kept, (cases,), notice = _usable(rows, [cases], notice)
    count = len(rows)
    nothing: list[list[Any]] = [[None] * count, [""] * count, *([None] * count for _ in range(3))]
    is_record = [False] * count
    if not set().union(*rows) <= OFFICIAL_RESPONSE_KEYS:
        is_record = [not row.keys() <= OFFICIAL_RESPONSE_KEYS for row in rows]
        _extra_keys(rows, RESPONSE_KEYS, "extra-keys", notice)
        nothing[0] = [_status(row.get("status"), partial(notice, at)) for at, row in enumerate(rows)]
    silent = (None, Status.ANSWERED)

    def odd_content(place: int, value: Any) -> str | None:
        if value is None and nothing[0][place] not in silent:
            return None
        return _content(value, partial(notice, place))

    contents = _read(rows, "content", _shared, odd_content)
    if any(is_record):
        whats = [_record(row, partial(notice, at)) for at, row in enumerate(rows)]
        nothing[1:] = [list(column) for column in zip(*whats, strict=True)]
    latencies = [row.get("latency", 0.0) for row in rows]
    if not (set(map(type, latencies)) <= {float} and all(map((0.0).__le__, latencies))):
        latencies = [_latency(value, partial(notice, at)) for at, value in enumerate(latencies)]
    return kept, [cases, contents, latencies, *nothing]


def _record(row: Row, complain: Complain) -> tuple[str, float | None, int | None, int | None]:
    """Detail, cost, tokens and attempts of what became of a question."""
    numbers = {key: _amount(row, key, complain) for key in ("cost", "tokens", "attempts")}
    if any(row.get(key) is not None for key in RECORD_KEYS):
        complain("status-keys", "the response says what became of the question; the official toolkit takes no such key")
    tokens, attempts = (None if numbers[key] is None else int(numbers[key] or 0) for key in ("tokens", "attempts"))
    return str(row.get("detail") or ""), numbers["cost"], tokens, attempts


def _read(
    rows: list[Row],
    key: str,
    plain: Callable[[Any], Any],
    odd: Callable[[int, Any], Any],
    kinds: frozenset[type] | set[type] = frozenset({str}),
) -> list[Any]:
    """A column, each of its distinct values read once by `plain`; `odd` reads what has no plain reading, with its row.

    Args:
        rows: Where the values stand.
        key: Under which key.
        plain: The reading of a value of these kinds, or `_ODD`.
        odd: The reading of any other value, with the number of its row.
        kinds: Types of plain values.
    """
    try:
        values = list(map(itemgetter(key), rows))
    except KeyError:
        values = [row.get(key) for row in rows]
    if len(kinds_here := set(map(type, values))) == 1 and kinds_here <= kinds:
        known = {value: plain(value) for value in set(values)}
        if _ODD not in known.values():
            return list(map(known.__getitem__, values))
    readings = []
    for place, value in enumerate(values):
        reading = plain(value) if type(value) in kinds else _ODD
        readings.append(odd(place, value) if reading is _ODD else reading)
    return readings


def _cases(rows: list[Row], namespace: str | None, notice: Notice) -> list[Any]:
    raw: list[Any] = [row.get("qID") for row in rows]
    if set(map(type, raw)) <= {str} and all(raw) and (whole := "".join(raw)).split() == [whole]:
        return [f"{namespace}/{one}" for one in raw] if namespace else raw
    return [case_of(row, namespace, partial(notice, place)) for place, row in enumerate(rows)]


def _usable(
    rows: list[Row], needed: list[list[Any]], notice: Notice
) -> tuple[list[Row], Sequence[int], list[list[Any]], Notice]:
    """The rows that have all that is needed, their numbers, that, and how to notice something about one of them."""
    if not any(None in column for column in needed):
        return rows, range(len(rows)), needed, notice
    kept = [place for place, values in enumerate(zip(*needed, strict=True)) if None not in values]
    chosen = [[column[place] for place in kept] for column in needed]
    return [rows[place] for place in kept], kept, chosen, lambda at, code, text: notice(kept[at], code, text)


def _times(rows: list[Row], key: str, notice: Notice) -> list[Any]:
    def plain(value: float) -> Any:
        if type(value) is not float:
            return value if -_WHOLE < value < _WHOLE else _ODD
        return _same(value + 0.0) if math.isfinite(value) else _ODD  # -0.0 is 0.0

    return _read(rows, key, plain, lambda place, value: _seconds(value, key, partial(notice, place)), {float, int})


_WHOLE = 1 << 53


def _flags(rows: list[Row], key: str, notice: Notice) -> list[bool | None]:
    values = [row.get(key) for row in rows]
    if set(map(type, values)) <= {bool, type(None)}:
        return values
    return [_flag(value, key, partial(notice, place)) for place, value in enumerate(values)]


def _extra_keys(rows: list[Row], allowed: frozenset[str], code: str, notice: Notice) -> None:
    """Name keys that nothing reads, and the one that was probably meant."""
    if set().union(*rows) <= allowed:
        return
    for place, row in enumerate(rows):
        if extra := [key for key in row if key not in allowed]:
            meant = [] if code != "extra-reference-keys" else [_meant(key[:80]) for key in extra[:5]]
            hints = [f"; did you mean {key!r}?" for key in meant if key is not None and key not in row]
            listed = ", ".join(map(shown, extra[:5]))
            notice(place, code, f"unexpected keys {listed} (ignored){''.join(hints[:1])}")


def _halves(rows: list[Row], columns: Sequence[Sequence[str]], notice: Notice) -> None:
    if all("".join(column).isascii() for column in columns):
        return
    for place, row in enumerate(rows):
        if halves := [key for key, value in row.items() if isinstance(value, str) and not is_whole(value)]:
            text = f"{', '.join(map(shown, halves))} holds half a character, which no table can hold"
            notice(place, "half-character", text)


def _with_tolerance(row: Row, format_name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a question of a public data set, whose times have a tolerance by the length of the window."""
    if format_name != "time":
        return parameters
    start, end = (_seconds(row.get(key), key, _quiet) for key in ("timestamp_start", "timestamp_end"))
    return {"threshold_seconds": time_tolerance_s(end - start), **parameters}


# --- values --------------------------------------------------------------------------------------


def is_data_set_row(row: Mapping[str, Any]) -> bool:
    """Whether the row has the layout of the public data sets rather than of the official JSON."""
    return "qID" not in row and "id" in row


def case_of(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> str | None:
    """The identifier of a row, within its namespace; None when there is none."""
    raw = row.get("qID", row.get("id"))
    if raw is None or isinstance(raw, list | dict) or (text := str(raw)).strip() == "":
        complain("no-id", f"no usable qID (got {_shown(raw)})")
        return None
    if "qID" in row and not _is_text(raw):
        complain("id-not-text", f"qID {_shown(raw)} is {_kind(raw)}, not text; read as {shown(text)}")
    return f"{namespace}/{text}" if namespace else text


def _shared(text: str) -> str:
    return sys.intern(text) if type(text) is str and len(text) <= _SHARED else text


@lru_cache(maxsize=256)
def _meant(key: str) -> str | None:
    return nearest(key, sorted(REFERENCE_KEYS))


def _status(value: Any, complain: Complain) -> Status | None:
    if value is None or value == "":
        return None
    with suppress(ValueError):
        if (status := Status(str(value))) in OF_A_RESPONSE:
            return status
    known = ", ".join(sorted(OF_A_RESPONSE))
    complain("bad-status", f"the status is {_shown(value)}, not one of {known}; read as not stated")
    return None


def _amount(row: Mapping[str, Any], key: str, complain: Complain) -> float | None:
    value = row.get(key)
    number = _float_or_none(value) if isinstance(value, str) and value else value
    if number is None or number == "":
        if value not in (None, ""):
            complain("bad-amount", f"{key!r} is {_shown(value)}, not a number; left out")
        return None
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= _as_float(number) < math.inf:
        complain("bad-amount", f"{key!r} is {_shown(value)}, not a number of at least 0; left out")
        return None
    return number


def _content(content: Any, complain: Complain) -> str | None:
    if content is None or content != content:  # a table writes an empty cell as a number that is none
        complain("no-content", "the content is null or absent; counted as unanswered")
        return None
    if isinstance(content, list | dict):
        complain("nested-content", f"the content is {_kind(content)}, not text; counted as unanswered")
        return None
    text = str(content)
    complain("content-not-text", f"the content is {_kind(content)}; read as the text {shown(text)}")
    return text


def _latency(given: Any, complain: Complain) -> float:
    latency = _float_or_none(given) if isinstance(given, str) else given
    if isinstance(latency, bool) or not isinstance(latency, int | float):
        complain("latency-not-a-number", f"the latency is {_shown(given)}, not a number of seconds")
        return math.nan
    seconds = _as_float(latency)
    if math.isnan(seconds) or seconds < 0:
        complain("bad-latency", f"the latency is {seconds!r}; it counts as late where a limit applies")
        return math.nan
    if type(given) is str:
        complain("latency-is-text", f"the latency is the text {shown(given)}")
    return seconds


def _float_or_none(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _as_float(number: float) -> float:
    """The number as a float; whole numbers beyond its range become infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _seconds(value: Any, key: str, complain: Complain) -> float:
    number = seconds_in(value) if isinstance(value, str) else value
    if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(_as_float(number)):
        if type(value) is str and key in ("start_time", "end_time"):
            complain("time-is-text", f"{key!r} is the text {shown(value)}")
        return number + 0.0 if type(number) is float else number
    complain("bad-time", f"{key!r} is {_shown(value)}; expected seconds or hh:mm:ss, read as 0")
    return 0.0


@lru_cache(maxsize=1 << 16)
def _same(number: float) -> float:
    """The number, as one object however often it is read: windows of a million questions begin and end alike."""
    return number


def seconds_in(text: str) -> float | None:
    """The seconds that a text stands for, as a number or as hh:mm:ss; None where it is neither.

    Example:
        >>> seconds_in("00:01:30"), seconds_in("12.5"), seconds_in("soon")
        (90, 12.5, None)
    """
    try:
        hours, minutes, seconds = text.split(":") if ":" in text else ("0", "0", text)
        return int(hours) * 3600 + int(minutes) * 60 + (int(seconds) if seconds.isdigit() else float(seconds))
    except (ValueError, OverflowError):
        return None


def _strata(row: Mapping[str, Any], complain: Complain) -> dict[str, str | float]:
    strata: dict[str, Any] = {key: str(row[key]) for key in STRATA_COLUMNS if row.get(key) is not None}
    dials = ((key, _amount(row, key, complain)) for key in DIALS if row.get(key) is not None)
    return strata | {key: float(number) for key, number in dials if number is not None} or _NOTHING


@lru_cache(maxsize=256)
def _known_capability(name: str) -> Any:
    return Capability.named(name) or _ODD


def _capability(value: Any, complain: Complain) -> Capability | None:
    try:
        return Capability.read(value)
    except UnknownName as error:
        complain("unknown-capability", str(error))
        return None


def _secondaries(listed: Any, complain: Complain) -> tuple[Capability, ...]:
    if listed is None:
        return ()
    if isinstance(listed, str):
        listed = [name for name in listed.replace(";", ",").strip("[] ").split(",") if name.strip(" '\"")]
        listed = [name.strip(" '\"") for name in listed]
    if not isinstance(listed, list | tuple):
        return ()
    capabilities = []
    for value in listed:
        if (capability := Capability.named(value)) is None:
            complain("unknown-secondary", f"unknown secondary capability {_shown(value)} (ignored)")
        else:
            capabilities.append(capability)
    return tuple(capabilities)


def _parameters(value: Any, complain: Complain) -> dict[str, Any]:
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, dict):
        return value or _NOTHING
    complain("bad-parameters", f"format_kwargs must be an object, got {_shown(value)}")
    return _NOTHING


def _flag(value: Any, key: str, complain: Complain) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    spelled = {"true": True, "1": True, "yes": True, "1.0": True, "false": False, "0": False, "no": False, "0.0": False}
    if (flag := spelled.get(str(value).strip().lower())) is not None:
        return flag
    complain("bad-flag", f"{key!r} must be true or false, got {_shown(value)}; read as not stated")
    return None


def _is_text(value: Any) -> bool:
    """Whether the file gave text; a number too long to convert is kept as text but was none."""
    return isinstance(value, str) and not isinstance(value, HugeNumber)


def _kind(value: Any) -> str:
    kinds = {
        bool: "a flag",
        int: "a number",
        float: "a number",
        HugeNumber: "a number",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), f"a {type(value).__name__}")


def _shown(value: Any) -> str:
    """Any value for a message, never longer than a line."""
    return shown(value) if isinstance(value, str) else shown(repr(value))[1:-1]


def _quiet(_code: str, _text: str) -> None:
    return None
