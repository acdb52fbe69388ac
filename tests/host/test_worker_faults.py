"""What goes wrong between a service, its workers and its teams: full disks, lost answers, broken machines."""

from __future__ import annotations

import errno
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from test_api_attacks import DATA, Caller, announced, of

from host_server import Crew, pusher, serving, tiny_image
from host_service import PRE, Service
from image_archives import archive
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.host import places, worker
from surgvalid.host.acting import acting
from surgvalid.host.acts import jobs, tokens, uploads
from surgvalid.host.acts.refused import REMEDIES
from surgvalid.host.acts.submissions import queue_scoring, run_folder
from surgvalid.host.api import answers
from surgvalid.host.client import Host, HostLost, HostRefused, push_file, push_submission
from surgvalid.host.runs.models import Job, JobKind, RunRecord, Submission
from surgvalid.host.tars import tar_pieces, write_tar

pytestmark = pytest.mark.database


def claimed_by(service: Service, *duties: str) -> tuple[Caller, dict[str, Any]]:
    call = Caller(tokens.make_worker_token("system", "-".join(("caller", *duties)), duties)[1])
    return call, call("POST", "worker/claim")[1]["job"]


@pytest.fixture
def inferring(service: Service) -> tuple[Caller, dict[str, Any]]:
    service.let_in(service.hand_in(service.team("a")), service.worker("intake"))
    return claimed_by(service, "inference")


def test_a_job_is_not_done_without_its_output(inferring: tuple[Caller, dict[str, Any]]) -> None:
    call, job = inferring
    where = f"worker/jobs/{job['job']}/report?fencing={job['fencing']}"
    status, answer = call("POST", where, {"outcome": "done", "facts": {}})
    assert (status, "without its output" in answer["problem"]) == (400, True)
    assert Job.objects.get(pk=job["job"]).state == "claimed"


def reported(call: Caller, job: dict[str, Any], facts: Any, *members: tuple[str, bytes]) -> tuple[int, str]:
    """The status and the problem of a report of a job that is done, with these files as its output."""
    where = f"fencing={job['fencing']}"
    if members:
        pieces = b"".join(tar_pieces(members))
        assert call("PUT", f"worker/jobs/{job['job']}/output?{where}", pieces)[0] == 200
    status, answer = call("POST", f"worker/jobs/{job['job']}/report?{where}", {"outcome": "done", "facts": facts})
    assert Job.objects.get(pk=job["job"]).state == ("done" if status == 200 else "claimed")
    return status, answer.get("problem", "")


def test_malformed_facts_of_an_intake_are_refused_with_every_problem(service: Service) -> None:
    service.hand_in(service.team("a"))
    call, job = claimed_by(service, "intake")
    for facts, problem in (
        ({"problems": 5}, "problems must be a list of texts; got 5"),
        ({"problems": "all of it"}, 'problems must be a list of texts; got "all of it"'),
        ({"problems": [{}]}, "problems must be a list of texts; got [{}]"),
        ({"image_digest": {}, "problems": 5}, "2 problems: image_digest must be a text; got {}; problems must be a"),
    ):
        status, text = reported(call, job, facts)
        assert (status, problem in text) == (400, True), text
    assert Submission.objects.get().stage == "uploaded"
    assert reported(call, job, {"image_digest": "sha256:1", "problems": []})[0] == 200


def in_inference(service: Service) -> RunRecord:
    service.let_in(service.hand_in(service.team("a")), service.worker("intake"))
    return RunRecord.objects.get()


SCORES_SENT = ("scores/manifest.json", b"{}")


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"values": [1]}, "values must be numbers by leaderboard; got [1]"),
        ({"values": {"technical": "high"}}, 'values of technical must be a finite number; got "high"'),
        ({"values": {"technical": None, "clinical": float("nan")}}, "2 problems: values of technical must be a finite"),
        ({"values": {"technical": True}}, "values of technical must be a finite number; got true"),
        ({"values": {"technical": 10**400}}, "values of technical must be a finite number; got 1000"),
        ({"references_digest": 7}, "references_digest must be a text; got 7"),
        ({"code": []}, "code must be a text; got []"),
    ],
)
def test_malformed_facts_of_a_scoring_are_refused(service: Service, facts: dict[str, Any], problem: str) -> None:
    run = in_inference(service)
    with acting("system", "queue-scoring") as doing:
        Job.objects.filter(kind=JobKind.INFERENCE).update(state="done")
        queue_scoring(run, doing.at)
    run_folder(run.submission, run.number).mkdir(parents=True)
    call, job = claimed_by(service, "scoring")
    status, text = reported(call, job, facts, SCORES_SENT)
    assert (status, problem in text) == (400, True), text
    assert RunRecord.objects.get().scored_at is None
    assert not (run_folder(run.submission, run.number) / "scores").exists()
    assert reported(call, job, {"values": {"technical": 0.5}}, ("elsewhere.txt", b"x"))[0] == 400
    assert reported(call, job, {"values": {"technical": 0.5}, "references_digest": "a"}, SCORES_SENT)[0] == 200


