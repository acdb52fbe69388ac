"""Whether a model can do what prompts ask, said before the first request."""

from __future__ import annotations

from collections.abc import Iterable

from surgeval.errors import InputInvalid
from surgeval.models._model import BOXES, Clip, Model, Prompt


def lacking(model: Model, prompt: Prompt) -> list[str]:
    """What the prompt asks that the model cannot do."""
    can, problems = model.can, []
    if prompt.frames and not can.images:
        problems.append("it takes no pictures")
    if can.most_frames is not None and prompt.frames > can.most_frames:
        problems.append(f"it takes at most {can.most_frames} pictures at once, {prompt.frames} are shown")
    clips = [piece for piece in prompt.parts if isinstance(piece, Clip)]
    if clips and not can.video:
        problems.append("it takes no video; show it frames")
    elif not can.spans and any(clip.start_s or clip.end_s is not None for clip in clips):
        problems.append("it takes whole files of video, and a span is asked for; cut it first")
    if not can.text and not prompt.labels:
        problems.append("it can only choose between labels, and there are none")
    if prompt.wants_boxes and can.boxes is None:
        problems.append(f"nobody has said how it writes boxes; give boxes= ({', '.join(BOXES)})")
    return problems


def check_prompts(model: Model, prompts: Iterable[Prompt]) -> None:
    """Refuse prompts that the model cannot take, all of them at once.

    Raises:
        InputInvalid: With every kind of problem and the first prompt that has it.
    """
    first: dict[str, str] = {}
    for prompt in prompts:
        for problem in lacking(model, prompt):
            first.setdefault(problem, prompt.id)
    if first:
        problems = [f"[{case}] {problem}" for problem, case in first.items()]
        raise InputInvalid(f"model {model.name!r} cannot be asked this", problems)
