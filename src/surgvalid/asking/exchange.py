"""One HTTP/1.1 exchange with a program that nobody trusts, under one deadline.

The clock starts just before connecting and stops with the last byte of the body; connecting, sending and
a body that trickles in all draw on the same budget. Each exchange has its own connection, which is closed
afterwards, so an answer that comes late has nowhere to go. Only what is needed is understood: a status
line, few headers, and a body of declared length. Redirects, chunked or compressed bodies, interim replies
and repeated lengths are refused. Bytes beyond the declared length are never read.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from surgvalid.asking.messages import MOST_BODY_BYTES

MOST_HEAD_BYTES = 16 * 1024
_MOST_LENGTH_DIGITS = 9
Clock = Callable[[], float]


class Contact(StrEnum):
    """How far an exchange came."""

    REPLY = "reply"
    """A complete reply within the deadline."""
    LATE = "late"
    """The deadline passed first."""
    BROKEN = "broken"
    """Something came that is no acceptable reply, or the connection ended before one was complete."""
    UNREACHABLE = "unreachable"
    """Nothing listens there."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of an exchange."""

    contact: Contact
    latency_s: float
    status: int = 0
    body: bytes = b""
    detail: str = ""


class Address(Protocol):
    """Where a program listens."""

    def connect(self, timeout_s: float) -> socket.socket:
        """A connected socket.

        Raises:
            OSError: Nothing listens there, or it does not accept in time.
        """


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A port on loopback, for local work."""

    port: int
    host: str = "127.0.0.1"

    def connect(self, timeout_s: float) -> socket.socket:
        """A connected socket; see `Address`."""
        return socket.create_connection((self.host, self.port), timeout_s)


def request_bytes(method: str, path: str, body: bytes = b"") -> bytes:
    """The whole request, ready to be sent."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", "Accept-Encoding: identity"]
    if method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def exchange(
    address: Address,
    request: bytes,
    *,
    budget_s: float,
    clock: Clock = time.monotonic,
    before: Callable[[], None] | None = None,
    may_lack_length: bool = False,
) -> Reply:
    """What came back for `request` within `budget_s` seconds; never raises for what the other side does.

    Args:
        address: Where the program listens.
        request: As made by `request_bytes`.
        budget_s: For everything: connecting, sending, and receiving the last byte.
        clock: Monotonic seconds.
        before: Called when the clock has just started (the video appears here).
        may_lack_length: A reply that declares no length is interpreted as one without a body, not refused.
    """
    start = clock()
    wire = _Wire(start + budget_s, clock)
    try:
        if before is not None:
            before()
        wire.open(address)
        wire.send(request)
        status, length = _read_head(wire, may_lack_length)
        body = wire.take(length)
    except _Late:
        return Reply(Contact.LATE, clock() - start, detail=f"no complete reply within {budget_s:g} s")
    except _Broken as error:
        return Reply(Contact.BROKEN, clock() - start, detail=str(error))
    except _Unreachable as error:
        return Reply(Contact.UNREACHABLE, clock() - start, detail=str(error))
    finally:
        wire.close()
    latency_s = wire.last_byte_at - start
    if latency_s > budget_s:
        return Reply(Contact.LATE, latency_s, detail=f"the last byte came after {latency_s:.3f} s of {budget_s:g} s")
    return Reply(Contact.REPLY, latency_s, status, body)


class _Late(Exception):
    """The deadline passed."""


class _Broken(Exception):
    """The reply is refused; the text says why."""


class _Unreachable(Exception):
    """Nothing listens; the text says what was found."""


