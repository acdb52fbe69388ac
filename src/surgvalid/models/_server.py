"""A model behind a server: prompts go out as the server's dialect writes them, replies come back as outcomes.

Media are read when their prompt goes out and forgotten when its reply is there. They are put into the body as bytes: to
write an image of 50 kB as JSON text costs more than all the rest of a request.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from surgvalid.asking.chat import ChatLimits, ChatServer, ProtocolQuestion, run_to_end
from surgvalid.asking.connections import Connections
from surgvalid.asking.replies import Dialect, Reply, Trouble
from surgvalid.errors import Misuse
from surgvalid.models import _model
from surgvalid.models._estimate import is_here
from surgvalid.models._model import Can, Clip, Done, Outcome, Prompt
from surgvalid.models._open import ModelOptions
from surgvalid.schema.outcomes import Status

_MARK = f"media-{secrets.token_hex(8)}-"
"""Stands for media in a body until their bytes are put in; nobody can have written it into a prompt."""
_MARKED = re.compile(rf"{_MARK}(\d+)-".encode())
_SPEC = re.compile(r"(?P<model>[^@]+|.+?)(?:@(?P<url>https?://.+))?")


class Medium(NamedTuple):
    """An image or a clip on its way into a body."""

    mime: str
    mark: str
    """Stands for its base64 text."""


Content = list[str | Medium]


class ModelDialect(Dialect, Protocol):
    """How a kind of server is asked about images."""

    def fields(self, prompt: Prompt, content: Content, *, max_tokens: int, with_schema: bool) -> Mapping[str, Any]:
        """The body of a request, media by their marks."""
        ...


def split_spec(argument: str, usage: str, *, default: str | None = None) -> tuple[str, str]:
    """Model and URL of `MODEL@URL`; without the URL, where there is a default, that one.

    Raises:
        Misuse: There is no model, or no URL and no default.
    """
    match = _SPEC.fullmatch(argument)
    url = (match["url"] or default) if match else None
    if match is None or not match["model"].strip() or url is None:
        raise Misuse(f"model {argument!r} cannot be read; write {usage} with a URL that starts with http(s)://")
    return match["model"].strip(), url


def key_for(dialect: Dialect, *, where: str, needed: bool) -> str | None:
    """The key from the environment.

    Raises:
        Misuse: None is set, and the server is known to want one.
    """
    key = next((os.environ[name] for name in dialect.key_variables if os.environ.get(name)), None)
    if key is None and needed:
        names = " or ".join(dialect.key_variables)
        raise Misuse(f"{where} wants a key and none is set; put it into the environment as {names}")
    return key


class ServerModel:
    """A model behind a server.

    Args:
        kind: The kind of its specification.
        name: Its specification, without anything secret.
        model: As the server knows it.
        endpoint: Where requests go.
        dialect: How it is asked and read.
        key: Sent there and nowhere else.
        can: What it can do.
        options: How hard it is asked, and what it costs.
    """

    stored = True

    def __init__(
        self,
        kind: str,
        name: str,
        *,
        model: str,
        endpoint: str,
        dialect: ModelDialect,
        key: str | None,
        can: Can,
        options: ModelOptions,
    ) -> None:
        self.kind, self.name, self.can, self.dialect = kind, name, can, dialect
        self.revision, self.price = options.revision, options.price
        host = urlsplit(endpoint).hostname or ""
        self.host: str | None = None if is_here(host) else host
        self.parameters: Mapping[str, Any] = {"temperature": 0} | ({"logprobs": True} if options.logprobs else {})
        limits = ChatLimits(
            concurrency=options.concurrency,
            timeout_s=options.timeout_s,
            deadline_s=max(300.0, 2 * options.timeout_s),
            reasoning_tokens=options.reasoning_tokens,
            per_minute=options.per_minute,
        )
        self.server = ChatServer(model, endpoint, api_key=key, limits=limits, dialect=dialect)

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Ask as many prompts at once as the server bears."""
        run_to_end(lambda: self._ask_each(prompts, done))

    def close(self) -> None:
        """Connections end with each run."""

    async def _ask_each(self, prompts: Iterable[Prompt], done: Done) -> None:
        async with self.server.client() as client:

            async def ask(item: tuple[int, Prompt]) -> Reply | Trouble:
                return await self._asked(client, item[1])

            def hand_over(item: tuple[int, Prompt], reply: Reply | Trouble, seconds: float) -> None:
                done(item[0], outcome_of(reply, item[1], seconds))

            await self.server.ask_each(enumerate(prompts), ask, hand_over)

    async def _asked(self, client: Connections, prompt: Prompt) -> Reply | Trouble:
        try:
            content, pieces = _content_of(prompt)
        except _MediaUnusable as error:
            return Trouble(str(error))

        def body(max_tokens: int, with_schema: bool) -> bytes:
            fields = self.dialect.fields(prompt, content, max_tokens=max_tokens, with_schema=with_schema)
            return _with_media(json.dumps(fields).encode(), pieces)

        return await self.server.ask(client, ProtocolQuestion(body, prompt.max_tokens, prompt.schema is not None))


