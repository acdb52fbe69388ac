"""The whole engine as it serves, for `gpu_long_video.py --whole`: frames in, answers out, beside transformers.

Weights are random, words are made up (as many as the model has logits for) and video files are noise that moves, so
answers mean nothing. What they cost does, and so does whether transformers, given the same tokens and frames, finds the
same next token likeliest among those that the format admits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import chain, cycle, product
from string import ascii_lowercase, digits
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

tokenization: Any = import_module("tokenizers")
lines: Any = import_module("long_video.engine")
writing: Any = import_module("long_video.writing")

FRAMES, ANSWER_TOKENS = 768, 16
SPECIALS = ("<|im_end|>", "<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|video_pad|>")
CLASSES = ("Clip", "Sponge", "Needle", "Suture", "Vessel loop")
QUESTIONS = {
    "binary": "Is a sponge visible? Answer with yes or no.",
    "number": "How many clips are there? Answer with a number.",
    "percentage": "For which share of the time? Answer with a percentage (xx%).",
    "time": "When is the first clip seen? Answer with a time (hh:mm:ss).",
    "fo_class": "Which are seen? Answer with the class names, separated by commas, or none.",
    "multiple_choice": "Where is it? Select one: upper left; upper right; lower left; lower right.",
    "open_ended": "What happens at the end? Answer in a few words.",
}
FREE = [f"What happens in part {number} of the video file? Answer in a few words." for number in range(16)]
QUOTING = "Is a clip seen at 00:{:02}:00? Answer with yes or no."


def made_up_words(count: int) -> Any:
    """A tokenizer of single bytes, the words above and short made-up ones, `count` in all."""
    letters = sorted(tokenization.pre_tokenizers.ByteLevel.alphabet())
    made = chain.from_iterable(product(f"{ascii_lowercase}{digits}Ġ", repeat=size) for size in (2, 3, 4))
    words = [*letters, *("".join(word) for word, _ in zip(made, range(count - len(letters)), strict=False))]
    bytewise = tokenization.Tokenizer(
        tokenization.models.BPE(vocab={word: n for n, word in enumerate(words[: count - 5])}, merges=[])
    )
    bytewise.pre_tokenizer, bytewise.decoder = (
        tokenization.pre_tokenizers.ByteLevel(add_prefix_space=False), tokenization.decoders.ByteLevel(),
    )  # fmt: skip
    whole = PreTrainedTokenizerFast(tokenizer_object=bytewise, eos_token=SPECIALS[0])
    whole.add_tokens(list(SPECIALS), special_tokens=True)
    return whole


class MovingFilm:
    """One image of noise, moved a little further every second."""

    start_s, height_px, width_px = 0.0, 540, 960

    def __init__(self, name: str, end_s: float, per_frame_s: float = 0.0) -> None:
        self.name, self.end_s, self.per_frame_s = name, end_s, per_frame_s
        self._pictures: dict[tuple[int, int], Any] = {}

    def frames(self, times_s: Sequence[float], height_px: int, width_px: int) -> Any:
        time.sleep(self.per_frame_s * len(times_s))
        size = (height_px, width_px)
        if size not in self._pictures:
            seed = torch.Generator().manual_seed(sum(self.name.encode()))
            self._pictures[size] = torch.randint(0, 256, (*size, 3), dtype=torch.uint8, generator=seed)
        return torch.stack([self._pictures[size].roll((int(3 * t), int(5 * t)), (0, 1)) for t in times_s])


class Noting(lines.LongVideo):  # type: ignore[misc]
    """The engine, which notes the tokens and frames of prefix and question, and each token with its logits."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.shared: list[Any] = []
        self.suffix: list[Any] = []
        self.steps: list[tuple[Any, Any, int]] = []
        self.is_noting = False

    def _pass(self, *arguments: Any) -> Any:
        self.shared, self.suffix = [], []
        self._noted = self.shared
        return super()._pass(*arguments)

    def _question(self, *arguments: Any) -> Any:
        self.suffix, self.steps = [], []
        self._noted = self.suffix
        return super()._question(*arguments)

    def _features(self, frames: Any, times: Any) -> Any:
        self._frames = frames
        return super()._features(frames, times)

    def _placed(self, pieces: Any, start: int) -> Any:
        self._noted += [(tokens, None if layout is None else (self._frames, layout)) for tokens, _, layout in pieces]
        return super()._placed(pieces, start)

    def _decoded(self, *arguments: Any) -> Any:
        plain = writing._chosen
        if not self.is_noting:
            return super()._decoded(*arguments)

        def chosen(fork: Any, under_way: Any) -> Any:
            options, logits = under_way[0].options(fork.logits.device), fork.logits[0].clone()
            tokens = plain(fork, under_way)
            if tokens[0] is not None:
                self.steps.append((logits, options, tokens[0]))
            return tokens

        writing._chosen = chosen
        try:
            return super()._decoded(*arguments)
        finally:
            writing._chosen = plain


