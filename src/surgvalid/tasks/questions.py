"""Tasks that are made of questions: asked as `surgvalid task ask` does, scored as `surgvalid score` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.asking.meter import Progress
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.models import CostEstimate, RunCounts, ask, estimate_ask
from surgvalid.schema.outcomes import Status
from surgvalid.scoring.result import ScoreResult
from surgvalid.scoring.run import score
from surgvalid.tasks.reading import open_task
from surgvalid.tasks.task import Layout, TaskInstance
from surgvalid.tasks.unfinished import unfinished

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
        model,
        places[REQUESTS],
        videos=places[VIDEOS],
        track=track,
        max_tokens=instance.answer.max_tokens,
        store=store,
        max_cost=max_cost,
        send_media_to=send_media_to,
        progress=progress,
        **model_options,
    )
    # Where money or server ended, nobody is to blame whose values these are: such questions have none.
    lost = Status.INFRASTRUCTURE
    responses = [replace(one, status=lost) if one.status is Status.NOT_ASKED else one for one in answers.responses]
    result = score(places[REQUESTS], places[REFERENCES], responses, model=name or model, judges=judges)
    counts = answers.counts or RunCounts()
    if counts.unfinished:
        left = counts.prompts - counts.unfinished
        result = replace(result, scores=unfinished(result.scores, left, counts.prompts))
    return Questioned(replace(result, findings=(*answers.findings, *result.findings)), counts)


def estimate_questions(
    task: str | Path | TaskInstance, *, model: str, root: str | Path, store: str | Path | None = None, **options: Any
) -> CostEstimate:
    """What asking the questions of a folder would take; nothing is sent."""
    instance, places = _checked(task, root)
    return estimate_ask(
        model, places[REQUESTS], videos=places[VIDEOS], track=instance.data.track, store=store, **options
    )


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
