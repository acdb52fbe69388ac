"""A model that does not look at its images is found before the first case."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fake_server import Answer, Behaviour, completion, serving
from sight_servers import is_probe, pictures_in, read_word, seen_colour
from surgvalid import interval
from surgvalid.cli import build_app
from surgvalid.errors import Misuse
from surgvalid.models import Can, ClusterModel, Outcome, Prompt, PromptImage, check_sight, open_model
from surgvalid.models._local import LocalModel
from surgvalid.models._open import ModelOptions
from surgvalid.models._sight import verdict_of
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.score_table import read_score_table
from surgvalid.tasks import parse_run, run_task
from surgvalid.tasks.board import task_board
from surgvalid.video.images import jpeg_of, write_png

PER_PICTURE = 60


def _replying(text: str, body: dict[str, Any], *, counted: int) -> Answer:
    tokens = 20 + PER_PICTURE * counted
    return completion(text, usage={"prompt_tokens": tokens, "completion_tokens": 2, "total_tokens": tokens + 2})


def looks(number: int, body: dict[str, Any]) -> Answer:
    shown = pictures_in(body)
    text = (seen_colour(shown) or "nothing") if is_probe(body) else str(int(shown[-1].mean()))
    return _replying(text, body, counted=len(shown))


def does_not_look(number: int, body: dict[str, Any]) -> Answer:
    return _replying(random.Random(number).choice(["red", "green", "blue", "yellow"]), body, counted=0)


def first_only(number: int, body: dict[str, Any]) -> Answer:
    shown = pictures_in(body)[:1]
    text = (seen_colour(shown) or "nothing") if is_probe(body) else str(int(shown[0].mean()))
    return _replying(text, body, counted=len(shown))


def fixed(number: int, body: dict[str, Any]) -> Answer:
    return _replying("I see a gallbladder.", body, counted=len(pictures_in(body)))


def text_only(number: int, body: dict[str, Any]) -> Answer:
    shown = pictures_in(body)
    return _replying((read_word(shown) or "nothing") if shown else "nothing", body, counted=len(shown))


def no_usage(number: int, body: dict[str, Any]) -> Answer:
    return completion("I see a gallbladder.", usage={})


def names_no_colours(number: int, body: dict[str, Any]) -> Answer:
    shown = pictures_in(body)
    return _replying("no idea" if is_probe(body) else str(int(shown[-1].mean())), body, counted=len(shown))


SERVERS: dict[str, tuple[Behaviour, int, str]] = {
    "looks": (looks, 1, "sees"),
    "looks, several pictures": (looks, 3, "sees"),
    "does not look": (does_not_look, 1, "blind"),
    "looks at the first only, one picture": (first_only, 1, "sees"),
    "looks at the first only, several pictures": (first_only, 3, "uncertain"),
    "fixed answer": (fixed, 1, "uncertain"),
    "fixed answer without usage": (no_usage, 1, "blind"),
    "reads text in the picture only": (text_only, 1, "sees"),
    "names no colours": (names_no_colours, 1, "sees"),
}


def prompts(folder: Path, count: int, *, suffix: str = ".png") -> list[Prompt]:
    """Twenty cases with so many pictures each."""
    made = []
    for case in range(20):
        pictures = []
        for place in range(count):
            pixels = np.full((120, 160, 3), 5 * case + 40 * place, dtype=np.uint8)
            path = folder / f"{case}-{place}{suffix}"
            path.write_bytes(jpeg_of(pixels)) if suffix == ".jpg" else write_png(pixels, path)
            pictures.append(PromptImage(path, path.name))
        made.append(Prompt(f"c{case}", (*pictures, "How bright?")))
    return made


@pytest.mark.parametrize("name", SERVERS)
def test_every_server_is_known_for_what_it_does(name: str, tmp_path: Path) -> None:
    behaviour, count, verdict = SERVERS[name]
    with serving(behaviour, sees=False) as server:
        model = open_model(f"openai:m@{server.url}", concurrency=1)
        sight = check_sight(model, prompts(tmp_path, count), accept_blind=True, seed=3)
    assert sight is not None
    assert str(sight.verdict) == verdict, sight
    assert bool(sight.findings) == (verdict != "sees")
    assert sight.requests <= 7 + 24


class InProcess(LocalModel):
    """A model that runs here and sees what a server of these behaviours sees."""

    def __init__(self, behaviour: Behaviour, *, can: Can | None = None) -> None:
        self.kind, self.name, self.revision, self.parameters = "here", "here:m", "1", {}
        self.behaviour, self.options, self.can, self.asked = behaviour, ModelOptions(), can or Can(images=True), 0

    def close(self) -> None:
        pass

    def answers(self, prompts: Sequence[Prompt]) -> list[Outcome]:
        return [self._answer(prompt) for prompt in prompts]

    def _answer(self, prompt: Prompt) -> Outcome:
        self.asked += 1
        parts = [
            base64.b64encode(one.path.read_bytes()).decode() if isinstance(one, PromptImage) else one
            for one in prompt.parts
        ]
        reply = json.loads(self.behaviour(self.asked, {"parts": parts}).body)
        text, counted = reply["choices"][0]["message"]["content"], reply["usage"].get("prompt_tokens", 0)
        return Outcome(Status.ANSWERED, text, tokens_in=counted, finish="stop")


@pytest.mark.parametrize("name", SERVERS)
def test_every_model_that_runs_here_is_known_for_what_it_does(name: str, tmp_path: Path) -> None:
    behaviour, count, verdict = SERVERS[name]
    model = InProcess(behaviour)
    for one in (model, ClusterModel(model, "transformers:m", {})):
        if one is not model:
            one.ask = model.ask  # type: ignore[method-assign]
        sight = check_sight(one, prompts(tmp_path, count), accept_blind=True, seed=3)
        assert sight is not None
        assert str(sight.verdict) == verdict, sight


def test_a_model_here_that_does_not_look_is_an_error_and_one_of_numbers_is_not_probed(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"does not see its images.*--accept-blind"):
        check_sight(InProcess(does_not_look), prompts(tmp_path, 1))
    numbers = InProcess(does_not_look, can=Can(text=False, images=True, scores=True))
    assert check_sight(numbers, prompts(tmp_path, 1)) is None
    assert numbers.asked == 0


def test_pictures_go_out_in_the_encoding_and_size_of_the_task(tmp_path: Path) -> None:
    with serving(looks, sees=False) as server:
        model = open_model(f"openai:m@{server.url}")
        assert check_sight(model, prompts(tmp_path, 1, suffix=".jpg"), seed=1).drawn == 6  # type: ignore[union-attr]
        probes = [body for body in server.bodies if pictures_in(body)]
    assert {pictures_in(body)[0].shape for body in probes} == {(120, 160, 3)}
    assert all("data:image/jpeg" in json.dumps(body) for body in probes)
    assert len(server.bodies) == 7
    assert all("colour" not in json.dumps(body).lower().split("which colour")[0] for body in probes)


def test_a_server_that_is_down_or_refuses_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surgvalid.asking.chat.random.uniform", lambda low, high: 0.0)
    with serving(lambda number, body: Answer(b"", 503), sees=False) as server:
        model = open_model(f"openai:m@{server.url}", concurrency=1)
        assert check_sight(model, prompts(tmp_path, 1)) is None, "nothing is known of a server that is down"

    def refuses(number: int, body: dict[str, Any]) -> Answer:
        return Answer(b"images are not supported", 400) if pictures_in(body) else completion("red")

    told = pytest.raises(Misuse, match="does not see its images: 0 of 6 drawn colours named")
    with serving(refuses, sees=False) as server, told:
        check_sight(open_model(f"openai:m@{server.url}", concurrency=1), prompts(tmp_path, 1))


def test_nobody_is_probed_without_pictures_or_without_a_server(tmp_path: Path) -> None:
    assert check_sight(open_model("prior"), prompts(tmp_path, 1)) is None
    with serving(fixed, sees=False) as server:
        model = open_model(f"openai:m@{server.url}")
        assert check_sight(model, [Prompt("q", ("How bright?",))]) is None
        assert check_sight(open_model(f"blind:openai:m@{server.url}"), prompts(tmp_path, 1)) is None
        assert server.asked == 0


def test_the_table_of_verdicts_is_that_of_the_rule() -> None:
    told = {
        (True, "not told", "not asked"): "sees",
        (False, "counted", "changed"): "sees",
        (False, "counted", "unchanged"): "uncertain",
        (False, "counted", "uninformative"): "uncertain",
        (False, "not told", "changed"): "uncertain",
        (False, "not told", "unchanged"): "blind",
        (False, "not told", "uninformative"): "blind",
        (False, "not counted", "changed"): "blind",
    }
    assert {probes: str(verdict_of(*probes)) for probes in told} == told


# --- in a run ------------------------------------------------------------------------------------


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """A task of one's own with 8 cases of 4 videos."""
    rows = ["case,video,file,object"]
    for number in range(8):
        write_png(np.full((64, 64, 3), 20 * number, dtype=np.uint8), tmp_path / f"{number}.png")
        rows.append(f"c{number},v{number // 2},{number}.png,{'clip' if number % 2 else 'nothing'}")
    (tmp_path / "cases.csv").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "prompts.toml").write_text(
        "[[prompt]]\nfamily = 'chat'\nversion = 'mended'\ntext = 'clip or nothing?'\n"
    )
    (tmp_path / "clip.toml").write_text(
        'title = "Clip"\nsummary = "Whether a clip is there"\nprompts = "prompts.toml"\n[data]\nlayout = "cases"\n'
        '[media]\nkind = "image"\nfiles = ["{file}"]\n[answer]\nform = "choice"\nclasses = ["clip", "nothing"]\n'
        'column = "object"\n[metrics]\nnames = ["accuracy"]\nheadline = "accuracy"\n'
    )
    return tmp_path