class Reference:
    """Plain transformers, given the tokens, frames and places of what the engine saw."""

    def __init__(self, model: Any, tower: Any, video_token: int) -> None:
        self.model, self.tower, self.video_token = model, tower, video_token
        model.config.video_token_id = video_token
        self.device, self.dtype = model.lm_head.weight.device, model.lm_head.weight.dtype
        self.cache: Any = None
        self.next_position = 0

    def prefilled(self, shared: Sequence[Any]) -> None:
        """Keep the keys and values of a prefix."""
        self.cache, self.next_position = None, 0
        given = self._given(shared)
        self.cache = self.model(**given, use_cache=True, logits_to_keep=1).past_key_values
        self.next_position = int(given["position_ids"].max()) + 1

    def logits(self, suffix: Sequence[Any], answer: Sequence[int]) -> Any:
        """Of every token of an answer, after the prefix and the question; the prefix stays as it was."""
        length = self.cache.get_seq_length()
        given = self._given([*suffix, (list(answer[:-1]), None)])
        logits = self.model(**given, past_key_values=self.cache, use_cache=True, logits_to_keep=len(answer)).logits[0]
        self.cache.crop(length - self.cache.get_seq_length())
        return logits

    def _given(self, pieces: Sequence[Any]) -> dict[str, Any]:
        """Places by the rule of the model's authors: a video's time by its seconds, text after the largest so far."""
        tokens: list[int] = []
        places, patches, grids, start = [], [], [], self.next_position
        for words, seen in pieces:
            if seen is None and not words:
                continue
            if seen is None:
                tokens += words
                places.append(torch.arange(len(words)).expand(3, -1) + start)
            else:
                frames, (slices, down, across, gap) = seen
                tokens += [self.video_token] * (slices * down * across)
                time_s = torch.tensor([int(number * gap) for number in range(slices)])
                block = torch.meshgrid(time_s, torch.arange(down), torch.arange(across), indexing="ij")
                places.append(torch.stack(block).flatten(1) + start)
                grids.append([slices, 2 * down, 2 * across])
                patches.append(self.tower._patches(frames, down, across).flatten(0, 1))
            start = int(places[-1].max()) + 1
        given = {"input_ids": torch.tensor([tokens]), "position_ids": torch.cat(places, dim=1)[:, None]}
        if patches:
            given |= {"pixel_values_videos": torch.cat(patches).to(self.dtype), "video_grid_thw": torch.tensor(grids)}
        return {name: tensor.to(self.device) for name, tensor in given.items()}


