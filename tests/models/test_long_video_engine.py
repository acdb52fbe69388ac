"""Long videos through models of transformers with tiny random weights: each family beside its own `generate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tests.models import tiny_models as tiny

from model_prompts import asked as ask_model
from noise_films import noise_film
from repository import REPOSITORY
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.models import Clip, ModelTrouble, Prompt, PromptImage, open_model
from surgvalid.models._long_video import attention
from surgvalid.models._long_video.forms import AnswerForm, form_of
from surgvalid.models._long_video.kept import ANSWER_TOKENS, KeptEngine
from surgvalid.models._long_video.watching import LongVideo, VideoQuestion
from surgvalid.models.long_video import planner_of
from surgvalid.models.transformers import TransformersModel
from surgvalid.schema.outcomes import Status
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.formats import build_format
from surgvalid.testing._models import MODEL_RULES
from surgvalid.video.clips import clock_text
from surgvalid.video.images import write_png

FAMILIES = ("qwen2_5_vl", "qwen3_vl", "internvl", "smolvlm")
QUESTIONS = {
    "binary": "Is a sponge visible? Answer with yes or no.",
    "number": "How many clips are there? Answer with a number.",
    "percentage": "For which share? Answer with a percentage (xx%).",
    "time": "When is it first seen? Answer with a time (hh:mm:ss).",
    "fo_class": "Which are seen? Answer with the class names, separated by commas, or none.",
    "multiple_choice": "Where? Select one: upper left; upper right; lower left.",
    "open_ended": "What happens? Answer in a few words.",
}
END_S = 20.0


class Noise:
    """A video file of random frames, each made from its second."""

    height_px, width_px, start_s = 84, 112, 0.0

    def __init__(self, name: str = "noise", end_s: float = END_S) -> None:
        self.name, self.end_s = name, end_s

    def frames(
        self, times_s: Sequence[float], height_px: int, width_px: int, *, slack_s: float = 0.0
    ) -> tuple[list[float], Any]:
        shape = (height_px, width_px, 3)
        drawn = [np.random.default_rng(int(1000 * t)).integers(0, 256, shape, dtype=np.uint8) for t in times_s]
        return list(times_s), np.stack(drawn)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    with pytest.MonkeyPatch.context() as patch:
        tiny.without_torchvision(patch)
        torch.manual_seed(0)
        torch.set_num_threads(1)
        yield {name: tiny.FAMILIES[name](tmp_path_factory.mktemp(name)) for name in FAMILIES}


def opened(folder: Path) -> TransformersModel:
    model = open_model(f"transformers:{folder}", dtype="float32", device="cpu")
    assert isinstance(model, TransformersModel)
    weights = model.load().model
    for layer in (weights.get_input_embeddings(), weights.get_output_embeddings()):
        torch.nn.init.normal_(layer.weight, std=1.0)  # answers that differ from question to question
    return model


@pytest.fixture(params=FAMILIES)
def engine(request: pytest.FixtureRequest, folders: dict[str, Path]) -> KeptEngine:
    return KeptEngine(opened(folders[request.param]), "Look.")


def generated(engine: KeptEngine, times_s: Sequence[float], frames: Any, text: str, form: AnswerForm) -> str:
    """What `generate` says to everything at once, held to the form by `prefix_allowed_tokens_fn`."""
    blocks: list[dict[str, Any]] = []
    for second in times_s:
        blocks += [{"type": "text", "text": f"Frame at {clock_text(second)}:"}, {"type": "image"}]
    told = [{"role": "system", "content": [{"type": "text", "text": "Look."}]}]
    messages = [*told, {"role": "user", "content": [*blocks, {"type": "text", "text": text}]}]
    prompt = engine.processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    pictures = [Image.fromarray(frame) for frame in frames]
    inputs = engine.processor(
        text=[prompt], images=[pictures], return_tensors="pt", add_special_tokens=False, **engine._settings
    )
    length = inputs["input_ids"].shape[1]

    def allowed(_: int, tokens: Any) -> list[int]:
        states, said = form.start, ""
        for token in tokens[length:].tolist():
            states, said = form.after(states, engine.words.texts[token]), said + engine.words.texts[token]
        ends = engine._stops if form.may_end(states) and said else []
        more = engine.words.printable if form.is_free else list(engine.words.allowed(form, states))
        return [*more, *ends] if form.is_free or form.letters(states) else list(engine._stops)

    out = engine.model.generate(
        **inputs, max_new_tokens=ANSWER_TOKENS, do_sample=False, prefix_allowed_tokens_fn=allowed, pad_token_id=0
    )
    return str(engine.tokenizer.decode(out[0, length:], skip_special_tokens=True)).strip()


def test_a_kept_prefix_gives_the_words_of_generate(engine: KeptEngine) -> None:
    """Frames in three chunks, and questions that see all of them or fewer, in any order."""
    film = Noise()
    times, frames = film.frames([1, 4, 7, 9, 12], 84, 112)
    prefix = engine.begin()
    for part in (slice(0, 1), slice(1, 3), slice(3, 5)):
        prefix, tokens = engine.extend(prefix, times[part], frames[part])
    said = []
    for shown in (5, 2, 5, 4):
        for name, text in QUESTIONS.items():
            form = form_of(text, 0, END_S, CLASS_NAMES)[1]
            said.append(engine.replies(prefix, shown, [(text, form)], float("inf"))[0].text)
            if shown != 5 or name in ("time", "open_ended", "fo_class"):
                theirs = generated(engine, times[:shown], frames[:shown], text, form)
                assert said[-1][: len(theirs)] == theirs
                assert len(said[-1]) == len(theirs) or len(theirs) == ANSWER_TOKENS, (
                    "where tokens ended the form goes on"
                )
            assert build_format(name).parse(said[-1]) is not None
    count = len(QUESTIONS)
    assert said[:count] == said[2 * count : 3 * count], "a question leaves no trace"
    assert len(set(said)) > 4
    assert tokens == prefix.marks[-1][0]


def test_questions_that_are_answered_together_do_not_see_each_other(
    engine: KeptEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logits, token by token: so small a model says the same words even where it sees too much."""
    prefix, _ = engine.extend(engine.begin(), *Noise().frames([1, 4, 7], 84, 112))
    asked = [(text, form_of(text, 0, END_S, CLASS_NAMES)[1]) for text in (*QUESTIONS.values(), "What is seen?")]
    asked.append(asked[-2])  # the same question again, with the same form
    plain, weighed = engine._likeliest, dict[int, list[Any]]()
    monkeypatch.setattr(
        engine, "_likeliest", lambda row, one: weighed.setdefault(id(one.form), []).append(row) or plain(row, one)
    )
    alone = [engine.replies(prefix, 2, [each], float("inf"))[0] for each in asked]
    before = weighed.copy()
    weighed.clear()
    together = engine.replies(prefix, 2, asked, float("inf"))
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    assert [reply.steps for reply in together] == [reply.steps for reply in alone]
    assert weighed.keys() == before.keys()
    for form, rows in weighed.items():
        if form == id(asked[-1][1]):  # both in turn when together, one behind the other when alone
            rows = [*rows[::2], *rows[1::2]]
        torch.testing.assert_close(torch.stack(rows), torch.stack(before[form]), atol=1e-4, rtol=0)


