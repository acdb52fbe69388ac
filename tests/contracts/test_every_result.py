"""What holds of every result, whichever verb or function made it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from verb_runs import FOLDER_VERBS, MADE_IN_PYTHON, files_in, inputs_folder, run_verb

NAMES = list(FOLDER_VERBS)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every verb's folder, each written by a first run."""
    root = tmp_path_factory.mktemp("written")
    for name in NAMES:
        run_verb(name, root / name)
    return root


@pytest.mark.parametrize("name", NAMES)
def test_python_and_verb_write_the_same_files(
    name: str, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs_folder())
    MADE_IN_PYTHON[name]().to_dir(tmp_path / "out")
    assert files_in(tmp_path / "out") == files_in(written / name)


@pytest.mark.parametrize(("before", "after"), [*pairwise([*NAMES, NAMES[0]]), *pairwise([*reversed(NAMES), NAMES[-1]])])
def test_a_result_in_place_of_another_leaves_nothing_of_it(
    before: str, after: str, written: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run_verb(before, out)
    (out / "notes of mine.md").write_text("kept")
    run_verb(after, out, "--force")
    assert files_in(out) == files_in(written / after) | {"notes of mine.md"}


@pytest.mark.parametrize("name", NAMES)
def test_the_manifest_names_every_option_and_every_file(name: str, written: Path) -> None:
    manifest = json.loads((written / name / "manifest.json").read_text())
    assert manifest["inputs"], "no input is recorded"
    assert all(len(entry["sha256"]) == 64 for entry in manifest["inputs"])
    assert {entry["file"] for entry in manifest["outputs"]} == files_in(written / name) - {"manifest.json"}
    if name.startswith("failures"):
        asked = {"per_model", "role", "family", "transform", "leave_out", "symmetric", "metric", "spec", "level"}
        assert asked <= set(manifest["options"])
