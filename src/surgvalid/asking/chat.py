"""A chat server, asked over HTTP many questions at once and never trusted to behave.

Each question ends in a reply or in a trouble that says what happened; no trouble is ever a verdict or an answer.
Passing troubles (rate limits, 5xx, lost connections, replies that are none) are retried with exponential back-off and
jitter, at least as late as the server's Retry-After asks, within a deadline per question; one that was not answered in
time is put off, not repeated. Lasting ones (no access, no such model, no money left, several questions in a row that
the server failed, nobody there at all) close the client for the rest of the run, so a wrong key costs one request and
not one per case, a server that is not running seconds, and one that hangs minutes. What a server refuses about one
question (an image that it cannot read, a text that is too long) costs that question and closes nothing.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit, urlunsplit

from surgvalid.asking.connections import (
    ConnectionFailed,
    Connections,
    Pace,
    Rate,
    ReplyTooLarge,
    Unreachable,
    WebResponse,
)
from surgvalid.asking.replies import (
    CONTENT_FILTER,
    OPENAI,
    Dialect,
    Reply,
    Trouble,
    retry_after_s,
    says_end,
    says_overflow,
)
from surgvalid.errors import Misuse

_REFUSES_SCHEMA = (400, 422)
_PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
_TOO_MUCH = frozenset({429, 503, 529})
_FORBIDDEN = 403
"""No access; or, from a server that has answered before, a gateway that dislikes this one text."""
_FILTERS = frozenset({400, _FORBIDDEN})
_CLOSING = frozenset({401, _FORBIDDEN, 404})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LEAST_SECRET = 16
"""Letters of a key from which on it is taken out of answers too; shorter ones (`none`, `EMPTY`) are words of some."""
_LONGEST_WAIT_S = 30.0
_UNREACHED_BEFORE_CLOSING = 8
_NEVER_REACHED_BEFORE_CLOSING = 3
"""Connections in a row that nobody took, from a server that has not answered once."""
_UNANSWERED_BEFORE_CLOSING = 5
_SHOWN = 300
_Item = TypeVar("_Item")


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
    per_minute: float | None = None
    """Requests that the server allows; None: as many as it bears."""


class ProtocolQuestion(NamedTuple):
    """What goes out: the body for a token limit, with or without the schema of its answer."""

    body: Callable[[int, bool], bytes]
    max_tokens: int
    has_schema: bool


class ChatServer:
    """One model on one server, with what was learnt about it.

    Args:
        model: As the server knows it.
        endpoint: Where every request goes.
        api_key: Sent to that address only.
        limits: How hard it is asked.
        schema: Of the answers to plain messages.
        dialect: The protocol in which it is asked.
    """

    def __init__(
        self,
        model: str,
        endpoint: str,
        *,
        api_key: str | None,
        limits: ChatLimits,
        schema: Mapping[str, Any] | None = None,
        dialect: Dialect = OPENAI,
    ) -> None:
        self.model, self.endpoint, self.limits, self.schema, self.dialect = model, endpoint, limits, schema, dialect
        self.pace = Pace(limits.concurrency)
        self.takes_schema: bool | None = None
        """Whether the server takes a schema for its output; None until it has answered."""
        self._key = api_key
        self._least_tokens = 0
        """Room that a model which reasons was seen to need."""
        self._closed: Trouble | None = None
        self._unreached = self._unanswered = 0
        self._has_answered = False
        self._pause_until = 0.0
        self._rate = Rate(limits.per_minute)

    def client(self) -> Connections:
        """Connections for one run; earlier closings are forgotten, what was learnt is not."""
        self._closed, self._unreached, self._unanswered, self._pause_until = None, 0, 0, 0.0
        self._has_answered = False
        self.pace = Pace(self.limits.concurrency, first=self.pace.at_once)
        headers = self.dialect.headers(self._key)
        return Connections(self.endpoint, headers=headers, timeout_s=self.limits.timeout_s)

    async def ask_each(
        self,
        items: Iterable[_Item],
        ask: Callable[[_Item], Awaitable[Reply | Trouble]],
        done: Callable[[_Item, Reply | Trouble, float], None],
    ) -> None:
        """Ask about each item, many at once, and hand over each outcome with its seconds as it comes.

        Items are taken as they can be asked. A question without an answer in time goes to the end: the server may still
        be computing it, and would compute it twice. Then it is asked once more, alone.
        """
        waiting, late = iter(items), []

        async def one(item: _Item, *, for_good: bool = False) -> None:
            start = time.monotonic()
            outcome, seconds = await ask(item), time.monotonic() - start
            if isinstance(outcome, Trouble) and outcome.timed_out and not for_good:
                late.append(item)
            else:
                done(item, outcome, seconds)

        async def work(most: int | None = None) -> None:
            for _ in repeat(None) if most is None else range(most):
                async with self.pace.turn():
                    for item in waiting:
                        await one(item)
                        break
                    else:
                        return

        if self.takes_schema is None:
            # The first goes alone: it shows whether the server takes a schema, so a refusal is met once
            # and not once per connection.
            await work(1)
        await asyncio.gather(*(work() for _ in range(self.limits.concurrency)))
        for item in late:
            async with self.pace.turn():
                await one(item, for_good=True)

    async def ask(self, client: Connections, question: list[dict[str, str]] | ProtocolQuestion) -> Reply | Trouble:
        """The reply to messages or a question, or the trouble that remained; a time-out is not asked again here."""
        whole = question if isinstance(question, ProtocolQuestion) else self._question(question)
        outcome = await self._asked(client, whole)
        if isinstance(outcome, Reply):
            self._unanswered, self._has_answered = 0, True
        elif outcome.passing:
            self._unanswered += 1
            if self._unanswered == _UNANSWERED_BEFORE_CLOSING:
                text = f"given up after {self._unanswered} questions in a row without a reply (last: {outcome.text})"
                self._closed = Trouble(text, absent=True)
        return outcome

    def _question(self, messages: list[dict[str, str]]) -> ProtocolQuestion:
        def body(max_tokens: int, with_schema: bool) -> bytes:
            fields = {
                "model": self.model,
                "messages": messages,
                "temperature": 0,
                "max_tokens": max_tokens,
                "stream": False,
            }
            return json.dumps(fields | ({"response_format": self.schema} if with_schema else {})).encode()

        return ProtocolQuestion(body, self.limits.max_tokens, self.schema is not None)

    async def _asked(self, client: Connections, question: ProtocolQuestion) -> Reply | Trouble:
        end = time.monotonic() + self.limits.deadline_s
        trouble, thrown_away = Trouble("not asked"), (0, 0)
        for attempt in range(self.limits.attempts):
            if self._pause_until > end:
                return Trouble("the server asks for a longer pause than the deadline leaves", absent=True)
            if (pause_s := self._pause_until - time.monotonic()) > 0:
                await asyncio.sleep(pause_s)
            await self._rate.turn()
            if self._closed:
                return self._closed
            if (left_s := end - time.monotonic()) <= 0:
                break
            start = time.monotonic()
            outcome = await self._exchange(client, question, min(left_s, self.limits.timeout_s))
            if isinstance(outcome, Reply):
                self.pace.went(time.monotonic() - start)
                room = max(question.max_tokens, self._least_tokens)
                outcome = outcome.with_tokens(*thrown_away)
                if outcome.was_cut and outcome.reasons and room < self.limits.reasoning_tokens:
                    thrown_away = (outcome.tokens_in, outcome.tokens_out)
                    self._least_tokens = self.limits.reasoning_tokens
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

    async def _exchange(self, client: Connections, question: ProtocolQuestion, timeout_s: float) -> Reply | Trouble:
        try:
            response = await self._post(client, question, time.monotonic() + timeout_s)
        except TimeoutError:
            self.pace.stumbled()
            return Trouble(f"no answer within {timeout_s:.3g} s", passing=True, timed_out=True)
        except Unreachable as error:
            return self._unreachable(error)
        except ReplyTooLarge as error:
            return Trouble(str(error))
        except ConnectionFailed as error:
            return Trouble(self.clean(str(error)), passing=True)
        self._unreached = 0
        return self._reading(response)

    async def _post(self, client: Connections, question: ProtocolQuestion, end: float) -> WebResponse:
        """The server's response; a schema that it refuses is left out, from then on for good."""
        with_schema = question.has_schema and self.takes_schema is not False
        response = await self._send(client, question, end, with_schema=with_schema)
        while response.status in _REFUSES_SCHEMA and self.dialect.learns(response.text):
            response = await self._send(client, question, end, with_schema=with_schema)
        refuses = response.status in _REFUSES_SCHEMA and not says_overflow(response.status, response.text)
        if with_schema and refuses:
            response = await self._send(client, question, end, with_schema=False)
            if response.is_success:
                self.takes_schema = False
        elif response.is_success and self.takes_schema is None and question.has_schema:
            self.takes_schema = True
        return response

    async def _send(
        self, client: Connections, question: ProtocolQuestion, end: float, *, with_schema: bool
    ) -> WebResponse:
        body = question.body(max(question.max_tokens, self._least_tokens), with_schema)
        return await client.post(body, timeout_s=end - time.monotonic())

    def _reading(self, response: WebResponse) -> Reply | Trouble:
        status = response.status
        if response.is_success:
            reading = self.dialect.read(response.content)
            if isinstance(reading, Trouble):
                return reading._replace(text=self.clean(reading.text))
            return reading._replace(text=self._without_key(reading.text, least=_LEAST_SECRET))
        whole = response.text
        text = self.clean(f"HTTP {status}: {whole}").rstrip(": ")
        if status in _FILTERS and f'"{CONTENT_FILTER}"' in whole:
            return Reply(text, CONTENT_FILTER, refused=True)
        if status in _REDIRECTS:
            self._closed = Trouble(f"{text}; {_sent_on(response)}", absent=True)
            return self._closed
        if status in _CLOSING and not (status == _FORBIDDEN and self._has_answered):
            self._closed = Trouble(f"{text}; {self._advice(status)}", absent=True)
            return self._closed
        wait_s = retry_after_s(response.headers.get("retry-after"))
        if says_end(status, whole) and not wait_s:
            self._closed = Trouble(text, absent=True)
            return self._closed
        if status in _TOO_MUCH:
            self.pace.stumbled()
        if status == 429 and wait_s:
            self._pause_until = max(self._pause_until, time.monotonic() + wait_s)
        return Trouble(text, passing=status in _PASSING, wait_s=wait_s, overflow=says_overflow(status, whole))

    def _advice(self, status: int) -> str:
        if status == 404:
            return "check the model's name and the URL (often it ends in /v1)"
        variable = self.dialect.key_variables[0]
        return f"check {variable}" if self._key else f"no key was sent: set {variable}"

    def _unreachable(self, error: Unreachable) -> Trouble:
        self._unreached += 1
        text = self.clean(f"cannot be reached ({error})")
        most = _UNREACHED_BEFORE_CLOSING if self._has_answered else _NEVER_REACHED_BEFORE_CLOSING
        if self._unreached >= most:
            given_up = f"{text}; given up after {self._unreached} attempts: is the server running there?"
            self._closed = Trouble(given_up, absent=True)
            return self._closed
        return Trouble(text, passing=True, absent=True)

    def clean(self, text: str) -> str:
        """The text, short, on one line and without the key, which some servers echo."""
        return " ".join(self._without_key(text).split())[:_SHOWN]

    def _without_key(self, text: str, *, least: int = 1) -> str:
        return text.replace(self._key, "***") if self._key and len(self._key) >= least else text


