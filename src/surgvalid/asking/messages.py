"""The messages of protocol "1": the question as it is sent, and the only texts that count as an answer.

What comes back was written by a program that nobody trusts. So the reading is strict and bounded: UTF-8
JSON, one object, no key twice, no NaN or infinity, no nesting beyond use, no text that cannot be stored.
A refusal is a reason in one sentence, never an exception of the JSON reader.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from surgvalid.schema.documents import is_whole
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.formats import shown

PROTOCOL = "1"
MOST_BODY_BYTES = 64 * 1024
MOST_EXTRA_BYTES = 4 * 1024
_DEEPEST = 16
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class ExchangeOutcome(StrEnum):
    """What became of one question."""

    OK = "ok"
    """Answered in time and readable."""
    TIMEOUT = "timeout"
    """No complete answer before the deadline."""
    INVALID = "invalid"
    """Something came back that is no answer to this question."""
    CRASHED = "crashed"
    """The program ended, or could not be started again."""
    NOT_ASKED = "not_asked"
    """Never put to the program; the detail says why."""
    INFRA_ERROR = "infra_error"
    """Our side failed; the only outcome after which a question is asked again."""

    @property
    def status(self) -> Status:
        """The same in the words of score tables."""
        return _STATUS[self]


_STATUS = {
    ExchangeOutcome.OK: Status.ANSWERED,
    ExchangeOutcome.TIMEOUT: Status.TIMED_OUT,
    ExchangeOutcome.INVALID: Status.UNREADABLE,
    ExchangeOutcome.CRASHED: Status.FAILED,
    ExchangeOutcome.NOT_ASKED: Status.NOT_ASKED,
    ExchangeOutcome.INFRA_ERROR: Status.INFRASTRUCTURE,
}


@dataclass(frozen=True, slots=True)
class ProtocolQuestion:
    """One question as the program inside sees it: nothing in it tells data set, team or phase."""

    case: str
    """Opaque, and different in every run."""
    video: str
    """Opaque as well."""
    path: str
    """Of the video or frame, as seen from inside."""
    start_s: float
    end_s: float
    procedure: str
    text: str
    track: str
    budget_s: float

    def as_bytes(self) -> bytes:
        """The body of `POST /answer`."""
        message = {
            "protocol": PROTOCOL,
            "qID": self.case,
            "videoID": self.video,
            "video": self.path,
            "start_time": float(self.start_s),
            "end_time": float(self.end_s),
            "procedure_type": self.procedure,
            "question": self.text,
            "track": self.track,
            "budget_s": float(self.budget_s),
        }
        return json.dumps(message).encode("ascii")


@dataclass(frozen=True, slots=True)
class ProtocolAnswer:
    """The text of an answer, and what the program wanted to say besides."""

    content: str
    extra: Mapping[str, Any] | None = None
    note: str = ""
    """Why `extra` was left out, if it was."""


class NotAnAnswer(ValueError):
    """The reason why a body is no answer; becomes the detail of an `invalid` outcome."""


def read_answer(body: bytes, case: str) -> ProtocolAnswer:
    """The answer in the body of a reply to the question `case`.

    Raises:
        NotAnAnswer: With the reason.
    """
    message = strict_object(body)
    if "qID" not in message:
        raise NotAnAnswer("the answer has no 'qID'; send back the one of the question")
    if message["qID"] != case:
        raise NotAnAnswer(f"the answer is for another question: 'qID' is {_short(message['qID'])}; send back its own")
    content = message.get("content")
    if not isinstance(content, str):
        raise NotAnAnswer(f"'content' must be text, got {_short(content)}; answer with a string, also for a number")
    extra, note = _extra(message.get("extra"))
    return ProtocolAnswer(content, extra, note)


def read_health(body: bytes) -> str:
    """The name that a ready program gives itself.

    Raises:
        NotAnAnswer: The body is no health message of this protocol.
    """
    message = strict_object(body)
    if message.get("protocol") != PROTOCOL:
        raise NotAnAnswer(f"GET /health speaks protocol {_short(message.get('protocol'))}, expected {PROTOCOL!r}")
    name = message.get("name", "")
    return name[:200] if isinstance(name, str) else ""


def says_busy(body: bytes) -> bool:
    """Whether a health message says that the program is still at work on a question."""
    try:
        return strict_object(body).get("busy") is True
    except NotAnAnswer:
        return False


def strict_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`, read strictly.

    Raises:
        NotAnAnswer: With the reason.
    """
    if len(body) > MOST_BODY_BYTES:
        raise NotAnAnswer(f"the body has {len(body)} bytes, at most {MOST_BODY_BYTES} are read")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotAnAnswer(f"the body is not UTF-8 (byte {error.start})") from None
    if _is_nested_too_deeply(text):
        raise NotAnAnswer(f"the body is nested more than {_DEEPEST} deep")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotAnAnswer(f"the body is not JSON (character {error.pos}: {error.msg})") from None
    except NotAnAnswer:
        raise
    except (ValueError, RecursionError):
        raise NotAnAnswer("the body holds a number or a nesting that no reader converts") from None
    if not isinstance(value, dict):
        raise NotAnAnswer(f"the body must be a JSON object, got {_short(value)}")
    return value


def _is_nested_too_deeply(text: str) -> bool:
    if text.count("[") + text.count("{") <= _DEEPEST:
        return False
    depth = 0
    for token in _STRUCTURE.finditer(text):
        first = token[0][0]
        depth += (first in "[{") - (first in "]}")
        if depth > _DEEPEST:
            return True
    return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NotAnAnswer(f"the key {shown(twice)} is written twice")
    for key, value in pairs:
        _storable(key)
        _storable(value)
    return row


def _list_is_storable(value: Any) -> None:
    for member in value:
        _storable(member)


def _storable(value: Any) -> None:
    """Refuse text that UTF-8 cannot hold (half of a surrogate pair), wherever it stands."""
    if isinstance(value, list):
        _list_is_storable(value)
    elif isinstance(value, str) and not is_whole(value):
        raise NotAnAnswer("the body holds half a surrogate pair, which is no text")


def _constant(name: str) -> Any:
    raise NotAnAnswer(f"the body holds {name}, which JSON does not know")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotAnAnswer("the body holds a number beyond any range")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_finite)


def _extra(value: Any) -> tuple[Mapping[str, Any] | None, str]:
    if value is None:
        return None, ""
    if not isinstance(value, dict):
        return None, "'extra' was left out: it must be an object"
    size = len(json.dumps(value, ensure_ascii=False).encode("utf-8"))
    if size > MOST_EXTRA_BYTES:
        return None, f"'extra' was left out: {size} bytes, at most {MOST_EXTRA_BYTES} are kept"
    return value, ""


def _short(value: Any) -> str:
    if isinstance(value, str):
        return shown(value)
    kinds = {dict: "an object", list: "a list", type(None): "nothing"}
    return kinds.get(type(value)) or repr(value)[:40]
