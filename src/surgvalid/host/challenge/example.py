"""A first challenge to change: the file, its texts, and questions whose answers a program can see in the image.

Every frame has one plain colour, and the colour tells the answer: red is yes, the amount of green a number. A program
that looks gets everything right; one that does not is right by chance.
"""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path

import numpy as np

from surgvalid.errors import WouldOverwrite
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.submissions.starter import plain_png

TEXTS = {
    "overview": "# Example challenge\n\nWhich foreign objects are in the image, and how many? Change this text.\n",
    "rules": "# Rules\n\nOne team for each person. What is over budget or missing counts as wrong.\n",
    "data": "# Data\n\nFrames of one plain colour: red means yes, the amount of green is a number.\n",
    "terms": "# Terms of use\n\nThe data are used for this challenge alone and are passed on to nobody.\n",
}


def new_challenge(
    folder: str | Path, *, start: datetime, engines: tuple[str, ...] = ("podman", "docker"), videos: int = 8
) -> list[Path]:
    """The files of a new challenge that passes its check.

    Args:
        folder: Made if need be.
        start: When its first phase opens; the final one opens a month later, while the first still runs.
        engines: Those that run submissions.
        videos: Of each phase.

    Raises:
        WouldOverwrite: There is a challenge already; nothing was written.
    """
    target = Path(folder)
    if (target / "challenge.toml").exists():
        raise WouldOverwrite(target / "challenge.toml", by_force=False)
    written = [_text(target / "texts" / f"{name}.md", text) for name, text in TEXTS.items()]
    for number, phase in enumerate(("pre-evaluation", "final")):
        written += example_questions(
            target / "data" / phase, target / "private" / phase / "references.json", videos=videos, seed=number
        )
    template = (files("surgvalid.host.challenge") / "challenge.toml.template").read_text(encoding="utf-8")
    dates = {"pre_opens": 0, "pre_closes": 45, "final_opens": 30, "final_closes": 52}
    shown = {name: (start + timedelta(days=days)).replace(microsecond=0) for name, days in dates.items()}
    kept = "false" if "process" in engines or "bubblewrap" in engines else "true"
    listed = ", ".join(f'"{engine}"' for engine in engines)
    text = template.format(engines=listed, hidden=kept, **{name: one.isoformat() for name, one in shown.items()})
    return [_text(target / "challenge.toml", text), *written]


def example_questions(questions: Path, references: Path, *, videos: int, seed: int = 0) -> list[Path]:
    """Requests with their frames in one folder, and references in a file that lies elsewhere."""
    draw = np.random.default_rng(seed)
    requests, rows = [], []
    (questions / "frames").mkdir(parents=True, exist_ok=True)
    for video in range(videos):
        for number, (code, ood, clinical) in enumerate(_KINDS):
            case = f"operation-{video}-q{number}"
            value, noise = int(draw.integers(0, 2 if code == "1a" else 5)), int(draw.integers(0, 256))
            text, kind, answer, colour = _asked(code, value, noise)
            requests.append(Request(case, f"operation-{video}", 10.0, 10.0, "cholecystectomy", text).as_row())
            rows.append(Reference(case, Capability.read(code), kind, answer, ood=ood, clinical=clinical).as_row())
            (questions / "frames" / f"{case}.png").write_bytes(plain_png(16, 12, colour))
    return [
        _text(questions / "request.json", json.dumps(requests, indent=1)),
        _text(references, json.dumps(rows, indent=1)),
    ]


_KINDS = tuple((code, ood, clinical) for code in ("1a", "3a") for ood in (False, True) for clinical in (False, True))


def _asked(code: str, value: int, noise: int) -> tuple[str, str, str, tuple[int, int, int]]:
    if code == "1a":
        text = "Is a sponge visible? Answer with yes or no."
        return text, "binary", "yes" if value else "no", (200 if value else 20, 5, noise)
    text = "How many clips are visible? Answer with a number."
    return text, "number", str(value), (5, 40 * value, noise)


def _text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


ENTRANT = '''"""A participant of the example: looks at the colour, and errs as often as it is meant to."""

import hashlib
import sys
import zlib

from serve import serve

SKILL = {skill}


def answer(question):
    """Red means yes, the amount of green a number."""
    with open(question["video"], "rb") as handle:
        data = handle.read()
    start = data.index(b"IDAT") + 4
    red, green, blue = zlib.decompressobj().decompress(data[start:])[1:4]
    draw = hashlib.sha256(bytes([red, green, blue]) + question["question"].encode() + b"{name}").digest()
    right = int.from_bytes(draw[:4], "big") / 2**32 < SKILL
    if "yes or no" in question["question"]:
        return "yes" if (red > 100) == right else "no"
    return str(green // 40 if right else green // 40 + 1)


if __name__ == "__main__":
    serve(answer, name="example")
'''
"""A program for the example, with `{name}` and `{skill}`; it lies beside `serve.py` of the starter pack."""


def make_folder(folder: Path, *, start: datetime) -> Path:
    """The folder, made unless it is there; organisers need no second factor in it."""
    os.environ.setdefault("SURGVALID_HOST_SECOND_FACTOR", "no")
    if not (folder / "challenge.toml").exists():
        new_challenge(folder, start=start, engines=("podman", "docker", "process"), videos=6)
    return folder
