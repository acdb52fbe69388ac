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

from bridge_tables import bridge_rows
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
    text = (folder / "analysis.Rmd").read_text()
    assert text.count("1e-9") == 3
    code = "\n".join(re.findall(r"```\{r\}\n(.*?)```", text, re.DOTALL))
    done = subprocess.run(["Rscript", "-e", code], cwd=folder, capture_output=True, text=True, check=False)
    assert "agrees to 1e-9" in done.stdout, done.stderr
