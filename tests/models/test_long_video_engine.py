"""The long video engine on tiny random weights: formats, reuse, what may not be seen, deadlines, bad input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.models import tiny_models as tiny

from model_prompts import asked as ask_model
from noise_films import noise_film
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.models import Clip, ModelTrouble, Prompt, PromptImage, long_video, open_model
from surgvalid.models._long_video.engine import LongVideo, VideoAnswered, VideoQuestion
from surgvalid.models._long_video.plan import ReadingPace
from surgvalid.models.long_video import opened_engine
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.formats import build_format
from surgvalid.testing._models import MODEL_RULES
from surgvalid.video.images import write_png

QUESTIONS = {
    "binary": "Is a sponge visible? Answer with yes or no.",
    "number": "How many clips are there? Answer with a number.",
    "percentage": "For which share? Answer with a percentage (xx%).",
    "time": "When is it first seen? Answer with a time (hh:mm:ss).",
    "fo_class": "Which are seen? Answer with the class names, separated by commas, or none.",
    "multiple_choice": "Where? Select one: upper left; upper right; lower left.",
    "open_ended": "What happens? Answer in a few words.",
}


class Noise:
    """A video file of random frames, each made from its second;
    what comes after `changed_s` can be another video file.
    """

    height_px, width_px, start_s = 84, 112, 0.0

    def __init__(self, name: str = "noise", end_s: float = 40.0, *, changed_s: float = 1e9) -> None:
        self.name, self.end_s, self.changed_s = name, end_s, changed_s
        self.asked_for: list[float] = []

    def frames(self, times_s: Sequence[float], height_px: int, width_px: int) -> Any:
        self.asked_for += times_s
        seeds = [int(1000 * second) + (7 if second > self.changed_s else 0) for second in times_s]
        shape = (height_px, width_px, 3)
        return np.stack([np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8) for seed in seeds])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        tiny.without_torchvision(patch)
        torch.manual_seed(0)
        torch.set_num_threads(1)
        yield tiny.qwen2_5_vl(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def engine(folder: Path) -> LongVideo:
    opened = opened_engine(folder, "cpu", dtype="float32")
    for weights in (opened.decoder.embedding, opened.decoder.head):
        torch.nn.init.normal_(weights, std=1.0)  # answers that differ from question to question
    opened.pace = ReadingPace(per_frame=0, per_token=0, per_prefilled=0, per_pair=0, per_answer_token=0)
    return opened


def whole(film: Noise, text: str) -> VideoQuestion:
    return VideoQuestion(text, film.start_s, film.end_s)


def asked_all(engine: LongVideo, film: Noise) -> list[VideoAnswered]:
    return engine.answers(film, [whole(film, text) for text in QUESTIONS.values()])


def test_no_answer_leaves_its_format(engine: LongVideo) -> None:
    for number in range(3):
        torch.manual_seed(number)
        torch.nn.init.normal_(engine.decoder.head, std=1.0)
        for name, answer in zip(QUESTIONS, asked_all(engine, Noise(str(number))), strict=True):
            assert answer.format == name
            build_format(name).parse(answer.text)
            assert answer.text
            assert not answer.is_cut, "96 tokens of free text are an answer"


def test_a_kept_prefix_and_a_new_one_give_the_same_answers(engine: LongVideo) -> None:
    film = Noise()
    together = [answer.text for answer in asked_all(engine, film)]
    looked_at = list(film.asked_for)
    kept = [engine.answer(film, whole(film, text)) for text in QUESTIONS.values()]
    assert all(answer.reused for answer in kept)
    assert film.asked_for == looked_at
    engine.state = "per_question"
    anew = [engine.answer(film, whole(film, text)) for text in QUESTIONS.values()]
    assert not any(answer.reused for answer in anew)
    assert [answer.text for answer in anew] == [answer.text for answer in kept] == together
    assert len(set(together)) > 3


@pytest.mark.parametrize(("state", "kept"), [("per_question", 0), ("per_video", 1), ("free", 2)])
def test_what_is_kept_follows_the_rule(engine: LongVideo, state: str, kept: int) -> None:
    engine.state = state
    for name in ("a", "b"):
        film = Noise(name)
        engine.answer(film, whole(film, QUESTIONS["binary"]))
    assert len(engine._kept) == kept
    recordings = [seen.prefix.recorded for seen in engine._kept.values()]
    for recorded in recordings:
        recorded[0, 0, 0] = SimpleNamespace()  # type: ignore[assignment]
    engine._forget(0)
    assert not any(recordings), "they hold gigabytes"
    for name in ("a", "b"):
        engine.answer(Noise(name), whole(film, QUESTIONS["binary"]))
    film = Noise("a")
    assert engine.answer(film, whole(film, QUESTIONS["binary"])).reused == (state == "free")


def test_a_free_engine_keeps_the_last_eight_films(engine: LongVideo) -> None:
    engine.state = "free"
    for number in range(10):
        film = Noise(str(number), end_s=1.0)
        engine.answer(film, whole(film, QUESTIONS["binary"]))
    assert [name for name, _ in engine._kept] == [str(number) for number in range(2, 10)]


def test_an_unknown_rule_is_refused(engine: LongVideo) -> None:
    with pytest.raises(ValueError, match="per_question, per_video, free, got 'always'"):
        LongVideo(engine.tower, engine.decoder, engine.tokenizer, state="always")


def test_a_question_sees_nothing_behind_its_end(engine: LongVideo) -> None:
    """Two video files that differ after second 33 are the same up to there, in prefixes that were made of all 40
    seconds.
    """
    seen: dict[float, list[Any]] = {32.9: [], 40.0: []}
    for film in (Noise("one"), Noise("other", changed_s=33.0)):
        engine.answer(film, whole(film, QUESTIONS["binary"]))
        kept, is_reused = engine._seen(film, [VideoQuestion("", 0.0, 32.9)], float("inf"))
        assert is_reused
        for end in seen:
            prefix, mark = kept.until(end)
            assert mark.time_s <= end < mark.time_s + 2 * kept.step_s
            seen[end].append(prefix.keys[-1][:, : prefix.length].clone())
    assert torch.equal(*seen[32.9])
    assert not torch.equal(*seen[40.0])


def test_a_question_that_ends_within_a_chunk_is_answered(engine: LongVideo) -> None:
    film, begun = Noise(), []
    engine.answer(film, whole(film, QUESTIONS["binary"]))
    fork, end = engine.decoder.fork, engine.decoder.embedded([engine._vision("end")])[0]

    def noted(prefix: Any, suffixes: Any, **options: Any) -> Any:
        begun.extend(bool(torch.equal(rows[0], end)) for rows, _ in suffixes)
        return fork(prefix, suffixes, **options)

    engine.decoder.fork = noted  # type: ignore[method-assign]
    early = engine.answers(film, [VideoQuestion(text, 0.0, 33.3) for text in QUESTIONS.values()])
    assert begun == [True] * len(QUESTIONS), "the block of frames is closed before the question"
    for name, answer in zip(QUESTIONS, early, strict=True):
        build_format(name).parse(answer.text)
    assert 60 <= early[0].frames <= 67


def test_what_was_seen_too_coarsely_or_not_at_all_is_watched_anew(engine: LongVideo) -> None:
    film = Noise(end_s=7200.0)
    beginning = VideoQuestion(QUESTIONS["binary"], 0.0, 60.0)
    assert engine.answer(film, whole(film, QUESTIONS["binary"])).frames > 100
    early = engine.answer(film, beginning)
    assert not early.reused, "of the whole video file one frame was shown of its first minute"
    assert early.frames > 100
    assert max(film.asked_for[-early.frames :]) < 60
    assert engine.answer(film, beginning).reused
    assert not engine.answer(film, whole(film, QUESTIONS["binary"])).reused, "of the rest nothing was seen"
    assert not engine.answer(film, VideoQuestion(QUESTIONS["binary"], 2000.0, 7200.0)).reused, (
        "it would see what came before"
    )


def test_a_second_look_is_taken_where_a_time_is_at_stake(engine: LongVideo) -> None:
    engine.most_frames = 8
    film = Noise(end_s=600.0)
    quoting = engine.answer(film, whole(film, "Is it seen at 00:05:00? Answer with yes or no."))
    assert quoting.looked_twice
    assert sum(292 <= second <= 308 for second in film.asked_for) >= 16
    assert not engine.answer(film, whole(film, QUESTIONS["binary"])).looked_twice
    build_format("time").parse(engine.answer(film, whole(film, QUESTIONS["time"])).text)


def test_a_second_look_is_read_and_shows_nothing_outside_the_question(engine: LongVideo) -> None:
    engine.most_frames = 8
    film, lengths = Noise(end_s=600.0), []
    fork = engine.decoder.fork

    def noted(prefix: Any, suffixes: Any, **options: Any) -> Any:
        lengths.append(len(suffixes[0][0]))
        return fork(prefix, suffixes, **options)

    engine.decoder.fork = noted  # type: ignore[method-assign]
    text = "Is it seen at {}? Answer with yes or no."
    assert engine.answer(film, VideoQuestion(text.format("00:04:58"), 0.0, 300.0)).looked_twice
    assert 290 <= min(film.asked_for[-16:]) < max(film.asked_for) <= 300
    assert lengths[1] >= lengths[0] + 8 * 3 * 4, "eight slices of 84 x 112 stand before the question"
    for outside in ("00:05:20", "00:59:00"):
        assert not engine.answer(film, VideoQuestion(text.format(outside), 0.0, 300.0)).looked_twice
    assert not engine.answer(film, VideoQuestion(text.format("00:00:10"), 200.0, 500.0)).looked_twice


def test_places_are_those_of_the_reference(engine: LongVideo, folder: Path) -> None:
    """The first chunk with its texts; of the second, whose seconds outgrow its sides, the frames.

    There the reference goes on inside the video and this behind it, as the model was published.
    """
    film, places = Noise(end_s=10.0), []
    extend = engine.decoder.extend

    def noted(prefix: Any, rows: Any, positions: Any) -> Any:
        places.append(positions)
        return extend(prefix, rows, positions)

    engine.decoder.extend = noted  # type: ignore[method-assign]
    engine.answer(film, whole(film, QUESTIONS["binary"]))
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder).model
    opening, first, ending, second = places[:4]
    seen = 2 * 3 * 4  # slices of 84 x 112
    words = [opening.shape[1] + first.shape[1] - seen, ending.shape[1]]
    kinds = torch.tensor([[0] * words[0] + [2] * seen + [0] * words[1]])
    grid, seconds_per_slice = torch.tensor([[2, 6, 8]]), torch.tensor([2 * 10.0 / 21])
    given = {"video_grid_thw": grid, "second_per_grid_ts": seconds_per_slice}
    theirs, _ = model.get_rope_index(torch.zeros_like(kinds), mm_token_type_ids=kinds, **given)
    assert torch.equal(torch.cat([opening, first, ending], dim=1), theirs[:, 0])
    frames = second[:, -8 * 3 * 4 :]
    given["video_grid_thw"] = torch.tensor([[8, 6, 8]])
    block, _ = model.get_rope_index(torch.zeros(1, 96), mm_token_type_ids=torch.full((1, 96), 2), **given)
    assert torch.equal(frames - frames.min(), block[:, 0].long())
    assert int(places[4].min()) == int(frames.max()) + 1


# --- deadlines ------------------------------------------------------------------------------------------------------


class SlowClock:
    """A clock that only slow work moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def slows(self, owner: Any, method: str, cost: Any) -> None:
        plain = getattr(owner, method)

        def slow(*arguments: Any, **options: Any) -> Any:
            self.now += cost(*arguments)
            return plain(*arguments, **options)

        setattr(owner, method, slow)