class _Wire:
    """A connection in which every step draws on one deadline."""

    def __init__(self, deadline: float, clock: Clock) -> None:
        self.deadline, self.clock = deadline, clock
        self.buffer = b""
        self.last_byte_at = clock()
        self._socket: socket.socket | None = None

    def open(self, address: Address) -> None:
        try:
            self._socket = address.connect(self._left())
        except TimeoutError:
            raise _Late from None
        except (FileNotFoundError, ConnectionRefusedError):
            raise _Unreachable("nothing listens at the socket") from None
        except OSError as error:
            raise _Unreachable(f"the socket cannot be used ({error.strerror or error})") from None

    def send(self, data: bytes) -> None:
        """Send everything. A program may answer and hang up early; then what it said is still read."""
        connection = self._connection()
        connection.settimeout(self._left())
        try:
            connection.sendall(data)
        except TimeoutError:
            raise _Late from None
        except (BrokenPipeError, ConnectionResetError):
            return
        except OSError as error:
            raise _Broken(f"the question could not be sent ({error.strerror or error})") from None

    def more(self) -> bool:
        """Receive some bytes into the buffer; False when the other side has ended."""
        connection = self._connection()
        connection.settimeout(self._left())
        try:
            piece = connection.recv(MOST_HEAD_BYTES)
        except TimeoutError:
            raise _Late from None
        except ConnectionResetError:
            return False
        except OSError as error:
            raise _Broken(f"the reply could not be received ({error.strerror or error})") from None
        self.last_byte_at = self.clock()
        self.buffer += piece
        return bool(piece)

    def take(self, length: int) -> bytes:
        """The next `length` bytes."""
        while len(self.buffer) < length:
            if not self.more():
                raise _Broken(f"the reply ended after {len(self.buffer)} of {length} declared bytes")
        return self.buffer[:length]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _left(self) -> float:
        left = self.deadline - self.clock()
        if left <= 0:
            raise _Late
        return left

    def _connection(self) -> socket.socket:
        if self._socket is None:
            raise _Unreachable("not connected")
        return self._socket


def _read_head(wire: _Wire, may_lack_length: bool) -> tuple[int, int]:
    """Status and declared length of the reply; the wire's buffer then starts with the body."""
    while (end := wire.buffer.find(b"\r\n\r\n")) < 0:
        if len(wire.buffer) > MOST_HEAD_BYTES:
            raise _Broken(f"the head of the reply is longer than {MOST_HEAD_BYTES} bytes")
        if not wire.more():
            received = f"{len(wire.buffer)} bytes of a head" if wire.buffer else "any reply"
            raise _Broken(f"the connection ended {'after' if wire.buffer else 'without'} {received}")
    if end > MOST_HEAD_BYTES:
        raise _Broken(f"the head of the reply is longer than {MOST_HEAD_BYTES} bytes")
    head, wire.buffer = wire.buffer[:end], wire.buffer[end + 4 :]
    first, *lines = head.decode("latin-1").split("\r\n")
    status = _status(first)
    return status, _declared_length(_headers(lines), may_lack_length)


def _status(line: str) -> int:
    version, _, rest = line.partition(" ")
    code = rest[:3]
    if version not in ("HTTP/1.0", "HTTP/1.1") or not (code.isascii() and code.isdigit()) or rest[3:4].strip():
        raise _Broken(f"the reply does not start with an HTTP/1.1 status line: {line[:60]!r}")
    if code.startswith("1"):
        raise _Broken(f"interim replies (status {code}) are not accepted")
    return int(code)


def _headers(lines: list[str]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise _Broken(f"a header line is malformed: {line[:60]!r}")
        fields.setdefault(name.lower(), []).append(value.strip())
    return fields


def _declared_length(headers: Mapping[str, list[str]], may_lack: bool) -> int:
    if "transfer-encoding" in headers:
        raise _Broken("chunked and other transfer encodings are not accepted; declare Content-Length")
    if any(value.lower() != "identity" for value in headers.get("content-encoding", [])):
        raise _Broken("compressed bodies are not accepted")
    lengths = headers.get("content-length", [])
    if not lengths and may_lack:
        return 0
    if len(lengths) != 1:
        raise _Broken("the reply must declare Content-Length exactly once")
    digits = lengths[0]
    if not (digits.isascii() and digits.isdigit()):
        raise _Broken(f"Content-Length is {digits[:40]!r}, not a number of bytes")
    if len(digits) > _MOST_LENGTH_DIGITS or int(digits) > MOST_BODY_BYTES:
        raise _Broken(f"the reply declares {digits[:20]} bytes, at most {MOST_BODY_BYTES} are read")
    return int(digits)
