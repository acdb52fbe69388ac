"""Connections to one web server, kept open and used by many questions at once, under one deadline each.

HTTP/1.1 over the streams of the standard library: a request costs some 0.2 ms of CPU, where httpx takes 4 and aiohttp
0.5, and the base install needs no package for it. What a server sends is bounded, nothing is followed to another
address, nothing is unpacked, and a proxy is used where the environment names one.

How many questions a server is asked at once (`Pace`) is found out: one that works on one question at a time gains
nothing from sixteen, since each waits for the others, times out, and is computed for nobody. So the number begins
small, grows by one with every reply that took at most twice the quickest, holds while replies are slower, and is
halved by a time-out or a refusal for load.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from surgvalid.errors import Misuse

MOST_BODY_BYTES = 8 << 20
_MOST_HEAD_BYTES = 1 << 16
_PORTS = {"http": 80, "https": 443}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ConnectionFailed(Exception):
    """An exchange that ended without a whole response."""


class Unreachable(ConnectionFailed):
    """Nobody took the connection."""


class ReplyTooLarge(ConnectionFailed):
    """A response that is not read to its end; the next one may be another."""


@dataclass(frozen=True, slots=True)
class WebResponse:
    """What a server sent back."""

    status: int
    content: bytes
    headers: Mapping[str, str]
    """By name in small letters."""

    @property
    def is_success(self) -> bool:
        """Whether the status says so."""
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The content as text, whatever it is."""
        return self.content.decode("utf-8", "replace")