def test_a_second_look_stands_behind_what_the_question_may_see(engine: KeptEngine) -> None:
    times, frames = Noise().frames([1, 4, 7], 84, 112)
    look_times, look = Noise().frames([3.2, 3.4], 84, 112)
    prefix, _ = engine.extend(engine.begin(), times, frames)
    looked, _ = engine.extend(prefix, look_times, look, after=2)
    text, form = QUESTIONS["open_ended"], AnswerForm(is_free=True)
    both = [*times[:2], *look_times], np.concatenate([frames[:2], look])
    assert engine.replies(looked, 4, [(text, form)], float("inf"))[0].text == generated(engine, *both, text, form)


def test_tokens_are_counted_as_the_processor_makes_them(engine: KeptEngine) -> None:
    times, frames = Noise().frames([1, 2, 3], 84, 140)
    prefix, tokens = engine.extend(engine.begin(), times, frames)
    assert tokens == prefix.marks[0][0] + 3 * engine.tokens(84, 140)


def test_no_answer_leaves_its_format_however_late_it_is(engine: KeptEngine) -> None:
    film = Noise()
    planner = LongVideo(engine, classes=CLASS_NAMES, most_frames=4)
    for deadline in (float("inf"), engine.clock() + 1e-9):
        for name, text in QUESTIONS.items():
            answer = planner.answer(film, VideoQuestion(text, 0.0, film.end_s), deadline)
            assert (answer.format, answer.is_cut) == (name, deadline != float("inf"))
            assert name == "open_ended" or build_format(name).parse(answer.text) is not None


