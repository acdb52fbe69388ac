"""Places of tokens in time, height and width, as Qwen2.5-VL was trained with them.

Text counts up, the same on all three axes. A video starts where text stopped; its slices stand apart by their seconds
times the model's tokens per second, so that a film sampled coarsely and one sampled finely agree on how long a minute
is. Text goes on after the largest place so far. (Some releases of `transformers` go on after the width of a frame
instead, which for a long video lies inside it.)
"""

from __future__ import annotations

from typing import Any

from ._torch import torch


def text_positions(count: int, start: int, device: Any = None) -> Any:
    """Places of `count` tokens of text, `(3, count)`."""
    return (torch.arange(count, device=device) + start).expand(3, -1)


def video_positions(
    slices: int, down: int, across: int, start: int, *, per_slice: float = 1.0, device: Any = None
) -> Any:
    """Places of the merged patches of a video, `(3, slices x down x across)`.

    Args:
        slices: Of two frames each.
        down: Merged patches of a frame from top to bottom.
        across: From left to right.
        start: Place of the first.
        per_slice: Seconds between slices times the model's tokens per second; 1 for a picture.
        device: Where they lie.
    """
    time = (torch.arange(slices, device=device) * per_slice).long() + start
    rows, columns = (torch.arange(side, device=device) + start for side in (down, across))
    return torch.stack(torch.meshgrid(time, rows, columns, indexing="ij")).flatten(1)
