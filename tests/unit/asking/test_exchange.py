"""One deadline, bounded reading: each attack on the wire, and that it costs one question and nothing else."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.asking.exchange import (
    MOST_HEAD_BYTES,
    Contact,
    Reply,
    TcpAddress,
    exchange,
    request_bytes,
)
from surgvalid.asking.messages import MOST_BODY_BYTES

Behaviour = Callable[[socket.socket], None]
BODY = b'{"qID": "a", "content": "yes"}'
PATIENT_S, SHORT_S = 30.0, 0.3


class Peer:
    """An address whose other end behaves as told, on a thread that ends with its connection."""

    def __init__(self, behaviour: Behaviour, *, reads: bool = True) -> None:
        self.behaviour, self.reads = behaviour, reads
        self.thread: threading.Thread | None = None

    def connect(self, timeout_s: float) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.settimeout(timeout_s)
        self.thread = threading.Thread(target=self._live, args=(theirs,), daemon=True)
        self.thread.start()
        return ours

    def _live(self, theirs: socket.socket) -> None:
        with theirs, suppress(OSError):
            if self.reads:
                theirs.recv(1 << 20)
            self.behaviour(theirs)


def talk(behaviour: Behaviour, budget_s: float = PATIENT_S, *, reads: bool = True, request: bytes = b"") -> Reply:
    peer = Peer(behaviour, reads=reads)
    request = request or request_bytes("POST", "/answer", b"{}")
    reply = exchange(peer, request, budget_s=budget_s)
    if peer.thread is not None:
        peer.thread.join(10)
        assert not peer.thread.is_alive(), "the connection was left open"
    return reply


def head(length: object = len(BODY), *, status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def sends(data: bytes) -> Behaviour:
    return lambda connection: connection.sendall(data)


def drips(data: bytes, pause_s: float = 0.02) -> Behaviour:
    def behave(connection: socket.socket) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(pause_s)

    return behave


def test_a_plain_reply_is_read() -> None:
    reply = talk(sends(head() + BODY))
    assert (reply.contact, reply.status, reply.body) == (Contact.REPLY, 200, BODY)
    assert 0 < reply.latency_s < PATIENT_S


def test_another_status_is_a_reply_too() -> None:
    assert talk(sends(head(2, status="503 Loading") + b"{}")).status == 503
    assert talk(sends(b"HTTP/1.0 200\r\ncontent-length: 2\r\n\r\n{}")).status == 200


def test_a_reply_in_many_pieces_is_put_together() -> None:
    assert talk(drips(head() + BODY, pause_s=0)).body == BODY


def test_a_body_that_trickles_is_cut_at_the_deadline() -> None:
    """Each byte comes well within the budget; only the sum does not."""
    reply = talk(drips(head(2000) + b" " * 2000), SHORT_S)
    assert reply.contact is Contact.LATE
    assert reply.body == b""


def test_a_head_that_trickles_is_cut_at_the_deadline() -> None:
    assert talk(drips(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500), SHORT_S).contact is Contact.LATE


def test_silence_is_cut_at_the_deadline() -> None:
    assert talk(lambda connection: connection.recv(1), SHORT_S).contact is Contact.LATE


def test_a_peer_that_never_reads_is_cut_at_the_deadline() -> None:
    def stuck(connection: socket.socket) -> None:
        time.sleep(3 * SHORT_S)

    reply = talk(stuck, SHORT_S, reads=False, request=request_bytes("POST", "/answer", b" " * (8 << 20)))
    assert reply.contact is Contact.LATE


def test_connecting_draws_on_the_same_budget() -> None:
    class NeverAccepts:
        def connect(self, timeout_s: float) -> socket.socket:
            assert timeout_s <= SHORT_S
            raise TimeoutError

    assert exchange(NeverAccepts(), b"", budget_s=SHORT_S).contact is Contact.LATE


def test_a_last_byte_after_the_deadline_is_late_even_if_it_was_received() -> None:
    """The machine may have been too busy to notice in time; then the clock decides, not the order of calls."""
    times = iter([0.0, 0.0, 0.1, 0.2, 0.3, 99.0, 99.0, 99.0, 99.0])
    reply = exchange(Peer(sends(head() + BODY)), b"x", budget_s=1.0, clock=lambda: next(times))
    assert reply.contact is Contact.LATE


def test_a_late_reply_reports_a_latency_above_zero_and_no_content() -> None:
    reply = talk(lambda connection: connection.recv(1), SHORT_S)
    assert reply.latency_s > 0
    assert "0.3 s" in reply.detail


def test_an_endless_head_is_refused_by_its_size() -> None:
    def endless(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-Filler: " + b"a" * 1000 + b"\r\n")

    reply = talk(endless)
    assert reply.contact is Contact.BROKEN
    assert str(MOST_HEAD_BYTES) in reply.detail


def test_an_endless_line_is_refused_by_its_size() -> None:
    def endless(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"a" * 4096)

    assert talk(endless).contact is Contact.BROKEN


@pytest.mark.parametrize("length", [MOST_BODY_BYTES + 1, 10**8, "9" * 5000])
def test_a_huge_declared_length_is_refused_before_anything_is_read(length: object) -> None:
    reply = talk(sends(head(length)))
    assert reply.contact is Contact.BROKEN
    assert str(MOST_BODY_BYTES) in reply.detail


def test_the_largest_allowed_body_is_read() -> None:
    assert len(talk(sends(head(MOST_BODY_BYTES) + b" " * MOST_BODY_BYTES)).body) == MOST_BODY_BYTES


def test_bytes_beyond_the_declared_length_are_never_read() -> None:
    def flood(connection: socket.socket) -> None:
        connection.sendall(head() + BODY)
        while True:
            connection.sendall(b"x" * 65536)

    assert talk(flood).body == BODY


def test_bytes_that_came_along_with_the_body_are_dropped() -> None:
    assert talk(sends(head() + BODY + b"and a pipelined " + head() + BODY)).body == BODY


def test_a_body_shorter_than_declared_is_refused() -> None:
    reply = talk(sends(head(len(BODY) + 5) + BODY))
    assert reply.contact is Contact.BROKEN
    assert f"{len(BODY)} of {len(BODY) + 5}" in reply.detail


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "chunked"),
        (head(more="Transfer-Encoding: chunked\r\n") + BODY, "chunked"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + BODY, "exactly once"),
        (head(more="Content-Length: 3\r\n") + BODY, "exactly once"),
        (head(more=f"Content-Length: {len(BODY)}\r\n") + BODY, "exactly once"),
        (head("-1") + BODY, "not a number"),
        (head("+30") + BODY, "not a number"),
        (head("٣") + BODY, "not a number"),
        (head("") + BODY, "not a number"),
        (head(more="Content-Encoding: gzip\r\n") + gzip.compress(BODY), "compressed"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + head() + BODY, "interim"),
        (b"HTTP/2 200\r\ncontent-length: 2\r\n\r\n{}", "status line"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "status line"),
        (b"\x16\x03\x01 not http\r\n\r\n", "status line"),
        (b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n{}", "malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n folded\r\n\r\n{}", "malformed"),
        (b"HTTP/1.1 200 OK\r\nConten", "ended after"),
        (b"", "without any reply"),
    ],
)
def test_what_is_no_plain_reply_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    reply = talk(sends(data))
    assert reply.contact is Contact.BROKEN
    assert reason in reply.detail


def test_a_redirect_is_only_a_status() -> None:
    assert talk(sends(head(0, status="302 Found", more="Location: http://elsewhere/\r\n"))).status == 302


def test_an_answer_before_the_question_does_not_upset_the_wire() -> None:
    def hasty(connection: socket.socket) -> None:
        connection.sendall(head() + BODY)
        connection.shutdown(socket.SHUT_RDWR)

    reply = talk(hasty, reads=False, request=request_bytes("POST", "/answer", b" " * (8 << 20)))
    assert reply.contact in (Contact.REPLY, Contact.BROKEN)


def test_nothing_listening_is_unreachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    assert exchange(TcpAddress(port), b"x", budget_s=PATIENT_S).contact is Contact.UNREACHABLE


def test_loopback_carries_the_same_exchange() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def once() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(head() + BODY)

        thread = threading.Thread(target=once)
        thread.start()
        reply = exchange(TcpAddress(listener.getsockname()[1]), request_bytes("GET", "/x"), budget_s=PATIENT_S)
        thread.join()
    assert reply.body == BODY


def test_what_is_to_happen_first_happens_on_the_clock() -> None:
    order: list[str] = []

    def clock() -> float:
        order.append("clock")
        return float(len(order))

    exchange(Peer(sends(head() + BODY)), b"x", budget_s=1000.0, clock=clock, before=lambda: order.append("shown"))
    assert order.index("clock") < order.index("shown")


@given(data=st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    reply = talk(sends(data))
    assert reply.contact in (Contact.REPLY, Contact.BROKEN)


@given(lines=st.lists(st.text(alphabet="HTP/1.20 OKcontent-lgh:\r\n5\t", max_size=30), max_size=6))
def test_no_nearly_right_reply_raises(lines: list[str]) -> None:
    data = "\r\n".join(["HTTP/1.1 200 OK", *lines, "", "{}"]).encode()
    assert talk(sends(data)).contact in (Contact.REPLY, Contact.BROKEN)
