"""Request, Reference and Response: the question, its reference answer and a model's answer.

`case` is the question's identifier everywhere in surgvalid; official files call it `qID`. Rows come in
two layouts: the official JSON (`qID`, `videoID`, ...) and the fourteen columns of the public data
sets (`id`, `video`, `answer_format`, ...). Reading a row never guesses in silence: what is off is
said, as a text, and the caller decides whether that is an error.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from surgvalid.errors import UnknownName, nearest
from surgvalid.schema.documents import is_whole
from surgvalid.schema.outcomes import OF_A_RESPONSE, Status
from surgvalid.schema.questions.formats import shown, time_tolerance_s
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import HugeNumber

Complain = Callable[[str, str], None]
"""Called with the code and the text of a problem."""

DATA_SET_COLUMNS = (
    "id", "video", "procedure_type", "question", "answer", "answer_format", "track", "generation",
    "clinical_relevance", "ood", "timestamp_start", "timestamp_end", "primary_capability",
    "secondary_capabilities",
)  # fmt: skip
"""The columns of a public FOCUS data set."""

TRACK_LIMITS_S = {"frame": 5.0, "segment": 15.0, "procedure": 30.0}
"""Seconds that a model may take per question on each track of the challenge."""

STRATA_COLUMNS = ("track", "generation", "center", "phase", "decision_impact", "required_knowledge", "instances")
"""Columns beyond the official ones that are carried along as strata."""
_STRATA = frozenset(STRATA_COLUMNS)

_SHARED = 80
"""Questions and answers up to this length repeat so often that equal ones are kept once."""
_NOTHING: dict[str, Any] = {}
"""No parameters, or no strata: one for all, never changed."""
REQUEST_KEYS = frozenset(("qID", "videoID", "start_time", "end_time", "procedure_type", "question"))
"""What the official toolkit allows in a request, and demands."""
REFERENCE_KEYS = frozenset(
    ("qID", "primary", "format", "answer", "format_kwargs", "secondaries", "ood", "clinical", *STRATA_COLUMNS)
)
"""What is read of a reference; the official toolkit passes over all others too."""
_OFFICIAL_RESPONSE_KEYS = frozenset(("qID", "id", "content", "latency"))
_RECORD_KEYS = ("status", "detail", "cost", "tokens", "attempts")
RESPONSE_KEYS = _OFFICIAL_RESPONSE_KEYS | set(_RECORD_KEYS)
"""What a response may have here: the official keys, and what became of the question."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked, and about which stretch of which video."""

    case: str
    video: str
    start_s: float
    end_s: float
    procedure: str
    question: str

    @property
    def window_s(self) -> float:
        """The length of the stretch."""
        return self.end_s - self.start_s

    def as_row(self) -> dict[str, Any]:
        """The row of an official requests file."""
        return {
            "qID": self.case,
            "videoID": self.video,
            "start_time": self.start_s,
            "end_time": self.end_s,
            "procedure_type": self.procedure,
            "question": self.question,
        }


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference answer to a question and what kind of question it is."""

    case: str
    capability: Capability
    format: str
    answer: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    secondaries: tuple[Capability, ...] = ()
    ood: bool | None = None
    """Whether the question is out of distribution; None when the file does not say."""
    clinical: bool = False
    strata: Mapping[str, str] = field(default_factory=dict)

    def as_row(self) -> dict[str, Any]:
        """The row of an official references file; strata follow, which the official toolkit passes over."""
        return {
            "qID": self.case,
            "primary": self.capability.value,
            "format": self.format,
            "format_kwargs": dict(self.parameters),
            "answer": self.answer,
            "secondaries": [c.value for c in self.secondaries],
            "ood": bool(self.ood),
            "clinical": self.clinical,
            **self.strata,
        }


@dataclass(frozen=True, slots=True)
class Response:
    """What a model answered. No text at all (None) is an unanswered question."""

    case: str
    content: str | None
    latency_s: float = 0.0
    """As the model reported it; NaN when what it reported is not a time."""
    status: Status | None = None
    """What became of the question, where whoever asked it said so; None in official files."""
    detail: str = ""
    """Why there is no answer, in words."""
    cost: float | None = None
    """In the currency of whoever asked."""
    tokens: int | None = None
    attempts: int | None = None

    @property
    def is_excused(self) -> bool:
        """Whether there is no text and the status says why."""
        return self.content is None and self.status not in (None, Status.ANSWERED)

    def as_row(self) -> dict[str, Any]:
        """The row of an official answer file: three keys, since the official toolkit refuses any other."""
        return {"qID": self.case, "content": self.content, "latency": self.latency_s}

    def as_record(self) -> dict[str, Any]:
        """The row with everything that is known, for JSON Lines; what is unknown is left out."""
        known = {key: getattr(self, key) for key in _RECORD_KEYS}
        return self.as_row() | {key: value for key, value in known.items() if value not in (None, "")}


# --- rows ----------------------------------------------------------------------------------------


def is_data_set_row(row: Mapping[str, Any]) -> bool:
    """Whether the row has the layout of the public data sets rather than of the official JSON."""
    return "qID" not in row and "id" in row


def case_of(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> str | None:
    """The identifier of a row, within its namespace; None when there is none."""
    raw = row.get("qID")
    if type(raw) is str and raw.strip():
        return sys.intern(f"{namespace}/{raw}" if namespace else raw)
    raw = row.get("qID", row.get("id"))
    if raw is None or isinstance(raw, list | dict) or (text := str(raw)).strip() == "":
        complain("no-id", f"no usable qID (got {_shown(raw)})")
        return None
    if "qID" in row and not _is_text(raw):
        complain("id-not-text", f"qID {_shown(raw)} is {_kind(raw)}, not text; read as {shown(text)}")
    return f"{namespace}/{text}" if namespace else text


def request_from_row(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> Request | None:
    """The request in a row, or None when it lacks an identifier."""
    case = case_of(row, namespace, complain)
    if case is None:
        return None
    data_set = is_data_set_row(row)
    keys = ("video", "timestamp_start", "timestamp_end") if data_set else ("videoID", "start_time", "end_time")
    video = row.get(keys[0])
    if video is None or video == "" or not str(video).strip():
        complain("no-video", f"{keys[0]!r} is missing or empty; the question is its own video")
        video = case
    elif namespace:
        video = f"{namespace}/{video}"
    start, end = _seconds(row.get(keys[1]), keys[1], complain), _seconds(row.get(keys[2]), keys[2], complain)
    if end < start:
        complain("window-reversed", f"the window ends ({end:g} s) before it starts ({start:g} s)")
    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        complain("no-question", "the question has no text")
    if not data_set and not row.keys() <= REQUEST_KEYS:
        extra = [key for key in row if key not in REQUEST_KEYS]
        complain("extra-request-keys", f"unexpected keys {', '.join(map(shown, extra[:5]))} (ignored)")
    procedure = sys.intern(str(row.get("procedure_type") or ""))
    if not f"{case}{video}{procedure}{question}".isascii():
        _complain_of_halves(row, complain)
    return Request(case, sys.intern(str(video)), start, end, procedure, _shared(str(question or "")))


def reference_from_row(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> Reference | None:
    """The reference in a row, or None when identifier, capability or answer cannot be read."""
    case = case_of(row, namespace, complain)
    data_set = is_data_set_row(row)
    primary = row.get("primary_capability" if data_set else "primary")
    capability = _capability(primary, complain)
    answer = row.get("answer")
    if not isinstance(answer, str):
        complain("answer-not-text", f"the reference answer must be text, got {_shown(answer)}")
    if case is None or capability is None or not isinstance(answer, str):
        return None
    format_name = sys.intern(str(row.get("answer_format" if data_set else "format")))
    strata = _strata(row)
    if not f"{case}{format_name}{answer}{''.join(strata.values())}".isascii():
        _complain_of_halves(row, complain)
    if not data_set and not row.keys() <= REFERENCE_KEYS:
        _complain_of_unread(row, complain)
    parameters = _parameters(row.get("format_kwargs"), complain)
    if data_set and format_name == "time":
        window = [_seconds(row.get(key), key, _quiet) for key in ("timestamp_start", "timestamp_end")]
        parameters = {"threshold_seconds": time_tolerance_s(window[1] - window[0]), **parameters}
    listed = row.get("secondary_capabilities" if data_set else "secondaries")
    return Reference(
        case=case,
        capability=capability,
        format=format_name,
        answer=_shared(answer),
        parameters=parameters,
        secondaries=_secondaries(listed, complain),
        ood=_flag(row.get("ood"), "ood", complain),
        clinical=bool(_flag(row.get("clinical_relevance" if data_set else "clinical"), "clinical", complain)),
        strata=strata,
    )


def _shared(text: str) -> str:
    return sys.intern(text) if type(text) is str and len(text) <= _SHARED else text


def _complain_of_unread(row: Mapping[str, Any], complain: Complain) -> None:
    """Name the keys of a reference that nothing reads, and the one that was probably meant."""
    extra = [key for key in row if key not in REFERENCE_KEYS]
    meant = [known for key in extra[:5] if (known := _meant(key[:80])) is not None and known not in row]
    hint = f"; did you mean {meant[0]!r}?" if meant else ""
    complain("extra-reference-keys", f"unexpected keys {', '.join(map(shown, extra[:5]))} (ignored){hint}")


@lru_cache(maxsize=256)
def _meant(key: str) -> str | None:
    return nearest(key, sorted(REFERENCE_KEYS))


def _complain_of_halves(row: Mapping[str, Any], complain: Complain) -> None:
    halves = [key for key, value in row.items() if isinstance(value, str) and not is_whole(value)]
    if halves:
        complain("half-character", f"{', '.join(map(shown, halves))} holds half a character, which no table can hold")


def response_from_row(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> Response | None:
    """The response in a row, or None when it has no identifier. Odd content is kept or named, never lost."""
    case = case_of(row, namespace, complain)
    if case is None:
        return None
    if row.keys() <= _OFFICIAL_RESPONSE_KEYS:
        return Response(case, _content(row, complain), _latency(row, complain))
    if extra := [key for key in row if key not in RESPONSE_KEYS]:
        complain("extra-keys", f"unexpected keys {', '.join(map(shown, extra[:5]))} (ignored)")
    status = _status(row.get("status"), complain)
    silent = row.get("content") is None and status not in (None, Status.ANSWERED)
    content = None if silent else _content(row, complain)
    detail, numbers = row.get("detail"), {key: _amount(row, key, complain) for key in ("cost", "tokens", "attempts")}
    if any(row.get(key) is not None for key in _RECORD_KEYS):
        complain("status-keys", "the response says what became of the question; the official toolkit takes no such key")
    whole = {key: None if numbers[key] is None else int(numbers[key] or 0) for key in ("tokens", "attempts")}
    return Response(
        case,
        content,
        _latency(row, complain),
        status,
        str(detail or ""),
        numbers["cost"],
        whole["tokens"],
        whole["attempts"],
    )


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


def _content(row: Mapping[str, Any], complain: Complain) -> str | None:
    content = row.get("content")
    if isinstance(content, str) and _is_text(content):
        return _shared(content)
    if content is None or content != content:  # a table writes an empty cell as a number that is none
        complain("no-content", "the content is null or absent; counted as unanswered")
        return None
    if isinstance(content, list | dict):
        complain("nested-content", f"the content is {_kind(content)}, not text; counted as unanswered")
        return None
    text = str(content)
    complain("content-not-text", f"the content is {_kind(content)}; read as the text {shown(text)}")
    return text


def _latency(row: Mapping[str, Any], complain: Complain) -> float:
    latency = row.get("latency", 0.0)
    if type(latency) is float and latency >= 0:
        return latency
    if isinstance(latency, str):
        latency = _float_or_none(latency)
    if isinstance(latency, bool) or not isinstance(latency, int | float):
        complain("latency-not-a-number", f"the latency is {_shown(row.get('latency'))}, not a number of seconds")
        return math.nan
    seconds = _as_float(latency)
    if math.isnan(seconds) or seconds < 0:
        complain("bad-latency", f"the latency is {seconds!r}; it counts as late where a limit applies")
        return math.nan
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
    original = value
    if type(value) is float and math.isfinite(value):
        return _same(value + 0.0)  # -0.0 is 0.0
    if isinstance(value, str):
        value = seconds_in(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(_as_float(value)):
        return value
    complain("bad-time", f"{key!r} is {_shown(original)}; expected seconds or hh:mm:ss, read as 0")
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


def _strata(row: Mapping[str, Any]) -> dict[str, str]:
    if _STRATA.isdisjoint(row):
        return _NOTHING
    return {key: str(row[key]) for key in STRATA_COLUMNS if row.get(key) is not None}


@lru_cache(maxsize=256)
def _known_capability(name: str) -> Capability | None:
    return Capability.named(name)


def _capability(value: Any, complain: Complain) -> Capability | None:
    if type(value) is str and len(value) < 80 and (capability := _known_capability(value)):
        return capability
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
    if value is None or value == {}:
        return _NOTHING
    if isinstance(value, dict):
        return value
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
