"""The starter pack's own script, run twice with an edit between, with every engine that builds and runs images."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from python_image import BUILDERS, offline_builder, reason_not_to_build
from repository import REPOSITORY
from sandbox_engines import ENGINES, docker_daemon, reason_not_to_run
from surgvalid.sandbox import engine_takes_images
from surgvalid.schema.questions.question_files import load_responses
from surgvalid.submissions.starter import new_pack

SOURCE = REPOSITORY / "src"
IMAGE_ENGINES = [name for name in ENGINES if engine_takes_images(name)]


@pytest.fixture(params=IMAGE_ENGINES)
def tools(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder with `surgvalid` and an engine that builds without a registry, named after that engine."""
    name = request.param
    if reason := reason_not_to_run(name) or reason_not_to_build():
        pytest.skip(reason)
    with ExitStack() as stack:
        if name == "docker":
            stack.enter_context(docker_daemon(tmp_path / "daemon"))
        folder = stack.enter_context(offline_builder(name, tmp_path / name))
        (folder / "surgvalid").write_text(
            f'#!/bin/sh\nPYTHONPATH="{SOURCE}" exec "{sys.executable}" -m surgvalid "$@"\n'
        )
        (folder / "surgvalid").chmod(0o755)
        yield folder


def test_every_engine_that_runs_images_can_build_here() -> None:
    assert set(IMAGE_ENGINES) == set(BUILDERS)


def test_the_script_can_be_run_again_after_an_edit_and_tells_of_the_edited_program(tools: Path, tmp_path: Path) -> None:
    engine, pack = tools.name, tmp_path / "pack"
    new_pack(pack)
    tag = f"localhost/surgvalid-test-pack:{uuid.uuid4().hex}"
    env = {
        **os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHON": sys.executable, "TAG": tag,
        "ENGINE": engine,
    }  # fmt: skip

    def script() -> str:
        done = subprocess.run([pack / "rehearse.sh"], env=env, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        first = script()
        assert f"engine {engine}" in first
        assert first.count("score      0.7500") == 2, "as a command and as an image"
        app = pack / "app.py"
        app.write_text(app.read_text().replace("serve(answer, name", "serve(lambda question: 'edited', name"))
        again = script()
    finally:
        subprocess.run([engine, "rmi", "--force", tag], capture_output=True, check=False)
    for way in ("command", "image"):
        answers = load_responses(pack / "rehearsal" / way / "answer.json").responses
        assert {answer.content for answer in answers} == {"edited"}, way
    assert "nothing was run" not in again
    assert f"engine {engine}" in again
