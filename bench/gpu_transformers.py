"""Seconds, tokens and memory of `transformers:FOLDER` on one GPU, with random weights in the shape of Qwen2.5-VL-7B.

    PYTHONPATH=src python bench/gpu_transformers.py --out OUT --seconds 240

The weights are drawn on the GPU, saved to a folder as a model is, with a processor, and from there on everything is
what `surgvalid task ask` and `task run` do: `open_model("transformers:FOLDER")` and `ask_all` over prompts with
images in files. A video is shown as its frames, one image each. Needs torch, transformers, Pillow and polars, and
17 GB of disk. Every part is written to OUT/transformers.json and OUT/transformers.md as soon as it is there; what no
longer fits the seconds is left out and listed. `--tiny` runs all of it in seconds on a CPU, to see that it works.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # type: ignore[import-not-found]
from transformers.processing_utils import ProcessorMixin

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu_long_video import LARGE, TINY, Bench, markdown, random_model  # type: ignore[import-not-found]

from surgvalid.models import Outcome, Prompt, PromptImage, ask_all, open_model

WORDS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{% for block in message.content %}"
    "{% if block.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ block.text }}{% endif %}"
    "{% endfor %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
QUESTION = "Which instruments are visible? Answer with their names."
ANSWER_TOKENS = 33
"""Of which the first is timed apart."""


class Load(NamedTuple):
    """What one request shows, and how many are asked together."""

    pictures: int
    batch: int
    width_px: int = 448
    height_px: int = 252

    @property
    def batches(self) -> int:
        """How many are timed: few where one is long."""
        return 1 if self.pictures * self.batch >= 128 else 3


IMAGES = (
    Load(1, 1), Load(1, 8), Load(1, 32), Load(4, 1), Load(4, 8), Load(16, 1), Load(16, 8), Load(1, 1, 952, 532),
    Load(1, 8, 952, 532),
)  # fmt: skip
VIDEO = (Load(16, 1), Load(64, 1), Load(256, 1), Load(16, 4), Load(64, 4), Load(256, 2))


def bytewise_tokenizer() -> Any:
    """A tokenizer of single bytes, and the words around images; the real one cannot be had without its files."""
    alphabet = ["<pad>", "<eos>", "<bos>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    whole = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(alphabet)}, merges=[], unk_token="<unk>"))
    whole.pre_tokenizer, whole.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokens = transformers.PreTrainedTokenizerFast(
        tokenizer_object=whole, pad_token="<pad>", eos_token="<eos>", bos_token="<bos>", unk_token="<unk>",
        model_max_length=128000, extra_special_tokens={"image_token": WORDS[2], "video_token": WORDS[3]},
    )  # fmt: skip
    tokens.add_tokens(list(WORDS), special_tokens=True)
    return tokens


def saved_processor(folder: Path) -> dict[str, int]:
    """Save a processor of the family; the numbers of its words, for the model's configuration."""
    tokens = bytewise_tokenizer()
    if importlib.util.find_spec("torchvision") is None:
        every = ProcessorMixin.get_attributes.__func__
        fewer = classmethod(lambda cls: [name for name in every(cls) if name != "video_processor"])
        ProcessorMixin.get_attributes = fewer
        parts: tuple[Any, ...] = (transformers.Qwen2VLImageProcessorPil(), tokens)
    else:
        parts = (transformers.Qwen2VLImageProcessor(), tokens, transformers.Qwen2VLVideoProcessor())
    transformers.Qwen2_5_VLProcessor(*parts, chat_template=TEMPLATE).save_pretrained(folder)
    names = ("vision_start_token_id", "vision_end_token_id", "image_token_id", "video_token_id")
    return dict(zip(names, tokens.convert_tokens_to_ids(list(WORDS)), strict=True))


