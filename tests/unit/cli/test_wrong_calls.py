"""Calls that cannot mean what was typed: each is refused, with the option that mends it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable, Misuse, SurgvalidError, TableInvalid

APP = build_app()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [(model, f"p{p}", 0.5 + 0.01 * p + by) for p in range(8) for model, by in (("a", 0.1), ("b", 0.0))]
    path = tmp_path / "scores.csv"
    pl.DataFrame(rows, schema=["model", "case", "value"], orient="row").write_csv(path)
    return path


@pytest.mark.parametrize(("words", "kind", "mended"), [
    (("study", "TABLE", "--metric", "dice", "--columns", "modell=model"), TableInvalid, "did you mean 'model'?"),
    (("study", "TABLE", "--metric", "dice", "--out", "HERE/page.docx"), Misuse, "expected .csv, .parquet or a folder"),
    (("analyse", "failures", "TABLE"), Misuse, "--outcome COLUMN"),
    (("rank", "TABLE", "--resamples", "-3"), Misuse, "(--resamples)"),
    (("score", "diff", "HERE/none", "HERE/no"), FileUnreadable, "no such file"),
    (("data", "simulate",), Misuse, "--out DIR"),
    (("data", "simulate", "HERE/a", "--out", "HERE/b"), Misuse, "once: --out DIR"),
])  # fmt: skip
def test_a_wrong_call_names_what_mends_it(
    words: tuple[str, ...], kind: type[SurgvalidError], mended: str, table: Path
) -> None:
    given = [word.replace("TABLE", str(table)).replace("HERE", str(table.parent)) for word in words]
    done = CliRunner().invoke(APP, given)
    assert isinstance(done.exception, kind)
    assert mended in str(done.exception)
    assert list(table.parent.iterdir()) == [table]


def test_simulated_procedures_go_where_out_says(tmp_path: Path) -> None:
    asked = ("--procedures", "1", "--without", "video", "--minutes", "5")
    for words in (("--out", str(tmp_path / "named")), (str(tmp_path / "placed"),)):
        assert CliRunner().invoke(APP, ["data", "simulate", *words, *asked]).exit_code == 0
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["named", "placed"]
