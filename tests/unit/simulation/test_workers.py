"""Workers end with the process they work for, even when nobody could tell them to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from repository import REPOSITORY
from surgvalid.simulation.simulate import worker_pool
from waiting import until

CODE = """
import os, time
from surgvalid.simulation.simulate import worker_pool

if __name__ == "__main__":
    pool = worker_pool(2)
    print(*{job.result() for job in [pool.submit(os.getpid) for _ in range(8)]}, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks Linux which processes are alive")
@pytest.mark.long
def test_workers_do_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(CODE)
    source = str(REPOSITORY / "src")
    host = subprocess.Popen(
        [sys.executable, "host.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert host.stdout is not None
    workers = [int(word) for word in host.stdout.readline().split()]
    assert workers
    assert all(_alive(worker) for worker in workers)
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    until(lambda: not any(_alive(worker) for worker in workers), 20, "workers outlive their host")


def test_a_pool_does_its_work_and_ends() -> None:
    with worker_pool(1) as pool:
        assert pool.submit(pow, 2, 5).result() == 32


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")
