"""One container that answers questions: from its start, over its answers, to the proof of its death."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from surgvalid.asking.exchange import Address, Clock, Contact, Reply, TcpAddress, exchange, request_bytes
from surgvalid.asking.fingerprint import command_marks, folder_mark
from surgvalid.asking.messages import (
    PROTOCOL,
    ExchangeOutcome,
    NotAnAnswer,
    ProtocolQuestion,
    read_answer,
    read_health,
    says_busy,
)
from surgvalid.asking.plan import AskingRules
from surgvalid.errors import Misuse, OutputRefused
from surgvalid.sandbox import SOCKET_NAME, WEIGHTS_TARGET, Death, Engine, Guarantee, Launch, Limits, Mount, Running

CODE_TARGET = "/app"
PROMPT_S = 1.0
"""A sign of life that takes longer than this is no reason to kill, and time that nobody may profit from."""
_FIRST_POLL_S = 0.02
_HEALTH = request_bytes("GET", "/health")


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """What is run: an image by the identifier its engine gave it, or a command."""

    image: str | None = None
    command: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    gpu: str | None = None
    hidden: bool = False
    """Hidden data is in reach; an engine that cannot keep it in refuses."""
    code: Path | None = None
    """A folder that a command needs, read-only at /app in engines that show nothing else of this machine."""

    weights: Path | None = None
    """A folder with the model's weights, read-only; SURG_WEIGHTS says where."""

    def launch(
        self,
        mounts: tuple[Mount, ...],
        env: Mapping[str, str],
        inside: Callable[[Mount], str] = lambda mount: mount.target,
    ) -> Launch:
        """The order to an engine; `inside` says where it shows a mount."""
        if self.code is not None:
            mounts = (*mounts, Mount.input(self.code, CODE_TARGET))
        if self.weights is not None:
            weights = Mount.input(self.weights, WEIGHTS_TARGET)
            mounts, env = (*mounts, weights), {**env, "SURG_WEIGHTS": inside(weights)}
        return Launch(
            image=self.image,
            command=self.command,
            mounts=mounts,
            env=env,
            gpu=self.gpu,
            limits=self.limits,
            hidden=self.hidden,
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain data, for the description of a run: what is run, by its content."""
        return {
            "image": self.image,
            "command": list(self.command),
            "gpu": self.gpu,
            "hidden": self.hidden,
            "limits": asdict(self.limits),
            "files": command_marks(self.command),
            "code": None if self.code is None else folder_mark(self.code),
            "weights": None if self.weights is None else folder_mark(self.weights),
        }


@dataclass(frozen=True, slots=True)
class Workplace:
    """The folders of one container, as seen from the host."""

    input: Path
    output: Path
    sockets: Path


class StartUp(NamedTuple):
    """How a start went."""

    ready: bool
    seconds: float
    detail: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of one question in one container."""

    outcome: ExchangeOutcome
    latency_s: float
    content: str | None = None
    detail: str = ""
    extra: Any = None
    usable: bool = True
    """Whether the container can be asked the next question."""
    replace: str = ""
    """Why it must not be asked although it could: another one takes its place, which is no restart."""


@dataclass(frozen=True, slots=True)
class SocketOf:
    """The socket that a run opened in its socket folder, as an address."""

    running: Running

    def connect(self, timeout_s: float) -> socket.socket:
        """A connected socket; what is no socket counts as nothing listening."""
        try:
            return self.running.connect(timeout_s=timeout_s)
        except OutputRefused as error:
            raise OSError(str(error)) from None


class Session:
    """A running container and the conversation with it. Leaving its `with` block kills it."""

    expects = "listen on the Unix socket that SURG_SOCKET names, as serve.py does, and load the model in that time"
    """What a program must do to become ready."""
    may_lack_length = False
    """Whether a reply without a declared length is interpreted as one without a body."""

    def __init__(
        self,
        engine: Engine,
        launch: Launch,
        rules: AskingRules,
        *,
        address: Callable[[Running], Address] = SocketOf,
        clock: Clock = time.monotonic,
    ) -> None:
        """Start the container.

        Raises:
            EngineFailed: It could not be started; that is a failure on our side.
        """
        self.rules, self.clock = rules, clock
        self.peak_memory_mb: float | None = None
        self.memory_mb, self._has_gpu = launch.limits.memory_mb, launch.gpu is not None
        self.running = engine.start(launch)
        try:
            self.address = address(self.running)
        except BaseException:
            self.running.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.running.close()

    def wait_until_ready(self) -> StartUp:
        """Whether the program reports ready within the start-up budget, which has a clock of its own."""
        start = self.clock()
        pause_s, detail = _FIRST_POLL_S, "it never answered GET /health"
        while (left := self.rules.start_up_s - (self.clock() - start)) > 0:
            reply = self._probe(min(left, self.rules.health_s))
            if reply.contact is Contact.REPLY and reply.status == 200:
                try:
                    return StartUp(True, self.clock() - start, name=self.ready_name(reply.body))
                except NotAnAnswer as error:
                    return StartUp(False, self.clock() - start, str(error))
            detail = reply.detail or f"GET /health answered with status {reply.status}"
            if not self.running.alive():
                return StartUp(False, self.clock() - start, f"{self.obituary()} before it was ready")
            time.sleep(min(pause_s, max(0.0, self.rules.start_up_s - (self.clock() - start))))
            pause_s = min(2 * pause_s, self.rules.poll_s)
        detail = f"not ready within {self.rules.start_up_s:g} s ({detail}); {self.expects}"
        return StartUp(False, self.clock() - start, detail)

    def ready_name(self, body: bytes) -> str:
        """The name that the program gives itself in its health message.

        Raises:
            NotAnAnswer: The message is none of this protocol.
        """
        return read_health(body)

    def _probe(self, budget_s: float) -> Reply:
        return exchange(
            self.address, _HEALTH, budget_s=budget_s, clock=self.clock, may_lack_length=self.may_lack_length
        )

    def ask(self, question: ProtocolQuestion, *, before: Callable[[], None] | None = None) -> Answered:
        """What became of the question; `before` is called when its clock has just started."""
        request = request_bytes("POST", "/answer", question.as_bytes())
        self.running.thaw()
        reply = exchange(self.address, request, budget_s=question.budget_s, clock=self.clock, before=before)
        if reply.contact is Contact.REPLY:
            return _read(reply, question.case)
        return self.without_reply(reply, question.budget_s)

    def without_reply(self, reply: Reply, budget_s: float) -> Answered:
        """The outcome where no reply came; looks whether the program can go on."""
        start = self.clock()
        sign = self.sign_of_life()
        if reply.contact is Contact.LATE:
            late_s = max(reply.latency_s, math.nextafter(budget_s, math.inf))
            why = "" if sign is None else self._held(sign, self.clock() - start)
            return Answered(ExchangeOutcome.TIMEOUT, late_s, detail=reply.detail, usable=sign is not None, replace=why)
        if sign is not None:
            return Answered(ExchangeOutcome.INVALID, reply.latency_s, detail=reply.detail)
        detail = f"{reply.detail}; {self.obituary()}"
        return Answered(ExchangeOutcome.CRASHED, reply.latency_s, detail=detail, usable=False)

    def _held(self, sign: Reply, waited_s: float) -> str:
        """Nothing, when the container is frozen until it is asked again; otherwise why it must be replaced.

        Whoever is late has lost that answer. The time until the next question is nobody's budget, so nothing may
        be computed in it that the next question could use.
        """
        if self._has_gpu:
            return "it was late, and work on a GPU cannot be frozen"
        if says_busy(sign.body):
            return "it was late and is still at work on that question"
        if waited_s > PROMPT_S:
            return f"it was late and took {waited_s:.1f} s for a sign of life"
        return "" if self.running.freeze() else "it was late and cannot be frozen here"

    def sign_of_life(self) -> Reply | None:
        """The reply to GET /health within the time given for that, or None."""
        start, pause_s = self.clock(), _FIRST_POLL_S
        while (left := self.rules.health_s - (self.clock() - start)) > 0:
            reply = self._probe(left)
            if reply.contact is Contact.REPLY and reply.status == 200:
                return reply
            if not self.running.alive():
                return None
            time.sleep(min(pause_s, left))
            pause_s *= 2
        return None

    def obituary(self) -> str:
        """How the container ended, in the words of the system and never in its own."""
        if self.running.out_of_memory():
            return f"it was ended by the memory limit of {self.memory_mb} MB"
        code = self.running.exit_code()
        return "it does not answer any more" if code is None else f"it ended with exit code {code}"

    def end(self, *, grace_s: float = 0.0) -> Death:
        """Proof that nothing of the container is left.

        Raises:
            EngineFailed: Something of it is still there.
        """
        self.peak_memory_mb = self.running.peak_memory_mb() or self.peak_memory_mb
        return self.running.kill(grace_s)


def open_session(engine: Engine, entrant: Participant, rules: AskingRules, place: Workplace) -> Session:
    """A container that speaks protocol "1", just started.

    It is told where to listen and which protocol is spoken, and nothing else.
    """
    sockets = Mount.socket(place.sockets)
    mounts = (Mount.input(place.input), Mount.output(place.output), sockets)
    env = {"SURG_SOCKET": f"{engine.inside(sockets)}/{SOCKET_NAME}", "SURG_PROTOCOL": PROTOCOL}
    return Session(engine, entrant.launch(mounts, env, engine.inside), rules)


def open_tcp_session(engine: Engine, entrant: Participant, rules: AskingRules, place: Workplace) -> Session:
    """The same over a port on loopback, for local work where Unix sockets are a nuisance; a plain process only.

    Raises:
        Misuse: The engine keeps the program away from the loopback of this machine.
    """
    if Guarantee.NO_NETWORK in engine.guarantees:
        raise Misuse(f"engine {engine.name} has no loopback in common with this machine; use the Unix socket")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    mounts = (Mount.input(place.input), Mount.output(place.output))
    env = {"SURG_SOCKET": f"127.0.0.1:{port}", "SURG_PROTOCOL": PROTOCOL}
    return Session(engine, entrant.launch(mounts, env, engine.inside), rules, address=lambda _: TcpAddress(port))


OpenSession = Callable[[Engine, Participant, AskingRules, Workplace], Session]


def _read(reply: Reply, case: str) -> Answered:
    if reply.status != 200:
        detail = f"POST /answer gave status {reply.status}, expected 200; what the program printed tells why"
        return Answered(ExchangeOutcome.INVALID, reply.latency_s, detail=detail)
    try:
        answer = read_answer(reply.body, case)
    except NotAnAnswer as error:
        return Answered(ExchangeOutcome.INVALID, reply.latency_s, detail=str(error))
    return Answered(ExchangeOutcome.OK, reply.latency_s, answer.content, answer.note, answer.extra)
