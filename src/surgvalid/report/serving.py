"""A report on this machine alone, with its frames, and the small server below it.

The server listens on the loopback address, checks that it is called by that name (so that no page of somebody else's
can reach it through a name of its own), and answers below random tokens only: one per person, where several work on it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.report.cases.frames import frames_in, is_jpeg
from surgvalid.report.report import Report

_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
_CHUNK = 1 << 18
HTML, CSS, SCRIPT = (f"text/{kind}; charset=utf-8" for kind in ("html", "css", "javascript"))
_PARTS = ("script", "style", "media", "connect")
_CLOSED = ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")
_POLICY = ["default-src 'none'", "img-src 'self' data:", *(f"{kind}-src 'self'" for kind in _PARTS), *_CLOSED]
POLICY = {"Content-Security-Policy": "; ".join(_POLICY)}
"""Of pages whose script and style are files of the server: nothing else is loaded, run, sent to or framed."""


class PageReply(NamedTuple):
    """What the server answers: bytes, or a part of a file."""

    code: int
    data: bytes = b""
    kind: str = "text/plain; charset=utf-8"
    file: Path | None = None
    more: Mapping[str, str] = {}


NOT_HERE = PageReply(404, b"not here")


def json_reply(value: Any, *, code: int = 200) -> PageReply:
    """The reply that holds plain data."""
    return PageReply(code, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), "application/json")


def asset(name: str) -> bytes:
    """A part of a page that is served."""
    return files("surgvalid.report").joinpath("assets", name).read_bytes()


class LocalServer(ThreadingHTTPServer):
    """Answers on 127.0.0.1 below one token per name; what is below them, classes that inherit from it say."""

    daemon_threads = True
    most_sent_bytes = 1 << 20
    """Of one message to the server."""
    once = False
    """Whether an address is for the browser alone that opens it first."""

    def __init__(self, names: Sequence[str] = ("",), *, port: int = 0) -> None:
        """Take a port, 0 for a free one; nothing is answered before `serve_forever`."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.tokens = {secrets.token_urlsafe(24): name for name in names}
        self.visitors: dict[str, str] = {}

    def address_of(self, name: str = "") -> str:
        """What whoever bears that name opens in a browser."""
        token = next(token for token, known in self.tokens.items() if known == name)
        return f"http://127.0.0.1:{self.server_address[1]}/{token}/"

    def get(self, name: str, rest: str, headers: Mapping[str, str]) -> PageReply:
        """What lies at `rest` below the token of `name`."""
        raise NotImplementedError

    def post(self, name: str, rest: str, body: bytes) -> PageReply:
        """What comes of a message to `rest`; by default nothing is taken."""
        del name, rest, body
        return PageReply(405, b"nothing is taken here")


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    cookie = ""

    def do_GET(self) -> None:
        """Answer who knows a token."""
        if (asked := self._asked()) is not None:
            self._answer(self.server.get(*asked, dict(self.headers.items())))

    def do_POST(self) -> None:
        """Take a message from who knows a token, from a page of this server alone."""
        asked = self._asked()
        if asked is None:
            return
        origin, length = self.headers.get("Origin"), self.headers.get("Content-Length", "")
        if origin is not None and origin not in (f"http://{host}" for host in self._hosts()):
            self._answer(PageReply(403, b"not from there"))
        elif not length.isdecimal() or int(length) > self.server.most_sent_bytes:
            self._answer(PageReply(413, b"too long"))
        else:
            self._answer(self.server.post(*asked, self.rfile.read(int(length))))

    def _hosts(self) -> tuple[str, str]:
        port = self.server.server_address[1]
        return f"127.0.0.1:{port}", f"localhost:{port}"

    def _asked(self) -> tuple[str, str] | None:
        """The name behind the token and the rest of the path; None where the answer was given already."""
        if self.headers.get("Host") not in self._hosts():
            self._answer(PageReply(403, b"not here"))
            return None
        token, _, rest = self.path.lstrip("/").partition("/")
        known = next((one for one in self.server.tokens if secrets.compare_digest(one.encode(), token.encode())), None)
        if known is None:
            self._answer(NOT_HERE)
            return None
        if self.server.once and not self._is_admitted(known, is_page=not rest):
            self._answer(PageReply(403, b"This address was opened in another browser already; start anew for another."))
            return None
        return self.server.tokens[known], rest

    def _is_admitted(self, token: str, *, is_page: bool) -> bool:
        """Whether this is the browser that opened the address first, which has a cookie from then on."""
        visitors, mine = self.server.visitors, f"visitor={secrets.token_urlsafe(24)}"
        if is_page and visitors.setdefault(token, mine) == mine:
            self.cookie = f"{mine}; Path=/{token}/; HttpOnly; SameSite=Strict"
            return True
        sent = [one.strip().encode() for one in self.headers.get("Cookie", "").split(";")]
        return token in visitors and any(secrets.compare_digest(one, visitors[token].encode()) for one in sent)

    def _answer(self, reply: PageReply) -> None:
        whole = len(reply.data) if reply.file is None else reply.file.stat().st_size
        first, last = _wanted(self.headers.get("Range"), whole) if reply.file is not None else (0, whole - 1)
        partly = reply.file is not None and (first, last) != (0, whole - 1)
        headers = {**_HEADERS, **reply.more, "Content-Type": reply.kind, "Content-Length": str(last - first + 1)}
        headers |= {"Set-Cookie": self.cookie} if self.cookie else {}
        headers |= {"Accept-Ranges": "bytes"} if reply.file is not None else {}
        headers |= {"Content-Range": f"bytes {first}-{last}/{whole}"} if partly else {}
        self.send_response(206 if partly else reply.code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self._send(reply, first, last)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # whoever asked has seen enough

    def _send(self, reply: PageReply, first: int, last: int) -> None:
        if reply.file is None:
            self.wfile.write(reply.data)
            return
        with open(reply.file, "rb") as handle:
            handle.seek(first)
            left = last - first + 1
            while left > 0 and (chunk := handle.read(min(_CHUNK, left))):
                self.wfile.write(chunk)
                left -= len(chunk)

    def log_message(self, *_: Any) -> None:
        """Say nothing: what somebody looks at is nobody's business."""


def _wanted(header: str | None, whole: int) -> tuple[int, int]:
    """First and last byte of a range; all of it where none is asked for or it makes no sense."""
    start, dash, end = (header or "").removeprefix("bytes=").partition("-")
    if not dash or not all(one == "" or one.isdecimal() for one in (start, end)) or start + end == "":
        return 0, whole - 1
    if not start:
        return max(0, whole - int(end)), whole - 1
    first, last = int(start), min(int(end) if end else whole - 1, whole - 1)
    return (first, last) if first <= last else (0, whole - 1)


class ReportServer(LocalServer):
    """Serves one report with its frames on 127.0.0.1."""

    def __init__(self, report: Report, *, port: int = 0, images: Path | None = None) -> None:
        """Take a port, 0 for a free one; nothing is answered before `serve_forever`.

        Args:
            report: What is shown.
            port: Of 127.0.0.1.
            images: Folder of the images that predictions are about, where the reported folder does not hold them.
        """
        super().__init__(port=port)
        [self.token] = self.tokens
        page, self.sources = report.html_with_frames(frames_in(report.inputs, images), f"/{self.token}/frames/")
        self.page = page.encode("utf-8", "replace")

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self.address_of()

    def get(self, name: str, rest: str, headers: Mapping[str, str]) -> PageReply:
        """The page or one frame."""
        del name, headers
        if not rest:
            return PageReply(200, self.page, HTML)
        number = rest.removeprefix("frames/").removesuffix(".png")
        known = number.isdecimal() and int(number) < len(self.sources)
        data = self.sources[int(number)]() if known else None
        return NOT_HERE if data is None else PageReply(200, data, "image/jpeg" if is_jpeg(data) else "image/png")
