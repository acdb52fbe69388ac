"""A chat server that speaks the OpenAI protocol, asked over async HTTP and never trusted to behave.

Each question ends in a reply or in a trouble that says what happened; no trouble is ever a verdict.
Passing troubles (rate limits, 5xx, lost connections, replies without content) are retried with
exponential back-off and jitter, at least as late as the server's Retry-After asks, within a deadline
per question; one that was not answered in time is put off, not repeated. Lasting ones (no access, no such
model, several questions in a row without a reply, nobody there at all) close the client for the rest of the run, so a
wrong key costs one request and not one per case, a server that is not running seconds, and one that hangs minutes.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx

from surgeval.asking.pace import Pace

_REFUSES_SCHEMA = (400, 422)
_PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
_TOO_MUCH = frozenset({429, 503, 529})
_CUT = frozenset({"length", "max_tokens"})
_CONTENT_FILTER = "content_filter"
_FILTERED = frozenset({_CONTENT_FILTER, "safety"})
_FORBIDDEN = 403
"""No access; or, from a server that has answered before, a gateway that dislikes this one text."""
_FILTERS = frozenset({400, _FORBIDDEN})
_CLOSING = frozenset({401, _FORBIDDEN, 404})
_LONGEST_WAIT_S = 30.0
_UNREACHED_BEFORE_CLOSING = 8
_NEVER_REACHED_BEFORE_CLOSING = 3
"""Connections in a row that nobody took, from a server that has not answered once."""
_UNANSWERED_BEFORE_CLOSING = 5
_SHOWN = 300
_BEGINNING = 40


@dataclass(frozen=True, slots=True)
class ChatLimits:
    """How hard a server is asked."""

    concurrency: int = 16
    """The most at once; how many are is learnt from the server."""
    attempts: int = 5
    timeout_s: float = 120.0
    """For one exchange."""
    deadline_s: float = 300.0
    """For one question with all its attempts and waits."""
    backoff_s: float = 1.0
    """The first wait; it doubles with every attempt, less a random part."""
    max_tokens: int = 128
    """Room for a short answer with its reason."""
    reasoning_tokens: int = 4096
    """Room for a model that was seen to reason before it answers, and was cut."""


class Reply(NamedTuple):
    """What the model said."""

    text: str
    finish: str = ""
    """Why it stopped, in the server's words."""
    refused: bool = False
    tokens: int = 0
    reasons: bool = False
    """Whether it reasoned before it answered."""

    @property
    def was_cut(self) -> bool:
        """Whether it reached the token limit."""
        return self.finish in _CUT


class Trouble(NamedTuple):
    """Why there is no reply."""

    text: str
    passing: bool = False
    wait_s: float = 0.0
    timed_out: bool = False


Ask = Callable[[int], Awaitable[Reply | Trouble]]
"""Asks the question at a position."""


