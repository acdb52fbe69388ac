"""Prompts for models, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from surgvalid.models import Model, Outcome, Prompt, PromptImage, RunCounts, ask_all

JPEG = b"\xff\xd8\xff\xe0 not really an image"


def picture(folder: Path, name: str = "frame.jpg", *, data: bytes = JPEG) -> PromptImage:
    """An image in its file; its digest is its name."""
    (folder / name).write_bytes(data)
    return PromptImage(folder / name, name)


def questions(count: int, *shown: PromptImage, **fields: Any) -> list[Prompt]:
    """So many prompts with these images."""
    return [Prompt(f"q{i}", (*shown, f"Question {i}?"), **fields) for i in range(count)]


def asked(model: Model, prompts: Iterable[Prompt], **options: Any) -> tuple[dict[str, Outcome], RunCounts]:
    """What became of each prompt, and the counts."""
    outcomes: dict[str, Outcome] = {}

    def hear(prompt: Prompt, outcome: Outcome) -> None:
        assert prompt.id not in outcomes, "an outcome was handed over twice"
        outcomes[prompt.id] = outcome

    counts = ask_all(model, prompts, done=hear, **options)
    return outcomes, counts
