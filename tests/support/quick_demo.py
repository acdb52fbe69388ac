"""The quick demo, run once for all tests that need one: every worker of a test run copies the same folder."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from repository import REPOSITORY

ROOT = REPOSITORY
_OUT = "out-of-the-shared-demo"
"""What the demo was told to write into; stands in what it printed."""


class DemoRun(NamedTuple):
    """A demo's folder and what it printed, as if it had been run there."""

    folder: Path
    stdout: str
    stderr: str
    code: int


def quick_demo(factory: pytest.TempPathFactory, out: Path, *, name: str) -> DemoRun:
    """`surgvalid demo --quick --out NAME`, copied to `out`; run by whoever asks first, in a process of its own.

    Args:
        factory: Of the test run.
        out: The folder to copy to; it must not exist.
        name: How the command calls it.
    """
    ran = _shared(factory)
    shutil.copytree(ran.folder, out)
    return DemoRun(out, ran.stdout.replace(_OUT, name), ran.stderr.replace(_OUT, name), ran.code)


def _shared(factory: pytest.TempPathFactory) -> DemoRun:
    base = factory.getbasetemp()
    home = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "shared-quick-demo"
    home.mkdir(exist_ok=True)
    said = home / "said.json"
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of by the system even where the worker dies
        if not said.exists():
            shutil.rmtree(home / _OUT, ignore_errors=True)
            said.write_text(json.dumps(_run(home)), encoding="utf-8")
    stdout, stderr, code = json.loads(said.read_text(encoding="utf-8"))
    return DemoRun(home / _OUT, stdout, stderr, code)


def _run(home: Path) -> tuple[str, str, int]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    words = [sys.executable, "-m", "surgvalid", "demo", "--quick", "--out", _OUT]
    done = subprocess.run(words, cwd=home, capture_output=True, text=True, env=environment, timeout=900)
    (home / _OUT).mkdir(exist_ok=True)
    return done.stdout, done.stderr, done.returncode
