"""LoRA of an image-text-to-text model on questions with frames; needs torch, transformers and peft alone.

Only answers are learned: the loss looks at the tokens after the prompt. Examples of like length share a batch, so that
little of it is padding; they become tensors when their turn comes, so ten thousand of them take the memory of two
batches. Padding stands on the left, so that answers end together and only the last few rows of logits are ever
computed. Everything that is drawn comes from the seed, and a run that was stopped goes on with the
very batches that it would have had.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

LANGUAGE = r"^(?!.*(visual|vision|image|audio)).*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)$"
"""Linear layers of the language half, in the names that open models have in common."""
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its images and the answer to learn."""

    parts: tuple[Any, ...]
    """Texts, and images as the processor takes them or as paths, in the order in which they are shown."""
    answer: str
    system: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """How it is trained."""

    steps: int = 1000
    batch: int = 8
    rate: float = 1e-4
    warm_up: int = 20
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    seed: int = 0
    save_every: int = 200
    checkpointing: bool = True


def adapted(model: Any, settings: Settings) -> Any:
    """The model with a LoRA adapter on its language half; everything else is frozen."""
    import peft

    torch.manual_seed(settings.seed)
    config = peft.LoraConfig(
        r=settings.rank, lora_alpha=settings.alpha, lora_dropout=settings.dropout, target_modules=LANGUAGE,
        task_type="CAUSAL_LM",
    )  # fmt: skip
    if settings.checkpointing:
        model.config.use_cache = False
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    wrapped = peft.get_peft_model(model, config)
    for parameter in wrapped.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()  # steps of 1e-4 vanish in 8 bits of mantissa
    return wrapped


# --- examples as tensors ---------------------------------------------------------------------------------------------


