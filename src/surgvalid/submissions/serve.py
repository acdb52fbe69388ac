"""Answer questions of protocol "1" from inside a container: copy this one file next to your model.

    from serve import serve

    def answer(question):
        return "yes"                      # or {"content": "yes", "extra": {"frames": 64}}

    serve(answer)

`question` is a dictionary: qID, videoID, video (a path that is there from this moment on), start_time,
end_time, procedure_type, question, track, budget_s. Load the model before you call `serve`: until then the
host waits, on the start-up clock. Questions come one at a time; the host's clock runs until the last byte of
your answer. `answer` is called on the thread that called `serve`; others say meanwhile that the program is
alive, and busy. An exception in `answer` loses that question only, and its traceback goes to stderr.

Needs nothing but Python 3.9. SURG_SOCKET says where to listen: the path of a Unix socket, or HOST:PORT.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

PROTOCOL = "1"
MOST_QUESTION_BYTES = 1024 * 1024

Question = dict[str, Any]


def serve(answer: Callable[[Question], str | dict[str, Any]], *, name: str = "", listen: str | None = None) -> None:
    """Answer questions until the host ends this program (SIGTERM or SIGINT).

    Args:
        answer: Gets a question, gives the text of the answer, or a dictionary with `content` and,
            if you like, `extra` (at most 4 KiB, stored and never scored).
        name: How the program is called in reports of a rehearsal.
        listen: Where to listen, instead of SURG_SOCKET.
    """
    where = listen or os.environ.get("SURG_SOCKET", "")
    if not where:
        sys.exit(
            "serve: SURG_SOCKET is not set; run this under `surgvalid submission rehearse` (no batch), or pass listen="
        )
    server = _server(where)
    server.name = name
    _end_on_signals()
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    try:
        while True:
            with suppress(queue.Empty):  # a signal that comes just before a wait without end would be slept through
                server.jobs.get(timeout=0.5).run(answer)
    finally:
        server.shutdown()
        server.server_close()


class _Job:
    """A question on its way to the thread that answers, and back."""

    def __init__(self, question: Question) -> None:
        self.question, self.failed = question, False
        self.given: Any = None
        self.done = threading.Event()

    def run(self, answer: Callable[[Question], Any]) -> None:
        try:
            self.given = answer(self.question)
        except Exception:  # noqa: BLE001  (whatever a model raises must cost one question, not the container)
            traceback.print_exc()
            self.failed = True
        self.done.set()  # not when the program ends: then nothing is sent


def _end_on_signals() -> None:
    if threading.current_thread() is not threading.main_thread():
        return

    def end(_signal: int, _frame: Any) -> None:
        raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def _server(where: str) -> _TcpServer:
    host, colon, port = where.rpartition(":")
    if colon and port.isdigit() and not where.startswith("/"):
        return _TcpServer((host or "127.0.0.1", int(port)), _Conversation)
    with suppress(FileNotFoundError):
        os.unlink(where)
    server = _UnixServer(where, _Conversation)
    os.chmod(where, 0o666)
    return server


class _TcpServer(ThreadingMixIn, TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    name = ""

    def __init__(self, *arguments: Any) -> None:
        self.jobs: queue.Queue[_Job] = queue.Queue()
        self.unfinished: list[_Job] = []
        super().__init__(*arguments)

    def is_busy(self) -> bool:
        """Whether a question is being answered."""
        self.unfinished = [job for job in self.unfinished if not job.done.is_set()]
        return bool(self.unfinished)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A host that hung up is no news; anything else goes to stderr."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            traceback.print_exc()


class _UnixServer(_TcpServer):
    address_family = getattr(socket, "AF_UNIX", socket.AF_INET)  # Windows has none and never gets here
    allow_reuse_address = False

    def get_request(self) -> tuple[Any, Any]:
        request, _ = super().get_request()
        return request, ("local", 0)


class _Conversation(BaseHTTPRequestHandler):
    """One connection: one request, one reply, and close."""

    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self) -> None:
        if self.path == "/health":
            busy = {"busy": True} if self.server.is_busy() else {}
            self._reply(200, {"protocol": PROTOCOL, "name": self.server.name, **busy})
        else:
            self._reply(404, {"error": "only GET /health and POST /answer"})

    def do_POST(self) -> None:
        question = self._question()
        if self.path != "/answer" or question is None:
            self._reply(400, {"error": "expected POST /answer with a JSON object"})
            return
        job = _Job(question)
        self.server.unfinished.append(job)
        self.server.jobs.put(job)
        job.done.wait()
        if job.failed:
            self._reply(500, {"error": "the model failed; see its log"})
            return
        message = dict(job.given) if isinstance(job.given, dict) else {"content": job.given}
        message["qID"] = question.get("qID")
        self._reply(200, message)

    def _question(self) -> Question | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MOST_QUESTION_BYTES:
            return None
        try:
            question = json.loads(self.rfile.read(int(length)))
        except ValueError:
            return None
        return question if isinstance(question, dict) else None

    def _reply(self, status: int, message: dict[str, Any]) -> None:
        try:
            body = json.dumps(message, allow_nan=False).encode("utf-8")
        except (TypeError, ValueError):
            traceback.print_exc()
            status, body = 500, b'{"error": "the answer is not plain JSON data"}'
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """No line per request."""
