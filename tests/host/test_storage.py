"""What is refused leaves no byte behind, with an account and without one."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.test import Client

from host_server import pusher, serving
from host_service import FINAL, PRE, Service
from surgvalid.host.acts import submissions, tokens, uploads
from surgvalid.host.acts.refused import Refused
from surgvalid.host.runs.models import LogEntry, Submission, Upload

pytestmark = pytest.mark.database
MIB = 1 << 20


def stored(service: Service) -> int:
    """Bytes of what teams sent."""
    kept = [path for name in ("uploads", "received") for path in (service.home / "store" / name).rglob("*")]
    return sum(path.stat().st_size for path in kept if path.suffix != ".json")


def answer_to(url: str, head: str, *, most: int = MIB) -> tuple[str, int]:
    """The first line of the answer, and how many bytes of a body could be sent until then."""
    place = urlsplit(url)
    sent = 0
    with socket.create_connection((place.hostname, place.port), timeout=10) as line:
        line.sendall(f"{head}\r\nHost: 127.0.0.1\r\n\r\n".encode())
        line.settimeout(0.5)
        while sent < most:
            try:
                answer = line.recv(200)
                return answer.decode().partition("\r\n")[0], sent
            except TimeoutError:
                sent += line.send(b"x" * 65536)
        line.settimeout(10 if most else 1)
        return line.recv(200).decode().partition("\r\n")[0], sent


def test_a_large_body_is_refused_before_it_is_received(service: Service) -> None:
    worker = tokens.make_worker_token("system", "box", ["inference"])[1]
    client = Client()
    client.force_login(service.person("a"), backend="allauth.account.auth_backends.AuthenticationBackend")
    session = client.cookies["sessionid"].value
    mine = tokens.make_access_token("system", service.person("b"), "laptop")[1]
    gib, piece = f"Content-Length: {1 << 30}", f"Content-Length: {8 * MIB}"
    with serving() as url:
        for head in (
            f"POST / HTTP/1.1\r\n{gib}",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
            f"POST /api/submissions HTTP/1.1\r\n{gib}\r\nAuthorization: Bearer {mine}",
            f"PUT /api/uploads/{'a' * 32} HTTP/1.1\r\n{piece}",
            f"PUT /api/uploads/{'a' * 32} HTTP/1.1\r\n{piece}\r\nCookie: sessionid=mine",
            f"PUT /api/uploads/{'a' * 32} HTTP/1.1\r\n{gib}\r\nAuthorization: Bearer {mine}",
            f"PUT /api/worker/jobs/1/output HTTP/1.1\r\n{gib}\r\nAuthorization: Bearer {mine}",
            f"PUT /api/worker/jobs/1/output HTTP/1.1\r\n{gib}\r\nAuthorization: Bearer sgw_guessed",
        ):
            line, sent = answer_to(url, head)
            assert " 413 " in line, head
            assert sent < MIB
        for head in (
            f"PUT /api/uploads/{'a' * 32} HTTP/1.1\r\n{piece}\r\nAuthorization: Bearer {mine}",
            f"PUT /api/uploads/{'a' * 32} HTTP/1.1\r\n{piece}\r\nCookie: sessionid={session}",
            f"PUT /api/worker/jobs/1/output HTTP/1.1\r\n{gib}\r\nAuthorization: Bearer {worker}",
        ):
            with pytest.raises(TimeoutError):  # it goes on listening
                answer_to(url, head, most=0)


def test_what_could_never_be_handed_in_is_not_announced(service: Service) -> None:
    team, other = service.team("a"), service.team("b")
    service.change("quota = 10 ", "quota = 1 ")
    done = service.hand_in(team)
    Submission.objects.filter(pk=done.pk).update(stage="scored", values={"technical": 0.5})
    before = stored(service)
    for phase, whose, code in ((PRE, team, "quota-used"), (FINAL, other, "phase-not-open")):
        for _ in range(5):
            with pytest.raises(Refused) as refused:
                service.upload(whose, phase, data=os.urandom(3 * MIB))
            assert refused.value.code == code
    assert stored(service) == before


def test_what_is_refused_for_good_at_the_end_is_gone_at_once(service: Service) -> None:
    team = service.team("a")
    service.change("quota = 10 ", "quota = 1 ")
    late = service.upload(team, data=os.urandom(3 * MIB))
    done = service.hand_in(team)
    Submission.objects.filter(pk=done.pk).update(stage="scored", values={"technical": 0.5})
    before = stored(service)
    with pytest.raises(Refused, match="1 of 1 scored"):
        submissions.hand_in("user-1", team, PRE, late)
    assert stored(service) == before - 3 * MIB
    assert not Upload.objects.filter(pk=late.pk).exists()
    assert LogEntry.objects.latest("number").act == "refuse-upload"


def test_a_team_and_the_disk_have_limits(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    team = service.team("a")
    service.change("quota = 10 ", "team_gb = 0.005\nquota = 10 ")
    service.hand_in(team)
    service.upload(team, data=os.urandom(3 * MIB))
    with pytest.raises(Refused) as refused:
        service.upload(team, data=os.urandom(3 * MIB))
    assert refused.value.code == "team-bytes-used"
    monkeypatch.setattr(uploads, "free_bytes", lambda: uploads.RESERVE_BYTES + 3 * MIB)
    with pytest.raises(Refused) as refused:
        service.upload(service.team("b"), data=b"small")
    assert refused.value.code == "no-room"


def test_announcing_without_end_is_refused_and_hardly_logged(service: Service) -> None:
    team = service.team("a")
    with serving() as url:
        host = pusher(url, team)
        codes = set()
        for number in range(40):
            facts = {"phase": PRE, "name": "image.tar", "size_bytes": 9, "sha256": f"{number:064x}"}
            try:
                host.call("DELETE", f"uploads/{host.call('POST', 'uploads', facts)['upload']}")
            except Exception as error:  # noqa: BLE001 - the code is looked at
                codes.add(getattr(error, "code", str(error)))
    assert codes == {"too-many-announced"}
    assert LogEntry.objects.filter(act="announce-upload").count() == uploads.MOST_AN_HOUR


def test_a_sweep_forgets_what_nobody_goes_on_with(service: Service) -> None:
    team = service.team("a")
    kept = service.hand_in(team)
    half = uploads.announce_upload("system", team, PRE, "image.tar", size_bytes=9, digest="0" * 64)
    uploads.add_piece(half, offset=0, piece=b"half")
    left = service.upload(team, data=b"nobody hands it in")
    uploads.receive("user-1", left)
    old = service.home / "store" / "submissions" / str(kept.pk) / "run-1" / ".shard-1-of-2.0"
    old.mkdir(parents=True)
    orphan = service.home / "store" / "received" / ("f" * 32)
    orphan.write_bytes(b"x")
    assert uploads.sweep() == 0
    past = (service.clock() - timedelta(hours=1)).timestamp()
    for path in (service.home / "store").rglob("*"):
        os.utime(path, (past, past))
    service.clock.forward(hours=23, seconds=2)
    assert uploads.sweep() == 0, "its last piece came a day ago less an hour"
    service.clock.forward(hours=2)
    assert uploads.sweep() == 2
    assert [one.pk for one in Upload.objects.all()] == [kept.image.pk]
    assert not old.exists()
    assert not orphan.exists()
    assert stored(service) == kept.image.size_bytes
    assert uploads.received_path(kept.image).exists()
