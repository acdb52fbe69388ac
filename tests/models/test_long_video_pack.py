"""The participant for whole procedures: its answers, and a rehearsal as a program that speaks the protocol."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from tests.models import tiny_models as tiny

from noise_films import noise_film
from repository import REPOSITORY
from surgvalid.asking.plan import PlanState
from surgvalid.schema.questions.formats import build_format
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import write_json_rows
from surgvalid.submissions.rehearsal import RehearsalSettings, rehearse

APP = REPOSITORY / "examples" / "long_video" / "app.py"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The program with tiny random weights."""
    with pytest.MonkeyPatch.context() as patch:
        tiny.without_torchvision(patch)
        torch.manual_seed(0)
        torch.set_num_threads(1)
        patch.setenv("MODEL", str(tiny.qwen2_5_vl(tmp_path_factory.mktemp("tiny"))))
        patch.setenv("DEVICE", "cpu")
        spec = importlib.util.spec_from_file_location("long_video_app", APP)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noise_film(tmp_path_factory.mktemp("film") / "film.mp4", 40)


def question(film: Path, text: str, *, start_s: float = 0.0, end_s: float = 8.0, budget_s: float = 60.0) -> Any:
    return {
        "qID": "q", "videoID": film.stem, "video": str(film), "start_time": start_s, "end_time": end_s,
        "procedure_type": "", "question": text, "track": "procedure", "budget_s": budget_s,
    }  # fmt: skip


def test_it_answers_in_the_format_and_keeps_the_prefix(app: ModuleType, film: Path) -> None:
    first = app.answer(question(film, "Is it? Answer with yes or no."))
    second = app.answer(question(film, "When? Answer with a time (hh:mm:ss)."))
    build_format("binary").parse(first["content"])
    assert build_format("time").parse(second["content"])[0] <= 8
    assert (first["extra"]["reused"], second["extra"]["reused"]) == (False, True)


def test_a_clip_counts_from_where_its_window_begins(app: ModuleType, film: Path) -> None:
    given = app.answer(question(film, "When? Answer with a time (hh:mm:ss).", start_s=600.0, end_s=608.0))
    assert 600 <= build_format("time").parse(given["content"])[0] <= 608


def test_a_video_that_cannot_be_read_costs_no_format(app: ModuleType, tmp_path: Path, film: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(film.read_bytes()[:700])
    given = app.answer(question(broken, "How many? Answer with a number."))
    assert given["content"] == "0"
    assert "broken.mp4" in given["extra"]["failed"]


def test_a_budget_that_is_spent_is_answered_at_once(app: ModuleType, film: Path) -> None:
    begin = time.monotonic()
    app.ENGINE.close()
    given = app.answer(question(film, "How many? Answer with a number.", budget_s=0.5))
    assert given["content"].isdigit()
    assert given["extra"]["cut"]
    assert time.monotonic() - begin < 60  # not the 96 tokens that it could take


def test_a_rehearsal_goes_through_and_every_answer_can_be_read(app: ModuleType, film: Path, tmp_path: Path) -> None:
    texts = {"binary": "Is it? Answer with yes or no.", "time": "When? Answer with a time (hh:mm:ss)."}
    requests = [Request(f"q{i}", "film", 0.0, 4.0 + i, "p", list(texts.values())[i % 2]) for i in range(4)]
    references = [
        Reference(f"q{i}", Capability.read("1a"), name, {"binary": "yes", "time": "00:00:01"}[name])
        for i, name in enumerate([*texts, *texts])
    ]
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "film.mp4").write_bytes(film.read_bytes())
    write_json_rows([one.as_row() for one in requests], tmp_path / "request.json")
    write_json_rows([one.as_row() for one in references], tmp_path / "references.json")
    launcher = tmp_path / "launcher.py"  # processors of the family want torchvision, which tests do without
    launcher.write_text(
        "import runpy, pytest\nfrom tests.models import tiny_models\n"
        f"tiny_models.without_torchvision(pytest.MonkeyPatch())\nrunpy.run_path({str(APP)!r}, run_name='__main__')\n"
    )
    paths = f"{os.environ.get('PYTHONPATH', '')}:{REPOSITORY}"
    command = ("env", f"MODEL={os.environ['MODEL']}", "DEVICE=cpu", f"PYTHONPATH={paths}",
               sys.executable, str(launcher))  # fmt: skip
    settings = RehearsalSettings(state=PlanState.PER_VIDEO, replicates=10, budget_s=60.0, start_up_s=300.0)
    rehearsal = rehearse(tmp_path, out=tmp_path / "out", command=command, settings=settings)
    assert rehearsal.run.outcomes == {"ok": 4}
