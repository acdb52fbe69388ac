"""Seconds and memory of a long video on one GPU, with random weights in the shape of Qwen2.5-VL-7B.

    PYTHONPATH=src python bench/gpu_long_video.py --out OUT --seconds 300

The planner in front of transformers as it serves: first answer, further questions by format, a mixed batch, budgets,
growth, vision alone, and logits beside those of transformers' own attention. Beside each first answer stands the
limit, its multiplications at the GPU's peak, and what they take at the rates that this GPU reached in the same run.
Needs torch, transformers, Pillow, numpy and scipy. Every part is written to OUT/long_video.json and
OUT/long_video.md as soon as it is there; a part that no longer fits the seconds is left out and listed.
`--tiny` runs all of it in a minute on a CPU, to see that it works; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import platform
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parent))
from surgvalid.models._long_video import kept
from surgvalid.models._long_video.watching import LongVideo, VideoQuestion
from surgvalid.models.transformers import LoadedModel

FRAMES, HEIGHT_PX, WIDTH_PX = 768, 252, 448
ROPE = {"rope_type": "default", "rope_theta": 1000000.0}
LARGE = {
    "text_config": {
        "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
        "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 128000,
        "rope_parameters": ROPE | {"mrope_section": [16, 24, 24]},
    },
    "vision_config": {
        "depth": 32, "hidden_size": 1280, "num_heads": 16, "intermediate_size": 3420, "out_hidden_size": 3584,
        "fullatt_block_indexes": [7, 15, 23, 31], "window_size": 112, "tokens_per_second": 2,
    },
}  # fmt: skip
TINY = {
    "text_config": {
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 512, "max_position_embeddings": 128000,
        "rope_parameters": ROPE | {"mrope_section": [2, 3, 3]},
    },
    "vision_config": {
        "depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 36, "out_hidden_size": 64,
        "fullatt_block_indexes": [1], "window_size": 112, "tokens_per_second": 2,
    },
}  # fmt: skip


def random_model(shape: dict[str, Any], device: str, dtype: Any) -> Any:
    """A model of that shape whose weights were drawn where they are used."""
    config = transformers.Qwen2_5_VLConfig(**shape)
    torch.manual_seed(0)
    with torch.device(device):
        model = transformers.Qwen2_5_VLForConditionalGeneration._from_config(config, dtype=dtype)
    return model.to(device).eval().requires_grad_(False)


class Bench:
    def __init__(self, out: Path, seconds: float, *, tiny: bool, only: str = "", name: str = "long_video") -> None:
        self.name = name
        self.only = [name.strip() for name in only.split(",") if name.strip()]
        self.out, self.tiny, self.start, self.seconds = out, tiny, time.monotonic(), seconds
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.dtype = torch.bfloat16 if self.device == "cuda" else torch.float32
        self.frames = 8 if tiny else FRAMES
        self.record: dict[str, Any] = {"parts": {}, "left_out": [], "failed": {}}
        out.mkdir(parents=True, exist_ok=True)

    def machine(self) -> dict[str, Any]:
        """What the figures hold for."""
        return {
            "date": datetime.now(UTC).isoformat(timespec="minutes"), "command": " ".join(sys.argv),
            "gpu": torch.cuda.get_device_name() if self.device == "cuda" else "none", "torch": torch.__version__,
            "transformers": transformers.__version__, "python": platform.python_version(), "tiny": self.tiny,
        }  # fmt: skip

    def sync(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def timed(self, call: Callable[..., Any], *arguments: Any, times: int = 2, warm: int = 1, **options: Any) -> float:
        """Median seconds of a call."""
        for _ in range(warm):
            call(*arguments, **options)
        taken = []
        for _ in range(times):
            self.sync()
            begin = time.perf_counter()
            call(*arguments, **options)
            self.sync()
            taken.append(time.perf_counter() - begin)
        return round(statistics.median(taken), 5)

    def peak_gb(self) -> float | None:
        return round(torch.cuda.max_memory_allocated() / 1e9, 2) if self.device == "cuda" else None

    def fresh(self) -> None:
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def run(self, name: str, needs_s: float, rows: Callable[[], Iterator[dict[str, Any]]]) -> None:
        if self.only and name not in (*self.only, "machine", "build", "rates"):
            return
        left = self.seconds - (time.monotonic() - self.start)
        if left < (min(needs_s, 1.0) if self.tiny else needs_s):
            self.record["left_out"].append(f"{name}: {left:.0f} s left, {needs_s:g} needed")
            self.write()
            return
        begin = time.monotonic()
        kept = self.record["parts"].setdefault(name, [])
        try:
            for row in rows():
                kept.append(row)
                print(f"[{time.monotonic() - self.start:6.1f} s] {name}: {json.dumps(row)}", flush=True)
                self.write()
        except Exception as error:  # noqa: BLE001  (one part that fails must not cost the others)
            self.record["failed"][name] = f"{type(error).__name__}: {error}"
            print(traceback.format_exc(), flush=True)
        self.record.setdefault("seconds", {})[name] = round(time.monotonic() - begin, 1)
        self.fresh()
        self.write()

    def write(self) -> None:
        (self.out / f"{self.name}.json").write_text(json.dumps(self.record, indent=1))
        (self.out / f"{self.name}.md").write_text(markdown(self.record))


def markdown(record: dict[str, Any]) -> str:
    """The parts as tables."""
    lines = []
    for name, rows in record["parts"].items():
        columns = list(dict.fromkeys(key for row in rows for key in row))
        lines += [f"## {name}", "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
        lines += [f"| {' | '.join(str(row.get(column, '')) for column in columns)} |" for row in rows] + [""]
    lines += [f"Left out: {text}" for text in record["left_out"]]
    lines += [f"Failed: {name}: {text}" for name, text in record["failed"].items()]
    return "\n".join(lines) + "\n"


PEAK_FLOPS = 989e12
"""Of an H100 or H200 in bfloat16, without sparsity."""
QUESTIONS = {
    "binary": "Is a sponge visible? Answer with yes or no.",
    "number": "How many clips are there? Answer with a number.",
    "percentage": "For which share of the time? Answer with a percentage (xx%).",
    "time": "When is the first clip seen? Answer with a time (hh:mm:ss).",
    "fo_class": "Which are seen? Answer with the class names, separated by commas, or none.",
    "multiple_choice": "Where is it? Select one: upper left; upper right; lower left; lower right.",
    "open_ended": "What happens at the end? Answer in a few words.",
}


class MovingFilm:
    """One image of noise, moved a little further every second; a frame may take a while to read."""

    start_s, height_px, width_px = 0.0, 540, 960

    def __init__(self, name: str, end_s: float, per_frame_s: float = 0.0) -> None:
        self.name, self.end_s, self.per_frame_s = name, end_s, per_frame_s
        self.noise = np.random.default_rng(0).integers(0, 256, (504, 896, 3), dtype=np.uint8)

    def frames(self, times_s: Any, height_px: int, width_px: int, *, slack_s: float = 0.0) -> Any:
        del slack_s
        time.sleep(self.per_frame_s * len(times_s))
        cuts = [(int(t) % (504 - height_px), int(3 * t) % (896 - width_px)) for t in times_s]
        return list(times_s), np.stack([self.noise[y : y + height_px, x : x + width_px] for y, x in cuts])


class Parts:
    """What is measured, one method each."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.bench, self.folder = bench, folder
        self.planner: Any = None
        self.reached = np.array([PEAK_FLOPS, PEAK_FLOPS])
        self.hours = 0.01 if bench.tiny else 3.0

    def build(self) -> Iterator[dict[str, Any]]:
        from gpu_transformers import saved_processor  # type: ignore[import-not-found]

        shape = (TINY if self.bench.tiny else LARGE) | saved_processor(self.folder)
        begin = time.perf_counter()
        model = random_model(shape, self.bench.device, self.bench.dtype)
        processor = transformers.AutoProcessor.from_pretrained(self.folder)
        ready = LoadedModel(model, processor, processor.tokenizer, 128000)
        behind: Any = SimpleNamespace(torch=torch, device=self.bench.device, weights="random", load=lambda: ready)
        engine = kept.KeptEngine(behind, "You answer questions about videos. Reply with the answer alone.")
        built = time.perf_counter()
        self.planner = LongVideo(engine, classes=("Clip", "Sponge", "Needle"), most_frames=self.bench.frames)
        self.planner.warm_up()
        yield {
            "parameters": sum(p.numel() for p in model.parameters()), "built_s": round(built - begin, 1),
            "warm_up_s": round(time.perf_counter() - built, 1), "attention": model.config._attn_implementation,
            "images through": type(processor.image_processor).__name__, "memory_gb": self.bench.peak_gb(),
        }  # fmt: skip

    def work(self, answer: Any) -> Any:
        """Operations for what an answer saw: of matrix products, and of attention between tokens."""
        config, sees = (
            self.planner.engine.model.config.get_text_config(),
            self.planner.engine.model.config.vision_config,
        )
        language = sum(p.numel() for p in self.planner.engine.model.model.language_model.layers.parameters())
        tower = sum(p.numel() for p in self.planner.engine.model.model.visual.blocks.parameters())
        pairs = config.num_hidden_layers * config.hidden_size * answer.tokens**2 * 2
        patches = answer.tokens * sees.spatial_merge_size**2
        return np.array([2 * (language * answer.tokens + tower * patches), pairs])

    def rates(self) -> Iterator[dict[str, Any]]:
        """What this GPU reaches: a matrix product, and attention of a chunk to a long prefix by the fastest kernel."""
        size, layers = (64, 1) if self.bench.tiny else (8192, 28)
        draw = functools.partial(torch.randn, device=self.bench.device, dtype=self.bench.dtype)
        square = draw(size, size)
        product = 2 * size**3 / self.bench.timed(torch.matmul, square, square, times=20)
        new, before = (8, 32) if self.bench.tiny else (16384, 98304)
        query, key, value = (draw(1, heads, count, 128) for heads, count in ((layers, new), (4, before), (4, before)))
        if self.bench.tiny:
            query = query.repeat(1, 4, 1, 1)
        call = functools.partial(torch.nn.functional.scaled_dot_product_attention, enable_gqa=True)
        with torch.nn.attention.sdpa_kernel(
            torch.nn.attention.SDPBackend.MATH if self.bench.tiny else torch.nn.attention.SDPBackend.CUDNN_ATTENTION
        ):
            attention = 4 * query.shape[1] * 128 * new * before / self.bench.timed(call, query, key, value, times=5)
        self.reached = np.array([product, attention])
        yield {"matrix product TFLOP/s": round(product / 1e12), "attention TFLOP/s": round(attention / 1e12)}

    def row(self, film: MovingFilm, text: str, budget_s: float = 30.0) -> dict[str, Any]:
        begin = time.monotonic()
        answer = self.planner.answer(film, VideoQuestion(text, 0.0, film.end_s), begin + budget_s)
        taken = time.monotonic() - begin
        work = self.work(answer)
        limit, reachable = float(work.sum() / PEAK_FLOPS), float((work / self.reached).sum())
        return {
            "seconds": round(taken, 3), "budget": budget_s, "limit_s": round(limit, 3),
            "times the limit": round(taken / limit, 2), "at rates reached": round(reachable, 3),
            "times that": round(taken / reachable, 2), **answer.facts(), "peak_gb": self.bench.peak_gb(),
        }  # fmt: skip

    def film(self, name: str, per_frame_s: float = 0.0) -> MovingFilm:
        return MovingFilm(name, 3600 * self.hours, per_frame_s)

    def served(self) -> Iterator[dict[str, Any]]:
        """The first answer about two videos, then further questions about the second."""
        for name in ("first", "second"):
            yield {"what": "first answer"} | self.row(self.film(name), QUESTIONS["binary"])
        for name, text in QUESTIONS.items():
            yield {"what": f"a further question: {name}"} | self.row(self.film("second"), text)

    def mixed(self) -> Iterator[dict[str, Any]]:
        film = self.film("second")
        texts = [text for _, text in zip(range(16), cycle(QUESTIONS.values()), strict=False)]
        whole = kept.ANSWER_TOKENS
        for most in (whole, 24, 12):  # random weights never end a free answer: all that may be, a sentence, a few words
            kept.ANSWER_TOKENS = most
            begin = time.monotonic()
            given = self.planner.answers(film, [VideoQuestion(text, 0.0, film.end_s) for text in texts], 30.0)
            taken, looks = time.monotonic() - begin, sum(answer.looked_twice for answer in given)
            about = {"tokens of free text": most, "second looks": looks, "reused": given[0].reused}
            yield {"questions": 16, "each_s": round(taken / 16, 4), **about}
        kept.ANSWER_TOKENS = whole

    def budgets(self) -> Iterator[dict[str, Any]]:
        for per_frame_s in (0.0, 0.02):
            for budget_s in (30.0, 8.0, 3.0, 1.5):
                film = self.film(f"{per_frame_s} {budget_s}", per_frame_s)
                yield {"reading a frame": per_frame_s} | self.row(film, QUESTIONS["binary"], budget_s)

    def growth(self) -> Iterator[dict[str, Any]]:
        whole = self.planner.most_frames
        for frames in (96, 192, 384, 768) if not self.bench.tiny else (2, 4):
            self.planner.most_frames = frames
            yield {"frames at most": frames} | self.row(self.film(f"growth {frames}"), QUESTIONS["number"])
        self.planner.most_frames = whole

    def processor(self) -> Iterator[dict[str, Any]]:
        """What the family's processor takes for the frames: it works on the CPU where torchvision is not there."""
        frames = self.film("p").frames([0.0] * 16, 252, 448)[1]
        taken = self.bench.timed(self.planner.engine._inputs, [0.0] * 16, frames)
        yield {"frames": 16, "ms a frame": round(1000 * taken / 16, 2)}

    def vision(self) -> Iterator[dict[str, Any]]:
        """The tower alone, as it is served: one attention call over all images, blocks compiled."""
        engine = self.planner.engine
        count = 4 if self.bench.tiny else 256
        inputs = engine._inputs([0.0] * count, self.film("v").frames([0.0] * count, 252, 448)[1])
        with torch.inference_mode():
            given = (inputs["pixel_values"], inputs["image_grid_thw"])
            yield {"images": count, "seconds": self.bench.timed(engine.model.model.visual, *given)}

    def equal(self) -> Iterator[dict[str, Any]]:
        """Logits of a second chunk of frames beside those of transformers' own attention."""
        engine, count = self.planner.engine, 4 if self.bench.tiny else 24
        configs = (engine.model.config.text_config, engine.model.config.vision_config)
        frames = self.film("e").frames(list(range(2 * count)), 252, 448)[1]
        ours, logits = configs[0]._attn_implementation, []
        for how, stance in ((ours, "default"), ("sdpa", "force_eager")):
            for config in configs:
                config._attn_implementation = how
            with torch.compiler.set_stance(stance):
                prefix, _ = engine.extend(engine.begin(), list(range(count)), frames[:count])
                inputs = engine._inputs(list(range(count)), frames[count:])
                length, place = prefix.marks[-1]
                cache = engine._kept(prefix.layers, length)
                logits.append(engine._forward(cache, inputs, engine._places(inputs, place))[-1].float())
        for config in configs:
            config._attn_implementation = ours
        same = float(torch.corrcoef(torch.stack(logits))[0, 1])
        yield {
            "frames": 2 * count,
            "correlation": round(same, 5),
            "likeliest": int(logits[0].argmax() == logits[1].argmax()),
        }
        yield from self.together(prefix, count)

    def together(self, prefix: Any, count: int) -> Iterator[dict[str, Any]]:
        """Logits of answers that were given together and by recorded passes, beside those given alone and without."""
        engine, weighed = self.planner.engine, dict[str, list[Any]]()
        forms = [VideoQuestion(text, 0.0, 60.0).named_form(("Clip", "Sponge"))[1] for text in QUESTIONS.values()]
        asked = list(zip(QUESTIONS.values(), forms, strict=True))
        plain, usual = engine._likeliest, kept._EAGER

        def likeliest(row: Any, one: Any) -> int:
            weighed.setdefault(f"{id(one.form)} {one.answer}", []).append(row.float())
            return int(plain(row, one))

        engine._likeliest = likeliest
        given = [[reply.text for reply in engine.replies(prefix, count, asked, float("inf"))]]
        kept._EAGER = -1  # never
        for parts in ([asked], [[each] for each in asked]):
            given.append([reply.text for part in parts for reply in engine.replies(prefix, count, part, float("inf"))])
        kept._EAGER, engine._likeliest = usual, plain
        same = [torch.corrcoef(torch.stack([rows[0], row]))[0, 1] for rows in weighed.values() for row in rows[1:]]
        yield {
            "questions": len(asked), "same words without recording": sum(map(str.__eq__, *given[:2])),
            "same words alone": sum(map(str.__eq__, given[0], given[2])), "rows compared": len(same),
            "least correlation": round(float(min(same)), 5),
        }  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=300.0)
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--only", default="", help="names of parts, with commas between")
    given = options.parse_args()
    torch.set_num_threads(1 if given.tiny else torch.get_num_threads())
    bench = Bench(given.out, given.seconds, tiny=given.tiny, only=given.only)
    with tempfile.TemporaryDirectory() as folder:
        parts = Parts(bench, Path(folder))
        bench.run("machine", 0, lambda: iter([bench.machine()]))
        bench.run("build", 0, parts.build)
        if parts.planner is None:
            sys.exit("the model could not be built; see above")
        for name, needs_s in (
            ("rates", 5),
            ("served", 40),
            ("mixed", 10),
            ("processor", 5),
            ("budgets", 60),
            ("growth", 40),
            ("equal", 20),
            ("vision", 10),
        ):
            bench.run(name, needs_s, getattr(parts, name))
    print(markdown(bench.record), flush=True)


if __name__ == "__main__":
    main()
