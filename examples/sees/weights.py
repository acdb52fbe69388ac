"""What was learned, as files: for torch, and as ONNX of 8 bits per weight for a participant without it."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, nn

from .asked import Vocabulary
from .learning import normal
from .model import HEIGHT, MARKS, MOST_FRAMES, WIDTH, Heads, Questions, Sees, Size, mark_width, summary_width
from .store import asked_tensors
from .words import read

KEPT = "learned.pt"
GRAPHS = ("eye", "frame", "film")
"""Files of the exported model: an image to marks, marks of one image to an answer, sums of many to an answer."""
LEAST_VALUES = 512
"""Smaller tensors keep their 32 bits."""


def rounded(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights as 8 bits each hold them, with one scale per row."""
    return {name: _rounded(value) if value.ndim > 1 and value.numel() >= LEAST_VALUES else value
            for name, value in state.items()}  # fmt: skip


def _rounded(value: Tensor) -> Tensor:
    scale = value.float().flatten(1).abs().amax(1).clamp(min=1e-12).view(-1, *[1] * (value.ndim - 1)) / 127
    return (torch.round(value / scale) * scale).to(value.dtype)


def save(path: Path, model: Sees, vocabulary: Vocabulary) -> None:
    """Keep the weights for training to go on or to answer again."""
    about = {"size": asdict(model.size), "words": vocabulary.words, "answers": vocabulary.answers}
    torch.save({"state": model.state_dict(), "about": json.dumps(about)}, path)


def load(path: Path) -> tuple[Sees, Vocabulary]:
    """The model of a file, ready to answer, and its words."""
    kept = torch.load(path, weights_only=True, map_location="cpu")
    about = json.loads(kept["about"])
    size = Size(**{name: tuple(v) if isinstance(v, list) else v for name, v in about["size"].items()})
    model = Sees(size)
    model.load_state_dict(kept["state"])
    return model.eval(), Vocabulary(about["words"], about["answers"])


def parameters(model: nn.Module) -> int:
    """How many numbers were learned."""
    return sum(weight.numel() for weight in model.parameters())


class _Part(nn.Module):
    """A part of the model, called with plain tensors."""

    def __init__(self, model: Sees, call: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.call = model, call

    def forward(self, *given: Tensor) -> Any:
        """What the part says."""
        return self.call(self.model, *given)


def _eye(model: Sees, picture: Tensor) -> tuple[Tensor, ...]:
    _, marks, total = model.look(normal(picture.permute(0, 3, 1, 2)))
    return marks.kind, marks.strength, marks.place, marks.described, marks.there, total


def _frame(model: Sees, words: Tensor, times: Tensor, window_s: Tensor, options: Tensor, option_times: Tensor,
           kind: Tensor, described: Tensor, there: Tensor, total: Tensor) -> tuple[Tensor, ...]:  # fmt: skip
    asked = Questions(words, times, window_s, options, option_times)
    return _said(model.frame(asked, described, there, kind, total))


def _film(model: Sees, words: Tensor, times: Tensor, window_s: Tensor, options: Tensor, option_times: Tensor,
          totals: Tensor, there: Tensor, when: Tensor) -> tuple[Tensor, ...]:  # fmt: skip
    return _said(model.read_long(Questions(words, times, window_s, options, option_times), totals, there, when))


def _said(heads: Heads) -> tuple[Tensor, ...]:
    return tuple(vars(heads).values())


def export(folder: Path, model: Sees, vocabulary: Vocabulary) -> tuple[str, int]:
    """Write the model as ONNX, weights as bytes; returns the hash over its files and how many bytes they are."""
    folder.mkdir(parents=True, exist_ok=True)
    model, size = model.eval().float().cpu(), model.size
    one = vars(asked_tensors([read("Is a clip visible? Answer with yes or no.")], [0.0], [0.0], vocabulary))
    total, totals = torch.zeros(1, summary_width(size)), torch.zeros(1, MOST_FRAMES, summary_width(size))
    said = list(Heads.__dataclass_fields__)
    parts: dict[str, tuple[Callable[..., Any], dict[str, Tensor], list[str]]] = {
        "eye": (_eye, {"picture": torch.zeros(1, HEIGHT, WIDTH, 3, dtype=torch.uint8)},
                ["kind", "strength", "place", "described", "there", "total"]),
        "frame": (_frame, one | {"kind": torch.zeros(1, MARKS, dtype=torch.long),
                                 "described": torch.zeros(1, MARKS, mark_width(size)),
                                 "there": torch.ones(1, MARKS, dtype=torch.bool), "total": total}, said),
        "film": (_film, one | {"totals": totals, "there": torch.ones(1, MOST_FRAMES, dtype=torch.bool),
                               "when": torch.zeros(1, MOST_FRAMES)}, said),
    }  # fmt: skip
    about = json.dumps({"words": vocabulary.words, "answers": vocabulary.answers}, separators=(",", ":"))
    digest, size_bytes = hashlib.sha256(), 0
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # its operator is torch's own
    for name, (call, given, outputs) in parts.items():
        path = folder / f"{name}.onnx"
        # This exporter needs nothing but onnx; it calls itself old, and warns of shapes, which are fixed here.
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            torch.onnx.export(
                _Part(model, call), tuple(given.values()), str(path), input_names=list(given), output_names=outputs,
                opset_version=17, dynamo=False,
            )  # fmt: skip
        graph = onnx.load(path)
        _as_bytes(graph.graph)
        if name == "frame":
            helper.set_model_props(graph, {"about": about})
        onnx.checker.check_model(graph)
        path.write_bytes(graph.SerializeToString(deterministic=True))
        digest.update(path.read_bytes())
        size_bytes += path.stat().st_size
    torch.backends.mha.set_fastpath_enabled(fast)
    return digest.hexdigest(), size_bytes


def _as_bytes(graph: Any) -> None:
    """Weights as 8 bits with a scale per row or column, whichever gives them back; opened where they are read."""
    opened, kept = [], []
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.ndim < 2 or values.size < LEAST_VALUES:
            kept.append(tensor)
            continue
        ways = [_bytes_along(values, axis) for axis in range(values.ndim)]
        lost, axis, scale, small = min(ways, key=lambda one: one[0])
        assert lost <= 1e-5 * np.abs(values).max(), f"{tensor.name}: rounded otherwise than for training"
        names = [f"{tensor.name}.bytes", f"{tensor.name}.scale", f"{tensor.name}.zero"]
        zero = np.zeros(len(scale), np.int8)
        kept += [numpy_helper.from_array(value, name) for value, name in zip((small, scale, zero), names, strict=True)]
        opened.append(helper.make_node("DequantizeLinear", names, [tensor.name], axis=axis))
    del graph.initializer[:]
    graph.initializer.extend(kept)
    nodes = list(graph.node)
    del graph.node[:]
    graph.node.extend([*opened, *nodes])


def _bytes_along(values: np.ndarray, axis: int) -> tuple[float, int, np.ndarray, np.ndarray]:
    """How far bytes with a scale along an axis are from the values, the axis, the scales, the bytes."""
    others = tuple(k for k in range(values.ndim) if k != axis)
    scale = np.maximum(np.abs(values).max(others), 1e-12).astype(np.float32) / np.float32(127)
    wide = np.expand_dims(scale, others)
    small = np.rint(values / wide).astype(np.int8)
    return float(np.abs(values - small * wide).max()), axis, scale, small
