"""A participant of a few rules: reads the burned-in clock of simulated video and looks for simple colours.

    python clock_and_colours.py [TRAIN_REQUESTS.json TRAIN_REFERENCES.json]

Needs PyAV and numpy. White cloth is a sponge, green a specimen, a deep blue rim a specimen bag, purple a clip; to
everything else it is blind. With training files it answers like `template_prior.py` beside it, but with the most
frequent answer that agrees with what it saw. It shows how a participant reads its input and keeps to its budget.
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
    from surgvalid.submissions.serve import serve

Seen = dict[str, tuple[float, float]]  # classes found in an image, and where: down and right, from 0 to 1
MOST_FRAMES, SAFETY = 60, 0.6
RULES = {
    "Sponge": (4, 0.025, lambda r, _g, b, light: (light > 1.25) & (abs(r - 0.335) < 0.03) & (abs(b - 0.33) < 0.035)),
    "Specimen": (4, 0.0005, lambda r, g, b, _: (g > 0.37) & (g > 1.02 * r) & (g > 1.25 * b)),
    "Specimen Bag": (1, 0.0045, lambda r, _g, b, _: (b > 0.55) & (b - r > 0.25)),
    "Clip": (1, 0.0005, lambda r, g, b, _: (b > 0.38) & (r > 0.26) & (g < 0.26)),
}
"""Side of blocks that are averaged, least share of the image, colour by shares of red, green, blue and brightness."""
SMALL = MAY_STAY = {"Clip"}
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
    signs = (np.ascontiguousarray(dots[1:8, 6 * k + 1 : 6 * k + 6]).tobytes() for k in range(8))
    text = "".join(GLYPHS.get(sign, "?") for sign in signs)
    if not re.fullmatch(r"\d\d:\d\d:\d\d", text):
        return None
    hours, minutes, seconds = map(int, text.split(":"))
    return 3600 * hours + 60 * minutes + seconds


def classes_in(picture: np.ndarray) -> Seen:
    """The classes whose colour covers enough of the image, and where."""
    found: Seen = {}
    for name, (side, least, rule) in RULES.items():
        down, right = (size // side for size in picture.shape[:2])
        colours = picture[: down * side, : right * side].reshape(down, side, right, side, 3).mean(axis=(1, 3))
        total = colours.sum(axis=2) + 1
        hit = rule(*(colours / total[..., None]).transpose(2, 0, 1), total / np.percentile(total, 80))
        hit[: 11 * max(1, len(picture) // 135) // side + 1, : right // 3] = False  # the clock
        if hit.mean() > least:
            rows, columns = np.nonzero(hit)
            found[name] = (np.median(rows) / down, np.median(columns) / right)
    return found


def frames(path: str, deadline: float) -> Iterator[tuple[float, np.ndarray]]:
    """Seconds into the file and images, evenly spread, until the deadline."""
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


def answer(question: dict[str, Any], ranked: list[str] | None = None) -> str:
    """The answer in the format that the wording asks for; `ranked` are blind guesses, the best one first."""
    deadline = time.monotonic() + SAFETY * question["budget_s"]
    seen: list[tuple[float, Seen]] = []
    for at_s, picture in frames(question["video"], deadline):
        clock_s = read_clock(picture)
        seen.append((question["start_time"] + at_s if clock_s is None else clock_s, classes_in(picture)))
    if not seen:
        print(f"no image in {question['video']}", file=sys.stderr)
    return worded(question["question"], seen, question["start_time"], ranked or [])


def worded(text: str, seen: list[tuple[float, Seen]], start_s: float, ranked: list[str]) -> str:
    """What was seen, as the question wants it; a guess that agrees with it where seeing is not enough."""
    low = text.casefold()
    asked = {name for name in RULES if re.search(rf"\b{name.casefold()}(e?s)?\b(?! bag)", low)}
    known: Seen = {name: place for _, found in seen for name, place in found.items()}
    hits = [(at_s, asked & found.keys() if asked else set(found)) for at_s, found in seen]
    times = [at_s for at_s, found in hits if found]
    if "hh:mm:ss" in low and (times or not ranked):
        at = int((times[-1] if "last" in low else times[0]) if times else start_s)
        return f"{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"
    if re.search(r"yes\s*(/|or)\s*no", low):
        if known and re.search("(stay|left) in the body", low):
            return "yes" if known.keys() <= MAY_STAY else "no"
        told = "yes" if any(asked == found for _, found in hits) else "no"
        return told if asked and "left" not in low else (ranked or ["no"])[0]
    if ("%" in low or "percent" in low) and (asked or not ranked):
        return f"{round(100 * len(times) / max(1, len(seen)))}%"
    if re.search(r"\bnumber\b|how (many|often)", low):
        guesses = [] if re.search("kinds|classes", low) else [int(guess) for guess in ranked if guess.isdigit()]
        return str(max([*(len(found) for _, found in hits), *guesses[:1], 0]))
    for name in sorted(asked & known.keys()):
        corner = f"{'upper' if known[name][0] < 0.5 else 'lower'} {'left' if known[name][1] < 0.5 else 'right'}"
        ranked = [corner] if corner in low else ranked
    return chosen(low, known, ranked)


def chosen(low: str, known: Seen, ranked: list[str]) -> str:
    """The best guess that names what was seen and nothing that would have been; what was seen where there is none."""
    if "class name." in low:  # one class is wanted
        small = SMALL if re.search("largest|most of", low) else set()
        ranked = [name for name in ranked if name not in RULES or name in known.keys() - small] or sorted(known)
        if re.search("single|exactly one|only", low):
            ranked.sort(key=lambda name: name not in known)
    elif "class" in low and known and not re.search("hidden|in front", low):
        agreeing = [guess for guess in ranked if {n for n in RULES if n in guess.split(", ")} == known.keys()]
        ranked = agreeing or [", ".join(sorted(known))]
    return (ranked or [", ".join(sorted(known)) or "none"])[0]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        from template_prior import trained

        prior = trained(*sys.argv[1:3])
        serve(lambda question: answer(question, prior.ranked(question)), name="clock and colours (rules over a prior)")
    serve(answer, name="clock and colours (rules)")