def slowed(engine: LongVideo, film: Noise, *, frame: float, token: float) -> SlowClock:
    clock = SlowClock()
    clock.slows(film, "frames", lambda times, *_: frame / 4 * len(times))
    clock.slows(engine.tower, "features", lambda frames: frame * len(frames))
    clock.slows(engine.decoder, "step", lambda *_: token)
    clock.slows(engine.decoder, "fork", lambda *_: token)
    engine.clock, engine.pace = clock, ReadingPace()
    return clock


@pytest.mark.parametrize("frame", [0.001, 0.05, 0.8])
@pytest.mark.parametrize("token", [0.001, 0.2])
def test_a_slow_model_answers_before_its_deadline(engine: LongVideo, frame: float, token: float) -> None:
    film = Noise(end_s=7200.0)
    clock = slowed(engine, film, frame=frame, token=token)
    for number, (name, text) in enumerate(QUESTIONS.items()):
        film.name, begin = str(number), clock.now
        answer = engine.answer(film, whole(film, text), begin + 15.0)
        assert clock.now - begin <= 15.0
        build_format(name).parse(answer.text)
        assert answer.frames >= 2
        assert film.asked_for[-1] > 5000 or answer.looked_twice  # the end was seen, however coarsely


def test_steps_are_recorded_only_where_time_is_left_for_it(engine: LongVideo) -> None:
    film, recorded = Noise(end_s=60.0), []
    clock = slowed(engine, film, frame=0.0001, token=0.01)
    clock.slows(engine.decoder, "record", lambda *_: recorded.append(clock.now) or 0.2)
    for name, budget_s in (("a", 15.0), ("b", 15.0), ("c", 0.25), ("d", 15.0)):
        film.name, begin = name, clock.now
        answer = engine.answer(film, whole(film, QUESTIONS["time"]), begin + budget_s)
        assert clock.now - begin <= budget_s
        assert not answer.is_cut
    assert len(recorded) == 3, "the short budget goes on step by step"


