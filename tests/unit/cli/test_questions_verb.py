"""`surgvalid data questions` writes a benchmark, says what is wrong, and never overwrites silently."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from annotation_writers import write_any
from procedures import random_procedure
from surgvalid.cli import build_app
from surgvalid.errors import ProcedureInvalid, WouldOverwrite
from surgvalid.schema.procedures.procedure_files import write_procedure


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(build_app(), ["data", "questions", *map(str, words)])


@pytest.fixture
def annotations(tmp_path):
    folder = tmp_path / "annotations"
    folder.mkdir()
    for seed in range(4):
        write_procedure(random_procedure(seed, most_objects=9), folder / f"v{seed}.json")
    return folder


def test_results_go_to_the_folder_and_a_summary_to_stdout(annotations, tmp_path):
    done = run(annotations, "--out", tmp_path / "made", "--track", "frame", "--per-video", "10")
    assert done.exit_code == 0, done.stderr
    assert "questions from 4 videos" in done.stdout
    assert "written to" in done.stderr
    assert (tmp_path / "made" / "train" / "frame" / "requests.json").is_file()
    card = json.loads((tmp_path / "made" / "data_card.json").read_text())
    assert card["options"]["per_video"] == 10
    assert json.loads((tmp_path / "made" / "manifest.json").read_text())["verb"] == "questions"


def test_json_is_the_card_and_nothing_is_overwritten_without_force(annotations, tmp_path):
    words = (annotations, "--out", tmp_path / "made", "--per-video", "5", "--json")
    assert json.loads(run(*words).stdout)["questions"] > 0
    assert isinstance(run(*words).exception, WouldOverwrite)
    assert run(*words, "--force").exit_code == 0


def test_definitions_bring_further_classes(annotations, tmp_path):
    (tmp_path / "definitions.txt").write_text("Tack\n----\nSpiral fastener.")
    done = run(annotations, "--out", tmp_path / "made", "--definitions", tmp_path / "definitions.txt")
    assert isinstance(done.exception, ProcedureInvalid)
    assert "no known class" in str(done.exception)


def test_broken_annotations_name_their_file(annotations, tmp_path):
    (annotations / "v9.json").write_text("{}")
    done = run(annotations, "--out", tmp_path / "made")
    assert isinstance(done.exception, ProcedureInvalid)
    assert "v9.json" in str(done.exception)


def test_files_of_annotation_tools_are_accepted_beside_procedure_files(tmp_path):
    for seed in range(4):
        write_any(random_procedure(seed, most_objects=9), tmp_path / f"v{seed}.json", tool="coco")
    write_procedure(random_procedure(4, most_objects=9), tmp_path / "own.json")
    for tool, name in (("cvat", "a.xml"), ("segments", "a.csv")):
        write_any(random_procedure(5, most_objects=9), tmp_path / name, tool=tool)
    files = [tmp_path / name for name in ("v0.json", "v1.json", "v2.json", "v3.json", "own.json", "a.xml", "a.csv")]
    done = run(*files, "--out", tmp_path / "made", "--track", "frame", "--per-video", "10")
    assert done.exit_code == 0, done.stderr
    assert "questions from 6 videos" in done.stdout
    assert len(list((tmp_path / "made" / "annotations").iterdir())) == 5