class ChatServer:
    """One model on one server, with what was learnt about it."""

    def __init__(
        self, model: str, endpoint: str, *, api_key: str | None, limits: ChatLimits, schema: Mapping[str, Any]
    ) -> None:
        self.model, self.endpoint, self.limits, self.schema = model, endpoint, limits, schema
        self.pace = Pace(limits.concurrency)
        self._max_tokens = limits.max_tokens
        self.takes_schema: bool | None = None
        """Whether the server takes a schema for its output; None until it has answered."""
        self._key = api_key
        self._closed: Trouble | None = None
        self._unreached = self._unanswered = 0
        self._has_answered = False
        self._pause_until = 0.0

    def client(self) -> httpx.AsyncClient:
        """A client for one run; earlier closings are forgotten, what was learnt is not."""
        self._closed, self._unreached, self._unanswered, self._pause_until = None, 0, 0, 0.0
        self._has_answered = False
        self.pace = Pace(self.limits.concurrency, first=self.pace.at_once)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Limits(max_connections=self.limits.concurrency)
        return httpx.AsyncClient(headers=headers, limits=limits, timeout=self.limits.timeout_s)

    async def ask_each(self, count: int, ask: Ask, done: Callable[[int, Reply | Trouble, float], None]) -> None:
        """Ask `count` questions, many at once, and hand over each outcome with its seconds as it comes.

        A question without an answer in time goes to the end: the server may still be computing it, and
        would compute it twice. Then it is asked once more, alone.
        """
        waiting, late = iter(range(count)), []

        async def one(position: int, *, for_good: bool = False) -> None:
            async with self.pace.turn():
                start = time.monotonic()
                outcome, seconds = await ask(position), time.monotonic() - start
            if isinstance(outcome, Trouble) and outcome.timed_out and not for_good:
                late.append(position)
            else:
                done(position, outcome, seconds)

        async def work() -> None:
            for position in waiting:
                await one(position)

        if self.takes_schema is None and count:
            # The first goes alone: it shows whether the server takes a schema, so a refusal is met once
            # and not once per connection.
            await one(next(waiting))
        await asyncio.gather(*(work() for _ in range(min(self.limits.concurrency, count))))
        for position in late:
            await one(position, for_good=True)

    async def ask(self, client: httpx.AsyncClient, messages: list[dict[str, str]]) -> Reply | Trouble:
        """The reply to the messages, or the trouble that remained; a time-out is not asked again here."""
        outcome = await self._asked(client, messages)
        if isinstance(outcome, Reply):
            self._unanswered, self._has_answered = 0, True
        elif outcome.passing:
            self._unanswered += 1
            if self._unanswered == _UNANSWERED_BEFORE_CLOSING:
                text = f"given up after {self._unanswered} questions in a row without a reply (last: {outcome.text})"
                self._closed = Trouble(text)
        return outcome

    async def _asked(self, client: httpx.AsyncClient, messages: list[dict[str, str]]) -> Reply | Trouble:
        end = time.monotonic() + self.limits.deadline_s
        trouble = Trouble("not asked")
        for attempt in range(self.limits.attempts):
            if self._pause_until > end:
                return Trouble("the server asks for a longer pause than the deadline leaves")
            await asyncio.sleep(max(0.0, self._pause_until - time.monotonic()))
            if self._closed:
                return self._closed
            if (left_s := end - time.monotonic()) <= 0:
                break
            start = time.monotonic()
            outcome = await self._exchange(client, messages, min(left_s, self.limits.timeout_s))
            if isinstance(outcome, Reply):
                self.pace.went(time.monotonic() - start)
                if outcome.was_cut and outcome.reasons and self._max_tokens < self.limits.reasoning_tokens:
                    self._max_tokens = self.limits.reasoning_tokens
                    continue
                return outcome
            if outcome.timed_out or not outcome.passing:
                return outcome
            trouble = outcome
            wait_s = max(trouble.wait_s, self._backoff_s(attempt))
            if attempt + 1 == self.limits.attempts or time.monotonic() + wait_s > end:
                break
            await asyncio.sleep(wait_s)
        return trouble

    def _backoff_s(self, attempt: int) -> float:
        return min(_LONGEST_WAIT_S, self.limits.backoff_s * 2.0**attempt) * random.uniform(0.5, 1.0)

    async def _exchange(
        self, client: httpx.AsyncClient, messages: list[dict[str, str]], timeout_s: float
    ) -> Reply | Trouble:
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._post(client, messages)
        except TimeoutError:
            self.pace.stumbled()
            return Trouble(f"no answer within {timeout_s:.3g} s", passing=True, timed_out=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return self._unreachable(error)
        except httpx.HTTPError as error:
            return Trouble(self.clean(f"{type(error).__name__}: {error}"), passing=True)
        self._unreached = 0
        return self._reading(response)

    async def _post(self, client: httpx.AsyncClient, messages: list[dict[str, str]]) -> httpx.Response:
        """The server's response; a schema that it refuses is left out, from then on for good."""
        with_schema = self.takes_schema is not False
        response = await self._send(client, messages, with_schema=with_schema)
        if with_schema and response.status_code in _REFUSES_SCHEMA:
            response = await self._send(client, messages, with_schema=False)
            if response.is_success:
                self.takes_schema = False
        elif response.is_success and self.takes_schema is None:
            self.takes_schema = True
        return response

    async def _send(
        self, client: httpx.AsyncClient, messages: list[dict[str, str]], *, with_schema: bool
    ) -> httpx.Response:
        body = {
            "model": self.model,
            "messages": messages,
            "temperature": 0,
            "max_tokens": self._max_tokens,
            "stream": False,
        }
        if with_schema:
            body["response_format"] = self.schema
        content = json.dumps(body).encode()
        return await client.post(self.endpoint, content=content, headers={"Content-Type": "application/json"})

    def _reading(self, response: httpx.Response) -> Reply | Trouble:
        status = response.status_code
        if response.is_success:
            reading = reply_in(response.content)
            return reading if isinstance(reading, Reply) else reading._replace(text=self.clean(reading.text))
        text = self.clean(f"HTTP {status}: {response.text}").rstrip(": ")
        if status in _FILTERS and f'"{_CONTENT_FILTER}"' in response.text:
            return Reply(text, _CONTENT_FILTER, refused=True)
        if status in _CLOSING and not (status == _FORBIDDEN and self._has_answered):
            self._closed = Trouble(f"{text}; {self._advice(status)}")
            return self._closed
        wait_s = retry_after_s(response.headers.get("Retry-After"))
        if status in _TOO_MUCH:
            self.pace.stumbled()
        if status == 429 and wait_s:
            self._pause_until = max(self._pause_until, time.monotonic() + wait_s)
        return Trouble(text, passing=status in _PASSING, wait_s=wait_s)

    def _advice(self, status: int) -> str:
        if status == 404:
            return "check the model's name and the URL (often it ends in /v1)"
        return "check SURGEVAL_API_KEY" if self._key else "no key was sent: set SURGEVAL_API_KEY"

    def _unreachable(self, error: httpx.HTTPError) -> Trouble:
        self._unreached += 1
        text = self.clean(f"cannot be reached ({type(error).__name__}: {error})")
        most = _UNREACHED_BEFORE_CLOSING if self._has_answered else _NEVER_REACHED_BEFORE_CLOSING
        if self._unreached >= most:
            self._closed = Trouble(f"{text}; given up after {self._unreached} attempts: is the server running there?")
            return self._closed
        return Trouble(text, passing=True)

    def clean(self, text: str) -> str:
        """The text, short, on one line and without the key, which some servers echo."""
        text = text.replace(self._key, "***") if self._key else text
        return " ".join(text.split())[:_SHOWN]


def reply_in(content: bytes) -> Reply | Trouble:
    """The reply in the body of a chat completion, or what is missing there."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        begins = content[:_BEGINNING].decode("utf-8", "replace")
        return Trouble(f"the server's answer is not JSON (it begins {begins!r}); check the URL", passing=True)
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        error = f": {json.dumps(body['error'])}" if isinstance(body, dict) and "error" in body else ""
        return Trouble(f"the server's answer has no choices{error}", passing=True)
    message, tokens = choices[0].get("message"), whole_tokens(body.get("usage"))
    if not isinstance(message, dict):
        return Trouble("the server's answer has no message", passing=True)
    finish = str(choices[0].get("finish_reason") or "")
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        return Reply(refusal, finish, refused=True, tokens=tokens)
    text = _text_of(message.get("content"))
    hidden = finish in _CUT and not (text or "").strip()  # some servers keep the reasoning to themselves
    reasons = bool(message.get("reasoning_content") or message.get("reasoning") or "<think" in (text or "").lower())
    reasons = reasons or hidden
    if finish in _FILTERED:
        return Reply(text or "", finish, refused=True, tokens=tokens)
    if text is None and not (reasons and finish in _CUT):
        return Trouble("the message has no content (null)", passing=True)
    return Reply(text or "", finish, tokens=tokens, reasons=reasons)


def retry_after_s(header: str | None) -> float:
    """The seconds that a Retry-After header asks to wait: a number, or the time left until its date.

    Example:
        >>> retry_after_s("7"), retry_after_s(None), retry_after_s("soon")
        (7.0, 0.0, 0.0)
    """
    if header is None:
        return 0.0
    if header.strip().isascii() and header.strip().replace(".", "", 1).isdigit():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _text_of(content: Any) -> str | None:
    """The text of a message: a string, or the joined text parts of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = [block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "".join(parts) if parts else None


def whole_tokens(usage: Any) -> int:
    """The tokens that a server says an exchange used; 0 where it does not say."""
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else 0
