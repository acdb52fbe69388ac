"""The judge behind a server that speaks the OpenAI protocol: vLLM, SGLang, Ollama, llama.cpp or hosted.

Temperature 0, structured output where the server takes it, many questions at once. The key comes from
the environment (SURGEVAL_API_KEY, else OPENAI_API_KEY), goes only to the judge's own address, and
is written nowhere.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx

from surgeval.asking.chat import ChatLimits as ChatLimits
from surgeval.asking.chat import ChatServer, Reply, Trouble
from surgeval.errors import Misuse
from surgeval.judges._case import ABSTAINED, FAILED, Done, JudgeCase, Verdict, collected, cut
from surgeval.judges._prompt import prompt_of
from surgeval.judges._verdict_parser import verdict_from_reply

USAGE = "openai:MODEL@URL"
KEY_VARIABLES = ("SURGEVAL_API_KEY", "OPENAI_API_KEY")

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
        endpoint, shown = _endpoint(url)
        self.name = f"openai:{model}@{shown}"
        key = api_key or next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), None)
        self.limits = limits or ChatLimits()
        self.server = ChatServer(model, endpoint, api_key=key, limits=self.limits)

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        """One verdict per case, in the order of the cases."""
        return collected(self, cases)

    def judge_each(self, cases: Sequence[JudgeCase], done: Done) -> None:
        """Ask about all cases and hand over each verdict as it arrives."""
        _run(lambda: self._ask_all(cases, done))

    async def _ask_all(self, cases: Sequence[JudgeCase], done: Done) -> None:
        waiting = iter(range(len(cases)))
        async with self.server.client() as client:

            async def work() -> None:
                for position in waiting:
                    done(position, await self._verdict(client, cases[position]))

            if self.server.takes_schema is None and cases:
                # The first case goes alone: it shows whether the server takes a schema, so a refusal is
                # met once and not once per connection.
                done(next(waiting), await self._verdict(client, cases[0]))
            await asyncio.gather(*(work() for _ in range(min(self.limits.concurrency, len(cases)))))

    async def _verdict(self, client: httpx.AsyncClient, case: JudgeCase) -> Verdict:
        start = time.monotonic()
        outcome = await self.server.ask(client, prompt_of(case).messages())
        return _verdict_of(outcome, latency_s=time.monotonic() - start)


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
        return Verdict(None, ABSTAINED, cut(outcome.text), latency_s, outcome.tokens)
    return verdict_from_reply(outcome.text, was_cut=outcome.was_cut, latency_s=latency_s, tokens=outcome.tokens)


def _endpoint(url: str) -> tuple[str, str]:
    """Where requests go, and the base URL as it may be shown: without user, password and query."""
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL as error:
        raise Misuse(f"judge URL cannot be read ({error}); write {USAGE}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise Misuse(f"judge URL needs http(s):// and a host, got scheme {parsed.scheme!r}; write {USAGE}")
    base = parsed.path.rstrip("/").removesuffix(_PATH).rstrip("/")
    shown = parsed.copy_with(path=base or "/", query=None, fragment=None, userinfo=b"")
    return str(parsed.copy_with(path=f"{base}{_PATH}", fragment=None)), str(shown).rstrip("/")


def _run(work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run the work to its end, in a thread of its own where an event loop is already running (notebooks)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work())
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="surgeval-judge") as threads:
        threads.submit(lambda: asyncio.run(work())).result()
