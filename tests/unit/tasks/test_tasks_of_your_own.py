"""TOML files of tasks as users write them: what cannot be run is refused when the file is read, with every reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from surgvalid.errors import InputInvalid
from surgvalid.tasks import open_task
from surgvalid.tasks.prompts import prompts_of

TASK = """
title = "Clip"
summary = "Whether a clip is there"
prompts = "PROMPTS"
[data]
layout = "cases"
[media]
kind = "video"
videos = ["{file}"]
MEDIA
[answer]
form = "choice"
classes = ["clip", "nothing"]
column = "object"
[metrics]
names = ["METRIC"]
headline = "METRIC"
"""


def written(
    folder: Path, *, prompts: str = "prompts.toml", media: str = "uniform = 3", metric: str = "accuracy"
) -> str:
    path = folder / "clip.toml"
    path.write_text(TASK.replace("PROMPTS", prompts).replace("MEDIA", media).replace("METRIC", metric))
    return str(path)


@pytest.mark.parametrize(
    "line",
    ["uniform = 0", "uniform = -3", "rate_hz = 0", "every = 0", "most_frames = 0", "window_s = -1.0",
     "token_budget = 0", "fps = 0", "max_height_px = 0", "tokens_per_frame = 0"],
)  # fmt: skip
def test_a_plan_that_shows_nothing_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputInvalid, match=rf"\[media\] '{line.split()[0]}' must be larger than 0"):
        open_task(written(tmp_path, media=line))


@pytest.mark.parametrize("metric", ["coco_ap", "dsc", "temporal_iou"])
def test_a_metric_of_another_kind_of_answer_is_refused_before_anything_is_asked(tmp_path: Path, metric: str) -> None:
    with pytest.raises(InputInvalid, match=rf"\[metrics\] '{metric}' does not measure answers of the form 'choice'"):
        open_task(written(tmp_path, metric=metric))


def test_prompts_may_lie_in_a_folder_below_or_beside(tmp_path: Path) -> None:
    text = "[[prompt]]\nfamily = 'chat'\nversion = 'mended'\ntext = 'clip or nothing?'\n"
    for place in ("words/clip.toml", "../shared/clip.toml"):
        home = tmp_path / "tasks"
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text(text)
        (prompt,) = prompts_of(open_task(written(home, prompts=place)))
        assert prompt.text == "clip or nothing?"
