"""The folder for R: its code uses only columns that are there, and its arithmetic is ours."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bridge_tables import HOLES, bridge_rows
from surgvalid import study
from surgvalid.bridges import r_folder


@pytest.fixture(params=["complete", *HOLES])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return r_folder.write(study(HOLES.get(request.param, bridge_rows())), tmp_path / "r")


def code(folder: Path) -> str:
    return "\n".join(re.findall(r"```\{r\}\n(.*?)```", (folder / "analysis.Rmd").read_text(), re.DOTALL))


def test_every_file_and_column_that_the_code_uses_is_there(folder: Path) -> None:
    read = dict(re.findall(r'(\w+) <- read\.csv\("([^"]+)"', code(folder)))
    assert set(read) == {"scores", "expected", "pairs"}
    for name, place in read.items():
        columns = set(pl.read_csv(folder / place).columns)
        used = set(re.findall(rf"\b{name}\$(\w+)", code(folder)))
        assert used
        assert used <= columns, name
    assert {*re.findall(r'c\(key, "(\w+)"\)', code(folder))} <= set(pl.read_csv(folder / "data/scores.csv").columns)
    listed = pl.read_csv(folder / "data" / "dictionary.csv")
    assert listed["column"].to_list() == pl.read_csv(folder / "data" / "scores.csv").columns
    assert listed.filter(pl.col("column") == "value")["better"].item() == "larger"


def test_the_arithmetic_of_the_code_gives_what_is_expected(folder: Path) -> None:
    """The same steps in numpy: mean, and the spread over means without one video."""
    scores = pl.read_csv(folder / "data" / "scores.csv")
    for row in pl.read_csv(folder / "data" / "expected.csv").iter_rows(named=True):
        rows = scores.filter(pl.col("model") == row["model"])
        value, video = rows["value"].to_numpy(), rows["video"].to_numpy()
        left = np.array([value[video != one].mean() for one in np.unique(video)])
        spread = np.sqrt((len(left) - 1) / len(left) * ((left - value.mean()) ** 2).sum())
        assert (value.mean(), spread) == pytest.approx((row["value"], row["sd"]), abs=1e-9)
    pair = pl.read_csv(folder / "data" / "pairs.csv").row(0, named=True)
    means = dict(scores.group_by("model").agg(pl.col("value").mean()).iter_rows())
    assert means[pair["model_a"]] - means[pair["model_b"]] == pytest.approx(pair["difference"], abs=1e-9)