def outcome_of(reply: Reply | Trouble, prompt: Prompt, seconds: float) -> Outcome:
    """What a reply of a server, or the trouble with it, is for the prompt."""
    kinds = _model.ModelTrouble
    if isinstance(reply, Trouble):
        if reply.overflow:
            return Outcome(Status.FAILED, seconds=seconds, trouble=kinds.OVERFLOW, reason=reply.text)
        if reply.timed_out:
            return Outcome(Status.TIMED_OUT, seconds=seconds, trouble=kinds.TRANSIENT, reason=reply.text)
        if reply.passing or reply.absent:
            return Outcome(Status.INFRASTRUCTURE, seconds=seconds, trouble=kinds.TRANSIENT, reason=reply.text)
        return Outcome(Status.FAILED, seconds=seconds, trouble=kinds.PERMANENT, reason=reply.text)
    status = Status.REFUSED if reply.refused else Status.ANSWERED
    trouble = kinds.REFUSAL if reply.refused else kinds.CUT if reply.was_cut else None
    scores = None if reply.refused else _label_scores(reply, prompt)
    return Outcome(
        status,
        reply.text,
        scores,
        seconds,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        trouble=trouble,
        finish=reply.finish,
        model=reply.model,
    )


def _label_scores(reply: Reply, prompt: Prompt) -> dict[str, float] | None:
    """The probability of each label by its first word; None where the words do not tell the labels apart."""
    if not reply.first or not prompt.labels or prompt.several:
        return None
    scores = dict.fromkeys(prompt.labels, 0.0)
    for word, log_probability in reply.first:
        beginning = word.strip().casefold()
        begun = [label for label in prompt.labels if beginning and label.casefold().startswith(beginning)]
        if len(begun) == 1:
            scores[begun[0]] += min(1.0, 2.718281828459045**log_probability)
    return scores if any(scores.values()) else None


class _MediaUnusable(Exception):
    """A file that cannot be sent; the text says why."""


def _content_of(prompt: Prompt) -> tuple[Content, list[bytes]]:
    """The parts of a prompt with marks for its media, and the media."""
    content: Content = []
    pieces: list[bytes] = []
    for piece in prompt.parts:
        if isinstance(piece, str):
            content.append(piece)
            continue
        try:
            data = piece.path.read_bytes()
        except OSError as error:
            raise _MediaUnusable(f"{piece.path}: cannot be read ({error.strerror or type(error).__name__})") from None
        content.append(Medium(_mime(data, piece.path.name, is_clip=isinstance(piece, Clip)), f"{_MARK}{len(pieces)}-"))
        pieces.append(base64.b64encode(data))
    return content, pieces


def _with_media(body: bytes, pieces: list[bytes]) -> bytes:
    if not pieces:
        return body
    cut = _MARKED.split(body)
    cut[1::2] = [pieces[int(number)] for number in cut[1::2]]
    return b"".join(cut)


_PICTURES: Mapping[str, Callable[[bytes], bool]] = {
    "image/jpeg": lambda data: data[:3] == b"\xff\xd8\xff",
    "image/png": lambda data: data[:8] == b"\x89PNG\r\n\x1a\n",
    "image/webp": lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP",
}
_CLIPS: Mapping[str, Callable[[bytes], bool]] = {
    "video/mp4": lambda data: data[4:8] == b"ftyp",
    "video/x-matroska": lambda data: data[:4] == b"\x1a\x45\xdf\xa3",
    "video/x-msvideo": lambda data: data[:4] == b"RIFF" and data[8:12] == b"AVI ",
}


def _mime(data: bytes, name: str, *, is_clip: bool) -> str:
    """What a file is, by its content."""
    kinds = _CLIPS if is_clip else _PICTURES
    for mime, holds in kinds.items():
        if holds(data):
            return mime
    raise _MediaUnusable(f"{name}: is none of {', '.join(kinds)}, so it is not sent")
