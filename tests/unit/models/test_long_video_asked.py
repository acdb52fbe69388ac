"""Long videos through a model that is asked by requests: what is sent, what comes back, what is learnt from it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fake_server import Answer, completion, says, serving
from model_prompts import asked as ask_model
from noise_films import noise_film
from surgvalid.errors import Misuse
from surgvalid.models import Can, Clip, Done, ModelTrouble, Outcome, Prompt, open_model
from surgvalid.models._long_video.asked import AskedEngine, NoAnswer
from surgvalid.models._long_video.forms import AnswerForm, one_of, percentage
from surgvalid.schema.outcomes import Status
from surgvalid.video.images import image_size

FRAMES = np.random.default_rng(0).integers(0, 256, (3, 84, 112, 3), dtype=np.uint8)
FOREVER = float("inf")


class Speaker:
    """A model that says one thing to everything, after a while."""

    kind = name = "speaker"
    revision, host, price, stored = "", None, None, False
    can, parameters = Can(images=True), {}  # type: ignore[var-annotated]

    def __init__(self, outcome: Outcome, after_s: float = 0.0) -> None:
        self.outcome, self.after_s, self.heard = outcome, after_s, []  # type: ignore[var-annotated]

    def ask(self, prompts: Any, done: Done) -> None:
        for number, prompt in enumerate(prompts):
            self.heard.append(prompt)
            time.sleep(self.after_s)
            done(number, self.outcome)

    def close(self) -> None:
        pass


def said(text: str, tokens_in: int = 0) -> Outcome:
    return Outcome(Status.ANSWERED, text, tokens_in=tokens_in)


def engine_of(outcome: Outcome, after_s: float = 0.0) -> tuple[AskedEngine, Speaker]:
    model = Speaker(outcome, after_s)
    return AskedEngine(model, "Look."), model


def test_a_question_is_sent_behind_the_frames_that_it_may_see() -> None:
    engine, model = engine_of(said('{"answer": "yes"}'))
    prefix, tokens = engine.extend(engine.begin(), [1, 2, 3.7], FRAMES)
    assert engine.replies(prefix, 2, [("Is it?", one_of(["yes", "no"]))], FOREVER)[0].text == "yes"
    (prompt,) = model.heard
    assert [part for part in prompt.parts if isinstance(part, str)] == [
        "Frame at 00:00:01:", "Frame at 00:00:02:", "Is it?",
    ]  # fmt: skip
    assert image_size(prompt.parts[1].path) == (112, 84)
    assert prompt.schema["properties"]["answer"] == {"type": "string", "enum": ["yes", "no"]}
    assert (prompt.system, tokens) == ("Look.", 3 * engine.tokens(84, 112))
    looked, _ = engine.extend(prefix, [1.5], FRAMES[:1], after=1)
    engine.replies(looked, 2, [("Again?", AnswerForm(is_free=True))], FOREVER)
    assert model.heard[1].parts[:2] == prompt.parts[:2], "what comes first is the same, so that a server can keep it"
    assert model.heard[1].schema is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"answer": "12%"}', "12%"),
        ("12%", "12%"),
        ("About a tenth", "About a tenth"),
        ('{"share": 1}', '{"share": 1}'),
    ],
)
def test_what_is_no_answer_in_an_object_is_handed_on(text: str, read: str) -> None:
    engine, _ = engine_of(said(text))
    assert engine.replies((), 0, [("Which share?", percentage())], FOREVER)[0].text == read


def test_questions_about_the_same_frames_are_sent_at_once() -> None:
    """As many as the model takes; each may be late on its own."""
    model = Speaker(said("12%"), after_s=0.2)
    engine, calls = AskedEngine(model, "Look."), []
    plain = model.ask
    model.ask = lambda prompts, done: calls.append(len(prompts)) or plain(prompts, done)  # type: ignore[method-assign]
    spoken = engine.replies((), 0, [("Which share?", percentage())] * 3, time.monotonic() + 0.3)
    assert calls == [3]
    assert [(reply.text, reply.is_cut) for reply in spoken] == [("12%", False), ("0%", True), ("0%", True)]


def test_tokens_are_learnt_from_what_the_model_counted() -> None:
    engine, _ = engine_of(said("yes", tokens_in=3003))
    prefix, _ = engine.extend(engine.begin(), [1, 2, 3], FRAMES)
    engine.replies(prefix, 3, [("Seen? Yes no", AnswerForm(is_free=True))], FOREVER)
    assert engine.tokens(84, 112) == pytest.approx(950, rel=0.06)


def test_a_reply_that_comes_too_late_is_the_shortest_of_its_form() -> None:
    engine, _ = engine_of(said("70%"), after_s=2.0)
    spoken = engine.replies((), 0, [("Which share?", percentage())], time.monotonic() + 0.05)[0]
    assert (spoken.text, spoken.is_cut) == ("0%", True)


def test_what_does_not_fit_is_shown_with_less_and_no_answer_is_no_answer() -> None:
    engine, _ = engine_of(Outcome(Status.FAILED, trouble=ModelTrouble.OVERFLOW, reason="too long"))
    with pytest.raises(MemoryError, match="too long"):
        engine.replies((), 0, [("?", percentage())], FOREVER)
    refused = Outcome(Status.REFUSED, trouble=ModelTrouble.REFUSAL, reason="declined")
    with pytest.raises(NoAnswer, match="declined") as caught:
        engine_of(refused)[0].replies((), 0, [("?", percentage())], FOREVER)
    assert caught.value.outcome is refused


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noise_film(tmp_path_factory.mktemp("film") / "film.mp4", 60)


def test_a_server_is_shown_the_video_and_held_to_the_form(film: Path) -> None:
    texts = {"a": "Is it? Answer with yes or no.", "b": "How many? Answer with a number."}
    prompts = [Prompt(name, (Clip(film, "d", 0.0, 12.0), text)) for name, text in texts.items()]

    def answers(_: int, body: dict[str, Any]) -> Answer:
        held = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]
        return completion(json.dumps({"answer": "no" if "enum" in held else "3"}))

    with serving(answers) as server:
        model = open_model(f"long-video:openai:m@{server.url}", timeout_s=60)
        outcomes, _ = ask_model(model, prompts)
        bodies = server.bodies
    assert {name: outcome.text for name, outcome in outcomes.items()} == {"a": "no", "b": "3"}
    first, whole, further = (body["messages"][1]["content"] for body in bodies)
    assert [len(first), len(whole)] == [2 * 8 + 1, 2 * 25 + 1]
    assert whole[:-1] == further[:-1], "every question about a video begins alike"
    assert model.name == f"long-video:openai:m@{server.url}"


def test_a_server_that_fails_is_an_outcome(film: Path) -> None:
    with serving(says(Answer(b'{"error": {"message": "no such model"}}', 404))) as server:
        model = open_model(f"long-video:openai:m@{server.url}", timeout_s=20)
        outcomes, _ = ask_model(model, [Prompt("q", (Clip(film, "d"), "Is it? yes or no"))])
    assert outcomes["q"].status is Status.INFRASTRUCTURE
    assert "no such model" in outcomes["q"].reason


def test_a_model_without_eyes_is_refused() -> None:
    with pytest.raises(Misuse, match="takes no images"):
        open_model("long-video:openai:m@http://localhost:1/v1", text_only=True)
