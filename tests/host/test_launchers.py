"""The Job for a cluster, against the real client libraries."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from repository import REPOSITORY


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
