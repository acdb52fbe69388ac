"""A chat server asked as the official toolkit's `APIJudge` asks it: ten tokens, three attempts, no temperature."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

from surgeval.asking.chat import ChatServer, run_to_end
from surgeval.asking.connections import ConnectionFailed, Connections, Unreachable, WebResponse
from surgeval.asking.replies import Reply, Trouble, whole_tokens
from surgeval.errors import OfficialAborts
from surgeval.judges._case import FAILED, JUDGED, Done, JudgeCase, Verdict, collected, cut
from surgeval.judges._official import PROTOCOL, official_messages, official_texts, says_correct

MAX_TOKENS = 10
ATTEMPTS = 3
TIMEOUT_S = 30.0
_ABSENT = "not asked, since the server could not be reached; is it running there?"


class OfficialServerJudge:
    """A chat server asked as the toolkit's `APIJudge` asks it.

    Args:
        name: Of the judge in our own protocol.
        server: Model, address and key.
        first_wait_s: Before the second attempt; it doubles.
    """

    prompt = PROTOCOL

    def __init__(self, name: str, server: ChatServer, *, first_wait_s: float = 1.0) -> None:
        official_texts()
        self.name = f"{name} ({PROTOCOL})"
        self.server, self.first_wait_s = server, first_wait_s
        self._has_answered = self._is_absent = False

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        """One verdict per case, in the order of the cases."""
        return collected(self, cases)

    def judge_each(self, cases: Sequence[JudgeCase], done: Done) -> None:
        """Ask about all cases and hand over each verdict as it arrives."""
        run_to_end(lambda: self._ask_all(cases, done))

    async def _ask_all(self, cases: Sequence[JudgeCase], done: Done) -> None:
        self._has_answered = self._is_absent = False
        async with self.server.client() as client:

            async def ask(position: int) -> Reply | Trouble:
                return await self._reply(client, cases[position])

            def hand_over(position: int, outcome: Reply | Trouble, seconds: float) -> None:
                if isinstance(outcome, Trouble):
                    done(position, Verdict(None, FAILED, cut(outcome.text), seconds))
                    return
                correct = says_correct(outcome.text)
                done(position, Verdict(correct, JUDGED, cut(outcome.text), seconds, outcome.tokens, outcome.finish))

            await self.server.ask_each(range(len(cases)), ask, hand_over)

    async def _reply(self, client: Connections, case: JudgeCase) -> Reply | Trouble:
        """The first reply within three attempts; every failure of the exchange is tried again, whatever it was.

        Where nobody took any of the three connections and nobody has ever answered, the rest is not tried: with the
        toolkit every case then waits in vain, and is wrong as it is here.
        """
        if self._is_absent:
            return Trouble(_ABSENT)
        body = {"model": self.server.model, "messages": official_messages(case), "max_tokens": MAX_TOKENS}
        content, trouble, refused = json.dumps(body).encode(), Trouble("not asked"), 0
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(self.first_wait_s * 2.0 ** (attempt - 1))
            start = time.monotonic()
            try:
                response = await client.post(content)
                document = _document(response)
            except (ConnectionFailed, TimeoutError, ValueError) as error:
                trouble = Trouble(self.server.clean(f"{type(error).__name__}: {error}"))
                refused += isinstance(error, Unreachable)
                if isinstance(error, TimeoutError):
                    self.server.pace.stumbled()
                continue
            self._has_answered = True
            self.server.pace.went(time.monotonic() - start)
            return _reply_in(document, case)
        self._is_absent = refused == ATTEMPTS and not self._has_answered
        return trouble


def _document(response: WebResponse) -> Any:
    """What the server says in JSON.

    Raises:
        ValueError: Its status is no success, or what it says is no JSON.
    """
    if not response.is_success:
        raise ValueError(f"HTTP {response.status}: {response.text}")
    return json.loads(response.content)


def _reply_in(document: Any, case: JudgeCase) -> Reply | Trouble:
    """The reply as the toolkit takes it out of the server's answer.

    Raises:
        OfficialAborts: The toolkit would stop here, such as on `content: null`.
    """
    try:
        if not ("choices" in document and len(document["choices"]) > 0):
            return Trouble("the server's answer has no choices")
        choice = document["choices"][0]
        text = choice.get("message", {}).get("content", "")
        text.strip().upper()
    except (TypeError, AttributeError, LookupError) as error:
        cause = f"[{case.case}] a judge's reply cannot be taken out of the server's answer ({error})"
        raise OfficialAborts("the official toolkit stops on this input", [cause]) from None
    return Reply(text, str(choice.get("finish_reason") or ""), tokens=whole_tokens(document.get("usage")))
