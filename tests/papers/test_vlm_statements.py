"""Sentences of the study of vision-language models, recomputed from its own tables: which follow, and which do not."""

from __future__ import annotations

import numpy as np
import pytest

from surgvalid.tasks import TASKS, open_task
from surgvalid.tasks.board import published_rows

ROWS = {
    name: {row["model"]: row["value"] for row in published_rows(open_task(name))}
    for name in TASKS
    if open_task(name).study == "surgical-vlms-2025"
}
ACTIONS = ("inst-c45", "verb-c45", "target-c45", "action-hc", "action-av")
PHASES = ("phase-c80", "phase-mb", "phase-hc")
SAFETY = ("cvs-im", "cvs-es", "severity-im")
SKILL = ("skill-hc", "skill-im", "knot-ski-js", "needle-ski-js", "suture-ski-js")
MASKS = ("tool-sar", "anat-al", "anat-seg-ds")


def mean(model: str, *tasks: str) -> float:
    return float(np.mean([ROWS[task][model] for task in tasks]))


def above(model: str, other: str, *tasks: str) -> int:
    """By how many percent a model's mean is above another's."""
    return round(100 * (mean(model, *tasks) / mean(other, *tasks) - 1))


@pytest.mark.parametrize(
    ("printed", "model", "other", "tasks"),
    [
        (48, "GPT-4o", "PaliGemma", ("tool-c80",)),
        (3, "GPT-4o", "PaliGemma", ("tool-hc",)),
        (17, "GPT-4o", "SurgVLP", ACTIONS),
        (11, "GPT-4o", "SurgVLP", PHASES),
        (44, "GPT-4o", "Gemini-1.5-Pro", ("e-clf-sst",)),
        (3, "Med-Gemini", "SurgVLP", ("anat-rec-ds",)),
        (18, "Med-Gemini", "GPT-4o", ("action-av",)),
        (200, "SurgVLP", "GPT-4o", SAFETY),
        (15, "SurgVLP", "OpenCLIP", SAFETY),
    ],
)
def test_differences_that_follow_from_the_tables(printed: int, model: str, other: str, tasks: tuple[str, ...]) -> None:
    assert above(model, other, *tasks) == printed


def test_the_share_of_the_segmentation_models() -> None:
    assert round(100 * mean("PaliGemma", *MASKS) / mean("SAM2", *MASKS)) == 16


@pytest.mark.parametrize(
    ("printed", "ours", "model", "other", "tasks"),
    [
        (160, 109, "PaliGemma", "GPT-4o", SAFETY),
        (160, 149, "CLIP", "GPT-4o", SAFETY),
        (6, 11, "Qwen2-VL", "GPT-4o", SKILL),
        (35, 6, "Qwen2-VL", "Gemini-1.5-Pro", SKILL),
        (6, 4, "Qwen2-VL", "GPT-4o", (*SKILL, "exposure-al")),
        (35, 4, "Qwen2-VL", "Gemini-1.5-Pro", (*SKILL, "exposure-al")),
    ],
)
def test_differences_that_do_not(printed: int, ours: int, model: str, other: str, tasks: tuple[str, ...]) -> None:
    assert above(model, other, *tasks) == ours
    assert ours != printed


def test_a_number_of_the_text_that_its_table_does_not_have() -> None:
    assert ROWS["tool-hc"]["GPT-4o"] == 0.36
    assert "0.34" in " ".join(open_task("tool-hc").published.notes)


def test_rows_that_cannot_be_right_as_printed() -> None:
    doubted = {(name, row["model"]) for name in ROWS for row in published_rows(open_task(name)) if row["doubt"]}
    multi = {(task, "Med-Gemini") for task in ("tool-c80", "inst-c45", "verb-c45", "target-c45")}
    assert doubted == {("phase-c80", "PaliGemma"), ("phase-hc", "PaliGemma")} | multi
