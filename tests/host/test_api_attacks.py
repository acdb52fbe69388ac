"""Attacks on the API: uploads, other teams' things, workers' tokens, stale and forged reports."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from host_service import FINAL, PRE, Service
from surgvalid.errors import InputInvalid
from surgvalid.host.acting import log_problems
from surgvalid.host.acts import jobs, submissions, tokens, uploads
from surgvalid.host.runs.models import Job, Submission, Upload
from surgvalid.host.tars import files_below, tar_pieces, unpack, write_tar
from surgvalid.host.urls import API

DATA = b"0123456789" * 10


class Caller:
    """A program with a token."""

    def __init__(self, token: str) -> None:
        self.client, self.token = Client(enforce_csrf_checks=True), token

    def __call__(self, method: str, path: str, content: Any = None, **more: Any) -> tuple[int, dict[str, Any]]:
        data = content if isinstance(content, bytes) else json.dumps(content or {})
        kind = "application/octet-stream" if isinstance(content, bytes) else "application/json"
        headers = {"authorization": f"Bearer {self.token}"} | more.pop("headers", {})
        answer = self.client.generic(method, f"/api/{path}", data, kind, headers=headers, **more)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return answer.status_code, json.loads(body) if answer["Content-Type"].endswith("json") else {"bytes": body}


def of(team: Any) -> Caller:
    return Caller(tokens.make_access_token("system", team.leader, "laptop")[1])


def announced(call: Caller, data: bytes = DATA, **changes: Any) -> tuple[int, dict[str, Any]]:
    facts = {"phase": PRE, "name": "image.tar", "size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return call("POST", "uploads", facts | changes)


def test_pieces_must_come_in_order_and_in_full(service: Service) -> None:
    call = of(service.team("a"))
    key = announced(call)[1]["upload"]
    assert call("PUT", f"uploads/{key}?offset=0", DATA[:40])[1]["received_bytes"] == 40
    for offset, piece in ((0, DATA[:40]), (50, DATA[50:]), (39, DATA[39:]), (40, DATA[40:] + b"more")):
        status, answer = call("PUT", f"uploads/{key}?offset={offset}", piece)
        assert (status, answer["code"]) == (409, "upload-refused")
    assert call("POST", "submissions", {"image": key, "phase": PRE})[1]["code"] == "upload-refused"
    assert call("GET", f"uploads/{key}")[1]["received_bytes"] == 40
    assert call("PUT", f"uploads/{key}?offset=40", DATA[40:])[1]["received_bytes"] == 100
    assert call("POST", "submissions", {"image": key, "phase": PRE})[0] == 201
    for bad in ("-1", "x", "", "9" * 30, "٣"):
        assert call("PUT", f"uploads/{key}?offset={bad}", b"x")[0] == 400


def test_uploads_are_limited_and_their_bytes_are_those_announced(service: Service) -> None:
    call = of(service.team("a"))
    for changes in ({"size_bytes": 10**13}, {"size_bytes": 0}, {"sha256": "short"}, {"phase": "none"},
                    {"name": "x.html"}, {"size_bytes": "100"}, {"size_bytes": True},
                    {"name": "../image.tar"}):  # fmt: skip
        assert announced(call, **changes)[0] in (400, 409), changes
    key = announced(call)[1]["upload"]
    assert call("PUT", f"uploads/{key}?offset=0", b"z" * 100)[0] == 200
    status, answer = call("POST", "submissions", {"image": key, "phase": PRE})
    assert (status, answer["code"]) == (409, "upload-refused")
    assert "another SHA-256" in answer["problem"]
    assert Submission.objects.count() == 0
    big = announced(call, b"y" * 100, size_bytes=3 * uploads.MOST_PIECE_BYTES)[1]["upload"]
    assert call("PUT", f"uploads/{big}?offset=0", bytes(uploads.MOST_PIECE_BYTES + 1))[0] == 409


def test_what_is_another_teams_does_not_exist(service: Service) -> None:
    ours, theirs = service.team("a"), service.team("b")
    call = of(ours)
    upload, submission = service.upload(theirs), service.hand_in(theirs)
    for method, path, content in (
        ("GET", f"uploads/{upload.key}", None), ("PUT", f"uploads/{upload.key}?offset=0", b"x"),
        ("DELETE", f"uploads/{upload.key}", None), ("POST", "submissions", {"image": upload.key, "phase": PRE}),
        ("GET", f"submissions/{submission.pk}", None), ("POST", f"submissions/{submission.pk}/cancel", {}),
    ):  # fmt: skip
        stranger, nothing = call(method, path, content), call(method, path.replace(upload.key, "0" * 32), content)
        assert stranger[0] == 404, path
        if upload.key in path:
            assert stranger == nothing, "a stranger's upload and none at all read alike"
    assert call("GET", "submissions")[1] == {"submissions": []}
    assert Upload.objects.filter(pk=upload.pk).exists()


def addresses() -> list[str]:
    return [str(one.pattern) for one in API]


@pytest.mark.parametrize("token", ["", "sgw_guess", "revoked", "of the other kind"])
def test_no_address_answers_without_its_kind_of_token(token: str, service: Service) -> None:
    worker, worker_text = tokens.make_worker_token("system", "w", ["inference"])
    access, person_text = tokens.make_access_token("system", service.team("a").leader, "laptop")
    if token == "revoked":
        tokens.revoke_worker_token("system", worker)
        tokens.revoke_access_token("system", access)
    for address in addresses():
        for_worker = address.startswith("worker/")
        wrong = {"revoked": worker_text if for_worker else person_text,
                 "of the other kind": person_text if for_worker else worker_text}.get(token, token)  # fmt: skip
        path = address.replace("<int:number>", "1").replace("<str:key>", "0" * 32)
        for method in ("GET", "POST", "PUT", "DELETE"):
            status, answer = Caller(wrong)(method, f"{path}?fencing=1&offset=0", {})
            assert status in (401, 403, 405), (method, address, answer)


def test_the_token_of_somebody_who_is_shut_out_opens_nothing(service: Service) -> None:
    team = service.team("a")
    call = of(team)
    assert call("GET", "standing")[0] == 200
    team.leader.is_active = False
    team.leader.save()
    assert call("GET", "standing")[0] == 401


def test_a_session_needs_its_csrf_token_and_a_bearer_none(service: Service) -> None:
    team = service.team("a")
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(team.leader, backend="allauth.account.auth_backends.AuthenticationBackend")
    facts = {"phase": PRE, "name": "image.tar", "size_bytes": 9, "sha256": "0" * 64}
    assert browser.post("/api/uploads", facts, content_type="application/json").status_code == 403
    assert of(team)("POST", "uploads", facts)[0] == 200


def test_a_worker_sees_its_own_job_and_no_other(service: Service) -> None:
    service.hand_in(service.team("a"))
    text = tokens.make_worker_token("system", "one", ["intake"])[1]
    stranger = Caller(tokens.make_worker_token("system", "two", ["intake"])[1])
    call = Caller(text)
    job = call("POST", "worker/claim")[1]["job"]
    assert job["owner"] == ""
    assert stranger("POST", "worker/claim")[1]["job"] is None
    number, good = job["job"], f"fencing={job['fencing']}"
    for path in ("beat", "report", "image", "input", "output"):
        method = {"image": "GET", "input": "GET", "output": "PUT"}.get(path, "POST")
        content: Any = b"x" if path == "output" else {"outcome": "done"}
        assert stranger(method, f"worker/jobs/{number}/{path}?{good}", content)[0] == 409
        assert call(method, f"worker/jobs/{number}/{path}?fencing=0", content)[0] == 409
    assert call("GET", f"worker/jobs/{number}/image?{good}")[1]["bytes"] == b"image 1"
    service.clock.forward(seconds=jobs.LEASE_S + 1)
    again = stranger("POST", "worker/claim")[1]["job"]
    assert (again["job"], again["fencing"]) == (number, job["fencing"] + 1)
    status, answer = call("POST", f"worker/jobs/{number}/report?{good}", {"outcome": "done", "facts": {}})
    assert (status, answer["code"]) == (409, "lease-lost")
    assert Submission.objects.get().stage == "uploaded"


def test_inference_gets_no_reference_and_scoring_no_image(service: Service) -> None:
    trusted = service.worker("intake", "scoring")
    service.let_in(service.hand_in(service.team("a")), trusted)
    call = Caller(tokens.make_worker_token("system", "gpu", ["inference"])[1])
    job = call("POST", "worker/claim")[1]["job"]
    archive = call("GET", f"worker/jobs/{job['job']}/input?fencing={job['fencing']}")[1]["bytes"]
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        names = opened.getnames()
    assert "questions/request.json" in names
    assert not any("reference" in name for name in names)
    secrets = json.loads((service.home / "private" / PRE / "references.json").read_text())
    assert not any(f'"answer": "{row["answer"]}"'.encode() in archive for row in secrets[:3])
    assert "team" not in json.dumps(job["rules"])
    Job.objects.filter(pk=job["job"]).update(kind="scoring")
    assert call("GET", f"worker/jobs/{job['job']}/image?fencing={job['fencing']}")[0] == 403
    (service.home / "data" / PRE / "references.json").write_text("[]")
    Job.objects.filter(pk=job["job"]).update(kind="inference")
    with pytest.raises(Exception, match="no references where submissions run"):
        call("GET", f"worker/jobs/{job['job']}/input?fencing={job['fencing']}")


def test_outputs_of_workers_hold_plain_files_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ok").write_bytes(b"fine")
    good = write_tar(tmp_path / "good.tar", files_below(tmp_path / "in"))
    assert (unpack(good, tmp_path / "good") / "ok").read_bytes() == b"fine"
    for number, change in enumerate((
        {"name": "../out"}, {"name": "/etc/out"}, {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.FIFOTYPE}, {"type": tarfile.LNKTYPE, "linkname": "../x"},
    )):  # fmt: skip
        bad = tmp_path / f"bad{number}.tar"
        with tarfile.open(bad, "w") as tar:
            info = tarfile.TarInfo("x")
            for name, value in change.items():
                setattr(info, name, value)
            tar.addfile(info)
        with pytest.raises(InputInvalid):
            unpack(bad, tmp_path / f"bad{number}")
    assert not (tmp_path.parent / "out").exists()
    with pytest.raises(InputInvalid):
        unpack(good, tmp_path / "small", most_bytes=3)
    big = tmp_path / "in" / "big"
    big.write_bytes(b"x" * 3_000_000)
    assert max(map(len, tar_pieces([("big", big)]))) <= 1 << 20


def test_the_same_image_by_two_teams_is_seen_by_its_digest(service: Service) -> None:
    trusted = service.worker("intake")
    for name in ("a", "b"):
        handed = submissions.hand_in("system", team := service.team(name), PRE, service.upload(team, data=b"same"))
        service.let_in(handed, trusted)
        Submission.objects.filter(pk=handed.pk).update(image_digest="sha256:same")
    assert Submission.objects.filter(image_digest="sha256:same").values("team").distinct().count() == 2
    assert log_problems() == []


def test_a_gate_is_not_passed_by_a_direct_call(service: Service) -> None:
    team = service.team("a")
    call = of(team)
    service.clock.forward(days=35)
    status, answer = announced(call, phase=FINAL)
    assert (status, answer["code"]) == (409, "gate-closed")
    assert answer["remedy"]
