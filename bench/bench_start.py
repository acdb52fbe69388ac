"""What starting the command line costs, beside `python -c "import polars"` in the same run."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.harness import Row

_POLARS = ("-c", "import polars")
_CALLS: dict[str, tuple[tuple[str, ...], float]] = {
    "--version": (("--version",), 2.0),
    "--help": (("--help",), 1.5),
    "a wrong option": (("plan", "--nope"), 1.0),
    "a file that is not there": (("study", "nofile.csv"), 0.5),
    "a study of 1,440 rows": (("study", "scores.csv", "--better", "larger", "--out", "page", "--force"), 0.2),
}
"""What is typed, and the promised ratio to the import of polars."""
LARGEST_KB, MOST_S = 120.0, 1.5
"""Of the page of a study, and of making it, CPU and start of Python included."""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        _table(Path(folder) / "scores.csv")
        peer_s = _cpu_s(_POLARS, folder)
        taken = {what: _cpu_s(("-m", "surgvalid", *words), folder) for what, (words, _) in _CALLS.items()}
        page_kb = (Path(folder) / "page" / "study.html").stat().st_size / 1e3
    promised = [Row(f"start: {what}", taken[what], "import polars", peer_s, goal) for what, (_, goal) in _CALLS.items()]
    *_, study = taken
    return [
        *promised,
        Row(f"{study} and its page", taken[study], f"the goal itself: {MOST_S} s of CPU", MOST_S, 1.0),
        Row("its page, in kB in place of seconds", page_kb, f"the goal itself: {LARGEST_KB:.0f} kB", LARGEST_KB, 1.0),
    ]


def _cpu_s(words: tuple[str, ...], folder: str, *, repeat: int = 5) -> float:
    """The least CPU time, user and system, of a child; its bytecode is there after the first run."""
    times = []
    for _ in range(repeat + 1):
        before = os.times()
        subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, check=False)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(times[1:])


def _table(path: Path) -> None:
    draw = random.Random(1)
    lines = ["model,patient,case,value"]
    for model in range(4):
        lines += [
            f"m{model},p{case // 9},c{case},{0.6 + 0.05 * model + 0.2 * draw.random():.3f}" for case in range(360)
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
