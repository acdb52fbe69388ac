"""A million frames of phase labels, from files to tables, in less than a gigabyte."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from repository import REPOSITORY

pytestmark = pytest.mark.slow
VIDEOS, FRAMES = 100, 10_000
CODE = """
import sys
from bench.harness import peak_memory_mb
from surgvalid.cli import build_app
build_app()(["evaluate", "phases", *sys.argv[1:]], standalone_mode=False)
print(round(peak_memory_mb()))
"""


def test_a_million_frames_of_phases_stay_below_a_gigabyte(tmp_path: Path) -> None:
    truth = np.tile(np.repeat(np.arange(7), FRAMES // 7 + 1)[:FRAMES], VIDEOS)
    table = {"video": np.repeat(np.arange(VIDEOS), FRAMES), "frame": np.tile(np.arange(FRAMES), VIDEOS)}
    pl.DataFrame({**table, "reference": truth}).write_csv(tmp_path / "references.csv")
    pl.DataFrame({**table, "prediction": np.roll(truth, 7)}).write_csv(tmp_path / "predictions.csv")
    sides = ["--references", str(tmp_path / "references.csv"), "--predictions", str(tmp_path / "predictions.csv")]
    command = [sys.executable, "-c", CODE, *sides, "--resamples", "100", "--out", str(tmp_path / "out")]
    root = REPOSITORY
    paths = os.pathsep.join([str(root / "src"), str(root)])
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": paths})
    assert int(done.stdout.split()[-1]) < 1000
    assert pl.read_csv(tmp_path / "out" / "metrics.csv").filter(metric="phase_accuracy")["value"].item() > 0.99