def test_an_output_without_what_the_job_was_for_is_refused(inferring: tuple[Caller, dict[str, Any]]) -> None:
    call, job = inferring
    status, text = reported(call, job, {}, ("shard-9-of-9/events.jsonl", b""))
    name = "shard-{}-of-{}".format(*job["shard"].split("/"))
    assert (status, f"2 problems: the output holds no {name}; the output holds no phase.json" in text) == (400, True)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (b"{", "boards.json is no JSON object"),
        (b"[]", "boards.json is no JSON object"),
        (b'{"technical": 5}', "boards.json: technical has no tables of rows"),
        (b'{"technical": {"tables": {"places": [1]}}}', "boards.json: technical has no tables of rows"),
        (b'{"technical": {"tables": {"places": [{"place": NaN}]}}}', "boards.json is no JSON object"),
        (b'{"technical": {"tables": {}, "findings": 5}}', "boards.json: findings of technical must be a list; got 5"),
        (b'{"technical": {"tables": {}}}', "the output holds no technical"),
    ],
)
def test_malformed_boards_are_refused(service: Service, made: bytes, problem: str) -> None:
    with acting("system", "queue-board") as doing:
        Job.objects.create(kind=JobKind.BOARD, phase=PRE, owner="boards", made_at=doing.at)
    call, job = claimed_by(service, "board")
    status, text = reported(call, job, {}, ("boards.json", made))
    assert (status, problem in text) == (400, True), text
    assert reported(call, job, {}, ("boards.json", b"{}"))[0] == 200


def test_what_was_sent_and_never_reported_does_not_stay(
    inferring: tuple[Caller, dict[str, Any]], service: Service
) -> None:
    call, job = inferring
    call("PUT", f"worker/jobs/{job['job']}/output?fencing={job['fencing']}", b"its worker died after this")
    incoming = places.store() / "incoming"
    assert [one.name for one in incoming.iterdir()] == [f"{job['job']}-1.tar"]
    service.clock.forward(seconds=jobs.LEASE_S + 1)
    other = Caller(tokens.make_worker_token("system", "other", ["inference"])[1])
    again = other("POST", "worker/claim")[1]["job"]
    assert (again["job"], again["fencing"]) == (job["job"], 2)
    for attempt in (b"cut off", b"x" * 10):
        assert other("PUT", f"worker/jobs/{again['job']}/output?fencing=2", attempt)[0] == 200
    assert [(one.name, one.read_bytes()) for one in incoming.iterdir()] == [(f"{job['job']}-2.tar", b"x" * 10)]


