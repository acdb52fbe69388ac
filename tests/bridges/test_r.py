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
from typer.testing import CliRunner

from bridge_tables import bridge_rows
from surgvalid import study
from surgvalid.bridges import r_folder
from surgvalid.cli import build_app
from unit.studies.test_supplement import scored_models

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


LOST = (pl.col("model") == "org/alpha") & (pl.col("case") == "v3-q1")


@pytest.mark.parametrize(
    "rows",
    [
        bridge_rows(),
        distances(),
        bridge_rows().with_columns(value=pl.when(~LOST).then("value")),
        bridge_rows().filter(~LOST),
    ],
    ids=["equal videos", "unequal videos", "a score is empty", "a row is absent"],
)
def test_r_finds_the_primary_result(rows: pl.DataFrame, tmp_path: Path) -> None:
    folder = r_folder.write(study(rows), tmp_path / "r")
    assert (folder / "analysis.Rmd").read_text().count("1e-9") == 3
    assert "agrees to 1e-9" in ran(folder)


def ran(folder: Path) -> str:
    """What R prints of the analysis, with what it complains of."""
    code = "\n".join(re.findall(r"```\{r\}\n(.*?)```", (folder / "analysis.Rmd").read_text(), re.DOTALL))
    done = subprocess.run(["Rscript", "-e", code], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_r_finds_the_mean_over_buckets_of_a_supplement_and_stops_at_another_one(tmp_path: Path) -> None:
    folders = scored_models(tmp_path)
    asked = ["report", "supplement", *map(str, folders), "--resamples", "20", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(build_app(), asked).exit_code == 0
    folder = tmp_path / "out" / "r"
    assert "agrees to 1e-9" in ran(folder)
    primary = pl.read_csv(folder / "data" / "primary.csv")
    assert primary.height == 4
    for name in primary["name"].unique():
        accuracy = pl.when(name=name).then(pl.col("accuracy") + 1e-6).otherwise("accuracy")
        primary.with_columns(accuracy.alias("accuracy")).write_csv(folder / "data" / "primary.csv")
        assert "agrees" not in ran(folder)
