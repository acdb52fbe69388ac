"""Scripts for a GPU, tried on a CPU: what they measure there means nothing, that they run to their end does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from repository import REPOSITORY

ROOT = REPOSITORY


def test_the_bench_of_a_whole_model_asks_together_and_loses_no_request(tmp_path: Path) -> None:
    script = ROOT / "bench" / "gpu_transformers.py"
    command = [sys.executable, "-W", "ignore", str(script), "--out", str(tmp_path), "--tiny"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    record = json.loads((tmp_path / "transformers.json").read_text())
    assert (record["failed"], record["left_out"]) == ({}, [])
    rows = [*record["parts"]["images"], *record["parts"]["video"]]
    assert [row["batch"] for row in rows] == [1, 2, 1, 1]
    assert all(row["together"] and not row["failed"] for row in rows)
    assert len({row["tokens in"] for row in rows}) == 2, "a video of four frames has more tokens than one image"
    assert "| images | size | batch |" in (tmp_path / "transformers.md").read_text()


def test_the_bench_of_long_videos_runs_to_its_end(tmp_path: Path) -> None:
    script = ROOT / "bench" / "gpu_long_video.py"
    command = [sys.executable, "-W", "ignore", str(script), "--out", str(tmp_path), "--seconds", "1000", "--tiny"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    record = json.loads((tmp_path / "long_video.json").read_text())
    assert (record["failed"], record["left_out"]) == ({}, [])
    served = record["parts"]["served"]
    assert [row["reused"] for row in served] == [False, False, *[True] * 7]
    assert [row["budget"] for row in record["parts"]["budgets"]] == [30.0, 8.0, 3.0, 1.5] * 2
