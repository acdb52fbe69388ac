"""Templates, trivial baselines and differences at FOCUS size: 20,000 questions, 200 videos. Informative, no peer has
them.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from types import ModuleType

from bench.harness import Row, cpu_seconds, peak_memory_mb
from surgvalid.scoring.blind_questions import templates_of
from surgvalid.scoring.diff import diff
from surgvalid.scoring.trivial_baselines import trivial_baselines

QUESTIONS, VIDEOS = 20_000, 200
_FACTORY = Path(__file__).parents[1] / "tests" / "support" / "floor_questions.py"


def rows() -> list[Row]:
    requests, references = _factory().focus_like(QUESTIONS, VIDEOS)
    texts = [request.question for request in requests]
    size = f"{QUESTIONS:,} questions, {VIDEOS} videos"
    found = [Row(f"templates of {size}", cpu_seconds(lambda: templates_of(texts)), "-", None)]
    found.append(
        Row(
            f"trivial baselines of {size}, each video left out",
            cpu_seconds(lambda: trivial_baselines(requests, references)),
            "-",
            None,
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("a.csv", "b.csv")]
        for step, path in enumerate(paths):
            path.write_text(_results(requests, references, step), encoding="utf-8")
        note = f"peak memory {peak_memory_mb():.0f} MB"
        found.append(Row(f"diff of two results, {size}", cpu_seconds(lambda: diff(*paths)), "-", None, note=note))
    return found


def _factory() -> ModuleType:
    """The question factory of the tests, which are no package."""
    spec = importlib.util.spec_from_file_location("floor_questions", _FACTORY)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(_FACTORY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _results(requests: list, references: list, step: int) -> str:  # type: ignore[type-arg]
    """A results file in which every (11 + step)-th question is right."""
    lines = ["qID,video,ood,clinical,primary,answer_format,latency,timed_out,correctness"]
    for number, (request, reference) in enumerate(zip(requests, references, strict=True)):
        facts = (request.case, request.video, reference.ood, False, reference.capability.value, reference.format)
        lines.append(",".join(map(str, (*facts, 0.5, False, number % (11 + step) == 0))))
    return "\n".join(lines) + "\n"
