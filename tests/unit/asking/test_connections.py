"""The web client, against servers that write bytes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from surgvalid.asking.connections import MOST_BODY_BYTES, ConnectionFailed, Connections, Unreachable, WebResponse
from surgvalid.errors import Misuse

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def heard(reader: asyncio.StreamReader) -> bytes:
    """One whole request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    return head + await reader.readexactly(length)


def answering(*replies: bytes, close: bool = False) -> Serve:
    """A server that gives these bytes to one request after the other on each connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for reply in replies:
                await heard(reader)
                writer.write(reply)
                await writer.drain()
            if not close:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    return serve


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[int]:
    """The port of a server, all of whose connections end with the block."""
    handlers: list[asyncio.Task[None]] = []
    writers: list[asyncio.StreamWriter] = []

    async def noted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.append(asyncio.current_task())  # type: ignore[arg-type]
        writers.append(writer)
        await serve(reader, writer)

    server = await asyncio.start_server(noted, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.gather(*handlers, return_exceptions=True)


def posted(serve: Serve, times: int = 1, timeout_s: float = 5.0) -> list[WebResponse]:
    """What comes back for so many requests, one after the other."""

    async def run() -> list[WebResponse]:
        async with listening(serve) as port:
            url = f"http://127.0.0.1:{port}/v1?a=b"
            async with Connections(url, headers={"X": "y"}, timeout_s=timeout_s) as client:
                return [await client.post(b'{"question": 1}') for _ in range(times)]

    return asyncio.run(run())


WHOLE = {
    "length": OK + b"Content-Length: 4\r\n\r\nyes!",
    "chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n2;x=1\r\nye\r\n2\r\ns!\r\n0\r\nTrailer: 1\r\n\r\n",
    "an interim reply": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"content-length:4\r\n\r\nyes!",
}


@pytest.mark.parametrize("reply", WHOLE.values(), ids=WHOLE.keys())
def test_a_whole_response_is_read_and_its_connection_used_again(reply: bytes) -> None:
    assert [response.content for response in posted(answering(reply, reply, reply), 3)] == [b"yes!"] * 3


@pytest.mark.parametrize("head", [b"HTTP/1.0 200 OK\r\n\r\n", OK + b"Connection: close\r\n\r\n"])
def test_a_response_without_a_length_ends_with_its_connection(head: bytes) -> None:
    assert [response.content for response in posted(answering(head + b"yes!", close=True), 2)] == [b"yes!"] * 2


def test_a_connection_that_the_server_ended_meanwhile_is_opened_again() -> None:
    assert len(posted(answering(WHOLE["length"], close=True), 4)) == 4


BROKEN = {
    "cut in its head": OK + b"Content-Le",
    "cut in its body": OK + b"Content-Length: 9\r\n\r\nyes!",
    "cut in a chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nye",
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "a length that is none": OK + b"Content-Length: many\r\n\r\n",
    "a negative length": OK + b"Content-Length: -5\r\n\r\n",
    "a length beyond bounds": OK + b"Content-Length: %d\r\n\r\n" % (MOST_BODY_BYTES + 1),
    "a chunk beyond bounds": OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
    "a head without end": OK + b"X: " + b"y" * (1 << 18) + b"\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_whole_response_is_a_failure(reply: bytes) -> None:
    with pytest.raises(ConnectionFailed) as caught:
        posted(answering(reply, close=True))
    assert not isinstance(caught.value, Unreachable)
    assert str(caught.value)


def test_a_reply_that_trickles_in_does_not_stretch_its_time() -> None:
    async def trickling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await heard(reader)
        writer.write(OK + b"Content-Length: 1000\r\n\r\n")
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            writer.close()

    with pytest.raises(TimeoutError):
        posted(trickling, timeout_s=0.3)


def test_nobody_there_is_told_apart() -> None:
    async def run() -> None:
        async with Connections("http://127.0.0.1:9/v1", headers={}, timeout_s=5.0) as client:
            await client.post(b"")

    with pytest.raises(Unreachable, match="ConnectionRefusedError"):
        asyncio.run(run())


def test_a_proxy_of_the_environment_is_used_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await heard(reader))
        writer.write(WHOLE["length"])
        await writer.drain()
        writer.close()

    async def run() -> WebResponse:
        async with listening(proxy) as port:
            monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{port}")
            async with Connections("http://models.example.org/v1", headers={}, timeout_s=5.0) as client:
                return await client.post(b"{}")

    assert asyncio.run(run()).content == b"yes!"
    assert seen[0].startswith(b"POST http://models.example.org/v1 HTTP/1.1\r\nHost: models.example.org\r\n")
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in seen[0]


def test_a_tunnel_that_a_proxy_refuses_is_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refusing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"CONNECT models.example.org:443 HTTP/1.1\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run() -> None:
        async with listening(refusing) as port:
            monkeypatch.setenv("https_proxy", f"127.0.0.1:{port}")
            async with Connections("https://models.example.org/v1", headers={}, timeout_s=5.0) as client:
                await client.post(b"{}")

    with pytest.raises(Unreachable, match="answers 403"):
        asyncio.run(run())


def test_loopback_never_goes_through_a_proxy_and_odd_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    assert posted(answering(WHOLE["length"]))[0].content == b"yes!"
    with pytest.raises(Misuse, match=r"is of the kind 'socks5'; only http:// proxies are used"):
        Connections("http://models.example.org", headers={}, timeout_s=1.0)


def test_a_key_with_a_line_end_sends_no_second_header() -> None:
    with pytest.raises(Misuse, match="has a line end in it"):
        Connections("http://127.0.0.1:9/", headers={"Authorization": "Bearer a\r\nX-Evil: 1"}, timeout_s=1.0)