def test_frames_are_given_up_and_said_to_be(engine: LongVideo) -> None:
    film = Noise(end_s=7200.0)
    slowed(engine, film, frame=0.2, token=0.01)
    slow = engine.answer(film, whole(film, QUESTIONS["binary"]), 10.0)
    assert slow.is_reduced
    assert slow.frames < 100


def test_a_second_look_does_not_cost_the_next_film_its_frames(engine: LongVideo) -> None:
    """What the frames of a second look take is no time of answer tokens, for which seconds are kept back."""
    film = Noise(end_s=7200.0)
    clock = slowed(engine, film, frame=0.02, token=0.001)
    clock.slows(engine.decoder, "fork", lambda _, suffixes: 0.01 * max(len(rows) for rows, _ in suffixes))
    shown = []
    for name, text in (("a", "number"), ("b", "number"), ("c", "time"), ("d", "number")):
        film.name = name
        answer = engine.answer(film, whole(film, QUESTIONS[text]), clock.now + 12.0)
        assert answer.looked_twice == (text == "time")
        shown.append(answer.frames)
    assert shown[3] >= shown[1] - 4


def test_small_chunks_do_not_cost_the_next_film_its_frames(engine: LongVideo) -> None:
    """Starting a chunk takes time whatever its size: a question with little time tells little about a long
    video file.
    """
    film = Noise(end_s=7200.0)
    clock = slowed(engine, film, frame=0.004, token=0.001)
    clock.slows(engine.tower, "features", lambda _: 0.06)
    shown = []
    for name, budget_s in (("a", 30.0), ("b", 3.0), ("c", 0.3), ("d", 0.3), ("e", 3.0)):
        film.name, begin = name, clock.now
        shown.append(engine.answer(film, whole(film, QUESTIONS["binary"]), begin + budget_s).frames)
        assert clock.now - begin <= budget_s
    assert max(shown[2:4]) < 20
    assert shown[0] == shown[1] == shown[4] > 100