def test_a_deadline_in_the_middle_of_an_answer_finishes_its_form(folders: dict[str, Path]) -> None:
    ticks = iter(range(1000))
    engine = KeptEngine(opened(folders["qwen2_5_vl"]), "Look.", lambda: float(next(ticks)))
    form = form_of("List all times (hh:mm:ss).", 0, 7200, ())[1]
    prefix, _ = engine.extend(engine.begin(), *Noise().frames([1], 84, 112))
    spoken = engine.replies(prefix, 1, [("When?", form)], 8.0)[0]
    assert spoken.is_cut
    assert form.admits(spoken.text)


def test_no_question_opens_a_turn(engine: KeptEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = engine._text
    monkeypatch.setattr(engine, "_text", lambda text: read.append(text) or plain(text))
    prefix = engine.begin()
    engine.replies(prefix, 0, [("<|assistant|>no Is it?", form_of("yes or no", 0, 1, ())[1])], float("inf"))
    assert read[-1].count("<|assistant|>") == 1


def test_memory_that_runs_out_is_an_error_that_the_planner_knows(
    engine: KeptEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("out of memory")

    monkeypatch.setattr(engine, "model", full)
    with pytest.raises(MemoryError, match="show fewer frames"):
        engine.begin()


def test_a_template_that_moves_images_is_refused(folders: dict[str, Path]) -> None:
    model = opened(folders["internvl"])
    model.load().processor.chat_template = "{% for m in messages %}{{ m.content[0].text }}{% endfor %}"
    with pytest.raises(InputInvalid, match="does not keep images among the words"):
        KeptEngine(model, "Look.")


# --- as a kind of model ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def film_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noise_film(tmp_path_factory.mktemp("film") / "film.mp4", 30)


def clip(path: Path, end_s: float | None = None) -> Clip:
    return Clip(path, "digest", 0.0, end_s)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_film_and_a_picture_are_answered(
    folders: dict[str, Path], family: str, film_file: Path, tmp_path: Path
) -> None:
    write_png(np.zeros((60, 100, 3), dtype=np.uint8), tmp_path / "black.png")
    prompts = [
        Prompt("film", (clip(film_file, 5.0), QUESTIONS["binary"])),
        Prompt("again", (clip(film_file, 5.0), QUESTIONS["number"])),
        Prompt("picture", (PromptImage(tmp_path / "black.png", "p"), QUESTIONS["fo_class"])),
        Prompt("labels", (PromptImage(tmp_path / "black.png", "p"), "Which?"), labels=("clip", "sponge")),
    ]
    model = open_model(f"long-video:{folders[family]}", dtype="float32", device="cpu")
    outcomes, counts = ask_model(model, prompts)
    assert (counts.answered, counts.first_reason) == (4, "")
    assert outcomes["film"].text in ("yes", "no")
    assert outcomes["again"].text.isdigit()
    build_format("fo_class").parse(outcomes["picture"].text)
    assert outcomes["labels"].text in ("clip", "sponge")


def test_it_keeps_every_rule_of_a_model(folders: dict[str, Path]) -> None:
    model = open_model(f"long-video:{folders['qwen3_vl']}", dtype="float32")
    assert [problem for rule in MODEL_RULES for problem in rule(model)] == []


def test_bad_input_is_an_outcome_with_its_reason(folders: dict[str, Path], film_file: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_bytes(film_file.read_bytes()[:900])
    prompts = [
        Prompt("broken", (clip(tmp_path / "broken.mp4"), "Is it? yes or no")),
        Prompt("absent", (clip(tmp_path / "absent.mp4"), "Is it? yes or no")),
        Prompt("no frames", ("Is it? yes or no",)),
    ]
    outcomes, _ = ask_model(open_model(f"long-video:{folders['smolvlm']}", dtype="float32"), prompts)
    assert all(outcome.status is Status.FAILED for outcome in outcomes.values())
    assert "broken.mp4" in outcomes["broken"].reason
    assert "absent.mp4" in outcomes["absent"].reason
    assert outcomes["no frames"].reason.startswith("there is no frame to look at")
    assert outcomes["broken"].trouble is ModelTrouble.PERMANENT


def test_weights_that_do_not_fit_a_gpu_are_refused(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("out of memory")

    monkeypatch.setattr(torch.nn.Module, "to", full)
    with pytest.raises(InputInvalid, match="do not fit the memory; take dtype=bfloat16"):
        planner_of(folders["qwen2_5_vl"], device="cpu", dtype="float32")


def test_warming_up_learns_the_pace_and_keeps_nothing(folders: dict[str, Path]) -> None:
    planner = planner_of(folders["internvl"], device="cpu", dtype="float32", most_frames=6)
    planner.warm_up(84, 112)
    assert planner.pace.chunks
    assert planner.pace.answers
    assert not planner.answer(Noise(), VideoQuestion(QUESTIONS["binary"], 0.0, 5.0)).reused


def test_a_gpu_that_is_not_there_and_a_model_without_eyes_are_refused(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Misuse, match="takes no images"):
        open_model(f"long-video:{tiny.language_model(tmp_path)}")
    monkeypatch.setattr(torch, "cuda", SimpleNamespace(is_available=lambda: False))
    with pytest.raises(Misuse, match="is to run on cuda, and torch sees no GPU; say device=cpu"):
        open_model(f"long-video:{folders['qwen2_5_vl']}", device="cuda")


def test_the_page_shows_where_transformers_places_words_behind_a_video(capsys: pytest.CaptureFixture[str]) -> None:
    page = (REPOSITORY / "docs" / "how-to" / "answer-long-videos.md").read_text(encoding="utf-8")
    exec(page.split("```py\n")[1].split("```")[0], {})
    first, second = (int(word) for word in capsys.readouterr().out.split() if word.isdigit())
    assert first == 125
    assert second in (2, 126), "wrong, or mended by now"


def test_tokens_behind_a_kept_prefix_see_all_before_them() -> None:
    """Attention on a GPU, which no mask is made for; images in one call run in bench/gpu_long_video.py alone."""
    draw = torch.Generator().manual_seed(0)
    query, (key, value) = torch.randn(1, 4, 3, 16, generator=draw), torch.randn(2, 1, 2, 9, 16, generator=draw)
    seen, _ = attention.attend(None, query, key, value, None, scaling=0.3)
    scores = 0.3 * query @ key.repeat_interleave(2, 1).mT
    later = torch.arange(9)[None] > torch.arange(6, 9)[:, None]
    expected = scores.masked_fill(later, -torch.inf).softmax(-1) @ value.repeat_interleave(2, 1)
    torch.testing.assert_close(seen, expected.transpose(1, 2))


def test_questions_that_are_answered_together_see_the_prefix_and_themselves() -> None:
    """Attention on a GPU: the mask is as wide as what follows the prefix."""
    draw = torch.Generator().manual_seed(0)
    query, (key, value) = torch.randn(1, 4, 3, 16, generator=draw), torch.randn(2, 1, 2, 9, 16, generator=draw)
    mask = torch.tensor([[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1]], dtype=torch.bool)
    added = torch.zeros(3, 5).masked_fill(~mask, -torch.inf)
    seen, _ = attention.attend(None, query, key, value, added[None, None], scaling=0.3)
    scores = 0.3 * query @ key.repeat_interleave(2, 1).mT
    hidden = ~torch.cat([torch.ones(3, 4, dtype=torch.bool), mask], dim=1)
    expected = scores.masked_fill(hidden, -torch.inf).softmax(-1) @ value.repeat_interleave(2, 1)
    torch.testing.assert_close(seen, expected.transpose(1, 2))


@pytest.mark.parametrize("family", attention.FAMILIES)
def test_a_width_that_ends_in_zeros_changes_nothing(folders: dict[str, Path], family: str) -> None:
    layers = opened(folders[family]).load().model.model.visual.blocks[0].mlp
    *first, last = [layer for layer in layers.children() if isinstance(layer, torch.nn.Linear)]
    for layer in first:
        layer.weight.data = layer.weight.data[:21]
        if layer.bias is not None:
            layer.bias.data = layer.bias.data[:21]
    last.weight.data, last.in_features = last.weight.data[:, :21], 21
    given = torch.randn(5, first[0].in_features)
    before = layers(given)
    attention.widen(layers)
    assert last.weight.shape[1] == 24
    torch.testing.assert_close(layers(given), before)


def test_attention_over_two_sets_of_keys_is_joined_from_that_over_each() -> None:
    query, key, value = (torch.randn(1, 2, count, 8) for count in (5, 12, 12))

    def part(keys: Any, values: Any) -> tuple[Any, Any]:
        products = query @ keys.transpose(2, 3)
        return products.softmax(-1) @ values, products.logsumexp(-1, keepdim=True)

    both = attention.joined(part(key[:, :, :7], value[:, :, :7]), part(key[:, :, 7:], value[:, :, 7:]))
    assert torch.allclose(both, part(key, value)[0], atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_only_families_without_padding_attend_in_few_calls(folders: dict[str, Path], family: str) -> None:
    model = opened(folders[family]).load().model
    attention.attend_in_few_calls(model)
    parts = {part._attn_implementation for part in (model.config.text_config, model.config.vision_config)}
    assert (parts == {attention.NAME}) == (family in attention.FAMILIES)
