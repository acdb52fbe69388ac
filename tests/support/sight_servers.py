"""What servers see of the pictures that they are sent: those that look, and those that do not."""

from __future__ import annotations

import base64
import io
import json
import re
from typing import Any

import numpy as np

QUESTION = "Which colour is the shape?"
COLOURS = {"red": (220, 30, 30), "green": (30, 170, 50), "blue": (40, 70, 220), "yellow": (240, 220, 40)}
_DATA = re.compile(r"(?:base64,|^)((?:/9j/|iVBOR)[A-Za-z0-9+/]+=*)$")


def is_probe(body: dict[str, Any]) -> bool:
    """Whether a request is a probe of sight with or without its picture."""
    return QUESTION in json.dumps(body)


def pictures_in(body: Any) -> list[np.ndarray]:
    """The pictures of a request in any protocol, in their order."""
    if isinstance(body, dict):
        return [picture for value in body.values() for picture in pictures_in(value)]
    if isinstance(body, list):
        return [picture for value in body for picture in pictures_in(value)]
    match = _DATA.search(body) if isinstance(body, str) else None
    return [_decoded(base64.b64decode(match[1]))] if match else []


def _decoded(data: bytes) -> np.ndarray:
    import av

    with av.open(io.BytesIO(data)) as container:
        return next(container.decode(video=0)).to_ndarray(format="rgb24").astype(int)


def seen_colour(pictures: list[np.ndarray]) -> str | None:
    """The colour of the large shape on the last picture; None where there is none."""
    for picture in reversed(pictures[-1:]):
        pixel = picture[int(picture.shape[0] * 0.62), picture.shape[1] // 2]
        if max(pixel) - min(pixel) > 60:
            return min(COLOURS, key=lambda name: sum((pixel - np.array(COLOURS[name])) ** 2))
    return None


def read_word(pictures: list[np.ndarray]) -> str | None:
    """The word on the last picture by the width of its letters and its dark pixels alone: no colour is looked at."""
    from surgvalid.models._sight import word_mask

    picture = pictures[-1].max(axis=2) < 90
    best, fits = None, 0.9
    for word in COLOURS:
        mask = word_mask(word)
        scale = min(picture.shape[1] // (mask.shape[1] + 2), picture.shape[0] // 20)
        if scale:
            large = np.kron(mask, np.ones((scale, scale), dtype=bool))
            place = picture[scale : scale + large.shape[0], scale : scale + large.shape[1]]
            ends = not picture[scale : scale + large.shape[0], scale + large.shape[1] : scale * 30].any()
            share = float((place == large).mean())
            if ends and share > fits:
                best, fits = word, share
    return best