def encoded(processor: Any, example: Example) -> dict[str, Any]:
    """Inputs of one example: prompt by the processor, then the answer and the end; `answer` is its length in tokens."""
    tokenizer = getattr(processor, "tokenizer", processor)
    pictures = [opened(piece) for piece in example.parts if not isinstance(piece, str)]
    blocks = [
        {"type": "text", "text": piece} if isinstance(piece, str) else {"type": "image"} for piece in example.parts
    ]
    system = [{"role": "system", "content": [{"type": "text", "text": example.system}]}] if example.system else []
    prompt = processor.apply_chat_template(
        [*system, {"role": "user", "content": blocks}], tokenize=False, add_generation_prompt=True
    )
    settings = {"return_tensors": "pt", "add_special_tokens": False}
    inputs = dict(
        processor(text=[prompt], images=[pictures], **settings) if pictures else tokenizer([prompt], **settings)
    )
    answer = [*tokenizer(example.answer, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    shape = inputs["input_ids"].shape
    for name, tensor in inputs.items():
        if getattr(tensor, "shape", None) == shape and tensor.dim() == 2:
            more = {"input_ids": answer, "attention_mask": [1] * len(answer), "token_type_ids": [1] * len(answer)}
            tail = torch.tensor([more.get(name, [0] * len(answer))], dtype=tensor.dtype)
            inputs[name] = torch.cat([tensor, tail], dim=1)
    inputs["answer"] = len(answer)
    return inputs


def opened(picture: Any) -> Any:
    """An image in three colours, from its file where a path was given."""
    if not isinstance(picture, Path):
        return picture
    from PIL import Image

    with Image.open(picture) as image:
        return image.convert("RGB")


def together(examples: Sequence[dict[str, Any]], pad: int) -> tuple[dict[str, Any], Any]:
    """One batch, padded on the left, and its labels: the last rows alone, as many as the longest answer."""
    longest = max(inputs["input_ids"].shape[1] for inputs in examples)
    batch: dict[str, Any] = {}
    for name in examples[0]:
        if name == "answer":
            continue
        tensors = [inputs[name] for inputs in examples]
        if tensors[0].shape == examples[0]["input_ids"].shape and tensors[0].dim() == 2:
            filler = pad if name == "input_ids" else 0
            tensors = [torch.nn.functional.pad(t, (longest - t.shape[1], 0), value=filler) for t in tensors]
        batch[name] = torch.cat(tensors)
    rows = max(inputs["answer"] for inputs in examples)
    labels = batch["input_ids"][:, -rows:].clone()
    for number, inputs in enumerate(examples):
        labels[number, : rows - inputs["answer"]] = _IGNORED
    return batch, labels


def lengths_of(processor: Any, examples: Sequence[Example]) -> list[int]:
    """Tokens of every example, without keeping pixels: images of one size are counted once, by the processor itself."""
    sizes: dict[Any, int] = {}
    counted = [_counted(processor, example, sizes) for example in examples]
    around = encoded(processor, examples[0])["input_ids"].shape[1] - counted[0] if examples else 0
    return [count + around for count in counted]


def _counted(processor: Any, example: Example, sizes: dict[Any, int]) -> int:
    tokenizer = getattr(processor, "tokenizer", processor)
    texts = [example.system, *(part for part in example.parts if isinstance(part, str)), example.answer]
    total = sum(len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts if text)
    for picture in (part for part in example.parts if not isinstance(part, str)):
        size = _size(picture)
        if size not in sizes:
            two, one = (Example((*[picture] * count, "?"), "") for count in (2, 1))
            sizes[size] = encoded(processor, two)["input_ids"].shape[1] - encoded(processor, one)["input_ids"].shape[1]
        total += sizes[size]
    return total


def _size(picture: Any) -> Any:
    if not isinstance(picture, Path):
        return getattr(picture, "size", None) or picture.shape
    from PIL import Image

    with Image.open(picture) as image:
        return image.size


class Prefetched:
    """Batches as tensors, each made by a thread while the one before is learned; two are in memory at a time.

    Args:
        processor: The model's own.
        examples: What to learn.
        order: Positions, batch after batch.
        pad: Token of padding.
    """

    def __init__(self, processor: Any, examples: Sequence[Example], order: Iterator[list[int]], pad: int) -> None:
        self.processor, self.examples, self.order, self.pad = processor, examples, order, pad
        self.threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="examples")
        self.coming = self.threads.submit(self._made)

    def __next__(self) -> tuple[dict[str, Any], Any]:
        ready = self.coming.result()
        self.coming = self.threads.submit(self._made)
        return ready

    def close(self) -> None:
        """End the thread."""
        self.threads.shutdown(wait=True, cancel_futures=True)

    def _made(self) -> tuple[dict[str, Any], Any]:
        return together([encoded(self.processor, self.examples[at]) for at in next(self.order)], self.pad)


def batches(lengths: Sequence[int], size: int, seed: int) -> Iterator[list[int]]:
    """Positions of examples, batch after batch without end: like lengths together, batches in an order of chance."""
    chance = torch.Generator().manual_seed(seed)
    while True:
        # Lengths are blurred by a tenth, so that batches differ between rounds.
        blurred = [length * (0.95 + 0.1 * float(torch.rand((), generator=chance))) for length in lengths]
        ordered = sorted(range(len(lengths)), key=blurred.__getitem__)
        groups = [ordered[at : at + size] for at in range(0, len(ordered), size)]
        for number in torch.randperm(len(groups), generator=chance).tolist():
            yield groups[number]


# --- what it will take -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Needs:
    """Memory and time: counted for weights and optimiser, measured on the longest batch for the rest."""

    weights_gb: float
    adapter_gb: float
    """With gradients and the two moments of the optimiser."""
    activations_gb: float
    """On a GPU the most that a step took; on a CPU a guess from the model's sizes."""
    tokens_per_step: int
    seconds_per_step: float
    seconds: float
    examples_gb: float = 0.0
    """Of the two batches of examples that are in the memory of the host at a time."""
    all_examples_gb: float = 0.0
    """Of all of them, if they were."""

    @property
    def memory_gb(self) -> float:
        """All of it."""
        return self.weights_gb + self.adapter_gb + self.activations_gb

    def lines(self) -> list[str]:
        """In words."""
        return [
            f"memory: about {self.memory_gb:.1f} GB (weights {self.weights_gb:.1f}, adapter with its optimiser "
            f"{self.adapter_gb:.2f}, activations {self.activations_gb:.1f})",
            f"examples: about {self.examples_gb:.2f} GB in the memory of the host at a time (all of them would take "
            f"{self.all_examples_gb:.1f}); they are made as they are needed",
            f"time: at most about {self.seconds_per_step:.2f} s a step of up to {self.tokens_per_step:,} tokens, "
            f"{self.seconds / 60:.1f} min in all",
        ]


def needs(model: Any, processor: Any, settings: Settings, examples: Sequence[Example], lengths: Sequence[int]) -> Needs:
    """What training will take, from two steps on the longest examples that change nothing.

    Args:
        model: With its adapter, on its device.
        processor: Its own.
        settings: How it is trained.
        examples: What to learn.
        lengths: Their tokens.
    """
    device = next(model.parameters()).device
    longest = sorted(range(len(examples)), key=lambda at: -lengths[at])[: settings.batch]
    pad = getattr(processor, "tokenizer", processor).pad_token_id
    batch, labels = together([encoded(processor, examples[at]) for at in longest], pad)
    held_gb = sum(tensor.numel() * tensor.element_size() for tensor in batch.values()) / 1e9
    batch, labels = {name: tensor.to(device) for name, tensor in batch.items()}, labels.to(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    held = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
    model.train()
    seconds = 0.0
    for _ in range(2):  # the first one chooses kernels
        begin = time.perf_counter()
        answer_loss(model, batch, labels).backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        model.zero_grad(set_to_none=True)
    tokens = batch["input_ids"].numel()
    taken = torch.cuda.max_memory_allocated(device) - held if device.type == "cuda" else _guessed(model, tokens, labels)
    frozen = sum(p.numel() * p.element_size() for p in model.parameters() if not p.requires_grad)
    adapter = sum(16 * p.numel() for p in model.parameters() if p.requires_grad)
    each_gb = held_gb / max(1, sum(lengths[at] for at in longest))
    return Needs(
        frozen / 1e9, adapter / 1e9, taken / 1e9, tokens, seconds, seconds * settings.steps, 2 * held_gb,
        each_gb * sum(lengths),
    )  # fmt: skip


def _guessed(model: Any, tokens: int, labels: Any) -> float:
    """Bytes of activations with checkpointing: what every layer keeps, one layer in full, and the logits."""
    config = model.config.get_text_config()
    inner = getattr(config, "intermediate_size", 4 * config.hidden_size)
    kept = 4 * tokens * (config.num_hidden_layers * config.hidden_size + 8 * config.hidden_size + 4 * inner)
    return float(kept + 10 * labels.numel() * config.vocab_size)


# --- training --------------------------------------------------------------------------------------------------------


def trained(
    model: Any, processor: Any, examples: Sequence[Example], settings: Settings, out: Path,
    *, say: Callable[[str], None] = print, seconds: float = math.inf,
) -> list[float]:  # fmt: skip
    """The loss of every step; the adapter lies in `out` afterwards.

    Args:
        model: With its adapter, on its device.
        processor: Its own.
        examples: What to learn.
        settings: How.
        out: Folder. What an earlier run left there is gone on with.
        say: Hears of progress.
        seconds: Stop after so many, with everything saved.
    """
    start, device = time.monotonic(), next(model.parameters()).device
    tokenizer = getattr(processor, "tokenizer", processor)
    lengths = lengths_of(processor, examples)
    for line in needs(model, processor, settings, examples, lengths).lines():
        say(line)
    start = time.monotonic()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=settings.rate, weight_decay=0.0)
    losses = _resumed(model, optimiser, settings, out, device)
    if losses:
        say(f"going on after step {len(losses)}")
    order = batches(lengths, settings.batch, settings.seed)
    for _ in losses:
        next(order)
    ready = Prefetched(processor, examples, order, tokenizer.pad_token_id)
    model.train()
    while len(losses) < settings.steps and time.monotonic() - start < seconds:
        step = len(losses)
        batch, labels = next(ready)
        for group in optimiser.param_groups:
            group["lr"] = settings.rate * _share(step, settings)
        loss = answer_loss(model, {name: tensor.to(device) for name, tensor in batch.items()}, labels.to(device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        losses.append(float(loss))
        if step % 10 == 0 or step + 1 == settings.steps:
            say(f"step {step + 1} of {settings.steps}: loss {losses[-1]:.4f}, {time.monotonic() - start:.0f} s")
        if (step + 1) % settings.save_every == 0:
            _saved(model, optimiser, settings, losses, out)
    ready.close()
    _saved(model, optimiser, settings, losses, out)
    model.eval()
    return losses


def answer_loss(model: Any, batch: dict[str, Any], labels: Any) -> Any:
    """Mean cross-entropy of the answers' tokens."""
    rows = labels.shape[1]
    logits = model(**batch, logits_to_keep=rows + 1, use_cache=False).logits[:, -rows - 1 : -1]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=_IGNORED)


def _share(step: int, settings: Settings) -> float:
    """Of the rate: rising at first, then half a cosine down to a tenth."""
    if step < settings.warm_up:
        return (step + 1) / settings.warm_up
    done = (step - settings.warm_up) / max(1, settings.steps - settings.warm_up)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, done)))


