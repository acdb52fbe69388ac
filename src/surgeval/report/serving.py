"""A report on this machine alone: a small server that answers only who has its address.

It listens on the loopback address, checks that it is called by that name (so that no page of somebody else's can reach
it through a name of its own), and answers below a random token only.
"""

from __future__ import annotations

import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from surgeval.report.cases.frames import frames_in, is_jpeg
from surgeval.report.report import Report

_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}


class ReportServer(ThreadingHTTPServer):
    """Serves one report with its frames on 127.0.0.1."""

    daemon_threads = True

    def __init__(self, report: Report, *, port: int = 0, images: Path | None = None) -> None:
        """Take a port, 0 for a free one; nothing is answered before `serve_forever`.

        Args:
            report: What is shown.
            port: Of 127.0.0.1.
            images: Folder of the images that predictions are about, where the reported folder does not hold them.
        """
        super().__init__(("127.0.0.1", port), _Handler)
        self.token = secrets.token_urlsafe(24)
        page, self.sources = report.html_with_frames(frames_in(report.inputs, images), f"/{self.token}/frames/")
        self.page = page.encode("utf-8", "replace")

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer

    def do_GET(self) -> None:
        """The page or one frame, to who knows the token."""
        port = self.server.server_address[1]
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            self._answer(403, b"not here", "text/plain")
            return
        token, _, rest = self.path.lstrip("/").partition("/")
        if not secrets.compare_digest(token, self.server.token):
            self._answer(404, b"not here", "text/plain")
        elif not rest:
            self._answer(200, self.server.page, "text/html; charset=utf-8")
        else:
            self._frame(rest)

    def _frame(self, rest: str) -> None:
        number = rest.removeprefix("frames/").removesuffix(".png")
        known = number.isdecimal() and int(number) < len(self.server.sources)
        data = self.server.sources[int(number)]() if known else None
        if data is None:
            self._answer(404, b"not here", "text/plain")
        else:
            self._answer(200, data, "image/jpeg" if is_jpeg(data) else "image/png")

    def _answer(self, code: int, data: bytes, kind: str) -> None:
        self.send_response(code)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing: what somebody looks at is nobody's business."""
