"""An entrant of a few rules: reads the burned-in clock of simulated video and looks for simple colours.

    python clock_and_colours.py

Needs PyAV and numpy. White cloth is a sponge, yellow-brown a gallstone, green a specimen, strong blue a silicone
loop. That is hardly better than a good blind guess, which is the lesson of the demo: seeing a little is not enough.
It shows how an entrant reads its input and keeps to its budget.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import av
import numpy as np

try:
    from serve import serve  # in an image: the file beside this one
except ImportError:
    from surgeval.submissions.serve import serve

MOST_FRAMES, SAFETY, BLOCK_PX = 60, 0.6, 8
RULES = {
    "Sponge": (0.008, lambda r, g, b: (np.minimum(np.minimum(r, g), b) > 150) & (np.maximum(r, b) - g < 30)),
    "Gallstone": (0.004, lambda r, g, b: (r > 150) & (g > 0.68 * r) & (g < 0.88 * r) & (b < 0.42 * r)),
    "Specimen": (0.002, lambda r, g, b: (g > 60) & (g > 1.1 * r) & (g > 1.3 * b)),
    "Silicone Loop": (0.006, lambda r, g, b: (b > 110) & (b > 1.5 * r) & (b > 1.2 * g)),
}
"""For each class, the least share of the picture and the colour that counts."""
DIGITS = dict(zip("0123456789:", (
    "01110 10001 10011 10101 11001 10001 01110", "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00110 01000 10000 11111", "01110 10001 00001 00110 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010", "11111 10000 11110 00001 00001 10001 01110",
    "01110 10000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 00100 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110", "01110 10001 10001 01111 00001 00001 01110",
    "00000 00100 00100 00000 00100 00100 00000",
), strict=True))  # fmt: skip
GLYPHS = {np.array([[c == "1" for c in row] for row in text.split()]).tobytes(): d for d, text in DIGITS.items()}


def read_clock(picture: np.ndarray) -> int | None:
    """The second on the clock in the top left corner, or None where there is none."""
    scale = max(1, picture.shape[0] // 135)
    box = picture[scale : 10 * scale, scale : 50 * scale].mean(axis=2)
    if box.shape != (9 * scale, 49 * scale):
        return None
    dots = box.reshape(9, scale, 49, scale).mean(axis=(1, 3)) > 125
    signs = [GLYPHS.get(np.ascontiguousarray(dots[1:8, 6 * k + 1 : 6 * k + 6]).tobytes(), "?") for k in range(8)]
    text = "".join(signs)
    if not re.fullmatch(r"\d\d:\d\d:\d\d", text):
        return None
    hours, minutes, seconds = map(int, text.split(":"))
    return 3600 * hours + 60 * minutes + seconds


def classes_in(picture: np.ndarray) -> set[str]:
    """The classes whose colour covers enough of the picture, blocks averaged so that glints do not count."""
    height, width = (size // BLOCK_PX * BLOCK_PX for size in picture.shape[:2])
    if not height or not width:
        return set()
    blocks = picture[:height, :width].reshape(height // BLOCK_PX, BLOCK_PX, width // BLOCK_PX, BLOCK_PX, 3)
    colours = blocks.mean(axis=(1, 3))
    clock_rows = 11 * max(1, picture.shape[0] // 135) // BLOCK_PX + 1
    below = colours[clock_rows:] if len(colours) > 2 * clock_rows else colours
    red, green, blue = below[..., 0], below[..., 1], below[..., 2]
    return {name for name, (least, rule) in RULES.items() if rule(red, green, blue).mean() > least}


def frames(path: str, deadline: float) -> Iterator[tuple[float, np.ndarray]]:
    """Seconds into the file and pictures, evenly spread, until the deadline."""
    with av.open(path) as container:
        stream = container.streams.video[0]
        length_s = float(stream.duration * stream.time_base) if stream.duration else 0.0
        step_s, wanted_s = max(length_s / MOST_FRAMES, 0.2), 0.0
        for frame in container.decode(stream):
            if time.monotonic() > deadline:
                return
            at_s = frame.time or 0.0
            if at_s + 1e-6 >= wanted_s:
                wanted_s = at_s + step_s
                yield at_s, frame.to_ndarray(format="rgb24")


def answer(question: dict[str, Any]) -> str:
    """The answer in the format that the wording asks for."""
    deadline = time.monotonic() + SAFETY * question["budget_s"]
    seen: list[tuple[float, set[str]]] = []
    for at_s, picture in frames(question["video"], deadline):
        clock_s = read_clock(picture)
        seen.append((question["start_time"] + at_s if clock_s is None else clock_s, classes_in(picture)))
    if not seen:
        print(f"no picture in {question['video']}", file=sys.stderr)
    return worded(question["question"], seen, question["start_time"])


def worded(text: str, seen: list[tuple[float, set[str]]], start_s: float) -> str:
    """What was seen, as the question wants it."""
    low = text.casefold()
    asked = [name for name in RULES if name.casefold() in low]
    hits = [(at_s, found & set(asked) if asked else found) for at_s, found in seen]
    times = [at_s for at_s, found in hits if found]
    if "hh:mm:ss" in low:
        at = int((times[-1] if "last" in low else times[0]) if times else start_s)
        return f"{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"
    if re.search(r"yes\s*(/|or)\s*no", low):
        together = asked and any(set(asked) <= found for _, found in seen)
        return "yes" if together else "no"
    if "%" in low or "percent" in low:
        return f"{round(100 * len(times) / max(1, len(hits)))}%"
    if re.search(r"\bnumber\b|how (many|often)", low):
        return str(max((len(found) for _, found in hits), default=0))
    return ", ".join(sorted(set().union(*(found for _, found in seen)))) or "none"


if __name__ == "__main__":
    serve(answer, name="clock and colours (rules)")
