"""Speak to a hosted challenge from another machine; nothing but the standard library is needed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from surgvalid.errors import Misuse, SurgvalidError
from surgvalid.results.manifest import sha256_of

_CHUNK = 1 << 20
_LOST = (URLError, HTTPException, ConnectionError, TimeoutError)
Answer = TypeVar("Answer")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class HostRefused(SurgvalidError):
    """What the service answered instead of doing it."""

    def __init__(self, code: str, problem: str, remedy: str = "", status: int = 0) -> None:
        self.code, self.status = code, status
        super().__init__(f"{problem} {remedy}".strip())


class HostLost(SurgvalidError):
    """The service could not be reached, however often it was tried."""


class _NoRedirect(HTTPRedirectHandler):
    """A token goes to the address that was given and to no other."""

    def redirect_request(self, *_: Any) -> None:
        """None: a redirect is an error."""
        return


class Host:
    """A hosted challenge, as whoever has the token sees it."""

    def __init__(self, url: str, token: str, *, patience_s: float = 300.0) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise Misuse(f"a token is sent over https alone (http only on this machine); got {url!r}")
        self._url, self._token, self._patience_s = url.rstrip("/"), token, patience_s
        self._opener = build_opener(_NoRedirect)

    def call(self, method: str, path: str, content: Any = None, **query: Any) -> dict[str, Any]:
        """The JSON answer; a lost connection is tried again for a while.

        Raises:
            HostRefused: The service says no.
            HostLost: It cannot be reached.
        """
        data = None if content is None else json.dumps(content).encode()
        answer: dict[str, Any] = self._again(lambda: json.load(self._open(method, path, data, query)))
        return answer

    def send(self, method: str, path: str, data: bytes | BinaryIO, *, size: int, **query: Any) -> dict[str, Any]:
        """The JSON answer to bytes that are sent once."""
        answer: dict[str, Any] = json.load(self._open(method, path, data, query, {"Content-Length": str(size)}))
        return answer

    def send_file(self, method: str, path: str, file: Path, **query: Any) -> dict[str, Any]:
        """The JSON answer to a file, sent again from its beginning where the connection is lost."""

        def once() -> dict[str, Any]:
            with open(file, "rb") as handle:
                return self.send(method, path, handle, size=file.stat().st_size, **query)

        return self._again(once)

    def fetch(self, path: str, target: Path, **query: Any) -> Path:
        """A file with the bytes of an answer, whole or not at all."""

        def once() -> Path:
            draft = target.with_name(target.name + ".part")
            with self._open("GET", path, None, query) as answer, open(draft, "wb") as handle:
                while piece := answer.read(_CHUNK):
                    handle.write(piece)
            return draft.rename(target)

        return self._again(once)

    def sent(self, key: str, at: int, piece: bytes) -> int:
        """Where the next piece of an upload begins, after this one; tried again while the connection is lost.

        Raises:
            HostRefused: The service does not take it, and has no more of the upload than before.
            HostLost: However often it was tried, nothing of it arrived.
        """

        def once() -> int:
            try:
                return int(self.send("PUT", f"uploads/{key}", piece, size=len(piece), offset=at)["received_bytes"])
            except (*_LOST, HostRefused):
                have = int(self.call("GET", f"uploads/{key}")["received_bytes"])
                if have == at:
                    raise
                return have

        return self._again(once)

    def _open(
        self, method: str, path: str, data: Any, query: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> HTTPResponse:
        address = f"{self._url}/api/{path}" + (f"?{urlencode(query)}" if query else "")
        kind = "application/json" if isinstance(data, bytes) and not headers else "application/octet-stream"
        shown = {"Authorization": f"Bearer {self._token}", "Content-Type": kind, **(headers or {})}
        try:
            return self._opener.open(  # type: ignore[no-any-return]
                Request(address, data=data, headers=shown, method=method), timeout=120
            )
        except HTTPError as error:
            raise _refusal(error) from None

    def _again(self, do: Callable[[], Answer]) -> Answer:
        end, wait_s = time.monotonic() + self._patience_s, 0.2
        while True:
            try:
                return do()
            except _LOST as error:
                reason = str(getattr(error, "reason", error))
            except HostRefused as error:
                if error.status < 500:
                    raise
                reason = str(error)
            if time.monotonic() + wait_s > end:
                raise HostLost(f"{self._url} cannot be reached ({reason}); try again later")
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, 15.0)


def _refusal(error: HTTPError) -> HostRefused:
    try:
        content = json.load(error)
        return HostRefused(content["code"], content["problem"], content.get("remedy", ""), error.code)
    except (ValueError, KeyError, TypeError):
        return HostRefused("http", f"the service answered {error.code} {error.reason}", status=error.code)


def push_file(host: Host, file: Path, *, phase: str, name: str, progress: Callable[[int], None] | None = None) -> str:
    """The key of an upload whose every byte arrived; what was sent before an interruption is not sent again."""
    size = file.stat().st_size
    facts = {"phase": phase, "name": name, "size_bytes": size, "sha256": sha256_of(file)}
    upload = host.call("POST", "uploads", facts)
    key, at = str(upload["upload"]), int(upload["received_bytes"])
    with open(file, "rb") as handle:
        while at < size:
            handle.seek(at)
            after = host.sent(key, at, handle.read(int(upload["piece_bytes"])))
            if progress is not None:
                progress(after - at)
            at = after
    return key


def push_submission(
    host: Host,
    image: Path,
    *,
    phase: str,
    description: Path | None = None,
    baseline: str = "",
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """The submission that the service made of an image and a description."""
    facts = {"phase": phase, "image": push_file(host, image, phase=phase, name="image.tar", progress=progress)}
    if description is not None:
        facts["description"] = push_file(host, description, phase=phase, name=description.name, progress=progress)
    return host.call("POST", "submissions", facts | ({"baseline": baseline} if baseline else {}))
