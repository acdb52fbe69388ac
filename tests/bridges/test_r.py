"""The folder for R is recomputed by R itself (`make test-bridges`)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import surgvalid
from bridge_tables import HOLES, bridge_rows
from small_questions import scored_models
from surgvalid import study
from surgvalid.bridges import r_folder

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed: analysis.Rmd is not run")


def distances() -> pl.DataFrame:
    """Three models, videos of different length, a name that CSV must quote, numbers that are no numbers."""
    rng = np.random.default_rng(1)
    rows: list[dict[str, Any]] = [
        {"model": model, "case": f"{v:02d}{q}", "video": f"0{v}", "metric": "hd95", "value": rng.gamma(2, 3) + shift}
        for shift, model in enumerate(["a", "b", "c, 'x'"])
        for v in range(9)
        for q in range(2 + v % 3)
    ]
    return pl.DataFrame(rows)


TABLES = {"equal videos": bridge_rows(), "unequal videos": distances(), **HOLES}


@pytest.mark.parametrize("name", TABLES)
def test_r_finds_the_primary_result(name: str, tmp_path: Path) -> None:
    agrees(r_folder.write(study(TABLES[name]), tmp_path / "r"))


@pytest.mark.parametrize("rule", ["worst", "drop-case", "drop-score"])
def test_r_finds_it_whatever_absent_scores_count_as(rule: str, tmp_path: Path) -> None:
    agrees(r_folder.write(study(HOLES["a row is absent"], missing=rule), tmp_path / "r"))


def test_r_finds_the_primary_result_of_a_supplement(tmp_path: Path) -> None:
    surgvalid.supplement(scored_models(tmp_path), replicates=20).to_dir(tmp_path / "out")
    agrees(tmp_path / "out" / "r")


def agrees(folder: Path) -> None:
    text = (folder / "analysis.Rmd").read_text()
    assert text.count("1e-9") == 3
    code = "\n".join(re.findall(r"```\{r\}\n(.*?)```", text, re.DOTALL))
    done = subprocess.run(["Rscript", "-e", code], cwd=folder, capture_output=True, text=True, check=False)
    assert "agrees to 1e-9" in done.stdout, done.stderr
