"""A hundred steps of LoRA on one GPU, on a model of 3.8 thousand million random weights in Qwen2.5-VL-3B's shape.

    python bench/gpu_finetune.py --out OUT --seconds 80

Needs torch, transformers and peft. Images are painted here: coloured squares, and questions about their colour and
number. Random weights cannot become good; what is shown is that memory and time are as announced, that the loss falls,
and that the adapter, saved and loaded into a fresh copy of the model, changes its answers as it did here.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import peft
import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "finetune"))
import lora  # type: ignore[import-not-found]
from gpu_long_video import TINY, random_model  # type: ignore[import-not-found]

SHAPE = {
    "text_config": {
        "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16,
        "num_key_value_heads": 2, "vocab_size": 151936, "max_position_embeddings": 128000,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0, "mrope_section": [16, 24, 24]},
    },
    "vision_config": {
        "depth": 32, "hidden_size": 1280, "num_heads": 16, "intermediate_size": 3420, "out_hidden_size": 2048,
        "fullatt_block_indexes": [7, 15, 23, 31], "window_size": 112, "tokens_per_second": 2,
    },
}  # fmt: skip
PAD, EOS, IMAGE, START, END, FIRST = 0, 1, 2, 3, 4, 8
COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (40, 60, 220), "white": (235, 235, 235)}
IDS = {"image_token_id": IMAGE, "video_token_id": 5, "vision_start_token_id": START, "vision_end_token_id": END}


class Bytes:
    """A tokenizer whose words are bytes."""

    pad_token_id, eos_token_id = PAD, EOS

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [FIRST + byte for byte in text.encode()]}

    def decode(self, tokens: list[int]) -> str:
        kept = [token - FIRST for token in tokens if FIRST <= token < FIRST + 256]
        return bytes(kept).decode(errors="replace")


class Processor:
    """Images as patches and text as bytes: as much of a processor as training needs."""

    tokenizer = Bytes()

    def apply_chat_template(self, messages: list[dict[str, Any]], **_: Any) -> str:
        blocks = messages[0]["content"]
        return "".join("\x00" if block["type"] == "image" else block["text"] for block in blocks) + "\n"

    def __call__(self, text: list[str], images: list[list[Any]], **_: Any) -> dict[str, Any]:
        patches, grids, tokens = [], [], []
        for picture in images[0]:
            down, across = (side // 28 for side in picture.shape[:2])
            numbers = torch.from_numpy(picture).permute(2, 0, 1).float() / 127.5 - 1
            split = numbers.expand(2, -1, -1, -1).reshape(2, 3, down, 2, 14, across, 2, 14)
            patches.append(split.permute(2, 5, 3, 6, 1, 0, 4, 7).reshape(down * across * 4, -1))
            grids.append([1, 2 * down, 2 * across])
        for letter in text[0]:
            size = grids[0][1] * grids[0][2] // 4
            tokens += [START, *[IMAGE] * size, END] if letter == "\x00" else self.tokenizer(letter)["input_ids"]
        ids = torch.tensor([tokens])
        return {
            "input_ids": ids, "attention_mask": torch.ones_like(ids), "pixel_values": torch.cat(patches),
            "image_grid_thw": torch.tensor(grids), "mm_token_type_ids": (ids == IMAGE).int(),
        }  # fmt: skip


def painted(count: int, side: int, seed: int) -> list[lora.Example]:
    """Images with one to three squares of one colour, and a question about each."""
    chance = np.random.default_rng(seed)
    examples = []
    for number in range(count):
        picture = chance.integers(0, 60, (side, side, 3), dtype=np.uint8)
        colour, squares = str(chance.choice(list(COLOURS))), int(chance.integers(1, 4))
        for square in range(squares):
            top, left = chance.integers(0, side // 2), square * side // 3
            picture[top : top + side // 4, left : left + side // 4] = COLOURS[colour]
        asks_colour = number % 2 == 0
        text = "Which colour do the squares have?" if asks_colour else "How many squares are there?"
        examples.append(lora.Example((picture, text), colour if asks_colour else str(squares)))
    return examples


def answers(model: Any, examples: list[lora.Example], *, room: int = 8) -> list[str]:
    """Greedy answers, one at a time and without any cache: slow, and the same code before and after."""
    processor, device, texts = Processor(), next(model.parameters()).device, []
    for example in examples:
        inputs = lora.encoded(processor, example)
        length = inputs.pop("answer")
        for name in ("input_ids", "attention_mask", "mm_token_type_ids"):
            inputs[name] = inputs[name][:, :-length]
        inputs = {name: tensor.to(device) for name, tensor in inputs.items()}
        new: list[int] = []
        while len(new) < room and EOS not in new:
            with torch.inference_mode():
                token = int(model(**inputs, logits_to_keep=1, use_cache=False).logits[0, -1].argmax())
            new.append(token)
            for name, value in (("input_ids", token), ("attention_mask", 1), ("mm_token_type_ids", 0)):
                tail = torch.tensor([[value]], device=device, dtype=inputs[name].dtype)
                inputs[name] = torch.cat([inputs[name], tail], dim=1)
        texts.append(processor.tokenizer.decode(new))
    return texts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=80.0)
    options.add_argument("--steps", type=int, default=100)
    options.add_argument("--tiny", action="store_true")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    record: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="minutes"), "torch": torch.__version__,
        "transformers": transformers.__version__, "gpu": torch.cuda.get_device_name() if device == "cuda" else "none",
    }  # fmt: skip

    def keep(**facts: Any) -> None:
        record.update(facts)
        (given.out / "finetune.json").write_text(json.dumps(record, indent=1))
        shown = {name: value for name, value in facts.items() if name != "losses"}
        print(f"[{time.monotonic() - start:6.1f} s] {json.dumps(shown)}", flush=True)

    shape = (TINY if given.tiny else SHAPE) | IDS
    side, batch = (56, 4) if given.tiny else (224, 8)
    settings = lora.Settings(
        steps=given.steps, batch=batch, warm_up=5, rate=1e-2 if given.tiny else 1e-3, save_every=10**9
    )
    model = random_model(shape, device, dtype)
    keep(parameters=sum(p.numel() for p in model.parameters()))
    examples, held_out = painted(batch * 12, side, 0), painted(4, side, 1)
    before = answers(model, held_out)
    model = lora.adapted(model, settings)
    announced = lora.needs(model, Processor(), settings, examples, lora.lengths_of(Processor(), examples))
    keep(
        announced={
            "memory_gb": round(announced.memory_gb, 2), "seconds_per_step": round(announced.seconds_per_step, 3)
        }
    )  # fmt: skip
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    begin = time.monotonic()
    left = given.seconds - (begin - start) - 15
    losses = lora.trained(
        model,
        Processor(),
        examples,
        settings,
        given.out / "run",
        seconds=left,
        say=lambda text: print(text, flush=True),
    )
    taken = time.monotonic() - begin
    memory = round(torch.cuda.max_memory_allocated() / 1e9, 2) if device == "cuda" else None
    keep(
        steps=len(losses), seconds=round(taken, 1), seconds_per_step=round(taken / max(1, len(losses)), 3),
        tokens_per_step=announced.tokens_per_step, memory_gb=memory,
        loss_first_ten=round(float(np.mean(losses[:10])), 4), loss_last_ten=round(float(np.mean(losses[-10:])), 4),
        losses=[round(loss, 4) for loss in losses],
    )  # fmt: skip
    after = answers(model, held_out)
    keep(answers_before=before, answers_after=after, references=[example.answer for example in held_out])
    del model
    fresh = peft.PeftModel.from_pretrained(
        random_model(shape, device, dtype), str(given.out / "run" / "adapter")
    ).eval()
    again = answers(fresh, held_out)
    keep(
        reloaded_gives_the_same=again == after, answers_changed=before != after,
        adapter_mb=round((given.out / "run" / "adapter" / "adapter_model.safetensors").stat().st_size / 1e6, 1),
    )  # fmt: skip
    for path in (given.out / "run").rglob("*"):  # figures come back, weights of chance need not
        if path.suffix in (".pt", ".safetensors"):
            path.unlink()


if __name__ == "__main__":
    main()