def _sent_on(response: WebResponse) -> str:
    """Where a redirect leads, without anything secret in the address."""
    try:
        host = urlsplit(response.headers.get("location", "")).netloc.rpartition("@")[2]
    except ValueError:
        host = ""
    return f"it sends on to {host or 'another address'}, where nothing is sent: name that URL if it is meant"


def endpoint_of(url: str, path: str, usage: str) -> tuple[str, str]:
    """Where requests go, and the base URL as it may be shown: without user, password and query.

    Args:
        url: As somebody typed it, with or without the path.
        path: Of the requests, below the base.
        usage: How the whole specification is written, for messages.

    Raises:
        Misuse: It is no address of a web server.

    Example:
        >>> endpoint_of("http://me:secret@host/v1/", "/chat/completions", "openai:MODEL@URL")
        ('http://me:secret@host/v1/chat/completions', 'http://host/v1')
    """
    try:
        parsed = urlsplit(url.strip())
        port = parsed.port
    except ValueError as error:
        raise Misuse(f"the URL cannot be read ({error}); write {usage}") from None
    if parsed.scheme not in ("http", "https") or not parsed.hostname:
        raise Misuse(f"the URL needs http(s):// and a host, got scheme {parsed.scheme!r}; write {usage}")
    if any(letter.isspace() or ord(letter) < 32 for letter in url.strip()):
        raise Misuse(f"the URL has white space in it; write {usage}")
    base = parsed.path.rstrip("/").removesuffix(path).rstrip("/")
    host = f"[{parsed.hostname}]" if ":" in parsed.hostname else parsed.hostname
    shown = urlunsplit((parsed.scheme, f"{host}:{port}" if port else host, base, "", ""))
    return urlunsplit((parsed.scheme, parsed.netloc, f"{base}{path}", parsed.query, "")), shown


def run_to_end(work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run the work to its end, in a thread of its own where an event loop is already running (notebooks)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work())
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="surgvalid-asking") as threads:
        threads.submit(lambda: asyncio.run(work())).result()
