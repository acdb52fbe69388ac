"""`surgvalid submission rehearse` and `surgvalid submission new` from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.errors import Misuse, UnknownName

RUNNER = CliRunner()


def call(*words: str) -> tuple[int, str]:
    result = RUNNER.invoke(build_app(), list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    code, text = call("submission", "new", str(tmp_path / "pack"))
    assert code == 0
    assert "app.py" in text.split()
    return tmp_path / "pack"


def rehearse(pack: Path, *more: str) -> tuple[int, str]:
    return call(
        "submission", "rehearse", "--command", f"{sys.executable} {pack / 'app.py'}",
        "--input", str(pack / "example_input"),
        "--out", str(pack.parent / "out"), "--resamples", "10", "--rules", "state=free,budget_s=30", *more,
    )  # fmt: skip


def test_a_new_pack_can_be_rehearsed_at_once(pack: Path) -> None:
    code, text = rehearse(pack)
    assert code == 0
    assert "outcomes   ok 3" in text
    assert "score      0.7500" in text


def test_the_report_is_data_too(pack: Path) -> None:
    code, text = rehearse(pack, "--json")
    assert code == 0
    found = json.loads(text[text.index("{") : text.rindex("}") + 1])
    assert found["outcomes"] == {"ok": 3}
    assert found["findings"] == []


def test_what_loses_a_score_is_an_exit_code(pack: Path) -> None:
    (pack / "example_input" / "frames" / "example-1.png").unlink()
    assert rehearse(pack)[0] == 1


def test_another_run_in_the_folder_needs_force(pack: Path) -> None:
    assert rehearse(pack)[0] == 0
    with pytest.raises(Misuse, match="rules: seed differ"):
        rehearse(pack, "--seed", "5")
    assert rehearse(pack, "--seed", "5", "--force")[0] == 0


def test_a_layout_means_batches(pack: Path) -> None:
    (pack / "app.py").write_text("raise SystemExit(3)")
    code, text = rehearse(pack, "--rules", "layout=zip")
    assert code == 1
    assert "protocol batch" in text
    assert "exit code 3" in text
    with pytest.raises(Misuse, match="about batches"):
        rehearse(pack, "--rules", "layout=zip", "--rules", "protocol=server")


def test_misuse_is_named(pack: Path) -> None:
    with pytest.raises(Misuse, match="either --container or --command"):
        call("submission", "rehearse", "--input", str(pack))
    with pytest.raises(UnknownName, match="state policy"):
        call("submission", "rehearse", "--command", "x", "--input", str(pack), "--rules", "state=always")