def text_server(number: int, body: dict[str, Any]) -> Answer:
    """Text-only weights behind a chat server: 577 tokens in, with and without pictures."""
    usage = {"prompt_tokens": 577, "completion_tokens": 1, "total_tokens": 578}
    return completion("clip", usage=usage)


def test_a_text_only_server_is_refused_before_the_first_case(clips: Path) -> None:
    words = ["task", "run", str(clips / "clip.toml"), "--data", str(clips), "--store", str(clips / "store")]
    with serving(text_server, sees=False) as server:
        asked = [*words, "--model", f"openai:m@{server.url}", "--out", str(clips / "runs")]
        done = CliRunner().invoke(build_app(), asked)
        assert isinstance(done.exception, Misuse)
        assert "0 of 6 drawn colours named, image tokens not counted" in str(done.exception)
        assert "--accept-blind" in str(done.exception)
        assert server.asked == 7
        again = CliRunner().invoke(build_app(), asked)
        assert isinstance(again.exception, Misuse)
        assert server.asked == 7, "it is found out once"
        accepted = CliRunner().invoke(build_app(), [*asked, "--accept-blind"])
    assert accepted.exit_code == 0, accepted.output
    assert "does not see its images" in accepted.output
    run = next((clips / "runs").rglob("run.json")).parent
    assert json.loads((run / "run.json").read_text())["sight"]["verdict"] == "blind"
    assert "does not see its images" in task_board([run]).table["doubt"][0]
    assert [mark.code for mark in read_score_table(run).read_as.marks] == ["sight"]
    assert any(one.code == "run-sight" for one in interval(run, metric="correct").findings)
    assert any(one.code == "run-sight" for one in parse_run(run).findings)


def test_a_model_that_sees_runs_unmarked_and_its_probes_are_no_cases(clips: Path) -> None:
    with serving(looks, sees=False) as server:
        result = run_task(clips / "clip.toml", model=f"openai:m@{server.url}", root=clips, frames=clips / "f")
        assert server.asked == 7 + 8
    assert result.counts is not None
    assert result.counts.asked == 8
    assert not result.scores.read_as.marks
    assert "6 of 6 drawn colours named" in result.prose