def test_two_workers_with_one_token_are_told_apart_by_their_numbers(service: Service) -> None:
    service.hand_in(service.team("a"))
    text = tokens.make_worker_token("system", "both", ["intake"])[1]
    first, second = Caller(text), Caller(text)
    lost = first("POST", "worker/claim")[1]["job"]
    assert second("POST", "worker/claim")[1]["job"] is None
    service.clock.forward(seconds=jobs.LEASE_S + 1)
    kept = second("POST", "worker/claim")[1]["job"]
    report = {"outcome": "done", "facts": {"image_digest": "sha256:late"}}
    assert first("POST", f"worker/jobs/{lost['job']}/report?fencing={lost['fencing']}", report)[0] == 409
    assert first("POST", f"worker/jobs/{lost['job']}/beat?fencing={lost['fencing']}", {})[0] == 409
    good = f"worker/jobs/{kept['job']}/report?fencing={kept['fencing']}"
    assert second("POST", good, {"outcome": "done", "facts": {"image_digest": "sha256:mine"}})[0] == 200
    assert second("POST", good, {"outcome": "done", "facts": {"image_digest": "sha256:another"}})[0] == 200
    assert second("POST", good, {"outcome": "failed-by-team", "code": "image-refused"})[0] == 409
    late = f"worker/jobs/{lost['job']}/report?fencing={lost['fencing']}"
    assert first("POST", late, report)[0] == 409, "a late report is not mistaken for the one that was"
    one = Submission.objects.get()
    assert (one.stage, one.image_digest, one.runs.count()) == ("queued", "sha256:mine", 1)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000, b"\xff\xfe", b'{"name": "\\u0000.md"}', b'{"name": "\\ud800.md"}', b'{"image": "\\u0000"}',
        b'{"duties": [["inference"], {}, null]}', b'{"progress": 1' + b"0" * 400 + b"}", b'{"size_bytes": 1e999}',
        b'{"facts": {"values": {"\\u0000": 1}}}', b"null", b"",
    ],
)  # fmt: skip
def test_no_body_is_more_than_a_program_expects(service: Service, body: bytes) -> None:
    team = of(service.team("a"))
    service.hand_in(service.team("b"))
    call, job = claimed_by(service, "intake")
    for caller, path in (
        (team, "uploads"), (team, "submissions"), (call, "worker/claim"),
        (call, f"worker/jobs/{job['job']}/beat?fencing=1"), (call, f"worker/jobs/{job['job']}/report?fencing=1"),
    ):  # fmt: skip
        status, _ = caller("POST", path, body)
        assert status < 500, path


def test_names_of_descriptions_are_as_long_as_the_database_keeps_them(service: Service) -> None:
    call = of(service.team("a"))
    assert announced(call, name="m" * 77 + ".md")[0] == 200
    for name in ("m" * 78 + ".md", "a\nb.md", "a/b.md", ".md"):
        assert announced(call, name=name)[0] == 400, name


def test_a_full_disk_is_said_and_nothing_is_kept(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    call = of(service.team("a"))
    key = announced(call)[1]["upload"]

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("surgvalid.submissions.uploads.os.pwrite", full)
        status, answer = call("PUT", f"uploads/{key}?offset=0", DATA)
        assert (status, "No space left" in answer["problem"]) == (409, True)
        patch.setattr(uploads.Uploads, "begin", full)
        status, answer = announced(call, b"another")
        assert (status, answer["code"]) == (507, "no-room")
        assert "tell the organisers" in answer["remedy"]
        patch.setattr(uploads.Uploads, "begin", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            announced(call, b"another")
    assert call("GET", f"uploads/{key}")[1]["received_bytes"] == 0
    assert call("PUT", f"uploads/{key}?offset=0", DATA)[1]["received_bytes"] == len(DATA)
    assert answers.MOST_JSON_BYTES == 1 << 20


@contextmanager
def answering(put: int) -> Iterator[tuple[str, list[str]]]:
    """A service that knows an upload and answers every piece with a status."""
    asked: list[str] = []

    class Never(BaseHTTPRequestHandler):
        def answer(self, status: int, **content: Any) -> None:
            asked.append(self.command)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def do_POST(self) -> None:
            self.answer(200, upload="a", received_bytes=0, piece_bytes=4)

        do_GET = do_POST

        def do_PUT(self) -> None:
            self.answer(put, code="upload-refused", problem="it could not be stored")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Never) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "error"), [(409, HostRefused), (413, HostRefused), (500, HostLost), (507, HostLost)]
)
def test_an_upload_that_gets_nowhere_ends_with_the_reason(tmp_path: Path, status: int, error: type[Exception]) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    with answering(status) as (url, asked), pytest.raises(error, match="it could not be stored"):
        push_file(Host(url, "token", patience_s=1), tmp_path / "file", phase=PRE, name="image.tar")
    assert asked.count("PUT") == (1 if status < 500 else asked.count("PUT"))
    assert asked.count("PUT") < 10


