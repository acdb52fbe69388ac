"""The judge behind a server that speaks the OpenAI protocol: vLLM, SGLang, Ollama, llama.cpp or hosted.

Temperature 0, structured output where the server takes it, many questions at once. The key comes from
the environment (SURGVALID_API_KEY, else OPENAI_API_KEY), goes only to the judge's own address, and
is written nowhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surgvalid.asking.chat import ChatLimits as ChatLimits
from surgvalid.asking.chat import ChatServer, endpoint_of, run_to_end
from surgvalid.asking.connections import Connections
from surgvalid.asking.replies import Reply, Trouble
from surgvalid.errors import Misuse
from surgvalid.judges._case import (
    ABSTAINED,
    FAILED,
    Done,
    JudgeCase,
    Verdict,
    collected,
    cut,
    has_verdict,
    verdict_from_reply,
)
from surgvalid.judges._official_server import MAX_TOKENS, TIMEOUT_S, OfficialServerJudge
from surgvalid.judges._prompt import asked_again, prompt_of

USAGE = "openai:MODEL@URL"
KEY_VARIABLES = ("SURGVALID_API_KEY", "OPENAI_API_KEY")

SCHEMA: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"verdict": {"type": "string", "enum": ["CORRECT", "INCORRECT", "UNSURE"]}},
            "required": ["verdict"],
            "additionalProperties": False,
        },
    },
}

_SPEC = re.compile(r"(?P<model>.+?)@(?P<url>https?://.+)", re.IGNORECASE)
_PATH = "/chat/completions"


class OpenAIJudge:
    """Asks a chat model about every case.

    Args:
        model: The model's name on the server.
        url: The server's base URL, with or without `/chat/completions`.
        limits: Concurrency, attempts, deadlines and tokens.
        api_key: The key; by default from the environment.
    """

    def __init__(self, model: str, url: str, *, limits: ChatLimits | None = None, api_key: str | None = None) -> None:
        endpoint, shown = endpoint_of(url, _PATH, USAGE)
        self.name = f"openai:{model}@{shown}"
        key = api_key or next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), None)
        self.limits = limits or ChatLimits()
        self.server = ChatServer(model, endpoint, api_key=key, limits=self.limits, schema=SCHEMA)
        self._key = key

    def limited(self, *, tokens: int | None = None, timeout_s: float | None = None) -> OpenAIJudge:
        """The same judge with other room for a reply, or other time."""
        room = self.limits.max_tokens if tokens is None else tokens
        time_s = self.limits.timeout_s if timeout_s is None else timeout_s
        limits = replace(
            self.limits,
            max_tokens=room,
            reasoning_tokens=max(room, self.limits.reasoning_tokens),
            timeout_s=time_s,
            deadline_s=max(self.limits.deadline_s, 2 * time_s),
        )
        return OpenAIJudge(self.server.model, self.server.endpoint, limits=limits, api_key=self._key)

    def as_official(self) -> OfficialServerJudge:
        """The same model on the same server, asked in the protocol of the official toolkit."""
        limits = replace(self.limits, timeout_s=TIMEOUT_S, max_tokens=MAX_TOKENS)
        server = ChatServer(self.server.model, self.server.endpoint, api_key=self._key, limits=limits, schema={})
        return OfficialServerJudge(self.name, server, first_wait_s=self.limits.backoff_s)

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        """One verdict per case, in the order of the cases."""
        return collected(self, cases)

    def judge_each(self, cases: Sequence[JudgeCase], done: Done) -> None:
        """Ask about all cases and hand over each verdict as it arrives."""
        run_to_end(lambda: self._ask_all(cases, done))

    async def _ask_all(self, cases: Sequence[JudgeCase], done: Done) -> None:
        async with self.server.client() as client:

            async def ask(position: int) -> Reply | Trouble:
                return await self._reply(client, prompt_of(cases[position]).messages())

            def hand_over(position: int, outcome: Reply | Trouble, seconds: float) -> None:
                done(position, _verdict_of(outcome, latency_s=seconds))

            await self.server.ask_each(range(len(cases)), ask, hand_over)

    async def _reply(self, client: Connections, messages: list[dict[str, str]]) -> Reply | Trouble:
        """The reply, asked for once more in plain JSON where the first says neither verdict nor UNSURE, or was cut."""
        first = await self.server.ask(client, messages)
        if isinstance(first, Trouble) or first.refused:
            return first
        if not first.was_cut and has_verdict(first.text):
            return first
        second = await self.server.ask(client, [*messages, *asked_again(first.text)])
        if isinstance(second, Trouble):
            return first
        better = second if not (second.refused or second.was_cut) and has_verdict(second.text) else first
        return better._replace(tokens=first.tokens + second.tokens)


def build(argument: str) -> OpenAIJudge:
    """The judge for `MODEL@URL`."""
    match = _SPEC.fullmatch(argument)
    if match is None:
        raise Misuse(f"judge 'openai:{argument}' cannot be read; write {USAGE} with a URL that starts with http(s)://")
    return OpenAIJudge(match["model"], match["url"])


def _verdict_of(outcome: Reply | Trouble, *, latency_s: float) -> Verdict:
    if isinstance(outcome, Trouble):
        return Verdict(None, FAILED, cut(outcome.text), latency_s)
    if outcome.refused:
        return Verdict(None, ABSTAINED, cut(outcome.text), latency_s, outcome.tokens, outcome.finish)
    return verdict_from_reply(
        outcome.text, was_cut=outcome.was_cut, finish=outcome.finish, latency_s=latency_s, tokens=outcome.tokens
    )
