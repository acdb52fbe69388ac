"""Simulated videos, questions about them, a starter pack built into an image, podman, answers, scores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from python_image import offline_builder, reason_not_to_build
from repository import REPOSITORY
from sandbox_engines import reason_not_to_run
from submission_runs import events
from surgvalid import score
from surgvalid.cli import build_app
from surgvalid.sandbox import inspect_image, open_engine
from surgvalid.schema.questions.formats import JUDGED
from surgvalid.schema.questions.question_files import load_responses

SOURCE = REPOSITORY / "src"


def call(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to rehearse on: two simulated procedures of a minute, and what was asked about them."""
    home = tmp_path_factory.mktemp("simulated")
    size = ("--procedures", "2", "--minutes", "1", "--height", "90")
    assert call("data", "simulate", home / "data", *size, "--seed", "7")[0] == 0
    asked = ("--track", "procedure", "--per-video", "6", "--test-share", "0.5", "--seed", "1")
    assert call("data", "questions", home / "data" / "procedures", "--out", home / "questions", *asked)[0] == 0
    made = home / "questions" / "train" / "procedure"
    references = json.loads((made / "references.json").read_text())
    closed = {row["qID"] for row in references if row["format"] not in JUDGED}
    for name in ("requests.json", "references.json"):
        rows = [row for row in json.loads((made / name).read_text()) if row["qID"] in closed]
        (home / "data" / name).write_text(json.dumps(rows))
    return home / "data"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with `surgvalid`, and with a `podman` that builds without a registry."""
    if reason := reason_not_to_run("podman") or reason_not_to_build():
        pytest.skip(reason)
    with offline_builder("podman", tmp_path_factory.mktemp("tools") / "bin") as folder:
        ours = folder / "surgvalid"
        ours.write_text(f'#!/bin/sh\nPYTHONPATH="{SOURCE}" exec "{sys.executable}" -m surgvalid "$@"\n')
        ours.chmod(0o755)
        yield folder


@pytest.fixture
def tag() -> Iterator[str]:
    """A name for an image, removed afterwards with what it names."""
    name = f"localhost/surgvalid-test-pack:{uuid.uuid4().hex}"
    yield name
    subprocess.run(["podman", "rmi", "--force", name], capture_output=True, check=False)


def rehearsed(pack: Path, data: Path, tools: Path, tag: str) -> subprocess.CompletedProcess[str]:
    """The pack's own script, as its maker would run it."""
    places = os.pathsep.join((str(tools), os.environ["PATH"]))
    env = {**os.environ, "PATH": places, "PYTHON": sys.executable, "TAG": tag}
    return subprocess.run([pack / "rehearse.sh", data], env=env, capture_output=True, text=True, timeout=900)


def test_a_starter_pack_answers_questions_about_simulated_videos_in_podman_and_is_scored(
    data: Path, tools: Path, tag: str, tmp_path: Path
) -> None:
    pack = tmp_path / "pack"
    assert call("submission", "new", pack)[0] == 0
    done = rehearsed(pack, data, tools, tag)
    assert done.returncode == 0, done.stdout + done.stderr

    asked = [row["qID"] for row in json.loads((data / "requests.json").read_text())]
    out = pack / "rehearsal" / "image"
    answers = load_responses(out / "answer.json").responses
    assert sorted(answer.case for answer in answers) == sorted(asked)
    assert all(answer.content and 0 < answer.latency_s < 30 for answer in answers)
    assert [started["id"] for started in events(out, "started")] == [ended["id"] for ended in events(out, "ended")]
    assert len(events(out, "started")) == 2, "one container per video"

    again = score(data / "requests.json", data / "references.json", out / "answer.json", max_latency_s=30.0)
    references = {row["qID"]: row["answer"] for row in json.loads((data / "references.json").read_text())}
    in_the_same_words = {answer.case for answer in answers if answer.content == references[answer.case]}
    right = set(again.results.filter(pl.col("correctness"))["qID"])
    assert in_the_same_words, "the pack guesses; of these questions some must let it be right"
    assert in_the_same_words <= right < set(asked)
    assert 0 < again.headline["accuracy"] < 1
    assert f"score      {again.headline['accuracy']:.4f}" in done.stdout
    told = done.stdout.count(f"outcomes   ok {len(asked)}")
    assert told == 2, "as a command and as an image"
    assert "engine podman" in done.stdout


def test_an_image_can_be_rehearsed_again_by_hand_and_leaves_nothing_in_the_engine(
    data: Path, tools: Path, tag: str, tmp_path: Path
) -> None:
    pack = tmp_path / "pack"
    call("submission", "new", pack)
    podman = str(tools / "podman")
    for words in (("build", "--quiet", "--tag", tag, str(pack)), ("save", "--output", str(pack / "image.tar"), tag)):
        subprocess.run([podman, *words], check=True, capture_output=True)
    code, text = call(
        "submission", "rehearse", "--container", pack / "image.tar", "--input", data, "--out", tmp_path / "out",
        "--rules", "state=free",
        "--json", "--resamples", "10",
    )  # fmt: skip
    assert code == 0, text
    report = json.loads(text[text.index("{") : text.rindex("}") + 1])
    assert set(report["outcomes"]) == {"ok"}
    again = score(
        data / "requests.json", data / "references.json", tmp_path / "out" / "answer.json", max_latency_s=30.0
    )
    assert report["score"]["accuracy"] == again.headline["accuracy"] > 0
    stored = inspect_image(pack / "image.tar").clean_digest.removeprefix("sha256:")
    assert stored not in open_engine("podman").images()


def test_a_pytorch_pack_is_built_and_an_image_without_torch_says_so_at_once(
    data: Path, tools: Path, tag: str, tmp_path: Path
) -> None:
    """The base image that we can make here has no torch; `tests/models` runs the same pack with it."""
    pack = tmp_path / "pack"
    call("submission", "new", pack, "--kind", "pytorch")
    podman = str(tools / "podman")
    for words in (("build", "--quiet", "--tag", tag, str(pack)), ("save", "--output", str(pack / "image.tar"), tag)):
        subprocess.run([podman, *words], check=True, capture_output=True)
    code, text = call(
        "submission",
        "rehearse",
        "--container",
        pack / "image.tar",
        "--input",
        data,
        "--out",
        tmp_path / "out",
        "--rules",
        "state=free",
    )
    assert code == 1
    assert "start-failed" in text
    assert "No module named" in text
