"""What a chat server said, or why it said nothing: the reading of its answers, which are never trusted to be any."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, Protocol

_CUT = frozenset({"length", "max_tokens"})
CONTENT_FILTER = "content_filter"
_FILTERED = frozenset({CONTENT_FILTER, "safety"})
_BEGINNING = 40
_MOST_TOKENS = 10**9
_LONGEST_NAME = 200
_OVERFLOW = re.compile(
    r"context[ _-]?length|context window|maximum context|too many tokens|prompt is too long|too long for|"
    r"exceeds? the (?:model|maximum|limit|available context)|max_model_len|max_total_tokens|"
    r"input token count .{0,40}exceeds|request (?:entity )?too large",
    re.IGNORECASE,
)

_END = re.compile(
    r"insufficient[_ ]quota|billing_hard_limit|exceeded your current quota|credit balance is too low|"
    r"model_not_found|model[^.]{0,200} does not exist|unknown model",
    re.IGNORECASE,
)


class Reply(NamedTuple):
    """What the model said."""

    text: str
    """Empty where it only reasoned or called a tool."""
    finish: str = ""
    """Why it stopped, in the server's words."""
    refused: bool = False
    tokens: int = 0
    """In and out together."""
    reasons: bool = False
    """Whether it reasoned before it answered."""
    tokens_in: int = 0
    tokens_out: int = 0
    first: tuple[tuple[str, float], ...] = ()
    """What its first word could have been, with log-probabilities, where the server gives them."""
    model: str = ""
    """Who answered, by the server's word."""

    @property
    def was_cut(self) -> bool:
        """Whether it reached the token limit."""
        return self.finish in _CUT

    def with_tokens(self, tokens_in: int, tokens_out: int) -> Reply:
        """The reply with the tokens of another one that was paid for its sake."""
        return self._replace(
            tokens=self.tokens + tokens_in + tokens_out,
            tokens_in=self.tokens_in + tokens_in,
            tokens_out=self.tokens_out + tokens_out,
        )


class Trouble(NamedTuple):
    """Why there is no reply."""

    text: str
    passing: bool = False
    wait_s: float = 0.0
    timed_out: bool = False
    overflow: bool = False
    """The question does not fit into the model."""
    absent: bool = False
    """Nobody could be asked: no server, no access, no such model, or one that was given up."""


class Dialect(Protocol):
    """How a kind of server is given its key and how its answers are read."""

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Where the key stands in the environment; the first that is set counts."""
        ...

    def headers(self, key: str | None) -> dict[str, str]:
        """What every request carries."""
        ...

    def read(self, content: bytes) -> Reply | Trouble:
        """The reply in the body of an answer, or what is missing there."""
        ...

    def learns(self, refusal: str) -> bool:
        """Whether a refusal teaches to ask otherwise, so that the same question is worth sending again."""
        ...


class OpenAIDialect:
    """The protocol of OpenAI, which most servers speak."""

    key_variables = ("SURGVALID_API_KEY", "OPENAI_API_KEY")

    def headers(self, key: str | None) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def read(self, content: bytes) -> Reply | Trouble:
        """The reply in the body of a chat completion, or what is missing there."""
        body = json_in(content)
        if isinstance(body, Trouble):
            return body
        choices = body.get("choices") if isinstance(body, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return Trouble(f"the server's answer has no choices{error_in(body)}", passing=True)
        message, usage = choices[0].get("message"), body.get("usage")
        if not isinstance(message, dict):
            return Trouble("the server's answer has no message", passing=True)
        tokens_in, tokens_out = whole_tokens(usage, "prompt_tokens"), whole_tokens(usage, "completion_tokens")
        base = Reply(
            "",
            str(choices[0].get("finish_reason") or ""),
            tokens=whole_tokens(usage) or tokens_in + tokens_out,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            first=_first_words(choices[0].get("logprobs")),
            model=named_model(body),
        )
        if isinstance(refusal := message.get("refusal"), str) and refusal:
            return base._replace(text=refusal, refused=True)
        text = text_of(message.get("content"))
        hidden = base.was_cut and not (text or "").strip()  # some servers keep the reasoning to themselves
        reasons = bool(message.get("reasoning_content") or message.get("reasoning") or "<think" in (text or "").lower())
        reasons = reasons or hidden
        if base.finish in _FILTERED:
            return base._replace(text=text or "", refused=True)
        return base._replace(text=text or "", reasons=reasons)

    def learns(self, refusal: str) -> bool:  # noqa: ARG002
        """Plain messages are asked one way."""
        return False


OPENAI = OpenAIDialect()


def json_in(content: bytes) -> Any | Trouble:
    """The document in an answer, or that it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        begins = content[:_BEGINNING].decode("utf-8", "replace")
        return Trouble(f"the server's answer is not JSON (it begins {begins!r}); check the URL", passing=True)


def error_in(body: Any) -> str:
    """The error that a server put into an answer that it called a success."""
    return f": {json.dumps(body['error'])}" if isinstance(body, dict) and "error" in body else ""


def says_overflow(status: int, text: str) -> bool:
    """Whether a refusal says that the question does not fit into the model.

    Example:
        >>> says_overflow(400, "This model's maximum context length is 4096 tokens")
        True
        >>> says_overflow(400, "image_url is not supported"), says_overflow(503, "context length")
        (False, False)
    """
    return status == 413 or (status in (400, 422) and _OVERFLOW.search(text) is not None)


def says_end(status: int, text: str) -> bool:
    """Whether a refusal says that no further question will be answered: no such model, no money left.

    Example:
        >>> says_end(429, '{"error": {"code": "insufficient_quota"}}'), says_end(429, "slow down"), says_end(402, "")
        (True, False, True)
    """
    return status == 402 or (status in (400, 403, 422, 429) and "retryDelay" not in text and bool(_END.search(text)))


def named_model(body: Any, key: str = "model") -> str:
    """Who answered, by the server's word; empty where it says nothing that could be a name."""
    name = body.get(key) if isinstance(body, dict) else None
    return " ".join(name.split())[:_LONGEST_NAME] if isinstance(name, str) else ""


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


def text_of(content: Any) -> str | None:
    """The text of a message: a string, or the joined text parts of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = [block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "".join(parts) if parts else None


def whole_tokens(usage: Any, name: str = "total_tokens") -> int:
    """The tokens that a server says an exchange used; 0 where it does not say, or says what cannot be."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _MOST_TOKENS else 0


def _first_words(logprobs: Any) -> tuple[tuple[str, float], ...]:
    words = logprobs.get("content") if isinstance(logprobs, dict) else None
    top = words[0].get("top_logprobs") if isinstance(words, list) and words and isinstance(words[0], dict) else None
    listed = [entry for entry in top or [] if isinstance(entry, dict)] if isinstance(top, list) else []
    pairs = [(entry.get("token"), entry.get("logprob")) for entry in listed]
    return tuple((word, float(p)) for word, p in pairs if isinstance(word, str) and isinstance(p, int | float))
