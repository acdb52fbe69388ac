"""A chat server on loopback that behaves as badly as a test wants.

A behaviour is a function of the number of the request (from 0) and its JSON body. The server answers a
bounded number of requests, then hangs up, so a client that retries for ever ends in a failed test. Probes of sight are
answered by looking and do not count, unless a test says otherwise.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from sight_servers import is_probe, pictures_in, seen_colour

MOST_REQUESTS = 500


class Answer(NamedTuple):
    """What the server sends back."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    delay_s: float = 0.0
    hang_up: bool = False
    raw: bool = False
    """Whether the body is all that is sent, and the end of the connection."""


Behaviour = Callable[[int, dict[str, Any]], Answer]


def completion(
    content: Any, *, finish: str = "stop", tokens: int = 7, usage: dict[str, int] | None = None, **message: Any
) -> Answer:
    """A chat completion with this content."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content} | message, "finish_reason": finish}
    return Answer(json.dumps({"choices": [choice], "usage": usage or {"total_tokens": tokens}}).encode())


def verdict(word: str) -> Answer:
    """A chat completion with a verdict as asked for."""
    return completion(json.dumps({"verdict": word}))


def says(answer: Answer) -> Behaviour:
    """A server that always gives this answer."""
    return lambda number, body: answer


def in_turn(*answers: Answer) -> Behaviour:
    """A server that gives these answers one after the other, then the last for ever."""
    return lambda number, body: answers[min(number, len(answers) - 1)]


def fields_of(body: dict[str, Any]) -> dict[str, str]:
    """Reference and candidate as a judge would find them in the prompt."""
    lines = body["messages"][1]["content"].split("\n")
    reference = next(line for line in lines if line.startswith("Reference answer: "))
    opening = next(i for i, line in enumerate(lines) if line.startswith("CANDIDATE BEGINS "))
    return {
        "reference": json.loads(reference.removeprefix("Reference answer: ")),
        "candidate": json.loads(lines[opening + 1]),
    }


def comparing(number: int, body: dict[str, Any]) -> Answer:
    """A server that accepts a candidate equal to the reference."""
    fields = fields_of(body)
    return verdict("CORRECT" if fields["reference"] == fields["candidate"] else "INCORRECT")


@dataclass
class FakeServer:
    """A running server and what it was asked."""

    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    most_at_once: int = 0

    @property
    def asked(self) -> int:
        return len(self.bodies)

    @property
    def candidates(self) -> list[str]:
        return [fields_of(body)["candidate"] for body in self.bodies]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # with the usual 5, many connections at once wait a second


@contextmanager
def serving(
    behaviour: Behaviour, *, most_requests: int = MOST_REQUESTS, port: int = 0, sees: bool = True
) -> Iterator[FakeServer]:
    """A server with this behaviour, for as long as the block runs."""
    server = _Server(("127.0.0.1", port), BaseHTTPRequestHandler)
    fake = FakeServer(f"http://127.0.0.1:{server.server_port}/v1")
    server.RequestHandlerClass = _requests_to(fake, behaviour, most_requests, sees=sees)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _requests_to(
    fake: FakeServer, behaviour: Behaviour, most_requests: int, *, sees: bool
) -> type[BaseHTTPRequestHandler]:
    lock, busy = threading.Lock(), [0]

    class Request(BaseHTTPRequestHandler):
        timeout = 10
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            if len(sent) < int(self.headers["Content-Length"]):
                raise ConnectionError("the client went away in the middle")
            body = json.loads(sent)
            if sees and is_probe(body):
                self._send(completion(seen_colour(pictures_in(body)) or "red"))
                return
            with lock:
                number = len(fake.bodies)
                fake.bodies.append(body)
                fake.headers.append(dict(self.headers.items()))
                fake.paths.append(self.path)
                busy[0] += 1
                fake.most_at_once = max(fake.most_at_once, busy[0])
            answer = behaviour(number, body)
            time.sleep(answer.delay_s)
            with lock:
                busy[0] -= 1
            if answer.hang_up or number >= most_requests:
                self.close_connection = True
                return
            if answer.raw:
                self.close_connection = True
                self.wfile.write(answer.body)
                return
            self._send(answer)

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in (*answer.headers, ("Content-Length", str(len(answer.body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            return None

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (ConnectionError, TimeoutError):  # the client went away: part of what is tested
                self.close_connection = True

    return Request
