"""Paint wrong answers: the image as the model saw it, what its eye marked, the question, what is right, what it said.

    python -m examples.sees.mistakes DATA ANSWERS EVALUATION OUT.jpg [--count 12]

Needs torch and Pillow. Half of the images are of known centres, half of the new one; which ones is drawn by a hash of
the question, at most one per template and set, so nobody picked them.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import textwrap
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw, ImageFont

from .asked import LEAST_CHANCE
from .learning import normal
from .model import Marks, Sees
from .store import Store
from .weights import KEPT, load
from .words import CLASSES

TILE, TEXT_PX, COLUMNS = (480, 267), 104, 3


def chosen(cases: list[dict[str, str]], count: int) -> list[dict[str, str]]:
    """Wrong answers to FRAME questions, half of them of the new centre, one per template and set."""
    wrong = [row for row in cases if row["track"] == "frame" and float(row["sees"] or 0) == 0]
    wrong.sort(key=lambda row: hashlib.sha256(row["case"].encode()).hexdigest())
    kept: list[dict[str, str]] = []
    for new in ("false", "true"):
        seen: set[str] = set()
        for row in wrong:
            if row["new_center"].lower() == new and row["template"] not in seen and len(seen) < count // 2:
                seen.add(row["template"])
                kept.append(row)
    return kept


def tile(picture: torch.Tensor, marks: Marks, question: dict[str, Any], given: str, center: str) -> Image.Image:
    """One image with its marks and the words below."""
    image = Image.new("RGB", (TILE[0], TILE[1] + TEXT_PX), "white")
    shown = Image.fromarray(picture.permute(1, 2, 0).numpy()).resize(TILE, Image.Resampling.BICUBIC)
    image.paste(shown)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    for kind, chance, (x, y, wide, high) in zip(
        marks.kind[0].tolist(), marks.strength[0].tolist(), marks.place[0].tolist(), strict=True
    ):
        if chance > LEAST_CHANCE:
            box = [(x - wide / 2) * TILE[0], (y - high / 2) * TILE[1], (x + wide / 2) * TILE[0],
                   (y + high / 2) * TILE[1]]  # fmt: skip
            draw.rectangle(box, outline="yellow", width=2)
            draw.text((box[0] + 3, max(0, box[1] - 15)), CLASSES[kind], fill="yellow", font=font)
    lines = textwrap.wrap(question["text"], 72)[:3]
    lines += textwrap.wrap(f"right: {question['answer']}", 72)[:1] + textwrap.wrap(f"said: {given}", 72)[:1]
    for at, line in enumerate([*lines, center]):
        tone = "#b00020" if line.startswith("said: ") else "#1b5e20" if line.startswith("right: ") else "black"
        draw.text((6, TILE[1] + 4 + 16 * at), line, fill=tone, font=font)
    return image


def sheet(store: Store, model: Sees, cases: list[dict[str, str]], answers: dict[str, str]) -> Image.Image:
    """All tiles on one sheet."""
    questions = {q["id"]: q for q in store.questions}
    index, tiles = store.frame_index(), []
    for row in cases:
        question = questions[row["case"]]
        picture = store.pictures[index[question["video"], question["end"]]]
        with torch.inference_mode():
            marks = model.look(normal(picture[None]))[1]
        center = f"{store.videos[question['video']][0]}, {question['template']}"
        tiles.append(tile(picture, marks, question, answers[row["case"]], center))
    wide, high = TILE[0] + 8, TILE[1] + TEXT_PX + 8
    page = Image.new("RGB", (COLUMNS * wide, -(-len(tiles) // COLUMNS) * high), "#cccccc")
    for at, one in enumerate(tiles):
        page.paste(one, (at % COLUMNS * wide + 4, at // COLUMNS * high + 4))
    return page


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and write the sheet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "answers", "evaluation", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--count", type=int, default=12)
    options = parser.parse_args(arguments)
    with open(options.evaluation / "cases.csv", encoding="utf-8", newline="") as handle:
        cases = chosen(list(csv.DictReader(handle)), options.count)
    answers = json.loads((options.answers / "answers-sees.json").read_text(encoding="utf-8"))["sees"]
    page = sheet(Store.read(options.data), load(options.answers / KEPT)[0], cases, answers)
    page.save(options.out, quality=82)


if __name__ == "__main__":
    main()
