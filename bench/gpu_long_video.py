"""Seconds and memory of a long video on one GPU, with random weights in the shape of Qwen2.5-VL-7B.

    python bench/gpu_long_video.py --out OUT --seconds 200            tower and decoder, apart
    python bench/gpu_long_video.py --out OUT --seconds 240 --whole    the engine as it serves, beside transformers

Needs torch and transformers, nothing else of this project: the folder with the engine is loaded by its path. Every
part is written to OUT/long_video.json and OUT/long_video.md as soon as it is there; a part that no longer fits the
seconds is left out and listed. `--tiny` runs all of it in a minute on a CPU, to
see that it works; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch
import transformers

ENGINE = Path(__file__).resolve().parent.parent / "src" / "surgvalid" / "models" / "_long_video"
FRAMES, HEIGHT_PX, WIDTH_PX = 768, 252, 448
QUESTION_TOKENS, ANSWER_TOKENS, BATCH = 60, 16, 16
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


def loaded_engine() -> Any:
    spec = spec_from_file_location("long_video", ENGINE / "__init__.py", submodule_search_locations=[str(ENGINE)])
    assert spec is not None
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules["long_video"] = package
    spec.loader.exec_module(package)
    return package


loaded_engine()
VisionTower = import_module("long_video.vision").VisionTower
Decoder = import_module("long_video.decoder").Decoder
pointwise = import_module("long_video.pointwise")
positions = import_module("long_video.decoder")


def random_model(shape: dict[str, Any], device: str, dtype: Any) -> Any:
    """A model of that shape whose weights were drawn where they are used."""
    config = transformers.Qwen2_5_VLConfig(**shape)
    torch.manual_seed(0)
    with torch.device(device):
        model = transformers.Qwen2_5_VLForConditionalGeneration._from_config(config, dtype=dtype)
    return model.to(device).eval().requires_grad_(False)


def wide_copy(module: Any, device: str) -> Any:
    """The module in float32."""
    with torch.device(device):
        copy = type(module)._from_config(module.config, dtype=torch.float32)
    copy.load_state_dict(module.state_dict())
    return copy.to(device).eval()


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
        if self.only and name not in (*self.only, "machine", "build", "compile", "start"):
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


class Parts:
    """What is measured, one method each."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.shape = bench, TINY if bench.tiny else LARGE
        self.model: Any = None
        self.steps = pointwise.PLAIN

    def machine(self) -> Iterator[dict[str, Any]]:
        yield self.bench.machine()

    def build(self) -> Iterator[dict[str, Any]]:
        begin = time.perf_counter()
        self.model = random_model(self.shape, self.bench.device, self.bench.dtype)
        self.bench.sync()
        built = time.perf_counter() - begin
        self.frames = self.pictures(self.bench.frames)
        self.tower, self.decoder = VisionTower(self.model.model.visual), Decoder(self.model)
        count = sum(p.numel() for p in self.model.parameters())
        yield {"parameters": count, "seconds": round(built, 1), "memory_gb": self.bench.peak_gb()}

    def pictures(self, count: int, height: int = HEIGHT_PX, width: int = WIDTH_PX) -> Any:
        frames = torch.randint(0, 256, (count, height, width, 3), dtype=torch.uint8)
        return frames.pin_memory() if self.bench.device == "cuda" else frames

    def products(self) -> Iterator[dict[str, Any]]:
        """Ceilings: the matrix products of the tower alone, with and without zeros up to a multiple of 64."""
        rows = 64 if self.bench.tiny else 36864
        for name, deep, wide in (
            ("qkv", 1280, 3840), ("gate and up, 3420", 1280, 6840), ("gate and up, 3456", 1280, 6912),
            ("down, 3420", 3420, 1280), ("down, 3456", 3456, 1280), ("language gate and up", 3584, 37888),
        ):  # fmt: skip
            x = torch.randn(rows, deep, device=self.bench.device, dtype=self.bench.dtype)
            w = torch.randn(wide, deep, device=self.bench.device, dtype=self.bench.dtype)
            seconds = self.bench.timed(torch.nn.functional.linear, x, w, times=5, warm=2)
            rate = 2e-12 * rows * deep * wide / max(seconds, 1e-9)
            yield {"product": name, "ms": round(1000 * seconds, 3), "tflops": round(rate)}

    def window_attention(self) -> Iterator[dict[str, Any]]:
        """Ways of attention for windows, whole slices and the long causal look."""
        backends = torch.nn.attention.SDPBackend
        shapes = {"512 windows of 64": (512, 16, 64, 80), "64 slices of 576": (64, 16, 576, 80)}
        for name, shape in shapes.items():
            batch, heads, size, width = (2, 2, 64, 16) if self.bench.tiny else shape
            qkv = torch.randn(batch, size, 3, heads, width, device=self.bench.device, dtype=self.bench.dtype)
            q, k, v = (qkv[:, :, i].transpose(1, 2) for i in range(3))
            for way in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"):
                try:
                    with torch.nn.attention.sdpa_kernel(getattr(backends, way)):
                        attend = torch.nn.functional.scaled_dot_product_attention
                        seconds = self.bench.timed(attend, q, k, v, times=5, warm=2)
                    yield {"shape": name, "way": way.lower(), "ms": round(1000 * seconds, 3)}
                except RuntimeError as error:
                    yield {"shape": name, "way": way.lower(), "ms": f"cannot: {str(error)[:60]}"}

    def vision(self, chunks: tuple[int, ...]) -> Iterator[dict[str, Any]]:
        label = "plain steps" if self.steps is pointwise.PLAIN else "compiled steps"
        for chunk in chunks:
            self.bench.fresh()
            seconds = self.bench.timed(self.tower.features, self.frames, slices_at_once=chunk)
            yield {
                "way": label, "frames": len(self.frames), "slices at once": chunk, "seconds": seconds,
                "peak_gb": self.bench.peak_gb(),
            }  # fmt: skip

    def compile(self) -> Iterator[dict[str, Any]]:
        """Compile the small steps, and use them from here on; where that fails, go on without."""
        if self.bench.device != "cuda":
            return
        begin = time.perf_counter()
        steps = pointwise.compiled()
        tower, decoder = VisionTower(self.model.model.visual, steps=steps), Decoder(self.model, steps=steps)
        tower.features(self.frames[:16], slices_at_once=8)
        prefix = self.prefix(decoder, tower.features(self.frames[:16]), 8, at_once=500)
        for count in (1, 4):
            self.answer(decoder, prefix, count, record=False)
        self.bench.sync()
        self.tower, self.decoder, self.steps = tower, decoder, steps
        yield {"seconds": round(time.perf_counter() - begin, 1)}

    def prefix(self, decoder: Any, features: Any, slices: int, *, at_once: int = 1 << 30, grid: Any = None) -> Any:
        down, across = grid or self.tower.grid(HEIGHT_PX, WIDTH_PX)
        device = self.bench.device
        places = [positions.text_positions(40, 0, device)]
        places.append(positions.video_positions(slices, down, across, 40, per_slice=28.0, device=device))
        places = torch.cat(places, dim=1)
        rows = torch.cat([decoder.embedded(range(10, 50)), features])
        prefix = decoder.prefix(len(rows))
        for at in range(0, len(rows), at_once):
            decoder.extend(prefix, rows[at : at + at_once], places[:, at : at + at_once])
        return prefix

    def answer(self, decoder: Any, prefix: Any, count: int, *, record: bool) -> list[list[int]]:
        """Greedy tokens of `count` questions of 60 tokens, 16 each."""
        device = self.bench.device
        suffixes = []
        for number in range(count):
            words = [(7 * number + place) % 500 for place in range(QUESTION_TOKENS)]
            at = positions.text_positions(QUESTION_TOKENS, prefix.next_position, device)
            suffixes.append((decoder.embedded(words), at))
        fork = decoder.fork(prefix, suffixes, steps=ANSWER_TOKENS)
        tokens = [fork.logits.argmax(-1)]
        if record:
            decoder.record(fork)
        for _ in range(ANSWER_TOKENS - 1):
            tokens.append(decoder.step(fork, tokens[-1]).argmax(-1))
        return torch.stack(tokens, dim=1).tolist()  # type: ignore[no-any-return]

    def prefill(self) -> Iterator[dict[str, Any]]:
        features = self.tower.features(self.frames)
        slices, whole = len(self.frames) // 2, None
        for at_once, is_warming in ((1 << 30, True), (16384, True), (16384, False)):
            self.bench.fresh()
            self.decoder.is_warming, self.decoder._met = is_warming, threading.local()
            first = self.bench.timed(self.prefix, self.decoder, features, slices, times=1, warm=0, at_once=at_once)
            later = self.bench.timed(self.prefix, self.decoder, features, slices, times=1, warm=0, at_once=at_once)
            last = self.prefix(self.decoder, features, slices, at_once=at_once).values[-1][:, -144:].float()
            whole = last if whole is None else whole
            yield {
                "tokens": len(features) + 40, "at once": at_once if at_once < len(features) else "all",
                "cuDNN": is_warming, "seconds": later, "first time": first,
                "from one piece": f"{float((last - whole).abs().mean() / whole.abs().mean()):.1e}",
                "peak_gb": self.bench.peak_gb(),
            }  # fmt: skip
        self.decoder.is_warming, self.decoder._met = False, threading.local()

    def questions(self) -> Iterator[dict[str, Any]]:
        features = self.tower.features(self.frames)
        prefix = self.prefix(self.decoder, features, len(self.frames) // 2)
        del features
        for count, record in ((1, False), (1, True), (4, True), (BATCH, False), (BATCH, True)):
            self.bench.fresh()
            seconds = self.bench.timed(self.answer, self.decoder, prefix, count, record=record)
            alone = self.answer(self.decoder, prefix, 1, record=False)[0]
            together = self.answer(self.decoder, prefix, count, record=record)[0]
            yield {
                "questions": count, "recorded": record, "seconds": seconds, "each": round(seconds / count, 4),
                "same tokens as alone": sum(a == b for a, b in zip(alone, together, strict=True)),
                "peak_gb": self.bench.peak_gb(),
            }  # fmt: skip

    def first_answer(self) -> Iterator[dict[str, Any]]:
        """From frames in the memory of the host to the last token of the first answer."""
        for chunk in (64,):
            self.bench.fresh()
            seconds = self.bench.timed(self.whole, chunk)
            yield {
                "frames": len(self.frames), "slices at once": chunk, "seconds": seconds,
                "peak_gb": self.bench.peak_gb(),
            }  # fmt: skip

    def whole(self, chunk: int) -> None:
        features = self.tower.features(self.frames, slices_at_once=chunk)
        prefix = self.prefix(self.decoder, features, len(self.frames) // 2)
        self.answer(self.decoder, prefix, 1, record=True)
        prefix.recorded.clear()

    def growth(self) -> Iterator[dict[str, Any]]:
        sizes = ((4, 252, 448), (8, 252, 448)) if self.bench.tiny else (
            (96, 252, 448), (192, 252, 448), (384, 252, 448), (768, 252, 448), (1536, 252, 448), (1536, 168, 308),
            (2304, 140, 252),
        )  # fmt: skip
        for count, height, width in sizes:
            self.bench.fresh()
            frames = self.pictures(count, height, width)
            grid = self.tower.grid(height, width)
            vision = self.bench.timed(self.tower.features, frames, times=1)
            features = self.tower.features(frames)
            prefill = self.bench.timed(self.prefix, self.decoder, features, count // 2, times=1, warm=0, grid=grid)
            prefix = self.prefix(self.decoder, features, count // 2, grid=grid)
            question = self.bench.timed(self.answer, self.decoder, prefix, 1, record=True)
            many = self.bench.timed(self.answer, self.decoder, prefix, BATCH, times=1, record=True)
            yield {
                "frames": count, "size": f"{width}x{height}", "tokens": prefix.length, "vision_s": vision,
                "prefill_s": prefill, "question_s": question, f"each of {BATCH}_s": round(many / BATCH, 4),
                "first answer_s": round(vision + prefill + question, 3), "peak_gb": self.bench.peak_gb(),
            }  # fmt: skip
            prefix.recorded.clear()
            del prefix, features, frames

    def equal(self) -> Iterator[dict[str, Any]]:
        """How far this and the reference lie from the reference in float32, on the same weights."""
        frames = self.frames[:16]
        visual = self.model.model.visual
        down, across = self.tower.grid(HEIGHT_PX, WIDTH_PX)
        patches = self.tower._patches(frames, down, across).flatten(0, 1)
        grid = torch.tensor([[len(frames) // 2, 2 * down, 2 * across]], device=self.bench.device)
        with torch.inference_mode():
            reference = visual(patches, grid_thw=grid).pooler_output.float()
            ours = self.tower.features(frames).float()
            exact = wide_copy(visual, self.bench.device)
            truth = exact(patches.float(), grid_thw=grid).pooler_output
        yield {"what": "vision, 16 frames"} | distances(ours, reference, truth)
        del exact, truth
        features = self.tower.features(frames).to(self.bench.dtype)
        yield {"what": "language, 16 frames and a question"} | self.language_distances(features, len(frames) // 2)

    def language_distances(self, features: Any, slices: int) -> dict[str, Any]:
        """Logits after a question: through the kept prefix, and by the reference from the beginning."""
        prefix = self.prefix(self.decoder, features, slices)
        words = [place % 500 for place in range(QUESTION_TOKENS)]
        at = positions.text_positions(QUESTION_TOKENS, prefix.next_position, self.bench.device)
        with torch.inference_mode():
            ours = self.decoder.fork(prefix, [(self.decoder.embedded(words), at)], steps=1).logits.float()
            down, across = self.tower.grid(HEIGHT_PX, WIDTH_PX)
            video = positions.video_positions(slices, down, across, 40, per_slice=28.0, device=self.bench.device)
            places = torch.cat([positions.text_positions(40, 0, self.bench.device), video, at], dim=1)[:, None]
            rows = torch.cat([self.decoder.embedded(range(10, 50)), features, self.decoder.embedded(words)])[None]
            text = self.model.model.language_model
            last = text(inputs_embeds=rows, position_ids=places, use_cache=False).last_hidden_state[:, -1]
            reference = self.model.lm_head(last).float()
            exact = wide_copy(text, self.bench.device)
            last = exact(inputs_embeds=rows.float(), position_ids=places, use_cache=False).last_hidden_state[:, -1]
            truth = torch.nn.functional.linear(last, self.model.lm_head.weight.float())
        return distances(ours, reference, truth)

    def reference(self) -> Iterator[dict[str, Any]]:
        """Plain transformers: tower in chunks of 16 frames, one prefill, one further question token by token."""
        down, across = self.tower.grid(HEIGHT_PX, WIDTH_PX)
        visual, text = self.model.model.visual, self.model.model.language_model

        def see() -> Any:
            rows = []
            for at in range(0, len(self.frames), 16):
                frames = self.frames[at : at + 16]
                grid = torch.tensor([[len(frames) // 2, 2 * down, 2 * across]], device=self.bench.device)
                rows.append(
                    visual(self.tower._patches(frames, down, across).flatten(0, 1), grid_thw=grid).pooler_output
                )
            return torch.cat(rows)

        with torch.inference_mode():
            yield {"what": "vision tower, 16 frames at once", "seconds": self.bench.timed(see, times=1, warm=0)}
            rows = torch.cat([self.decoder.embedded(range(10, 50)), see().to(self.bench.dtype)])[None]
            device = self.bench.device
            video = positions.video_positions(len(self.frames) // 2, down, across, 40, per_slice=28.0, device=device)
            places = torch.cat([positions.text_positions(40, 0, device), video], dim=1)[:, None]
            fill = partial(text, inputs_embeds=rows, position_ids=places, use_cache=True)
            self.bench.fresh()
            yield {"what": "prefill", "seconds": self.bench.timed(fill, times=1), "peak_gb": self.bench.peak_gb()}
            cache, start = fill().past_key_values, int(places.max()) + 1

            def question() -> None:
                at = positions.text_positions(QUESTION_TOKENS, start, device)[:, None]
                rows = self.decoder.embedded(range(QUESTION_TOKENS))[None]
                for step in range(ANSWER_TOKENS):
                    last = text(inputs_embeds=rows, position_ids=at, past_key_values=cache, use_cache=True)
                    token = self.model.lm_head(last.last_hidden_state[:, -1]).argmax(-1)
                    rows = self.decoder.embedding[token][None]
                    at = positions.text_positions(1, start + QUESTION_TOKENS + step, device)[:, None]
                cache.crop(-(QUESTION_TOKENS + ANSWER_TOKENS - 1))

            yield {"what": "a further question", "seconds": self.bench.timed(question)}

    def profile(self) -> Iterator[dict[str, Any]]:
        """The kernels that take longest: one chunk of the tower, and one question."""
        if self.bench.device != "cuda":
            return
        features = self.tower.features(self.frames[:256])
        prefix = self.prefix(self.decoder, features, 128)
        calls: dict[str, Callable[[], Any]] = {
            "tower, 64 slices": lambda: self.tower.features(self.frames[:128], slices_at_once=64),
            "prefill of 18,432": lambda: self.prefix(self.decoder, features, 128),
            "question": lambda: self.answer(self.decoder, prefix, 1, record=False),
        }
        activity = torch.profiler.ProfilerActivity.CUDA
        for name, call in calls.items():
            call()
            with torch.profiler.profile(activities=[activity]) as taken:
                call()
                self.bench.sync()
            events = sorted(taken.key_averages(), key=lambda e: -e.self_device_time_total)[:14]
            for event in events:
                ms = round(event.self_device_time_total / 1000, 2)
                yield {"what": name, "kernel": event.key[:70], "calls": event.count, "ms": ms}


def distances(ours: Any, reference: Any, truth: Any) -> dict[str, Any]:
    scale = truth.abs().mean()
    return {
        "ours from reference": f"{float((ours - reference).abs().mean() / scale):.2e}",
        "ours from float32": f"{float((ours - truth).abs().mean() / scale):.2e}",
        "reference from float32": f"{float((reference - truth).abs().mean() / scale):.2e}",
        "largest, ours from float32": f"{float((ours - truth).abs().max() / scale):.2e}",
        "largest, reference from float32": f"{float((reference - truth).abs().max() / scale):.2e}",
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=200.0)
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--whole", action="store_true", help="the whole engine as it serves, beside transformers")
    options.add_argument("--only", default="", help="names of parts, with commas between")
    given = options.parse_args()
    torch.set_num_threads(1 if given.tiny else torch.get_num_threads())
    bench = Bench(given.out, given.seconds, tiny=given.tiny, only=given.only)
    parts = Parts(bench)
    bench.run("machine", 0, parts.machine)
    bench.run("build", 0, parts.build)
    if parts.model is None:
        sys.exit("the model could not be built; see above")
    if given.whole:
        whole_engine(bench, parts)
    else:
        parts_alone(bench, parts)
    print(markdown(bench.record), flush=True)


def whole_engine(bench: Bench, parts: Parts) -> None:
    """The engine as it serves."""
    bench.run("compile", 30, parts.compile)
    whole = import_module("gpu_whole").Whole(bench, parts, wide_copy)
    bench.run("start", 0, whole.start)
    bench.run("served", 25, whole.served)
    bench.run("batch", 10, whole.batch)
    bench.run("same", 40, whole.same)
    bench.run("deadline", 25, whole.deadline)
    bench.run("states", 35, whole.states)
    bench.run("growth of the whole", 45, whole.growth)


def parts_alone(bench: Bench, parts: Parts) -> None:
    """Tower and decoder, apart."""
    chunks = (2, 4) if bench.tiny else (8, 32, 64, 128, 384)
    bench.run("vision", 15, lambda: parts.vision((64,)))
    bench.run("compile", 40, parts.compile)
    bench.run("vision", 15, lambda: parts.vision(chunks))
    bench.run("prefill", 20, parts.prefill)
    bench.run("questions", 15, parts.questions)
    bench.run("first answer", 15, parts.first_answer)
    bench.run("equal", 15, parts.equal)
    bench.run("profile", 10, parts.profile)
    bench.run("products", 5, parts.products)
    bench.run("window attention", 5, parts.window_attention)
    bench.run("reference", 20, parts.reference)
    bench.run("growth", 40, parts.growth)


if __name__ == "__main__":
    main()