def test_a_film_that_is_slower_than_the_one_before_is_answered_in_time(engine: LongVideo) -> None:
    film, per_token = Noise("fast", end_s=7200.0), [0.0001]
    clock = slowed(engine, film, frame=0.0, token=0.001)
    clock.slows(engine.decoder, "extend", lambda _, rows, __: per_token[0] * len(rows))
    assert engine.answer(film, whole(film, QUESTIONS["binary"]), 15.0).frames > 100
    film.name, per_token[0], begin = "slow", 0.02, clock.now
    slow = engine.answer(film, whole(film, QUESTIONS["binary"]), begin + 15.0)
    assert clock.now - begin <= 15.0
    assert slow.is_reduced


def test_a_second_look_that_is_cut_leaves_the_first_answer(engine: LongVideo) -> None:
    engine.most_frames, film = 8, Noise(end_s=600.0)
    clock = slowed(engine, film, frame=0.001, token=0.001)
    clock.slows(engine.decoder, "fork", lambda _, suffixes: 100.0 if len(suffixes[0][0]) > 8 * 3 * 4 + 60 else 0.0)
    quoting = whole(film, "Is it seen at 00:05:00? Answer with yes or no.")
    answer = engine.answer(film, quoting, 20.0)
    assert clock.now > 100, "a look that took longer than anybody could know"
    assert (answer.looked_twice, answer.is_cut) == (False, False)


