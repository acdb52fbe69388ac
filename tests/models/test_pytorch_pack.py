"""The starter pack for PyTorch with torch itself: videos are read, weights are loaded, answers come in time."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import av
import numpy as np
import pytest
import torch

from surgvalid.asking.plan import PlanState
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import write_json_rows
from surgvalid.submissions.rehearsal import Rehearsal, RehearsalSettings, rehearse
from surgvalid.submissions.starter import new_pack


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    new_pack(tmp_path / "pack", kind="pytorch")
    return tmp_path / "pack"


def loaded(pack: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The pack's `app.py`, imported as it is."""
    monkeypatch.syspath_prepend(str(pack))
    monkeypatch.delitem(sys.modules, "serve", raising=False)
    spec = importlib.util.spec_from_file_location("app_of_pack", pack / "app.py")
    assert spec is not None
    assert spec.loader is not None
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    return app


def video(path: Path, seconds: int = 3, size: tuple[int, int] = (64, 48)) -> Path:
    """A video of grey frames that grow lighter, five per second."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = *size, "yuv420p", 5
        for number in range(5 * seconds):
            shade = np.full((size[1], size[0], 3), 10 + 3 * number, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(shade, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def rehearsed(pack: Path, folder: Path, **changes: object) -> Rehearsal:
    """Four yes-no questions about two videos, by the pack as a command."""
    requests = [
        Request(f"q{i}", f"v{i % 2}", 0.0, 2.0, "p", "Is a clip visible? Answer with yes or no.") for i in range(4)
    ]
    references = [Reference(f"q{i}", Capability.read("1a"), "binary", "yes") for i in range(4)]
    for name in ("v0", "v1"):
        video(folder / "videos" / f"{name}.mp4")
    write_json_rows([one.as_row() for one in requests], folder / "request.json")
    write_json_rows([one.as_row() for one in references], folder / "references.json")
    settings = RehearsalSettings(state=PlanState.FREE, replicates=10, budget_s=60.0, start_up_s=300.0, **changes)  # type: ignore[arg-type]
    return rehearse(folder, out=folder / "out", command=(sys.executable, str(pack / "app.py")), settings=settings)


@pytest.mark.parametrize(("favoured", "accuracy"), [(0, 1.0), (1, 0.0)])
def test_the_pack_answers_by_the_weights_beside_it(pack: Path, tmp_path: Path, favoured: int, accuracy: float) -> None:
    weights = {
        "features.0.weight": torch.zeros(8, 3, 5, 5), "features.0.bias": torch.zeros(8),
        "head.weight": torch.zeros(2, 8), "head.bias": torch.tensor([1.0 - favoured, float(favoured)]),
    }  # fmt: skip
    torch.save(weights, pack / "weights.pt")
    found = rehearsed(pack, tmp_path / "data")
    assert found.run.outcomes == {"ok": 4}, found.text
    assert found.score is not None
    assert found.score.headline["accuracy"] == accuracy


def test_without_weights_it_still_starts_and_answers(pack: Path, tmp_path: Path) -> None:
    found = rehearsed(pack, tmp_path / "data")
    assert found.run.outcomes == {"ok": 4}, found.text


def test_frames_are_spread_over_the_video(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = loaded(pack, monkeypatch)
    frames = app.read_frames(str(video(tmp_path / "v.mp4", seconds=8)), deadline=float("inf"))
    assert frames.shape == (app.FRAMES, 3, 48, 64)
    shades = frames.mean((1, 2, 3))
    assert shades[-1] > shades[app.FRAMES // 2] > shades[0]


def test_when_time_is_up_one_frame_is_better_than_none(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = loaded(pack, monkeypatch)
    assert len(app.read_frames(str(video(tmp_path / "v.mp4")), deadline=0.0)) == 1


def test_a_still_picture_is_one_frame(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = loaded(pack, monkeypatch)
    picture = next((pack / "example_input" / "frames").glob("*.png"))
    assert app.read_frames(str(picture), deadline=float("inf")).shape == (1, 3, 48, 64)


def test_the_example_input_of_the_pack_is_answered(pack: Path, tmp_path: Path) -> None:
    settings = RehearsalSettings(state=PlanState.FREE, replicates=10, budget_s=60.0, start_up_s=300.0)
    command = (sys.executable, str(pack / "app.py"))
    found = rehearse(pack / "example_input", out=tmp_path / "out", command=command, settings=settings)
    assert found.run.outcomes == {"ok": 3}, found.text
