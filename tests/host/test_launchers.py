"""Launchers against the real client libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from host_server import Crew, entrant, pusher, serving, tiny_image
from host_service import PRE, Service
from surgeval.host.client import push_submission
from surgeval.host.launchers.kubernetes_jobs import SECRET, worker_job
from surgeval.host.launchers.ray_workers import launch
from surgeval.host.runs.models import Submission


def test_the_kubernetes_job_is_one_that_its_client_reads_whole() -> None:
    client = pytest.importorskip("kubernetes.client", reason="the kubernetes client is not installed")
    made = worker_job(url="https://challenge.example.org", image="workers:1", workers=3, gpus=1)
    api = client.ApiClient()
    read: Any = api.deserialize(json.dumps(made), "V1Job", "application/json")
    assert api.sanitize_for_serialization(read) == made  # nothing was unknown to it, and nothing was lost
    pod = read.spec.template.spec
    assert pod.containers[0].resources.limits["nvidia.com/gpu"] == "1"
    assert pod.containers[0].env[0].value_from.secret_key_ref.name == SECRET
    assert pod.restart_policy == "Never"
    assert not pod.automount_service_account_token
    assert "sgw_" not in json.dumps(made)


def test_ray_runs_workers_until_none_waits(service: Service, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed; make test-cluster has it")
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
