"""Speak to a container made for grand-challenge's long-lived mode, as if it spoke protocol "1".

It listens on port 4743 of its own loopback. `GET /health` must give 200; then, per question, the host writes
/input/request.json (one official request) and inputs.json, posts /invoke without a body, takes 201 as done,
and reads /output/response.json, which must hold the same `qID` and the `content`. All of it is inside the
question's budget. A container without network has a loopback of its own; its port is reached by making the
connection inside its network namespace, which needs root on the host.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from surgvalid.asking.exchange import Address, Contact, TcpAddress, exchange, request_bytes
from surgvalid.asking.messages import MOST_BODY_BYTES, ExchangeOutcome, NotAnAnswer, ProtocolQuestion, read_answer
from surgvalid.asking.plan import AskingRules
from surgvalid.asking.session import Answered, Participant, Session, Workplace
from surgvalid.errors import OutputRefused
from surgvalid.sandbox import Engine, Guarantee, Launch, Mount, Running

PORT = 4743
_INVOKE = request_bytes("POST", "/invoke")
_REQUEST, _INPUTS, _RESPONSE = "request.json", "inputs.json", "response.json"
_NEW_NETWORK = 0x40000000


@dataclass(frozen=True, slots=True)
class NamespaceAddress:
    """A port on the loopback of another process's network namespace."""

    pid: int
    port: int

    def connect(self, timeout_s: float) -> socket.socket:
        """A connected socket, made on a thread that enters the namespace and then ends."""
        made: list[socket.socket | OSError] = []
        thread = threading.Thread(target=self._enter_and_connect, args=(timeout_s, made))
        thread.start()
        thread.join()
        if isinstance(made[0], OSError):
            raise made[0]
        return made[0]

    def _enter_and_connect(self, timeout_s: float, made: list[socket.socket | OSError]) -> None:
        try:
            with open(f"/proc/{self.pid}/ns/net") as namespace:
                library = ctypes.CDLL(None, use_errno=True)
                if library.setns(namespace.fileno(), _NEW_NETWORK) != 0:
                    number = ctypes.get_errno()
                    raise OSError(number, os.strerror(number))
            made.append(socket.create_connection(("127.0.0.1", self.port), timeout_s))
        except OSError as error:
            made.append(error)


class NoAnswers:
    """The port of a container that is over already: its own end, and no failure on our side."""

    def connect(self, timeout_s: float) -> socket.socket:  # noqa: ARG002
        """Never a socket."""
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))


class InvokeSession(Session):
    """A container that is asked through files and `POST /invoke`."""

    may_lack_length = True
    expects = f"answer GET /health on port {PORT} with status 200, and load the model in that time"

    def __init__(self, engine: Engine, launch: Launch, rules: AskingRules, input_folder: Path, port: int) -> None:
        self._input = input_folder
        super().__init__(engine, launch, rules, address=lambda running: _address(engine, running, port))

    def ready_name(self, _body: bytes) -> str:
        """Nothing: health is a status here, and what else it says is not looked at."""
        return ""

    def ask(self, question: ProtocolQuestion, *, before: Callable[[], None] | None = None) -> Answered:
        """What became of the question; see `Session.ask`."""

        def hand_over() -> None:
            self._write(question)
            if before is not None:
                before()

        self.running.thaw()
        try:
            reply = exchange(
                self.address,
                _INVOKE,
                budget_s=question.budget_s,
                clock=self.clock,
                before=hand_over,
                may_lack_length=True,
            )
        finally:
            for name in (_REQUEST, _INPUTS):
                with suppress(FileNotFoundError):
                    (self._input / name).unlink()
        if reply.contact is not Contact.REPLY:
            return self.without_reply(reply, question.budget_s)
        if reply.status != 201:
            detail = f"POST /invoke gave status {reply.status}, expected 201; what the program printed tells why"
            return Answered(ExchangeOutcome.INVALID, reply.latency_s, detail=detail)
        try:
            body = self.running.read_output(_RESPONSE, max_bytes=MOST_BODY_BYTES)
            answer = read_answer(body, question.case)
        except (NotAnAnswer, OutputRefused, FileNotFoundError) as error:
            return Answered(ExchangeOutcome.INVALID, reply.latency_s, detail=f"/output/{_RESPONSE}: {error}")
        return Answered(ExchangeOutcome.OK, reply.latency_s, answer.content, answer.note, answer.extra)

    def _write(self, question: ProtocolQuestion) -> None:
        request = {
            "qID": question.case,
            "videoID": question.video,
            "start_time": question.start_s,
            "end_time": question.end_s,
            "procedure_type": question.procedure,
            "question": question.text,
        }
        listed = [
            {"socket": {"slug": slug, "relative_path": path}}
            for slug, path in (("request", _REQUEST), ("video", Path(question.path).name))
        ]
        for name, content in ((_REQUEST, request), (_INPUTS, listed)):
            draft = self._input / f".{name}"
            draft.write_text(json.dumps(content), encoding="utf-8")
            draft.chmod(0o644)
            draft.rename(self._input / name)


def open_invoke_session(
    engine: Engine, entrant: Participant, rules: AskingRules, place: Workplace, *, port: int = PORT
) -> InvokeSession:
    """A container in grand-challenge's long-lived mode, just started.

    Only a plain process, which shares the loopback of this machine, is told another `port` than the usual one.
    """
    mounts = (Mount.input(place.input), Mount.output(place.output))
    places = {"SURG_INPUT": engine.inside(mounts[0]), "SURG_OUTPUT": engine.inside(mounts[1])}
    env = {} if Guarantee.NO_NETWORK in engine.guarantees else {**places, "SURG_PORT": str(port)}
    if Guarantee.NO_NETWORK in engine.guarantees:
        port = PORT
    return InvokeSession(engine, entrant.launch(mounts, env, engine.inside), rules, place.input, port)


def _address(engine: Engine, running: Running, port: int) -> Address:
    if Guarantee.NO_NETWORK not in engine.guarantees:
        return TcpAddress(port)
    pid = running.host_pid()
    return NoAnswers() if pid is None else NamespaceAddress(pid, port)