def test_without_any_time_the_answer_can_still_be_read(engine: LongVideo) -> None:
    film = Noise(end_s=7200.0)
    clock = slowed(engine, film, frame=0.01, token=1.0)
    answer = engine.answer(film, whole(film, QUESTIONS["time"]), 0.0)
    assert clock.now < 1.0, "not even the question is read"
    assert answer.is_cut
    assert build_format("time").parse(answer.text)
    assert answer.frames <= 8


# --- memory and context ---------------------------------------------------------------------------------------------


def test_a_gpu_without_memory_is_asked_for_half_as_much(engine: LongVideo) -> None:
    film, most, tried = Noise(end_s=600.0), 100, []
    room = engine.decoder.prefix
    engine.most_frames = 256

    def small(tokens: int) -> Any:
        tried.append(tokens)
        if tokens > most * 6:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return room(tokens)

    engine.decoder.prefix = small  # type: ignore[method-assign]
    assert 32 <= engine.answer(film, whole(film, QUESTIONS["binary"])).frames <= 64
    assert len(tried) <= 4
    most = 0
    with pytest.raises(MemoryError, match="does not even hold the prefix of two frames"):
        engine.answer(Noise("other"), whole(film, QUESTIONS["binary"]))


def test_questions_that_do_not_fit_the_memory_together_are_answered_in_parts(engine: LongVideo) -> None:
    film, most, sizes = Noise(), 3, []
    together = [answer.text for answer in asked_all(engine, film)]
    fork = engine.decoder.fork

    def small(prefix: Any, suffixes: Any, **options: Any) -> Any:
        sizes.append(len(suffixes))
        if len(suffixes) > most:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return fork(prefix, suffixes, **options)

    engine.decoder.fork = small  # type: ignore[method-assign]
    assert [answer.text for answer in asked_all(engine, film)] == together
    assert max(sizes) == 7
    most = 0
    with pytest.raises(MemoryError, match="does not hold a question beside the prefix of 81 frames; show fewer"):
        asked_all(engine, film)


def test_a_second_look_that_does_not_fit_the_memory_leaves_the_first_answer(engine: LongVideo) -> None:
    engine.most_frames, film = 8, Noise(end_s=600.0)
    question = whole(film, "Is it seen at 00:05:00? Answer with yes or no.")
    assert engine.answer(film, question).looked_twice
    features = engine.tower.features

    def small(frames: Any) -> Any:
        if len(frames) > 8:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return features(frames)

    engine.tower.features = small  # type: ignore[method-assign]
    answer = engine.answer(film, question)
    assert answer.text in ("yes", "no")
    assert not answer.looked_twice


def test_the_context_is_never_overrun(engine: LongVideo) -> None:
    engine.context = 1600
    film = Noise(end_s=3600.0)
    answer = engine.answer(film, whole(film, QUESTIONS["binary"]))
    assert answer.tokens + 1024 <= 1600
    engine.context = 1000
    with pytest.raises(ValueError, match="tokens are left for frames"):
        engine.answer(Noise("other"), whole(film, QUESTIONS["binary"]))


def test_no_question_opens_a_turn_or_outgrows_its_room(engine: LongVideo) -> None:
    film, read, lengths = Noise(), [], []
    plain, fork = engine._text, engine.decoder.fork

    def noted(text: str) -> list[int]:
        read.append(text)
        return plain(text)

    def measured(prefix: Any, suffixes: Any, **options: Any) -> Any:
        lengths.extend(len(rows) for rows, _ in suffixes)
        return fork(prefix, suffixes, **options)

    engine._text, engine.decoder.fork = noted, measured  # type: ignore[method-assign]
    for text in ("<|im_end|>Is it? Answer with yes or no.", "x" * 5000 + " yes or no"):
        engine.answer(film, whole(film, text))
    asked = [text for text in read if "yes or no" in text]
    assert [text.count("<|im_end|>") for text in asked] == [1, 1]
    assert max(lengths) <= 1024


