"""The protocol of the official toolkit 0.4.0, and a server asked in it: ten tokens, three attempts, no temperature.

A reply is right when it contains CORRECT and not INCORRECT, so "NOT CORRECT" and "partially correct" are right; a
judge that cannot be reached is wrong. Nothing here is how we would judge: it is how the official numbers come about.
The texts are taken from the installed package, not copied, so they are the toolkit's to the letter.
"""

from __future__ import annotations

import ast
import asyncio
import json
import time
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.asking.chat import ChatServer, run_to_end
from surgvalid.asking.connections import ConnectionFailed, Connections, Unreachable, WebResponse
from surgvalid.asking.replies import Reply, Trouble, whole_tokens
from surgvalid.errors import Misuse, OfficialAborts
from surgvalid.judges._case import FAILED, JUDGED, Done, Judge, JudgeCase, Verdict, collected, cut

PROTOCOL = "orena-focus-0.4.0"
LOCAL_TOKENS = 8
_PACKAGE, _, _VERSION = PROTOCOL.rpartition("-")


class JudgeTexts(NamedTuple):
    """What the toolkit writes to every judge."""

    system: str
    user: str
    """With a place for every field of a case."""
    definitions: str


@cache
def official_texts() -> JudgeTexts:
    """The texts of the installed toolkit, which is read and not imported.

    Raises:
        Misuse: It is not installed, or in another version.
    """
    try:
        package = distribution(_PACKAGE)
    except PackageNotFoundError:
        raise _needs("it is not installed") from None
    if package.version != _VERSION:
        raise _needs(f"version {package.version} is installed")
    try:
        source = Path(str(package.locate_file("focus/evaluation/judges.py"))).read_text(encoding="utf-8")
        definitions = Path(str(package.locate_file("focus/assets/FO_definitions.txt"))).read_text(encoding="utf-8")
    except OSError as error:
        raise _needs(f"its files cannot be read ({error})") from None
    constants: dict[str, str] = {
        target.id: node.value.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return JudgeTexts(constants["JUDGE_SYSTEM_PROMPT"], constants["JUDGE_USER_TEMPLATE"], definitions)


def _needs(problem: str) -> Misuse:
    return Misuse(
        f"under the official profiles a language model judges with the texts of {_PACKAGE} {_VERSION}, and {problem}; "
        f"pip install --no-deps {_PACKAGE}=={_VERSION} brings them"
    )


def official_messages(case: JudgeCase) -> list[dict[str, str]]:
    """The prompt of the toolkit for a case. The candidate stands in it as it came, without a fence."""
    texts = official_texts()
    user = texts.user.format(
        procedure_type=case.procedure,
        fo_definitions=texts.definitions,
        start_time=case.start_s,
        end_time=case.end_s,
        question=case.question,
        reference=case.reference,
        candidate=case.candidate,
    )
    return [{"role": "system", "content": texts.system}, {"role": "user", "content": user}]


def says_correct(reply: str) -> bool:
    """How the toolkit reads a reply.

    Example:
        >>> says_correct("NOT CORRECT"), says_correct("partially correct"), says_correct("Incorrect.")
        (True, True, False)
    """
    text = reply.strip().upper()
    return "CORRECT" in text and "INCORRECT" not in text


def in_official_protocol(judge: Judge) -> Judge:
    """The judge as the toolkit would ask it; judges that ask no language model stay what they are."""
    convert = getattr(judge, "as_official", None)
    return judge if convert is None else convert()


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
