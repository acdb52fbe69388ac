"""Weights as files of 8 bits each, and what the heads say as text."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from . import words
from .model import Heads, Marks, Sees, Size
from .store import Vocabulary
from .words import CLASSES, Asked

LEAST_CHANCE = 0.35
"""A mark that is weaker is not listed."""


def save(path: Path, state: dict[str, Tensor], size: Size, vocabulary: Vocabulary) -> str:
    """Write weights with 8 bits each (and one scale per row; small tensors as they are) and return their hash."""
    arrays: dict[str, np.ndarray] = {}
    for name, tensor in state.items():
        values = tensor.detach().float().cpu().numpy()
        if values.ndim < 2 or values.size < 512:
            arrays[f"plain/{name}"] = values.astype(np.float32)
            continue
        rows = values.reshape(len(values), -1)
        scale = np.maximum(np.abs(rows).max(1, keepdims=True), 1e-12) / 127
        arrays[f"bytes/{name}"] = np.rint(rows / scale).astype(np.int8).reshape(values.shape)
        arrays[f"scale/{name}"] = scale[:, 0].astype(np.float32)
    about = {"size": asdict(size), "words": vocabulary.words, "answers": vocabulary.answers}
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with open(path, "wb") as handle:
        np.savez(handle, **arrays)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load(path: Path) -> tuple[Sees, Vocabulary]:
    """The model of a file, ready to answer, and its words."""
    with np.load(path) as arrays:
        about = json.loads(bytes(arrays["about"]))
        state = {}
        for key in arrays.files:
            form, _, name = key.partition("/")
            if form == "plain":
                state[name] = torch.from_numpy(arrays[key])
            elif form == "bytes":
                scale = arrays[f"scale/{name}"].reshape(-1, *[1] * (arrays[key].ndim - 1))
                state[name] = torch.from_numpy(arrays[key].astype(np.float32) * scale)
    size = Size(**{name: tuple(v) if isinstance(v, list) else v for name, v in about["size"].items()})
    model = Sees(size)
    model.load_state_dict(state)
    return model.eval(), Vocabulary(about["words"], about["answers"])


def parameters(model: nn.Module) -> int:
    """How many numbers were learned."""
    return sum(weight.numel() for weight in model.parameters())


def answer_text(asked: Asked, heads: Heads, row: int, *, start_s: float, window_s: float, answers: list[str],
                times: Tensor | None = None, marks: Marks | None = None) -> str:  # fmt: skip
    """The answer to one question of a batch, in the format that it asks for."""
    kind = asked.kind
    if kind == "binary":
        return ("no", "yes")[int(heads.binary[row].argmax())]
    if kind == "number":
        return str(int(heads.number[row].argmax()))
    if kind == "percentage":
        return f"{round(100 * float(heads.share[row]))}%"
    if kind == "duration":
        return words.clock(float(heads.share[row]) * window_s)
    if kind in ("time", "times"):
        at = float(times[row, int(heads.pointed[row].argmax())]) if times is not None else 0.0
        return words.clock(start_s + at)
    if kind == "class":
        return CLASSES[int(heads.one_class[row].argmax())]
    if kind == "classes":
        named = [name for name, chance in zip(CLASSES, heads.classes[row].tolist(), strict=True) if chance > 0]
        return ", ".join(sorted(named)) or "none"
    if kind == "choice":
        return asked.options[int(heads.choice[row, : len(asked.options)].argmax())]
    if kind in ("list", "matching"):
        return _placed(asked, marks, row)
    return answers[int(heads.answer[row].argmax())]


def _placed(asked: Asked, marks: Marks | None, row: int) -> str:
    """Objects with their quadrants: every one, or those that the question names."""
    rows: list[Any] = [] if marks is None else list(
        zip(marks.kind[row].tolist(), marks.strength[row].tolist(), marks.place[row].tolist(), strict=True)
    )  # fmt: skip
    if asked.kind == "list":
        return words.listed([(kind, place[0], place[1]) for kind, chance, place in rows if chance > LEAST_CHANCE])
    best = {CLASSES[kind]: words.quadrant(*place[:2]) for kind, _, place in reversed(rows)}
    return "; ".join(f"{name}: {best.get(name, words.QUADRANTS[0])}" for name in asked.each)