class Whole:
    """What is measured of the whole engine, one method each.

    Args:
        bench: Times and notes.
        parts: Has model, tower and decoder.
        wide_copy: Gives a module in float32.
    """

    def __init__(self, bench: Any, parts: Any, wide_copy: Callable[..., Any]) -> None:
        self.bench, self.parts, self.wide_copy = bench, parts, wide_copy
        self.length_s, self.most = (240.0, 24) if bench.tiny else (10800.0, FRAMES)
        self.engine: Any = None

    def film(self, name: str) -> MovingFilm:
        return MovingFilm(name, self.length_s)

    def asked(self, text: str, end_s: float | None = None) -> Any:
        return lines.VideoQuestion(text, 0.0, end_s or self.length_s)

    def timed(self, film: Any, questions: Sequence[Any], budget_s: float = 30.0) -> tuple[float, list[Any]]:
        self.bench.sync()
        begin = time.perf_counter()
        given = self.engine.answers(film, questions, self.engine.clock() + budget_s)
        return round(time.perf_counter() - begin, 3), given

    def start(self) -> Iterator[dict[str, Any]]:
        begin = time.perf_counter()
        words = made_up_words(len(self.parts.decoder.head) - 16)
        self.video_token = words.convert_tokens_to_ids(SPECIALS[-1])
        self.engine = Noting(self.parts.tower, self.parts.decoder, words, classes=CLASSES, most_frames=self.most)
        made = time.perf_counter() - begin
        self.engine.warm_up()
        warm = time.perf_counter() - begin - made
        yield {"words": len(words), "vocabulary_s": round(made, 2), "warm-up_s": round(warm, 2)}

    def served(self) -> Iterator[dict[str, Any]]:
        """Three hours under `per_video`: what the first, a further and a batch of questions take, by format."""
        for name in ("a", "b"):
            self.bench.fresh()
            seconds, (answer,) = self.timed(self.film(name), [self.asked(QUESTIONS["binary"])])
            row = {"what": f"first question, video file {name}", "seconds": seconds, "peak_gb": self.bench.peak_gb()}
            yield row | answer.facts()
        film, alone = self.film("b"), []
        for name, text in QUESTIONS.items():
            first, _ = self.timed(film, [self.asked(text)])
            seconds, (answer,) = self.timed(film, [self.asked(text)])
            row = {"what": f"further: {name}", "first of its kind": first, "seconds": seconds}
            yield row | {"letters": len(answer.text)} | answer.facts()
        quoting = [self.asked(QUOTING.format(minute)) for minute in (1, 2)]
        for question in quoting:
            seconds, (answer,) = self.timed(film, [question])
            yield {"what": "further, second look", "seconds": seconds} | answer.facts()
        early = [self.asked(text, self.length_s / 3) for text in FREE[:2]]
        seconds, (answer, *_) = self.timed(film, early)
        yield {"what": "two about the first third", "seconds": seconds} | answer.facts()
        for text in FREE:
            alone.append(self.timed(film, [self.asked(text)])[1][0].text)
        for _ in range(2):
            seconds, given = self.timed(film, [self.asked(text) for text in FREE])
            same = sum(a.text == b for a, b in zip(given, alone, strict=True))
            row = {"what": f"a batch of 16, up to {writing.ANSWER_TOKENS} tokens each", "seconds": seconds}
            yield row | {"each": round(seconds / 16, 4), "same as alone": same, "peak_gb": self.bench.peak_gb()}
        usual, writing.ANSWER_TOKENS = writing.ANSWER_TOKENS, ANSWER_TOKENS
        for number in (1, 1, 16, 16):
            seconds, _ = self.timed(film, [self.asked(text) for text in FREE[:number]])
            row = {"what": f"a batch of {number}, up to {ANSWER_TOKENS} tokens each", "seconds": seconds}
            yield row | {"each": round(seconds / number, 4)}
        writing.ANSWER_TOKENS = usual
        mixed = [self.asked(text) for _, text in zip(range(16), cycle(QUESTIONS.values()), strict=False)]
        for _ in range(2):
            seconds, _ = self.timed(film, mixed)
            yield {"what": "a batch of 16 in seven formats", "seconds": seconds, "each": round(seconds / 16, 4)}

    def batch(self) -> Iterator[dict[str, Any]]:
        """Where the time of a batch goes: each stage is waited for."""
        film, spent = self.film("b"), {"fork": 0.0, "step": 0.0, "_chosen": 0.0}
        steps: list[str] = []
        self.timed(film, [self.asked(QUESTIONS["binary"])])
        plain, decoder = writing._chosen, self.engine.decoder
        for number in (1, 16):
            questions = [self.asked(text) for text in FREE[:number]]
            for _ in range(2):
                self.timed(film, questions)
            for owner, name in ((decoder, "fork"), (decoder, "step"), (writing, "_chosen")):
                setattr(owner, name, self._spending(getattr(owner, name), spent, name, steps))
            seconds, _ = self.timed(film, questions)
            count = steps.count("step")
            row = {"questions": number, "seconds": seconds, "steps": count, "fork_s": round(spent["fork"], 4)}
            per = {name: round(1000 * spent[name] / max(count, 1), 2) for name in ("step", "_chosen")}
            yield row | {"a step_ms": per["step"], "choosing its tokens_ms": per["_chosen"]}
            del decoder.fork, decoder.step
            writing._chosen = plain
            spent |= dict.fromkeys(spent, 0.0)
            steps.clear()

    def states(self) -> Iterator[dict[str, Any]]:
        for state, names in (("per_question", "aa"), ("per_video", "aaba"), ("free", "aba")):
            self.engine.state = state
            self.engine._forget(0)
            self.bench.fresh()
            taken, reused = [], []
            for name in names:
                seconds, (answer,) = self.timed(self.film(name), [self.asked(QUESTIONS["number"])])
                taken.append(seconds)
                reused.append(answer.reused)
            yield {"state": state, "films": names, "seconds": taken, "reused": reused, "peak_gb": self.bench.peak_gb()}
        self.engine.state = "per_video"
        self.engine._forget(0)

    def deadline(self) -> Iterator[dict[str, Any]]:
        """Seconds taken with ever smaller budgets, a new video file each; what was read slowly counts."""
        for slow_s, budgets in ((0.0, (30.0, 8.0, 3.0, 1.5, 0.75, 0.3)), (0.02, (30.0, 8.0, 1.5))):
            for budget in budgets:
                film = MovingFilm(f"{budget} {slow_s}", self.length_s, slow_s)
                seconds, (answer,) = self.timed(film, [self.asked(QUESTIONS["time"])], budget)
                row = {"reading, s per frame": slow_s, "budget": budget, "seconds": seconds}
                yield row | {"in time": seconds <= budget} | answer.facts()

    def growth(self) -> Iterator[dict[str, Any]]:
        """Frames against seconds, by stage: each is waited for, so their sum is a little above the whole."""
        spent = {"vision_s": 0.0, "prefill_s": 0.0}
        stages = ((self.engine.tower, "features", "vision_s"), (self.engine.decoder, "extend", "prefill_s"))
        for owner, method, name in stages:
            setattr(owner, method, self._spending(getattr(owner, method), spent, name, []))
        for most in (4, 8) if self.bench.tiny else (96, 192, 384, 768, 1536, 4096):
            for turn in range(2 if most <= self.most else 1):
                self.engine.most_frames = most
                self.bench.fresh()
                spent |= {"vision_s": 0.0, "prefill_s": 0.0}
                film = self.film(f"{turn} {most}")
                seconds, (answer,) = self.timed(film, [self.asked(QUESTIONS["binary"])])
                for _ in range(2):
                    further, _ = self.timed(film, [self.asked(QUESTIONS["number"])])
            row = {"most_frames": most, "first answer_s": seconds, "further_s": further}
            row |= {name: round(value, 3) for name, value in spent.items()} | {"peak_gb": self.bench.peak_gb()}
            yield row | answer.facts()
        for owner, method, _ in stages:
            delattr(owner, method)
        self.engine.most_frames = self.most

    def _spending(
        self, call: Callable[..., Any], spent: dict[str, float], name: str, calls: list[str]
    ) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            self.bench.sync()
            begin = time.perf_counter()
            result = call(*arguments, **options)
            self.bench.sync()
            spent[name] += time.perf_counter() - begin
            calls.append(name)
            return result

        return timed

    def same(self) -> Iterator[dict[str, Any]]:
        """Tokens and logits beside transformers on the same weights; for fewer frames also beside float32."""
        self.engine.is_noting = True
        for most in (8,) if self.bench.tiny else (64, 768):
            film, self.engine.most_frames, noted, looks = self.film(f"same {most}"), most, [], 0
            for text in (*QUESTIONS.values(), *FREE[:4], QUOTING.format(2)):
                _, (answer,) = self.timed(film, [self.asked(text)])
                noted.append((self.engine.suffix, self.engine.steps))
                looks += answer.looked_twice
            shared, ours = self.engine.shared, [step for _, steps in noted for step in steps]
            theirs, taken = self._answered(self.parts.model, shared, noted)
            row = {"what": f"engine beside transformers, {most} frames", "prefix": length_of(shared), "looks": looks}
            yield row | agreement(ours, theirs) | taken
            if most < FRAMES:
                truth, _ = self._answered(self.wide_copy(self.parts.model, self.bench.device), shared, noted)
                yield {"what": f"engine beside float32, {most} frames"} | agreement(ours, truth)
                other = [
                    (row, options, choice(row, options)) for row, (_, options, _) in zip(theirs, ours, strict=True)
                ]
                yield {"what": f"transformers beside float32, {most} frames"} | agreement(other, truth)
                del truth, other
                self.bench.fresh()
        self.engine.most_frames, self.engine.is_noting = self.most, False

    def _answered(self, model: Any, shared: Any, noted: Any) -> tuple[list[Any], dict[str, Any]]:
        """The logits of transformers for every token of every answer, and what it took."""
        reference = Reference(model, self.parts.tower, self.video_token)
        self.bench.sync()
        begin = time.perf_counter()
        with torch.inference_mode():
            reference.prefilled(shared)
            self.bench.sync()
            taken = {"transformers sees and prefills_s": round(time.perf_counter() - begin, 2)}
            answers = [(suffix, [token for _, _, token in steps]) for suffix, steps in noted]
            return [row for suffix, answer in answers for row in reference.logits(suffix, answer)], taken