def test_a_piece_whose_answer_was_lost_is_not_sent_again(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(DATA)
    with serving() as url:
        host = pusher(url, service.team("a"))
        send = host.send
        lost: list[int] = []

        def cut(method: str, path: str, data: Any, **more: Any) -> dict[str, Any]:
            answer = send(method, path, data, **more)
            if not lost:
                lost.append(len(data))
                raise ConnectionResetError("the answer was lost")
            return answer

        host.send = cut  # type: ignore[method-assign]
        key = push_file(host, file, phase=PRE, name="image.tar")
        assert host.call("GET", f"uploads/{key}")["received_bytes"] == len(DATA)
        assert lost == [len(DATA)]
        assert hashlib.sha256((places.store() / "uploads" / f"{key}.part").read_bytes()).hexdigest() == (
            hashlib.sha256(DATA).hexdigest()
        )


def test_a_worker_that_dies_between_output_and_report_loses_nothing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.let_in(service.hand_in(service.team("a")), service.worker("intake"))
    monkeypatch.setitem(worker._DUTIES, "inference", lambda *a: worker.JobOutcome(
        output=write_tar(a[3] / "output.tar", [("nothing", b"x")])))  # fmt: skip
    with serving() as url:
        host = Host(url, tokens.make_worker_token("system", "gpu", ["inference"])[1], patience_s=5)
        options = worker.WorkerOptions(scratch=tmp_path / "scratch")
        job = host.call("POST", "worker/claim", {})["job"]
        options.scratch.mkdir()
        call = host.call
        with monkeypatch.context() as patch:
            patch.setattr(host, "call", lambda *a, **k: 1 / 0 if a[1].endswith("report") else call(*a, **k))
            with pytest.raises(ZeroDivisionError):  # as a signal would
                worker.do_job(host, job, options)
        assert Job.objects.get(pk=job["job"]).state == "claimed"
        assert list(options.scratch.glob("job-*")) == []
        service.clock.forward(seconds=jobs.LEASE_S + 1)
        again = host.call("POST", "worker/claim", {})["job"]
        assert (again["job"], again["fencing"]) == (job["job"], job["fencing"] + 1)
        with pytest.raises(HostRefused, match="it was cancelled, or somebody else has it"):
            host.call("POST", f"worker/jobs/{job['job']}/report", {"outcome": "done"}, fencing=job["fencing"])


def test_a_machine_that_is_broken_says_why_and_leaves_the_jobs_to_others(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.hand_in(service.team("a"))
    said: list[str] = []
    waits: list[float] = []

    class Patient(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout or 0)
            return self.is_set()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(worker._DUTIES, "intake", full)
    with serving() as url:
        crew = Crew(service, url, tmp_path / "scratch")
        options = worker.WorkerOptions(scratch=tmp_path / "scratch" / "broken", poll_s=1.0)
        done = worker.work(crew.host("scoring"), options, most_jobs=2, stop=Patient(), notice=said.append)
    assert done == 0
    assert any("put-back intake-failed (OSError: [Errno 28] No space left on device)" in one for one in said)
    assert waits == [2.0, 4.0]
    assert Submission.objects.get().stage == "uploaded"


def test_names_in_a_hostile_image_do_not_stop_the_trusted_worker(service: Service, tmp_path: Path) -> None:
    image = archive(tmp_path / "odd.tar", [])
    image.write_bytes(_tar_with_name(b"\xff\xfe..\x01/x"))
    with serving() as url:
        crew = Crew(service, url, tmp_path / "scratch")
        push_submission(pusher(url, service.team("a")), image, phase=PRE)
        push_submission(pusher(url, service.team("b")), tiny_image(tmp_path / "b.tar", "b"), phase=PRE)
        crew.trusted()
    assert sorted(Submission.objects.values_list("stage", flat=True)) == ["intake_refused", "queued"]


def _tar_with_name(name: bytes) -> bytes:
    import io
    import tarfile

    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        info = tarfile.TarInfo(name.decode("utf-8", "surrogateescape"))
        info.size = 3
        tar.addfile(info, io.BytesIO(b"abc"))
    return text.getvalue()


def test_every_code_that_a_team_can_read_has_a_remedy() -> None:
    outcomes = {f"answers-{one.value.replace('_', '-')}" for one in ExchangeOutcome if one is not ExchangeOutcome.OK}
    machines = {"machine-slower", "machine-unknown", "never-ready", "no-restart-left"}
    ours = {f"{kind}-failed" for kind in JobKind.values} | {"engine-failed", "interrupted", "worker-lost"}
    theirs = {"image-refused", "handed-in-refused"}
    assert outcomes | machines | ours | theirs <= set(REMEDIES)
