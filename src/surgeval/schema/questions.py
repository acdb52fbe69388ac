"""Request, Reference and Response: the question, its reference answer and a model's answer.

`case` is the question's identifier everywhere in surgeval; official files call it `qID`. Rows come in
two layouts: the official JSON (`qID`, `videoID`, ...) and the fourteen columns of the public data
sets (`id`, `video`, `answer_format`, ...). Reading a row never guesses in silence: what is off is
said, as a text, and the caller decides whether that is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from surgeval.errors import UnknownName
from surgeval.schema.formats import time_tolerance_s
from surgeval.schema.taxonomy import Capability

Complain = Callable[[str, str], None]
"""Called with the code and the text of a problem."""

DATA_SET_COLUMNS = (
    "id", "video", "procedure_type", "question", "answer", "answer_format", "track", "generation",
    "clinical_relevance", "ood", "timestamp_start", "timestamp_end", "primary_capability",
    "secondary_capabilities",
)  # fmt: skip
"""The columns of a public FOCUS data set."""

STRATA_COLUMNS = ("track", "generation", "center", "phase")
"""Columns beyond the official ones that are carried along as strata."""


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
        """The row of an official references file."""
        return {
            "qID": self.case,
            "primary": self.capability.value,
            "format": self.format,
            "format_kwargs": dict(self.parameters),
            "answer": self.answer,
            "secondaries": [c.value for c in self.secondaries],
            "ood": bool(self.ood),
            "clinical": self.clinical,
        }


@dataclass(frozen=True, slots=True)
class Response:
    """What a model answered. No text at all (None) is an unanswered question."""

    case: str
    content: str | None
    latency_s: float = 0.0
    """As the model reported it; NaN when what it reported is not a time."""

    def as_row(self) -> dict[str, Any]:
        """The row of an official answer file."""
        return {"qID": self.case, "content": self.content, "latency": self.latency_s}


# --- rows ----------------------------------------------------------------------------------------


def is_data_set_row(row: Mapping[str, Any]) -> bool:
    """Whether the row has the layout of the public data sets rather than of the official JSON."""
    return "qID" not in row and "id" in row


def case_of(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> str | None:
    """The identifier of a row, within its namespace; None when there is none."""
    raw = row.get("qID", row.get("id"))
    if raw is None or isinstance(raw, list | dict) or (text := str(raw)).strip() == "":
        complain("no-id", f"no usable qID (got {raw!r})")
        return None
    if not isinstance(raw, str):
        complain("id-not-text", f"qID {raw!r} is a {type(raw).__name__}; read as {text!r}")
    return f"{namespace}/{text}" if namespace else text


def request_from_row(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> Request | None:
    """The request in a row, or None when it lacks an identifier."""
    case = case_of(row, namespace, complain)
    if case is None:
        return None
    data_set = is_data_set_row(row)
    keys = ("video", "timestamp_start", "timestamp_end") if data_set else ("videoID", "start_time", "end_time")
    video = row.get(keys[0])
    if video is None:
        complain("no-video", f"{keys[0]!r} is missing; the question is its own video")
        video = case
    elif namespace:
        video = f"{namespace}/{video}"
    start, end = (_seconds(row.get(key), key, complain) for key in keys[1:])
    if end < start:
        complain("window-reversed", f"the window ends ({end:g} s) before it starts ({start:g} s)")
    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        complain("no-question", "the question has no text")
    return Request(case, str(video), start, end, str(row.get("procedure_type") or ""), str(question or ""))


def reference_from_row(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> Reference | None:
    """The reference in a row, or None when identifier, capability or answer cannot be read."""
    case = case_of(row, namespace, complain)
    data_set = is_data_set_row(row)
    primary = row.get("primary_capability" if data_set else "primary")
    capability = _capability(primary, complain)
    answer = row.get("answer")
    if not isinstance(answer, str):
        complain("answer-not-text", f"the reference answer must be text, got {answer!r}")
    if case is None or capability is None or not isinstance(answer, str):
        return None
    format_name = str(row.get("answer_format" if data_set else "format"))
    parameters = _parameters(row.get("format_kwargs"), complain)
    if data_set and format_name == "time":
        window = [_seconds(row.get(key), key, _quiet) for key in ("timestamp_start", "timestamp_end")]
        parameters.setdefault("threshold_seconds", time_tolerance_s(window[1] - window[0]))
    listed = row.get("secondary_capabilities" if data_set else "secondaries")
    return Reference(
        case=case,
        capability=capability,
        format=format_name,
        answer=answer,
        parameters=parameters,
        secondaries=_secondaries(listed, complain),
        ood=_flag(row.get("ood"), "ood", complain),
        clinical=bool(_flag(row.get("clinical_relevance" if data_set else "clinical"), "clinical", complain)),
        strata={key: str(row[key]) for key in STRATA_COLUMNS if row.get(key) is not None},
    )


def response_from_row(row: Mapping[str, Any], namespace: str | None, complain: Complain) -> Response | None:
    """The response in a row, or None when it has no identifier. Odd content is kept or named, never lost."""
    case = case_of(row, namespace, complain)
    if case is None:
        return None
    if extra := [key for key in row if key not in ("qID", "id", "content", "latency")]:
        complain("extra-keys", f"unexpected keys {', '.join(map(repr, extra[:5]))} (ignored)")
    return Response(case, _content(row, complain), _latency(row, complain))


def _content(row: Mapping[str, Any], complain: Complain) -> str | None:
    content = row.get("content")
    if isinstance(content, str):
        return str(content)
    if content is None:
        complain("no-content", "the content is null or absent; counted as unanswered")
        return None
    if isinstance(content, list | dict):
        complain("nested-content", f"the content is a {type(content).__name__}, not text; counted as unanswered")
        return None
    complain("content-not-text", f"the content is a {type(content).__name__}; read as the text {str(content)!r}")
    return str(content)


def _latency(row: Mapping[str, Any], complain: Complain) -> float:
    latency = row.get("latency", 0.0)
    if isinstance(latency, str):
        latency = _float_or_none(latency)
    if isinstance(latency, bool) or not isinstance(latency, int | float):
        complain("bad-latency", f"the latency is {row.get('latency')!r}, not a number of seconds")
        return math.nan
    if math.isnan(latency) or latency < 0:
        complain("bad-latency", f"the latency is {latency!r}; it counts as late where a limit applies")
        return math.nan
    return float(latency)


def _float_or_none(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _seconds(value: Any, key: str, complain: Complain) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    if isinstance(value, str):
        try:
            hours, minutes, seconds = value.split(":") if ":" in value else ("0", "0", value)
            return int(hours) * 3600 + int(minutes) * 60 + (int(seconds) if seconds.isdigit() else float(seconds))
        except ValueError:
            pass
    complain("bad-time", f"{key!r} is {value!r}; expected seconds or hh:mm:ss, read as 0")
    return 0.0


def _capability(value: Any, complain: Complain) -> Capability | None:
    try:
        return Capability.read(value)
    except UnknownName as error:
        complain("unknown-capability", str(error))
        return None


def _secondaries(listed: Any, complain: Complain) -> tuple[Capability, ...]:
    if isinstance(listed, str):
        listed = [part for part in listed.replace(";", ",").strip("[] ").split(",") if part.strip(" '\"")]
        listed = [part.strip(" '\"") for part in listed]
    if not isinstance(listed, list | tuple):
        return ()
    found = []
    for value in listed:
        if (capability := Capability.named(value)) is None:
            complain("unknown-secondary", f"unknown secondary capability {value!r} (ignored)")
        else:
            found.append(capability)
    return tuple(found)


def _parameters(value: Any, complain: Complain) -> dict[str, Any]:
    if isinstance(value, str):
        with suppress(json.JSONDecodeError):
            value = json.loads(value)
    if value is None:
        return {}
    if isinstance(value, dict):
        return dict(value)
    complain("bad-parameters", f"format_kwargs must be an object, got {value!r}")
    return {}


def _flag(value: Any, key: str, complain: Complain) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    spelled = {"true": True, "1": True, "yes": True, "1.0": True, "false": False, "0": False, "no": False, "0.0": False}
    if (found := spelled.get(str(value).strip().lower())) is not None:
        return found
    complain("bad-flag", f"{key!r} must be true or false, got {value!r}; read as not stated")
    return None


def _quiet(_code: str, _text: str) -> None:
    return None
