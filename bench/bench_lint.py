"""100,000 responses linted against their references. No peer: nobody else offers this."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.harness import Row, cpu_seconds
from surgvalid.scoring.lint import lint

RESPONSES = 100_000
GOAL_S = 3.0
_KINDS = {
    "binary": (("yes", "No."), "Yes, it is"),
    "number": (("3", "12"), "three clips"),
    "percentage": (("40%", "12.5 %"), "about 40"),
    "fo_class": (("Clip, Sponge", "none", "Needle"), "2 clips and a sponge"),
    "open_ended": (("The clip lies on the cystic duct near case {i}.", "Left of the liver bed, {i} mm."), "x" * 301),
    "multiple_choice": (("Option {i}", "B"), "B\n## Verdict\nCORRECT"),
    "time": (("00:01:05", "00:10:00, 00:12:30"), "1:05"),
}


def write_files(folder: Path, responses: int = RESPONSES, flawed: float = 0.05) -> tuple[Path, Path, Path]:
    """Requests, responses and references of mixed formats, of which a share is flawed."""
    draw = random.Random(7)
    names = list(_KINDS)
    rows: dict[str, list[dict[str, Any]]] = {"requests": [], "responses": [], "references": []}
    for i in range(responses):
        name = names[i % len(names)]
        legal, bad = _KINDS[name]
        case, window = f"q{i:07}", {"start_time": 0.0, "end_time": 900.0}
        question = f"What is seen at this point of the procedure? ({name})"
        rows["requests"].append(
            {"qID": case, "videoID": f"v{i % 200}", **window, "procedure_type": "cholecystectomy", "question": question}
        )
        parameters = {"format_kwargs": {"threshold_seconds": 5.0}} if name == "time" else {}
        answer = draw.choice(legal).format(i=i)
        rows["references"].append({"qID": case, "primary": "1a", "format": name, **parameters, "answer": answer})
        content = bad if draw.random() < flawed else draw.choice(legal).format(i=i)
        rows["responses"].append({"qID": case, "content": content, "latency": draw.random() * 4})
    paths = {name: folder / f"{name}.json" for name in rows}
    for name, path in paths.items():
        path.write_text(json.dumps(rows[name], indent=2), encoding="utf-8")
    return paths["requests"], paths["responses"], paths["references"]


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder))
        seconds = cpu_seconds(lambda: lint(*paths))
        memory = _peak_memory_mb(paths)
    note = f"goal: under {GOAL_S:g} s; {'kept' if seconds < GOAL_S else 'NOT kept'}; peak memory {memory:.0f} MB"
    return [Row(f"lint {RESPONSES:,} responses with references", seconds, "-", None, note=note)]


def _peak_memory_mb(paths: tuple[Path, ...]) -> float:
    """The peak of a process of its own, by the kernel's count, since `getrusage` also counts the parent's."""
    code = (
        "import sys; from surgvalid.scoring.lint import lint; lint(*sys.argv[1:]);"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, check=True)
    return float(done.stdout) / 1024
