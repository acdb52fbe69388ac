"""A participant for whole procedures: one kept prefix per video, answers in the format that is asked for.

    MODEL=/app/model STATE=per_video python app.py

`MODEL` is the folder of a saved Qwen2.5-VL, Qwen3-VL, InternVL3 or SmolVLM2 (fine-tuned by ../finetune, for instance),
or another model that takes images, such as `openai:MODEL@http://localhost:8000/v1`. `STATE` is the rule of the phase:
under `per_question` nothing is kept and every question pays for the whole video; under `per_video` the first question
of a video pays and the others take tenths of a second; under `free` the last eight prefixes are kept. Needs the package
surgvalid with its extras `video` and `local-models`; on a GPU of 40 GB or more with its default of 768 frames.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import torch

from surgvalid.errors import SurgvalidError
from surgvalid.models.long_video import VideoFrames, VideoQuestion, form_of, planner_of
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES

try:
    from serve import serve  # in an image: the file beside this one
except ImportError:
    from surgvalid.submissions.serve import serve

SAFETY_S = 0.5
"""Kept back for the way to the host."""
DEVICE = os.environ.get("DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
STATE = os.environ.get("STATE", "per_video")
ENGINE = planner_of(
    os.environ.get("MODEL", "/app/model"), state=STATE, most_frames=int(os.environ.get("MOST_FRAMES", "768")),
    device=DEVICE, dtype="bfloat16" if DEVICE == "cuda" else "float32",
)  # fmt: skip
"""Warmed up on a GPU before the first budget begins."""


def video_file_of(question: dict[str, Any]) -> VideoFrames:
    """The video of a question: a whole procedure, or a clip that begins where the question's window does."""
    film = VideoFrames(question["video"], name=question["videoID"])
    window_s = question["end_time"] - question["start_time"]
    if question["start_time"] and film.end_s <= window_s + 1.0:
        return VideoFrames(question["video"], name=f"{question['videoID']} {question['start_time']}",
                         start_s=question["start_time"])  # fmt: skip
    return film


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """What the engine says in time; a video that cannot be read gets the shortest answer of its format."""
    deadline = time.monotonic() + question["budget_s"] - SAFETY_S
    start_s, end_s = question["start_time"], question["end_time"]
    try:
        given = ENGINE.answer(video_file_of(question), VideoQuestion(question["question"], start_s, end_s), deadline)
    except (SurgvalidError, ValueError, MemoryError) as error:
        print(f"{question['qID']}: {error}", file=sys.stderr)
        name, form = form_of(question["question"], start_s, end_s, CLASS_NAMES)
        return {"content": form.finished(form.start), "extra": {"format": name, "failed": str(error)[:500]}}
    print(f"{question['qID']}: {given.facts()}", file=sys.stderr)
    return {"content": given.text, "extra": given.facts()}


if __name__ == "__main__":
    serve(answer, name="long video (one prefix per video)")