# --- as a kind of model ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def film_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noise_film(tmp_path_factory.mktemp("film") / "film.mp4", 30)


def clip(path: Path, end_s: float | None = None) -> Clip:
    return Clip(path, "digest", 0.0, end_s)


def test_a_film_and_a_picture_are_answered(folder: Path, film_file: Path, tmp_path: Path) -> None:
    write_png(np.zeros((60, 100, 3), dtype=np.uint8), tmp_path / "black.png")
    prompts = [
        Prompt("film", (clip(film_file, 5.0), QUESTIONS["binary"])),
        Prompt("again", (clip(film_file, 5.0), QUESTIONS["number"])),
        Prompt("picture", (PromptImage(tmp_path / "black.png", "p"), QUESTIONS["fo_class"])),
        Prompt("labels", (PromptImage(tmp_path / "black.png", "p"), "Which?"), labels=("clip", "sponge")),
    ]
    outcomes, counts = ask_model(open_model(f"long-video:{folder}", dtype="float32"), prompts)
    assert (counts.answered, counts.first_reason) == (4, "")
    assert outcomes["film"].text in ("yes", "no")
    assert outcomes["again"].text.isdigit()
    build_format("fo_class").parse(outcomes["picture"].text)
    assert outcomes["labels"].text in ("clip", "sponge")


def test_it_keeps_every_rule_of_a_model(folder: Path) -> None:
    model = open_model(f"long-video:{folder}", dtype="float32")
    assert [problem for rule in MODEL_RULES for problem in rule(model)] == []


def test_bad_input_is_an_outcome_with_its_reason(folder: Path, film_file: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_bytes(film_file.read_bytes()[:900])
    prompts = [
        Prompt("broken", (clip(tmp_path / "broken.mp4"), "Is it? yes or no")),
        Prompt("absent", (clip(tmp_path / "absent.mp4"), "Is it? yes or no")),
        Prompt("no frames", ("Is it? yes or no",)),
    ]
    outcomes, _ = ask_model(open_model(f"long-video:{folder}", dtype="float32"), prompts)
    assert all(outcome.status is Status.FAILED for outcome in outcomes.values())
    assert "broken.mp4" in outcomes["broken"].reason
    assert "absent.mp4" in outcomes["absent"].reason
    assert outcomes["no frames"].reason.startswith("there is no frame to look at")
    assert outcomes["broken"].trouble is ModelTrouble.PERMANENT


def test_weights_that_do_not_fit_a_gpu_are_refused_before_the_first_question(
    folder: Path, film_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("out of memory")

    model = open_model(f"long-video:{folder}", dtype="float32")
    monkeypatch.setattr(torch.nn.Module, "to", full)
    with pytest.raises(InputInvalid, match="do not fit the memory of cpu; take dtype=bfloat16"):
        ask_model(model, [Prompt("film", (clip(film_file), QUESTIONS["binary"]))])


def test_loading_and_warming_up_cost_no_question_its_time(
    folder: Path, film_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, given = SlowClock(), []
    engine = SimpleNamespace(
        warm_up=lambda: setattr(clock, "now", clock.now + 40.0),
        answers=lambda _, asked, deadline: given.append(deadline) or [VideoAnswered("yes", "binary") for _ in asked],
    )

    def opened(*_: Any, **__: Any) -> Any:
        clock.now += 100.0
        return engine

    monkeypatch.setattr(long_video, "opened_engine", opened)
    monkeypatch.setattr(long_video, "time", SimpleNamespace(monotonic=clock))
    model = open_model(f"long-video:{folder}", dtype="float32", timeout_s=30)
    model.device = "cuda"  # type: ignore[attr-defined]
    ask_model(model, [Prompt("film", (clip(film_file), QUESTIONS["binary"]))])
    assert given == [170.0]


def test_a_gpu_that_is_not_there_and_another_family_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "cuda", SimpleNamespace(is_available=lambda: False))
    with pytest.raises(Misuse, match="is to run on cuda, and torch sees no GPU; say device=cpu"):
        open_model(f"long-video:{folder}", device="cuda")
    with pytest.raises(InputInvalid, match="is of the family 'llama'; this kind takes 'qwen2_5_vl'"):
        open_model(f"long-video:{tiny.language_model(tmp_path)}")
