"""Launchers against the real client libraries."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from host_server import Crew, entrant, pusher, serving, tiny_image
from host_service import PRE, Service
from repository import REPOSITORY
from surgvalid.errors import Misuse
from surgvalid.host.client import push_submission
from surgvalid.host.launchers import ray_workers
from surgvalid.host.launchers.ray_workers import launch
from surgvalid.host.runs.models import Submission

NO_RAY = "Ray is not installed; `make test-cluster` has it"


def worker_job() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    text = (REPOSITORY / "examples" / "cluster" / "workers.yaml").read_text(encoding="utf-8")
    job: dict[str, Any] = yaml.safe_load(text)
    return job


def test_the_kubernetes_job_is_one_that_its_client_reads_whole() -> None:
    client = pytest.importorskip("kubernetes.client", reason="the kubernetes client is not installed")
    made = worker_job()
    api = client.ApiClient()
    read: Any = api.deserialize(json.dumps(made), "V1Job", "application/json")
    assert api.sanitize_for_serialization(read) == made  # nothing was unknown to it, and nothing was lost
    pod = read.spec.template.spec
    assert pod.containers[0].resources.limits["nvidia.com/gpu"] == "1"
    assert pod.containers[0].env[0].value_from.secret_key_ref.name == "surgvalid-worker"
    assert pod.restart_policy == "Never"
    assert not pod.automount_service_account_token
    assert (read.spec.completion_mode, read.spec.backoff_limit_per_index, read.spec.backoff_limit) == (
        "Indexed",
        0,
        None,
    )
    assert "sgw_" not in json.dumps(made)


def test_the_kubernetes_client_sends_the_job_to_a_server_as_it_is() -> None:
    client = pytest.importorskip("kubernetes.client", reason="the kubernetes client is not installed")
    seen: list[tuple[str, dict[str, Any]]] = []

    class Api(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, json.loads(body)))
            self.send_response(201)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    made = worker_job()
    with HTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        there = client.Configuration(host=f"http://127.0.0.1:{server.server_port}")
        with client.ApiClient(there) as api:
            jobs = client.BatchV1Api(api)
            job = jobs.create_namespaced_job("gpus", api.deserialize(json.dumps(made), "V1Job", "application/json"))
    assert seen == [("/apis/batch/v1/namespaces/gpus/jobs", made)]
    assert job.metadata.name == "surgvalid-worker"


def test_the_kubernetes_job_keeps_to_the_schema_of_the_server() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    made = worker_job()
    version = validate.latest_version()
    validate.validate(made, version, strict=True)
    wrong = made | {"spec": made["spec"] | {"parallelism": "many"}}
    with pytest.raises(validate.ValidationError):
        validate.validate(wrong, version, strict=True)


def test_ray_runs_workers_until_none_waits(service: Service, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason=NO_RAY)
    program = entrant(tmp_path / "program", "one", 0.8)
    with serving() as url:
        crew = Crew(service, url, tmp_path / "scratch")
        push_submission(pusher(url, service.team("a")), tiny_image(tmp_path / "a.tar", "a"), phase=PRE)
        crew.trusted()
        try:
            done = launch(
                url, crew.texts["inference"], workers=2, gpus=0, engine="process", program=program,
                scratch=str(tmp_path / "ray"),
            )  # fmt: skip
        finally:
            ray.shutdown()
        assert sum(done) == 2
        assert Submission.objects.get().stage == "inferred"


def test_a_ray_worker_that_fails_does_not_end_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason=NO_RAY)

    def one_worker(_: str, __: str, options: dict[str, Any], ___: int) -> int:
        import time
        from pathlib import Path

        try:
            Path(options["scratch"], "first").mkdir()
        except FileExistsError:
            time.sleep(2)
            Path(options["scratch"], "second-ended").touch()
            return 1
        raise OSError("its disk is full")

    monkeypatch.setattr(ray_workers, "one_worker", one_worker)
    try:
        with pytest.raises(OSError, match="its disk is full"):
            launch("http://127.0.0.1:1", "token", workers=2, gpus=0, scratch=str(tmp_path))
    finally:
        ray.shutdown()
    assert (tmp_path / "second-ended").exists()


def test_ray_workers_share_no_gpu_and_ask_for_their_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Misuse, match="has its GPU to itself"):
        launch("http://127.0.0.1:1", "token", gpus=0.5)
    monkeypatch.delenv("SURGVALID_TOKEN", raising=False)
    monkeypatch.setattr(sys, "argv", ["ray_workers", "--url", "http://127.0.0.1:1"])
    with pytest.raises(SystemExit):
        ray_workers.main()
    assert "SURGVALID_TOKEN must hold" in capsys.readouterr().err
