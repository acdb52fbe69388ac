"""Workers as Kubernetes Jobs: each takes so many jobs of the challenge and ends.

    kubectl create secret generic surgvalid-worker --from-literal=token=sgw_...
    python -m surgvalid.host.launchers.kubernetes_jobs --url URL --image workers:1 | kubectl apply -f -

Kubernetes schedules GPUs; leases, fairness and retries are the challenge's. The worker's image has surgvalid and podman
in it. It starts containers, so its pod needs what podman needs; the pod is the organisers' own, and what teams handed
in runs inside it without a network. References are never mounted here.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

SECRET, LABEL = "surgvalid-worker", "surgvalid-worker"


def worker_job(
    *,
    url: str,
    image: str,
    name: str = "surgvalid-worker",
    namespace: str = "default",
    workers: int = 1,
    jobs: int = 1,
    gpus: int = 1,
    memory: str = "64Gi",
    cpus: int = 8,
    scratch: str = "200Gi",
) -> dict[str, Any]:
    """A Job of the API `batch/v1` that runs workers, as plain data.

    Args:
        url: Of the hosted challenge.
        image: Of the worker.
        name: Of the Job.
        namespace: Where it is made.
        workers: Pods at once; each claims on its own.
        jobs: Jobs of the challenge that each does before it ends.
        gpus: For each pod; 0 for none.
        memory: For each pod.
        cpus: For each pod.
        scratch: Disk for images and runs.
    """
    command = ["surgvalid", "host", "worker", "--url", url, "--scratch", "/scratch", "--limit", str(jobs)]
    limits = {"memory": memory, "cpu": str(cpus)} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    token = {"name": "SURGVALID_TOKEN", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}}
    container = {
        "name": "worker",
        "image": image,
        "command": command + (["--gpu", "0"] if gpus else []),
        "env": [token],
        "resources": {"limits": limits, "requests": limits},
        "securityContext": {"privileged": True},  # podman inside; the team's program gets none of it
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "containers": [container],
        "terminationGracePeriodSeconds": 60,
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": scratch}}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": LABEL}},
        "spec": {
            "parallelism": workers,
            "completions": workers,
            "ttlSecondsAfterFinished": 3600,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 0,  # a worker that fails does not end the others
            "template": {"metadata": {"labels": {"app": LABEL}}, "spec": pod},
        },
    }


def main() -> None:
    """Print the Job as JSON, which `kubectl apply -f -` takes."""
    parser = argparse.ArgumentParser(description="A Kubernetes Job of workers, for kubectl apply.")
    parser.add_argument("--url", required=True)
    parser.add_argument("--image", required=True)
    for name in ("workers", "jobs", "gpus", "cpus"):
        parser.add_argument(f"--{name}", type=int, default=None)
    for name in ("name", "namespace", "memory", "scratch"):
        parser.add_argument(f"--{name}", default=None)
    given = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    json.dump(worker_job(**given), sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
