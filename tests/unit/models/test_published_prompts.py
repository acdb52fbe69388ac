"""The frontier baseline: published words by track and format, published frames, an estimate before money is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import surgvalid
from fake_server import Answer, completion, serving
from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable, InputInvalid, UnknownName
from surgvalid.models._questions import published, read_prompts
from surgvalid.questions.template import ENDINGS
from surgvalid.schema.questions.questions import Request
from surgvalid.schema.rows import write_json_rows
from surgvalid.video.images import write_png
from timecode_videos import stamped_video

ASKED = [
    *((name, f"What? {ending}") for (name, _), ending in ENDINGS.items()),
    ("multiple_choice", "Where? Select one: left; right."),
    ("matching", "Answer in the form 'Clip: ...; Sponge: ...' with one of first, second for each."),
]
REQUESTS = [Request(f"q{i}", "v0", 0.0, 8.0, "Cholecystectomy", text) for i, (_, text) in enumerate(ASKED)]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("av")
    folder = tmp_path_factory.mktemp("films")
    stamped_video(folder / "v0.mp4", range(0, 10_000, 500))
    return folder


def asked(films: Path, track: str, **options: Any) -> list[tuple[str, list[dict[str, Any]]]]:
    """For each request of a run what was sent: the system's words and the blocks of the user's."""

    def answer(number: int, body: dict[str, Any]) -> Answer:
        return completion("yes")

    with serving(answer) as server:
        result = surgvalid.ask(
            f"openai:m@{server.url}",
            REQUESTS,
            videos=films,
            track=track,
            prompts="frontier-1",
            concurrency=1,
            **options,
        )
        assert result.counts is not None
        assert result.counts.answered == len(REQUESTS)
        assert result.request is not None
        assert result.request.settled["prompt"] == "frontier-1"
        return [(body["messages"][0]["content"], body["messages"][1]["content"]) for body in server.bodies]


@pytest.mark.parametrize("track", ["segment", "procedure"])
def test_every_question_is_asked_in_the_published_words_with_the_published_frames(films: Path, track: str) -> None:
    words = read_prompts("frontier-1")
    sent = asked(films, track)
    for (name, question), (system, blocks) in zip(ASKED, sorted_by_question(sent), strict=True):
        text = blocks[-1]["text"]
        assert system == words.system
        assert text.startswith(words.tracks[track])
        assert question in text
        assert text.endswith(words.formats[name])
        assert sum(block["type"] == "image_url" for block in blocks) == words.frames[track]
        times = [block["text"] for block in blocks[:-1] if block["type"] == "text"]
        assert times[0] == "Frame at 00:00:00:"
        assert times[-1] == "Frame at 00:00:07:"


def sorted_by_question(sent: list[tuple[str, list[dict[str, Any]]]]) -> list[tuple[str, list[dict[str, Any]]]]:
    order = {request.question: number for number, request in enumerate(REQUESTS)}
    return sorted(sent, key=lambda pair: next(n for q, n in order.items() if q in pair[1][-1]["text"]))


def test_a_frame_is_one_picture(tmp_path: Path) -> None:
    write_png(np.zeros((16, 24, 3), np.uint8), tmp_path / "v0.png")
    for _, blocks in asked(tmp_path, "frame"):
        assert sum(block["type"] == "image_url" for block in blocks) == 1


def test_the_estimate_knows_the_frames(films: Path, tmp_path: Path) -> None:
    write_json_rows((request.as_row() for request in REQUESTS), tmp_path / "requests.json")
    told = CliRunner().invoke(build_app(), [
        "task", "ask", "--model", "openai:m@http://127.0.0.1:9/v1", "--requests", str(tmp_path / "requests.json"),
        "--videos", str(films), "--track", "procedure", "--prompts", "frontier-1", "--dry-run",
        "--model-option", "price=2/10", "--store", str(tmp_path / "store"),
    ])  # fmt: skip
    assert told.exit_code == 0, told.output
    assert f"pictures: {64 * len(REQUESTS):,}" in told.output
    assert "money: at most about" in told.output


def test_every_published_file_can_be_read() -> None:
    assert published()
    for name in published():
        assert read_prompts(name).name == name


def test_prompts_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="frontier-1"):
        read_prompts("frontier-2")
    (tmp_path / "a.toml").write_text("name = ")
    with pytest.raises(FileUnreadable, match="it is no TOML file"):
        read_prompts(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_text('name = "b"\n[tracks.frame]\nframes = 0\n[formats]\nbinary = 1\nodd = "x"')
    with pytest.raises(InputInvalid) as refused:
        read_prompts(tmp_path / "b.toml")
    for piece in ("'system' must be a text", "[tracks] lacks 'segment'", "has 'odd'", "at least 1", "'binary' must be"):
        assert piece in str(refused.value)