def choice(logits: Any, options: Any) -> int:
    return int(options[logits[options].argmax()])


def length_of(pieces: Sequence[Any]) -> int:
    return sum(len(words) if seen is None else seen[1][0] * seen[1][1] * seen[1][2] for words, seen in pieces)


def agreement(ours: Sequence[tuple[Any, Any, int]], theirs: Sequence[Any]) -> dict[str, Any]:
    """How many tokens are the same, and by how much theirs would rather have had another where they are not."""
    margins, apart, sizes, close = [], [], [], 0
    for (logits, options, token), reference in zip(ours, theirs, strict=True):
        reference, logits = reference.float(), logits.float()
        apart.append((logits - reference).std())
        sizes.append(reference.std())
        top = reference[options].topk(min(2, len(options))).values
        close += int(len(options) > 1 and float(top[0] - top[-1]) < 3 * float(apart[-1]))
        if (best := choice(reference, options)) != token:
            margins.append(float(reference[best] - reference[token]))
    noise, size = float(torch.stack(apart).mean()), float(torch.stack(sizes).mean())
    return {
        "tokens": len(ours), "same": len(ours) - len(margins), "nearly tied": close, "logits apart": f"{noise:.2e}",
        "share of their spread": f"{noise / size:.2e}", "largest margin of another": f"{max(margins, default=0.0):.2e}",
    }  # fmt: skip
