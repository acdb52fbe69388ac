"""Tasks that are made of questions: asked as `surgeval ask` does, scored as `surgeval score` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from surgeval.asking.meter import Progress
from surgeval.errors import InputInvalid, Misuse
from surgeval.models import Estimate, RunCounts, ask, estimate_ask
from surgeval.scoring.result import ScoreResult
from surgeval.scoring.run import score
from surgeval.tasks._catalogue import open_task
from surgeval.tasks.task import Layout, TaskInstance

REQUESTS, REFERENCES, VIDEOS = "requests.json", "references.json", "videos"


class Questioned(NamedTuple):
    """What became of the questions of a task."""

    result: ScoreResult
    counts: RunCounts


def run_questions(
    task: str | Path | TaskInstance,
    *,
    model: str,
    root: str | Path,
    name: str | None = None,
    judges: Sequence[str] = (),
    store: str | Path | None = None,
    max_cost: float | None = None,
    send_media_to: Sequence[str] = (),
    progress: Progress = None,
    **model_options: Any,
) -> Questioned:
    """The scores of one model on the questions of a folder.

    Args:
        task: A task whose layout is questions.
        model: A specification of a model.
        root: Folder with requests.json, references.json and the folder videos.
        name: What the model is called in tables.
        judges: Of free text; without one it is not scored.
        store: Answers that were given before are taken from here and new ones kept here.
        max_cost: Money that is not to be exceeded.
        send_media_to: Hosts outside this machine that may be sent images and video.
        progress: Hears of every outcome.
        **model_options: How the model is opened.

    Raises:
        Misuse: Another kind of task, or one that nobody outside the study can run.
        InputInvalid: The folder lacks a file.
    """
    instance, places = _checked(task, root)
    track = instance.data.track
    answers = ask(
        model, places[REQUESTS], videos=places[VIDEOS], track=track, max_tokens=instance.answer.max_tokens,
        store=store, max_cost=max_cost, send_media_to=send_media_to, progress=progress, **model_options,
    )  # fmt: skip
    result = score(
        places[REQUESTS], places[REFERENCES], list(answers.responses), model=name or model, judges=judges
    )  # fmt: skip
    return Questioned(result, answers.counts or RunCounts())


def estimate_questions(
    task: str | Path | TaskInstance, *, model: str, root: str | Path, store: str | Path | None = None, **options: Any
) -> Estimate:
    """What asking the questions of a folder would take; nothing is sent."""
    instance, places = _checked(task, root)
    return estimate_ask(
        model, places[REQUESTS], videos=places[VIDEOS], track=instance.data.track, store=store, **options
    )  # fmt: skip


def _checked(task: str | Path | TaskInstance, root: str | Path) -> tuple[TaskInstance, dict[str, Path]]:
    """The task and the files of its folder, where all are there."""
    instance = open_task(task)
    if instance.data.layout is not Layout.QUESTIONS:
        raise Misuse(f"task {instance.name!r} is not made of questions")
    if instance.not_public:
        raise Misuse(f"task {instance.name!r} cannot be run: {instance.not_public}")
    places = {place: Path(root) / place for place in (REQUESTS, REFERENCES, VIDEOS)}
    if absent := [f"{place} is missing" for place, path in places.items() if not path.exists()]:
        raise InputInvalid(str(root), absent)
    return instance, places
