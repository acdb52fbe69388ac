"""Write the model card: data, commands, seconds, loss curve, hash of the weights, and what it reached.

    python -m examples.sees.card DATA ANSWERS EVALUATION OUT [--commit HASH]

OUT gets `MODEL_CARD.md` and `loss.svg`.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

WIDE, HIGH, EDGE = 640, 260, 44
TONES = {"answers": "#b00020", "centres": "#1565c0", "counts": "#2e7d32", "occluded": "#6a1b9a"}


def curve_svg(curve: list[dict[str, Any]], stage: str) -> str:
    """The losses of a stage over its steps, as an image."""
    rows = [row for row in curve if row["stage"] == stage]
    most = max(row["step"] for row in rows)
    top = max(row[name] for row in rows[1:] or rows for name in TONES if name in row)
    lines = []
    for at, (name, tone) in enumerate(TONES.items()):
        places = [(row["step"] / most, min(1.0, row[name] / top)) for row in rows if name in row]
        points = [f"{EDGE + (WIDE - 2 * EDGE) * x:.1f},{HIGH - EDGE - (HIGH - 2 * EDGE) * y:.1f}" for x, y in places]
        lines.append(f'<polyline fill="none" stroke="{tone}" stroke-width="2" points="{" ".join(points)}"/>')
        lines.append(f'<text x="{WIDE - 130}" y="{EDGE + 16 * at}" fill="{tone}">{name}</text>')
    lines += [
        f'<path d="M{EDGE} {EDGE}V{HIGH - EDGE}H{WIDE - EDGE}" fill="none" stroke="#555"/>',
        f'<text x="{WIDE / 2}" y="{HIGH - 12}" text-anchor="middle">step (last: {most})</text>',
        f'<text x="{EDGE}" y="{EDGE - 10}" text-anchor="middle">{top:.2f}</text>',
        f'<text x="{EDGE - 8}" y="{HIGH - EDGE}" text-anchor="end">0</text>',
    ]
    body = "\n".join(lines)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" font-family="sans-serif" '
            f'font-size="13"><title>Losses while training</title><rect width="{WIDE}" height="{HIGH}" fill="white"/>'
            f"\n{body}\n</svg>\n")  # fmt: skip


def card(command: dict[str, Any], about: dict[str, Any], margins: str, commit: str) -> str:
    """The card as Markdown; `commit` is that of the scenes."""
    steps, counts = about["steps"], about["questions"]
    asked = ", ".join(f"{counts[key]} {key}" for key in sorted(counts))
    took = " and ".join(f"{count} {stage} steps" for stage, count in steps.items())
    words = " ".join(
        f"--{key.replace('_', '-')} {value}" for key, value in command.items() if key not in ("out", "workers")
    )
    return f"""# Model card: sees

A vision-language model of {about["parameters"]:,} parameters that learned from simulated procedures. It shows how
far looking leads beyond guessing in a simulated challenge. It has seen no real video and is of no use on one.

| | |
|---|---|
| data | {about["videos"]} simulated procedures, {about["pictures"]} images; questions: {asked} |
| made with | `python -m examples.sees.make_data DATA {words}`{f" at commit {commit}" if commit else ""} |
| trained with | `python -m examples.sees.train DATA OUT {about["asked"]} --seed {about["seed"]}` |
| steps | {took}, {about["batch"]} questions each |
| seconds | {about["seconds"]} on {about["device"]}, torch {about["torch"]} |
| model | `model/*.onnx`, {about["bytes"]:,} bytes, 8 bits per weight |
| SHA-256 of its files, one after the other | `{about["sha256"]}` |

Trained on Centers A to E; Center F was never seen. Patients of training and test differ.

![Losses while training](loss.svg)

## What it reached

Shares of right answers; free text must equal the reference. `shuffled`: the same weights, images of another video.
`blind twin`: the same reader, trained without images. Intervals: whole videos drawn again, 95 %.

{margins}"""


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and write the card."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "answers", "evaluation", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--commit", default="", help="of the tree whose scenes were painted")
    options = parser.parse_args(arguments)
    command = json.loads(gzip.decompress((options.data / "labels.json.gz").read_bytes()))["command"]
    about = json.loads((options.answers / "metrics-sees.json").read_text(encoding="utf-8"))
    margins = (options.evaluation / "margins.md").read_text(encoding="utf-8")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "MODEL_CARD.md").write_text(card(command, about, margins, options.commit), encoding="utf-8")
    (options.out / "loss.svg").write_text(curve_svg(about["curve"], "frame"), encoding="utf-8")


if __name__ == "__main__":
    main()