class Parts:
    """What is measured, one method each."""

    def __init__(self, bench: Any, folder: Path) -> None:
        self.bench, self.folder = bench, folder
        self.model: Any = None
        self.numbers = count()
        self.frames: dict[tuple[int, int], list[PromptImage]] = {}
        self.inputs = SimpleNamespace(seconds=0.0, calls=0)

    def save(self) -> Iterator[dict[str, Any]]:
        shape = (TINY if self.bench.tiny else LARGE) | saved_processor(self.folder)
        begin = time.perf_counter()
        model = random_model(shape, self.bench.device, self.bench.dtype)
        built = time.perf_counter()
        model.save_pretrained(self.folder)
        size = sum(path.stat().st_size for path in self.folder.iterdir())
        yield {
            "parameters": sum(p.numel() for p in model.parameters()), "drawn_s": round(built - begin, 1),
            "saved_s": round(time.perf_counter() - built, 1), "folder_gb": round(size / 1e9, 2),
        }  # fmt: skip

    def load(self) -> Iterator[dict[str, Any]]:
        begin = time.perf_counter()
        model: Any = open_model(f"transformers:{self.folder}", device=self.bench.device)
        opened = time.perf_counter()
        model.load()
        self.bench.sync()
        self.model, self._plain = model, model._inputs
        model._inputs = self.timed_inputs
        yield {
            "opened_s": round(opened - begin, 1), "loaded_s": round(time.perf_counter() - opened, 1),
            "dtype": str(model.load().model.dtype), "attention": model.load().model.config._attn_implementation,
            "images through": type(model.load().processor.image_processor).__name__,
            "memory_gb": self.bench.peak_gb(),
        }  # fmt: skip

    def timed_inputs(self, *arguments: Any) -> Any:
        """What the model's own method gives; its seconds are counted: files read, images cut, moved to the GPU."""
        begin = time.perf_counter()
        inputs = self._plain(*arguments)
        self.bench.sync()
        self.inputs.seconds += time.perf_counter() - begin
        self.inputs.calls += 1
        return inputs

    def shown(self, load: Load) -> list[PromptImage]:
        """The images of one request, from a few files of noise."""
        size = (load.height_px, load.width_px)
        if size not in self.frames:
            chance, kept = np.random.default_rng(0), []
            for number in range(16):
                path = self.folder / f"frame-{size[0]}-{number}.jpg"
                coarse = Image.fromarray(chance.integers(0, 256, (size[0] // 7, size[1] // 7, 3), dtype=np.uint8))
                coarse.resize((size[1], size[0])).save(path, quality=90)
                kept.append(PromptImage(path, path.name))
            self.frames[size] = kept
        return [self.frames[size][next(self.numbers) % 16] for _ in range(load.pictures)]

    def asked(self, load: Load, batches: int, max_tokens: int) -> tuple[float, list[Outcome]]:
        """Seconds for so many batches, and what became of their requests."""
        prompts = [
            Prompt(f"q{i}", (*self.shown(load), QUESTION), max_tokens=max_tokens) for i in range(batches * load.batch)
        ]
        outcomes: list[Outcome] = []
        self.inputs = SimpleNamespace(seconds=0.0, calls=0)
        begin = time.perf_counter()
        ask_all(self.model, prompts, done=lambda _, outcome: outcomes.append(outcome))
        return time.perf_counter() - begin, outcomes

    def row(self, load: Load) -> dict[str, Any]:
        """Both runs of one load, the one for the first token alone and the one for all."""
        self.model.options = self.model.options.__class__(batch=load.batch, device=self.bench.device)
        self.asked(load, 1, 1)
        self.bench.fresh()
        first_s, _ = self.asked(load, load.batches, 1)
        whole_s, outcomes = self.asked(load, load.batches, ANSWER_TOKENS)
        requests, failed = len(outcomes), [outcome.reason for outcome in outcomes if not outcome.answered]
        tokens_in, tokens_out = (sum(getattr(o, name) for o in outcomes) for name in ("tokens_in", "tokens_out"))
        return {
            "images": load.pictures, "size": f"{load.width_px} x {load.height_px}", "batch": load.batch,
            "tokens in": tokens_in // requests, "seconds each": round(whole_s / requests, 3),
            "of it inputs": round(self.inputs.seconds / requests, 3), "first token": round(first_s / requests, 3),
            "tokens in per s": round(tokens_in / first_s),
            "tokens out per s": round((tokens_out - requests) / max(whole_s - first_s, 1e-9)),
            "requests per minute": round(60 * requests / whole_s, 1), "peak_gb": self.bench.peak_gb(),
            "together": self.inputs.calls == load.batches, "failed": failed[0][:80] if failed else "",
        }  # fmt: skip

    def rows(self, loads: tuple[Load, ...]) -> Iterator[dict[str, Any]]:
        for load in loads[:2] if self.bench.tiny else loads:
            left = self.bench.seconds - (time.monotonic() - self.bench.start)
            if left < (0 if self.bench.tiny else 6 + load.pictures * load.batch / 8):
                self.bench.record["left_out"].append(f"{load}: {left:.0f} s left")
                continue
            small = load._replace(width_px=84, height_px=56, pictures=min(load.pictures, 4), batch=min(load.batch, 2))
            yield self.row(small if self.bench.tiny else load)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=240.0)
    options.add_argument("--tiny", action="store_true")
    given = options.parse_args()
    torch.set_num_threads(1 if given.tiny else torch.get_num_threads())
    bench = Bench(given.out, given.seconds, tiny=given.tiny, name="transformers")
    with tempfile.TemporaryDirectory() as folder:
        parts = Parts(bench, Path(folder))
        bench.run("machine", 0, lambda: iter([bench.machine()]))
        bench.run("save", 0, parts.save)
        bench.run("load", 0, parts.load)
        if parts.model is None:
            sys.exit("the model could not be loaded; see above")
        bench.run("images", 10, lambda: parts.rows(IMAGES))
        bench.run("video", 10, lambda: parts.rows(VIDEO))
        parts.model.close()
    print(markdown(bench.record), flush=True)


if __name__ == "__main__":
    main()
