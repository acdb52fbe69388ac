"""Factories for tiny question sets, answer files and score tables. Import them from any test."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.schema.questions.questions import Reference, Request, Response
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.tables.score_table import ScoreTable

ANSWERS = {
    "binary": ("yes", "no"),
    "number": ("3", "1"),
    "percentage": ("40%", "12.5 %"),
    "fo_class": ("Clip, Sponge", "none"),
    "open_ended": ("On the cystic duct.", "Left of the liver."),
    "multiple_choice": ("B", "the second one"),
    "time": ("00:01:05", "00:02:00, 00:02:30"),
    "matching": ("A-1", "B-2"),
}
"""Two legal answers for every format."""


def request_row(case: object = "q1", **changes: Any) -> dict[str, Any]:
    """A row of an official requests file."""
    row = {
        "qID": case, "videoID": "v1", "start_time": 0.0, "end_time": 300.0,
        "procedure_type": "cholecystectomy", "question": "What is seen?",
    }  # fmt: skip
    return {**row, **changes}


def reference_row(case: object = "q1", kind: str = "binary", answer: object = None, **changes: Any) -> dict[str, Any]:
    """A row of an official references file."""
    row: dict[str, Any] = {"qID": case, "primary": "1a", "format": kind}
    row["answer"] = ANSWERS[kind][0] if answer is None else answer
    if kind == "matching":
        row["format_kwargs"] = {"pattern": "[A-Z]-[0-9]"}
    return {**row, **changes}


def response_row(case: object = "q1", content: object = "yes", **changes: Any) -> dict[str, Any]:
    """A row of an answer file."""
    return {"qID": case, "content": content, **changes}


def data_set_row(case: object = "q1", **changes: Any) -> dict[str, Any]:
    """A row of a public data set, with its fourteen columns."""
    row = {
        "id": case, "video": "v1", "procedure_type": "Sigmoid Resection", "question": "When?", "answer": "00:00:30",
        "answer_format": "time", "track": "segment", "generation": "automatic", "clinical_relevance": False,
        "ood": False, "timestamp_start": "00:00:00", "timestamp_end": "00:01:00", "primary_capability": "2a",
        "secondary_capabilities": ["1a"],
    }  # fmt: skip
    return {**row, **changes}


def write_json(path: Path, rows: Iterable[Any]) -> Path:
    """The rows as a JSON array at `path`."""
    path.write_text(json.dumps(list(rows), ensure_ascii=False), encoding="utf-8")
    return path


def question(
    case: str = "q1",
    kind: str = "binary",
    answer: str | None = None,
    *,
    video: str = "v1",
    capability: str = "1a",
    window_s: tuple[float, float] = (0.0, 300.0),
    parameters: Mapping[str, Any] | None = None,
    **changes: Any,
) -> tuple[Request, Reference]:
    """A request with its reference."""
    given = {"pattern": "[A-Z]-[0-9]"} if kind == "matching" and parameters is None else dict(parameters or {})
    asked = Request(case, video, *window_s, "cholecystectomy", "What is seen?")
    text = ANSWERS[kind][0] if answer is None else answer
    return asked, Reference(case, Capability.read(capability), kind, text, given, **changes)


def questions(
    formats: Sequence[str] = tuple(ANSWERS), *, each: int = 2, videos: int = 3
) -> tuple[list[Request], list[Reference]]:
    """`each` questions of every format, spread over `videos` videos; answers alternate."""
    pairs = [
        question(f"{name}-{i}", name, ANSWERS[name][i % 2], video=f"v{i % videos}")
        for name in formats
        for i in range(each)
    ]
    return [asked for asked, _ in pairs], [known for _, known in pairs]


def perfect_responses(references: Iterable[Reference]) -> list[Response]:
    """The references' own answers, given in a second each."""
    return [Response(reference.case, reference.answer, 1.0) for reference in references]


def score_columns(models: Sequence[str] = ("A", "B"), cases: int = 6, videos: int = 3, seed: int = 0) -> dict[str, Any]:
    """The columns of a complete table of 0/1 scores."""
    draw = np.random.default_rng(seed)
    names = [f"q{i}" for i in range(cases)]
    return {
        "model": [model for model in models for _ in names],
        "case": names * len(models),
        "video": [f"v{i % videos}" for i in range(cases)] * len(models),
        "value": draw.integers(0, 2, cases * len(models)).tolist(),
        "metric": ["correct"] * (cases * len(models)),
    }


def score_table(models: Sequence[str] = ("A", "B"), cases: int = 6, videos: int = 3, seed: int = 0) -> ScoreTable:
    """A complete table of 0/1 scores."""
    return ScoreTable.of(pl.DataFrame(score_columns(models, cases, videos, seed)))
