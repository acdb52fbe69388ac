"""The notebooks run from the first cell to the last, without network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from repository import REPOSITORY

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (make setup): no notebook is run")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (make setup): no notebook is run")
pytestmark = pytest.mark.filterwarnings("default")  # what kernels warn of is not ours

FOLDER = REPOSITORY / "examples" / "notebooks"


def printed(name: str, place: Path) -> str:
    """What the cells of a notebook print."""
    notebook = nbformat.read(shutil.copy(FOLDER / name, place), as_version=4)
    nbclient.NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": str(place)}}).execute()
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    return "\n".join(one.get("text", "") for one in outputs)


def test_the_winner_of_the_table_is_that_of_the_verb(tmp_path: Path) -> None:
    text = printed("table_to_verdict.ipynb", tmp_path)
    table = tmp_path / "study" / "scores.parquet"
    asked = [sys.executable, "-m", "surgvalid", "study", str(table), "--json"]
    told = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    assert told["winner"] == "swin"
    assert told["verdict"][0] in text


def test_the_first_of_the_challenge_is_that_of_its_table(tmp_path: Path) -> None:
    pytest.importorskip("av", reason="PyAV is not installed: the simulated challenge is not run")
    text = printed("simulated_challenge.ipynb", tmp_path)
    places = pl.read_csv(next(iter(sorted((tmp_path / "demo").rglob("places.csv")))))
    assert all(model in text for model in places.filter(pl.col("place") == 1)["model"])
