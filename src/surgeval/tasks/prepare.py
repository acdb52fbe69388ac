"""Everything that is known of a run before the first request: cases, media, prompt, examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.errors import Misuse, SurgevalError, UnknownName
from surgeval.models import Can, Prompt
from surgeval.schema.findings import Finding, Severity
from surgeval.tasks._catalogue import open_task
from surgeval.tasks.asking import Asking, class_shares, typical_answer
from surgeval.tasks.cases import Cases, cases_of
from surgeval.tasks.media import CaseMedia, FrameShelf, MediaFinder, Plan
from surgeval.tasks.parsing.label_sets import KEY_RULES
from surgeval.tasks.prompts import Asks, PromptText, chosen_prompt, prompts_of
from surgeval.tasks.shots import chosen_shots, training_cases
from surgeval.tasks.task import Layout, TaskInstance


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """How a task is run."""

    shots: int = 0
    prompts: str | None = None
    """`mended` or `faithful`."""
    family: str | None = None
    split: str | None = None
    videos: tuple[str, ...] = ()
    limit: int | None = None
    shard: str | None = None
    structured: bool = False
    re_ask: bool = False
    missing_keys: str = KEY_RULES[0]
    lenient: bool = False
    seed: int = 42

    def __post_init__(self) -> None:
        if self.shots < 0:
            raise Misuse(f"--shots must be 0 or more, got {self.shots}")
        if self.missing_keys not in KEY_RULES:
            raise UnknownName("rule for classes that are not mentioned", self.missing_keys, KEY_RULES)


@dataclass(frozen=True)
class Prepared:
    """Everything that is known before the first request."""

    task: TaskInstance
    cases: Cases
    asking: Asking
    plan: Plan
    findings: tuple[Finding, ...]

    def prompts(self) -> Iterator[Prompt]:
        """The prompts, made as they are taken."""
        return self.asking.prompts()

    @property
    def requests(self) -> int:
        """How many prompts there are."""
        per_case = len(self.asking.text.texts) if self.asking.text.asks is Asks.PER_CLASS else 1
        return self.cases.table.height * per_case

    def cut(self) -> None:
        """Cut the frames of all cases and examples, one pass per video, where frames are shown."""
        examples = self.asking.shot_media.values()
        shown = examples if self.asking.text.native_video else (*self.asking.media.values(), *examples)
        self.asking.finder.cut(shown)


def prepare_task(
    task: str | Path | TaskInstance, can: Can, root: str | Path, options: TaskOptions, *, frames: str | Path
) -> Prepared:
    """The cases, media and prompts of a task for a model that can do so much; nothing is cut or asked.

    Raises:
        UnknownName: No such task, family or version of prompts.
        Misuse: The model cannot do what the task needs, or there is no such split.
        InputInvalid: Files that are missing or cannot be used; all are named.
    """
    instance = open_task(task)
    if instance.not_public:
        raise Misuse(f"task {instance.name!r} cannot be run: {instance.not_public}")
    if instance.data.layout is Layout.QUESTIONS:
        raise Misuse(
            f"task {instance.name!r} is made of questions; run it with surgeval task run, or run_questions in Python"
        )
    text = chosen_prompt(
        prompts_of(instance), _what_it_takes(can, instance), family=options.family, version=options.prompts
    )
    cases = cases_of(
        instance, root, split=options.split, videos=options.videos, limit=options.limit, shard=options.shard
    )  # fmt: skip
    plan = Plan(instance.media, _frames_left(can, options, instance))
    finder = MediaFinder(instance, Path(root), plan, FrameShelf(frames))
    cases, media = _with_media(instance, cases, finder)
    pool = _pool(instance, root, cases, options.shots)
    shots: Sequence[Mapping[str, Any]] = ()
    if pool is not None and options.shots:
        shots = chosen_shots(instance, pool, cases, options.shots, has_media=finder.has_media, seed=options.seed)
    shot_media = finder.find(shots) if shots else {}
    asking = Asking(
        instance, cases, finder, media, text, can, shots, shot_media, pool,
        class_shares(instance, pool, cases), typical_answer(instance, pool), options.structured,
        options.seed if can.seeds else None,
    )  # fmt: skip
    return Prepared(instance, cases, asking, plan, (*cases.findings, *_remarks(instance, cases, text, options)))


def _what_it_takes(can: Can, task: TaskInstance) -> Can:
    """What a model can do with the clips of a task: a part of a file is no file."""
    return replace(can, video=can.video and (can.spans or not task.media.start))


def _frames_left(can: Can, options: TaskOptions, task: TaskInstance) -> int | None:
    """How many frames of a case a model takes beside the examples."""
    if can.most_frames is None or options.shots == 0:
        return can.most_frames
    listed = task.shots.get(str(options.shots))
    examples = len(listed) if listed else options.shots * max(1, len(task.answer.classes))
    return max(1, can.most_frames - examples)


def _with_media(task: TaskInstance, cases: Cases, finder: MediaFinder) -> tuple[Cases, dict[str, CaseMedia]]:
    rows = cases.table.to_dicts()
    if task.media.only_with_files:
        kept = set(finder.with_files(rows))
        rows = [row for row in rows if row["case"] in kept]
        cases = replace(cases, table=cases.table.filter(pl.col("case").is_in(list(kept))))
        if not rows:
            raise Misuse(f"task {task.name!r}: no image of any case is here; places: {', '.join(task.media.files)}")
    return cases, finder.find(rows)


def _pool(task: TaskInstance, root: str | Path, cases: Cases, shots: int) -> Cases | None:
    """Where examples and shares of classes come from; nothing where there is no training part.

    Examples that the study names may lie between the frames that are sampled; drawn ones are of those.
    """
    try:
        pool = training_cases(task, root, cases, every_frame=str(shots) in task.shots)
    except SurgevalError:
        if shots:
            raise
        return None
    return pool if shots or not pool.videos & cases.videos else None


def _remarks(task: TaskInstance, cases: Cases, text: PromptText, options: TaskOptions) -> list[Finding]:
    """What whoever reads the numbers must know of how the task was run."""
    remarks = [Finding("prompt-fault", Severity.WARNING, f"the prompt {text.id}: {fault}")
               for fault in text.faults if text.version == "faithful"]  # fmt: skip
    if text.ours:
        remarks.append(Finding("note", Severity.NOTE, "The study has no such prompt; this one is ours."))
    if options.limit is not None or options.shard is not None or options.videos:
        message = f"only {cases.table.height:,} cases were asked: not the cases of the published rows"
        remarks.append(Finding("some-cases-only", Severity.WARNING, message))
    elif task.data.samples and task.data.samples != cases.table.height:
        message = f"{cases.table.height:,} cases; the study printed {task.data.samples:,}"
        remarks.append(Finding("count-differs", Severity.WARNING, message))
    return remarks
