"""Workers on a Ray cluster: each is a task with a GPU of its own that takes jobs until none waits.

    SURGVALID_TOKEN=sgw_... python -m surgvalid.host.launchers.ray_workers --url https://focus.example.org --workers 8

Ray places the tasks; leases, fairness and retries are the challenge's, so Ray never tries a task again. Every machine
of the cluster needs surgvalid, and podman where teams' images are run.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from surgvalid.errors import ExtraNeeded, Misuse


def one_worker(url: str, token: str, options: dict[str, Any], most_jobs: int) -> int:
    """The number of jobs that one worker did before none waited; runs on a machine of the cluster."""
    from surgvalid.host.client import Host
    from surgvalid.host.worker import WorkerOptions, work

    gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or None
    scratch = Path(options.pop("scratch")) / f"worker-{os.getpid()}"
    return work(Host(url, token), WorkerOptions(scratch=scratch, gpu=gpu, **options), most_jobs=most_jobs)


def launch(
    url: str,
    token: str,
    *,
    workers: int = 1,
    gpus: float = 1.0,
    most_jobs: int = 1000,
    address: str | None = None,
    **options: Any,
) -> list[int]:
    """The number of jobs that each worker did.

    Args:
        url: Of the hosted challenge.
        token: Of a worker.
        workers: Tasks.
        gpus: For each task; 0 for none.
        most_jobs: That each does before it ends.
        address: Of a running cluster; one on this machine is started without.
        options: Of `surgvalid.host.worker.WorkerOptions`; `scratch` as text.

    Raises:
        ExtraNeeded: Ray is not installed.
        Misuse: Two workers would share a GPU.
    """
    if 0 < gpus < 1:
        raise Misuse(f"gpus is 0 or at least 1, since a container has its GPU to itself; got {gpus:g}")
    try:
        import ray
    except ImportError:
        raise ExtraNeeded("this launcher", "Ray", "cluster") from None
    if not ray.is_initialized():
        ray.init(address=address or "local", include_dashboard=False, log_to_driver=False)
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(one_worker)
    started = [task.remote(url, token, dict(options), most_jobs) for _ in range(workers)]
    ray.wait(started, num_returns=workers)  # a worker that fails is told of when the others have ended
    done: list[int] = ray.get(started)
    return done


def main() -> None:
    """Launch, and print how many jobs each worker did."""
    parser = argparse.ArgumentParser(description="Workers of a hosted challenge on a Ray cluster.")
    parser.add_argument("--url", required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--gpus", type=float, default=1.0)
    parser.add_argument("--scratch", default="/tmp/surgvalid-worker")
    parser.add_argument("--address", default=None)
    given = vars(parser.parse_args())
    if not (token := os.environ.get("SURGVALID_TOKEN")):
        parser.error("SURGVALID_TOKEN must hold the token of a worker; `surgvalid host admin token` makes one")
    print(launch(given.pop("url"), token, **given))


if __name__ == "__main__":
    main()
