"""Everything that is known of a run before the first request: cases, media, prompt, examples.

Examples before a question are cases of the training part, named by id, never from a video that is asked about.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.asking.reading import KEY_RULES, ReadingPolicy
from surgvalid.datasets import open_data_set
from surgvalid.errors import InputInvalid, Misuse, SurgvalidError, UnknownName
from surgvalid.models import Can, Prompt
from surgvalid.schema.findings import Finding, Severity
from surgvalid.tasks.asking import Asking, class_shares, typical_answer
from surgvalid.tasks.cases import Cases, cases_of
from surgvalid.tasks.media import CaseMedia, FrameCache, MediaFinder, Plan
from surgvalid.tasks.prompts import Asks, PromptText, chosen_prompt, prompts_of
from surgvalid.tasks.reading import open_task
from surgvalid.tasks.task import Layout, TaskForm, TaskInstance

_SHOWN = 5
_MOST_LOOKED_AT = 500
"""Cases of a class whose media are looked for."""
_NO_EXAMPLES = ("val", "test", "validation", "testing")


def training_cases(task: TaskInstance, root: str | Path, asked: Cases, *, every_frame: bool = False) -> Cases:
    """The cases that examples may be taken from: the training part, as the task samples it or every frame.

    Raises:
        Misuse: There is no such part.
        InputInvalid: Its files cannot be used.
    """
    sampled: dict[str, Any] = {"rate_hz": None, "every_frames": None} if every_frame else {}
    trained = replace(task, data=replace(task.data, **sampled))
    if task.data.layout is Layout.CASES:
        return cases_of(trained, root, split="train")
    if task.data.train:
        return cases_of(trained, root, split=task.data.train)
    if not task.data.split:
        raise Misuse(f"task {task.name!r} states no training part, so there is nothing to take examples from")
    everything = cases_of(replace(trained, data=replace(trained.data, split="")), root)
    stated = open_data_set(task.data.data_set).splits(root)
    scheme = task.data.split.rpartition(":")[0]
    held = stated.filter((pl.col("scheme") == scheme) & pl.col("split").is_in(_NO_EXAMPLES))["video"].to_list()
    left = everything.table.filter(~pl.col("video").is_in([*held, *asked.videos]))
    if left.is_empty():
        raise Misuse(f"task {task.name!r}: no video of the folder is outside {task.data.split} and its val part")
    return replace(everything, table=left, which=f"all but {scheme} val and test")


def chosen_shots(
    task: TaskInstance,
    pool: Cases,
    asked: Cases,
    count: int,
    *,
    seed: int = 0,
    has_media: Callable[[Mapping[str, Any]], bool] = lambda _: True,
) -> list[Mapping[str, Any]]:
    """The examples: those that the study showed, or so many of every class, drawn.

    Args:
        task: The task.
        pool: Where they may come from.
        asked: The cases that will be asked.
        count: Shots; of every class one image per shot.
        seed: Of the draw.
        has_media: Whether a case can be shown; others are not drawn.

    Raises:
        InputInvalid: An example that is not in the training part, or from a video that is asked about.
        Misuse: A number that cannot be, or a form of answer that examples cannot be given for.
    """
    if count < 1:
        raise Misuse(f"--shots must be 0 or more, got {count}")
    if task.answer.form in (TaskForm.MASKS, TaskForm.TEXT):
        raise Misuse(f"task {task.name!r}: examples cannot be shown for answers of the form {task.answer.form}")
    listed = task.shots.get(str(count))
    rows = _listed(task, pool, listed) if listed else _drawn(task, pool, count, seed, has_media)
    refuse_leakage(rows, asked, clusters={**pool.clusters, **asked.clusters})
    return rows


def refuse_leakage(
    shots: Sequence[Mapping[str, Any]], asked: Cases, *, clusters: Mapping[str, str] | None = None
) -> None:
    """Refuse examples from a video, or a patient or surgeon, that is asked about.

    Raises:
        InputInvalid: With every such example.
    """
    unit = clusters or {}
    tested = {unit.get(video, video) for video in asked.videos}
    names = [
        f"example {shot['case']!r} is from {unit.get(shot['video'], shot['video'])!r}, which is asked about"
        for shot in shots
        if unit.get(shot["video"], shot["video"]) in tested
    ]
    if names:
        raise InputInvalid("examples", names)


def _listed(task: TaskInstance, pool: Cases, names: Sequence[str]) -> list[Mapping[str, Any]]:
    rows = {str(row["case"]): row for row in pool.table.filter(pl.col("case").is_in(list(names))).iter_rows(named=True)}
    absent = [name for name in names if name not in rows]
    if absent:
        shown = ", ".join(absent[:_SHOWN])
        message = f"{len(absent)} of the {len(names)} examples that the study showed are not in its training part here"
        raise InputInvalid(f"examples of {task.name}", [f"{message} ({shown})"])
    return [rows[name] for name in names]


def _drawn(
    task: TaskInstance, pool: Cases, count: int, seed: int, has_media: Callable[[Mapping[str, Any]], bool]
) -> list[Mapping[str, Any]]:
    """So many cases of every class, drawn by the seed; all answers alike where there are no classes."""
    table, generator = pool.table, random.Random(seed)
    if task.answer.form is TaskForm.LABELS:
        kinds = [table.filter(pl.col(f"reference:{name}") == 1) for name in task.answer.classes]
    elif task.answer.form is TaskForm.CHOICE:
        kinds = [table.filter(pl.col("reference") == name) for name in task.answer.classes]
    else:
        kinds = [table]
    rows: dict[str, Mapping[str, Any]] = {}
    for kind in kinds:
        places = generator.sample(range(kind.height), min(_MOST_LOOKED_AT, kind.height))
        usable = (row for place in places if has_media(row := kind.row(place, named=True)))
        rows |= {str(row["case"]): row for row in islice(usable, count)}
    if not rows:
        raise Misuse(f"task {task.name!r}: the training part holds no case of any class that can be shown")
    return list(rows.values())


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
    policy: str = ReadingPolicy.CAREFUL
    """Which readings of replies count."""
    seed: int = 42

    def __post_init__(self) -> None:
        if self.shots < 0:
            raise Misuse(f"--shots must be 0 or more, got {self.shots}")
        if self.missing_keys not in KEY_RULES:
            raise UnknownName("rule for classes that are not mentioned", self.missing_keys, KEY_RULES)
        if self.policy not in list(ReadingPolicy):
            raise UnknownName("policy of reading", self.policy, list(ReadingPolicy))


@dataclass(frozen=True)
class PreparedTask:
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

    def only(self, table: pl.DataFrame) -> PreparedTask:
        """The same with some of its cases."""
        cases = replace(self.cases, table=table)
        media = {case: self.asking.media[case] for case in cases.table["case"]}
        return replace(self, cases=cases, asking=replace(self.asking, cases=cases, media=media))

    def cut(self) -> None:
        """Cut the frames of all cases and examples, one pass per video, where frames are shown."""
        examples = self.asking.shot_media.values()
        shown = examples if self.asking.text.native_video else (*self.asking.media.values(), *examples)
        self.asking.finder.cut(shown)


def prepare_task(
    task: str | Path | TaskInstance, can: Can, root: str | Path, options: TaskOptions, *, frames: str | Path
) -> PreparedTask:
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
            f"task {instance.name!r} is made of questions; run it with surgvalid task run, or run_questions in Python"
        )
    text = chosen_prompt(
        prompts_of(instance), _what_it_takes(can, instance), family=options.family, version=options.prompts
    )
    cases = cases_of(
        instance, root, split=options.split, videos=options.videos, limit=options.limit, shard=options.shard
    )
    plan = Plan(instance.media, _frames_left(can, options, instance))
    finder = MediaFinder(instance, Path(root), plan, FrameCache(frames))
    cases, media = _with_media(instance, cases, finder)
    pool = _pool(instance, root, cases, options.shots)
    shots: Sequence[Mapping[str, Any]] = ()
    if pool is not None and options.shots:
        shots = chosen_shots(instance, pool, cases, options.shots, has_media=finder.has_media, seed=options.seed)
    shot_media = finder.find(shots) if shots else {}
    asking = Asking(
        instance,
        cases,
        finder,
        media,
        text,
        can,
        shots,
        shot_media,
        pool,
        class_shares(instance, pool, cases),
        typical_answer(instance, pool),
        options.structured,
        options.seed if can.seeds else None,
    )
    return PreparedTask(instance, cases, asking, plan, (*cases.findings, *_remarks(instance, cases, text, options)))


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
            raise Misuse(f"task {task.name!r}: no image of any case is here; paths: {', '.join(task.media.files)}")
    return cases, finder.find(rows)


def _pool(task: TaskInstance, root: str | Path, cases: Cases, shots: int) -> Cases | None:
    """Where examples and shares of classes come from; nothing where there is no training part.

    Examples that the study names may lie between the frames that are sampled; drawn ones are of those.
    """
    try:
        pool = training_cases(task, root, cases, every_frame=str(shots) in task.shots)
    except SurgvalidError:
        if shots:
            raise
        return None
    return pool if shots or not pool.videos & cases.videos else None


def _remarks(task: TaskInstance, cases: Cases, text: PromptText, options: TaskOptions) -> list[Finding]:
    """What whoever reads the numbers must know of how the task was run."""
    remarks = [
        Finding("prompt-fault", Severity.WARNING, f"the prompt {text.id}: {fault}")
        for fault in text.faults
        if text.version == "faithful"
    ]
    if text.ours:
        remarks.append(Finding("note", Severity.NOTE, "The study has no such prompt; this one is ours."))
    if options.limit is not None or options.shard is not None or options.videos:
        message = f"only {cases.table.height:,} cases were asked: not the cases of the published rows"
        remarks.append(Finding("some-cases-only", Severity.WARNING, message))
    elif task.data.samples and task.data.samples != cases.table.height:
        message = f"{cases.table.height:,} cases; the study printed {task.data.samples:,}"
        remarks.append(Finding("count-differs", Severity.WARNING, message))
    return remarks