def _saved(model: Any, optimiser: Any, settings: Settings, losses: list[float], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(str(out / "adapter"))
    state = {name: p.detach().cpu() for name, p in model.named_parameters() if p.requires_grad}
    draft = out / "state.pt.part"
    torch.save({"adapter": state, "optimiser": optimiser.state_dict(), "losses": losses}, draft)
    draft.rename(out / "state.pt")  # a stop in the middle leaves the state before
    (out / "training.json").write_text(json.dumps({"settings": asdict(settings), "losses": losses}, indent=1))


def _resumed(model: Any, optimiser: Any, settings: Settings, out: Path, device: Any) -> list[float]:
    path = out / "state.pt"
    if not path.is_file():
        return []
    before = json.loads((out / "training.json").read_text())["settings"]
    differing = [name for name, value in asdict(settings).items() if name != "save_every" and before.get(name) != value]
    if differing:
        raise SystemExit(
            f"{out}: was trained with other settings ({', '.join(f'{n}={before.get(n)!r}' for n in differing)}); "
            "give the same ones to go on, or another folder"
        )
    state = torch.load(path, map_location=device, weights_only=True)
    named = dict(model.named_parameters())
    with torch.no_grad():
        for name, tensor in state["adapter"].items():
            named[name].copy_(tensor)
    optimiser.load_state_dict(state["optimiser"])
    return list(state["losses"])