class _Wire(NamedTuple):
    """An open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def cut(self) -> None:
        self.writer.transport.abort()


class _Ended(Exception):
    """The server ended the connection before it said anything."""


class Connections:
    """Connections to the server of one address.

    Args:
        url: Where every request goes.
        headers: Sent with each.
        timeout_s: For one exchange, unless it says otherwise.

    Raises:
        Misuse: The environment names a proxy that cannot be used.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str], timeout_s: float) -> None:
        self._url, self._timeout_s = urlsplit(url), timeout_s
        self._host, self._port = self._url.hostname or "", self._url.port or _PORTS[self._url.scheme]
        self._context = ssl.create_default_context() if self._url.scheme == "https" else None
        self._proxy = _proxy_for(self._url)
        self._idle: list[_Wire] = []
        is_relayed = self._proxy is not None and self._context is None
        target = url if is_relayed else (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
        fields = {
            "Host": self._url.netloc.rpartition("@")[2],
            "Accept-Encoding": "identity",
            "Accept": "application/json",
            "Content-Type": "application/json",
            **headers,
            **_access("Authorization", self._url),
            **(_access("Proxy-Authorization", self._proxy) if is_relayed and self._proxy is not None else {}),
        }
        self._head = _head(f"POST {target} HTTP/1.1", fields)

    async def __aenter__(self) -> Connections:
        return self

    async def __aexit__(self, *_: object) -> None:
        for wire in self._idle:
            wire.cut()
        self._idle.clear()

    async def post(self, body: bytes, *, timeout_s: float | None = None) -> WebResponse:
        """What the server answers to a body.

        Raises:
            TimeoutError: Not answered in time; the connection is cut, so that nothing waits for it.
            Unreachable: Nobody took the connection.
            ConnectionFailed: It ended before a whole response came.
        """
        async with asyncio.timeout(self._timeout_s if timeout_s is None else timeout_s):
            while self._idle:
                # A server may end a connection that it has not been asked on for a while; only that is tried again.
                try:
                    return await self._exchanged(self._idle.pop(), body)
                except _Ended:
                    continue
            try:
                return await self._exchanged(await self._opened(), body)
            except _Ended:
                raise ConnectionFailed("the connection ended without any reply") from None

    async def _exchanged(self, wire: _Wire, body: bytes) -> WebResponse:
        is_reusable = False
        headers: dict[str, str] = {}
        try:
            wire.writer.write(b"%sContent-Length: %d\r\n\r\n" % (self._head, len(body)))
            wire.writer.write(body)
            await wire.writer.drain()
            status, headers = await _read_head(wire.reader)
            content, is_reusable = await _read_body(wire.reader, headers)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            if not headers and not getattr(error, "partial", b""):
                raise _Ended from None
            raise ConnectionFailed("the reply was cut off") from None
        except (OSError, ValueError, asyncio.LimitOverrunError) as error:
            raise ConnectionFailed(f"{type(error).__name__}: {error}") from None
        finally:
            if is_reusable and headers.get("connection", "").lower() != "close":
                self._idle.append(wire)
            else:
                wire.cut()
        return WebResponse(status, content, headers)

    async def _opened(self) -> _Wire:
        """A new connection, through the proxy where there is one."""
        via = self._proxy
        host, port = (self._host, self._port) if via is None else (via.hostname or "", via.port or _PORTS["http"])
        context = self._context if via is None else None
        try:
            wire = _Wire(*await asyncio.open_connection(host, port, ssl=context, limit=_MOST_HEAD_BYTES))
        except OSError as error:
            raise Unreachable(f"{type(error).__name__}: {error}") from None
        if via is not None and self._context is not None:
            await self._tunnel(wire, via, self._context)
        return wire

    async def _tunnel(self, wire: _Wire, proxy: SplitResult, context: ssl.SSLContext) -> None:
        place = f"{self._host}:{self._port}"
        head = _head(f"CONNECT {place} HTTP/1.1", {"Host": place, **_access("Proxy-Authorization", proxy)})
        try:
            wire.writer.write(head + b"\r\n")
            status, _ = await _read_head(wire.reader)
            if status != 200:
                raise Unreachable(f"the proxy {proxy.hostname} answers {status}")
            await wire.writer.start_tls(context, server_hostname=self._host)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            wire.cut()
            raise Unreachable(f"through the proxy {proxy.hostname}: {type(error).__name__}: {error}") from None
        except BaseException:
            wire.cut()
            raise


def _head(first: str, fields: Mapping[str, str]) -> bytes:
    """The beginning of a request; a field that would begin another line is refused."""
    lines = [first, *(f"{name}: {value}" for name, value in fields.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise Misuse("an address or a key has a line end in it, so it is not sent")
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1", "replace")


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and headers of a response; interim ones are passed over.

    Raises:
        ValueError: It is no HTTP.
    """
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
            raise ValueError(f"the server does not speak HTTP/1.1: {first[:60]!r}")
        if rest[0] != "1":
            fields = (line.partition(":") for line in lines)
            headers = {name.strip().lower(): value.strip() for name, _, value in fields}
            headers.setdefault("connection", "" if version == "HTTP/1.1" else "close")
            return int(rest[:3]), headers


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> tuple[bytes, bool]:
    """The content of a response, and whether the connection can be used again.

    Raises:
        ValueError: Its length is no number.
        ReplyTooLarge: It is beyond bounds.
        IncompleteReadError: The connection ended before.
    """
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(reader), True
    if "content-length" in headers:
        return await reader.readexactly(_bounded(int(headers["content-length"]))), True
    content = bytearray()
    while piece := await reader.read(_MOST_HEAD_BYTES):
        content += piece
        _bounded(len(content))
    return bytes(content), False


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    content = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        _bounded(len(content) + _bounded(size))
        content += (await reader.readexactly(size + 2))[:-2]
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return bytes(content)


def _bounded(length: int) -> int:
    if length < 0:
        raise ValueError(f"a response of {length} bytes")
    if length > MOST_BODY_BYTES:
        raise ReplyTooLarge(f"a response of {length} bytes is not read; at most {MOST_BODY_BYTES >> 20} MB are")
    return length


def _proxy_for(url: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for this address."""
    proxies = getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named or url.hostname in _LOOPBACK or proxy_bypass(url.netloc.rpartition("@")[2]):
        return None
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    if proxy.scheme != "http":
        raise Misuse(f"the proxy for {url.hostname} is of the kind {proxy.scheme!r}; only http:// proxies are used")
    return proxy


def _access(field: str, url: SplitResult) -> dict[str, str]:
    if url.username is None:
        return {}
    secret = f"{unquote(url.username)}:{unquote(url.password or '')}".encode()
    return {field: f"Basic {base64.b64encode(secret).decode('ascii')}"}


FIRST = 2
_SLOWER = 2.0
_FADES = 1.001


class Pace:
    """The number of questions that may be under way, learnt from how the server bears them."""

    def __init__(self, most: int, *, first: int = FIRST) -> None:
        self.most = max(1, most)
        self.at_once = min(self.most, max(1, first))
        self._quickest_s = float("inf")
        self._under_way = 0
        self._spare = 0
        """Replies to wait for before a stumble counts again: questions sent before it tell nothing new."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def turn(self) -> Pace:
        """Wait until one more question may be asked, and hold that place: `async with pace.turn():`."""
        return self

    async def __aenter__(self) -> None:
        while self._under_way >= self.at_once:
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        self._under_way += 1

    async def __aexit__(self, *_: object) -> None:
        self._under_way -= 1
        self._wake()

    def _wake(self) -> None:
        """Let as many go on as may, and no others: waking all for each reply costs more than the reply."""
        free = self.at_once - self._under_way
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():  # cancelled while it waited
                place.set_result(None)
                free -= 1

    def went(self, seconds: float) -> None:
        """A reply came after so many seconds."""
        self._spare = max(0, self._spare - 1)
        self._quickest_s = min(self._quickest_s * _FADES, seconds)
        if seconds <= _SLOWER * self._quickest_s and self.at_once < self.most:
            self.at_once += 1

    def stumbled(self) -> None:
        """The server did not bear it: no answer in time, or too many requests."""
        if self._spare:
            self._spare -= 1
            return
        self._spare = self._under_way - 1 if self._under_way else 0
        self.at_once = max(1, self.at_once // 2)


class Rate:
    """Turns that come no faster than so many in a minute; without a number, at once."""

    def __init__(
        self,
        per_minute: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._apart_s = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._clock, self._sleep = clock, sleep

    async def turn(self) -> None:
        """Wait for the next turn."""
        if not self._apart_s:
            return
        now = self._clock()
        self._next = max(self._next, now)
        wait_s, self._next = self._next - now, self._next + self._apart_s
        await self._sleep(wait_s)
