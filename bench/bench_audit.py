"""The audit of a large folder: time and memory of the verb itself, in a process of its own.

No peer audits studies, so the goal is the project's: 60 s of CPU and 2 GB for 20 models x 20,000 questions. Building
the folder is not counted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.bench_report import challenge
from bench.harness import Row

GOAL_S, GOAL_MB = 60.0, 2000.0
_CODE = """
import sys, time
from bench.harness import peak_memory_mb
from surgvalid.cli import build_app
build_app()(["audit", *sys.argv[1:]], standalone_mode=False)
print(time.process_time(), peak_memory_mb())
"""


def rows() -> list[Row]:
    """The row of this bench."""
    with tempfile.TemporaryDirectory() as name:
        folder = challenge(Path(name) / "twenty", models=20)
        command = [sys.executable, "-c", _CODE, str(folder), "--out", str(Path(name) / "audit")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    cpu_s, memory_mb = map(float, done.stdout.splitlines()[-1].split())
    return [
        Row(
            f"audit of 20 models x 20,000 questions: peak {memory_mb:.0f} MB", cpu_s,
            f"the goal itself: {GOAL_S:.0f} s, {GOAL_MB / 1000:.0f} GB", GOAL_S, goal=1.0,
            note="the whole verb with its page, start of Python included",
        )
    ]  # fmt: skip
