"""One task with one model: prepared, asked, read and scored; and what was said once, read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from surgvalid.asking.cluster import LOCAL, check_executor
from surgvalid.asking.meter import Meter, Progress, expect
from surgvalid.asking.reading import KEY_RULES, ReadingPolicy, ReplyRead
from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.models import (
    Can,
    ClusterModel,
    CostEstimate,
    Model,
    Outcome,
    Prompt,
    RunCounts,
    SightTest,
    ask_all,
    check_consent,
    check_prompts,
    check_sight,
    estimate,
    open_model,
)
from surgvalid.results.request import requested
from surgvalid.schema.legacy import task_options
from surgvalid.tasks.prepare import PreparedTask, TaskOptions, prepare_task
from surgvalid.tasks.prompts import Asks
from surgvalid.tasks.reading import TASKS
from surgvalid.tasks.responses import ReplyReader, RunAbout, result_of_responses
from surgvalid.tasks.result import TaskResponse, TaskResult, read_responses
from surgvalid.tasks.task import TaskInstance

STORE = ".surgvalid"
"""Where frames are cut into and answers are kept, unless somebody says otherwise."""


@requested("task run", files=())
def run_task(
    task: str | Path | TaskInstance,
    *,
    model: str | Model,
    root: str | Path,
    name: str | None = None,
    shots: int = 0,
    prompts: str | None = None,
    family: str | None = None,
    split: str | None = None,
    videos: Sequence[str] = (),
    limit: int | None = None,
    shard: str | None = None,
    store: str | Path | None = None,
    frames: str | Path = STORE,
    max_cost: float | None = None,
    send_media_to: Sequence[str] = (),
    structured: bool = False,
    re_ask: bool = False,
    accept_blind: bool = False,
    missing_keys: str = KEY_RULES[0],
    policy: str = ReadingPolicy.CAREFUL,
    level: float = 0.95,
    seed: int = 42,
    executor: str = LOCAL,
    progress: Progress = None,
    agree: Callable[[str], bool] | None = None,
    **model_options: Any,
) -> TaskResult:
    """One model on one task: its scores with intervals over videos, and every failure counted.

    Args:
        task: A name of `surgvalid task list`, or a TOML file.
        model: A specification such as `openai:MODEL@URL` or `prior`, or an opened model.
        root: The folder of the data set, or one's own with `cases.csv`.
        name: What the model is called in tables; its specification if left out.
        shots: Examples of every class before each question, from the training part.
        prompts: `mended` or `faithful`; mended where there is such a version.
        family: Of prompts; by default the one for what the model can do.
        split: Another part than the task's.
        videos: Only these.
        limit: So many cases at most, evenly spread.
        shard: `I/N`: only the videos of part I of N.
        store: Answers that were given before are taken from here and new ones kept here.
        frames: The folder that frames of videos are cut into, shared by all models.
        max_cost: Money that is not to be exceeded.
        send_media_to: Hosts outside this machine that may be sent images and video.
        structured: Hold the model to the JSON schema of the answer, where it can be.
        re_ask: Ask once more where an answer could not be read.
        accept_blind: Ask a model that does not see its images all the same; every value is marked.
        missing_keys: What becomes of a class that an answer does not mention: abstain, negative or fail.
        policy: Which readings count: strict, careful, or lenient with what needs a guess.
        level: Coverage of the intervals.
        seed: Of drawn examples, and of models that take one.
        executor: `local`, or `ray`: workers of a Ray cluster have the model open, one per GPU; answers are kept here.
        progress: Hears of every outcome.
        agree: Asks a person about a host that is not this machine.
        **model_options: How the model is opened: `concurrency`, `boxes`, and so on.

    Raises:
        Misuse: Something that cannot be run, or a model that does not see; said before the first case.
        InputInvalid: Files that are missing or cannot be used; all are named.
    """
    options = TaskOptions(
        shots=shots,
        prompts=prompts,
        family=family,
        split=split,
        videos=tuple(videos),
        limit=limit,
        shard=shard,
        structured=structured,
        re_ask=re_ask,
        missing_keys=missing_keys,
        policy=policy,
        seed=seed,
    )
    opened = _opened(model, model_options, executor)
    try:
        prepared = prepare_task(task, opened.can, root, options, frames=frames)
        refuse_inability(opened, prepared)
        check_consent([opened], send_media_to, ask=agree)
        prepared.cut()
        sight = check_sight(
            opened,
            prepared.prompts(),
            store=store,
            plan=prepared.plan.digest,
            seed=seed,
            accept_blind=accept_blind,
        )
        responses, counts = _asked(opened, prepared, options, store=store, max_cost=max_cost, progress=progress)
    finally:
        if isinstance(model, str):
            opened.close()
    about = RunAbout(name or _name(opened, shots), opened.name, opened.revision, opened.can, sight)
    return result_of_responses(prepared, responses, about, options, counts=counts, level=level, root=root)


def _opened(model: str | Model, options: Mapping[str, Any], executor: str) -> Model:
    check_executor(executor)
    if not isinstance(model, str):
        if executor != LOCAL:
            raise Misuse(f"executor {executor!r} opens the model on every worker; name it by its specification")
        return model
    opened = open_model(model, **options)
    return opened if executor == LOCAL else ClusterModel(opened, model, options)


def _name(model: Model, shots: int) -> str:
    """What a model is called in tables: with examples it is another one."""
    return f"{model.name} ({shots}-shot)" if shots else model.name


def estimate_task(
    task: str | Path | TaskInstance,
    *,
    model: Model,
    root: str | Path,
    options: TaskOptions,
    frames: str | Path,
    store: str | Path | None = None,
) -> CostEstimate:
    """What a run would take, before anything is sent."""
    prepared = prepare_task(task, model.can, root, options, frames=frames)
    refuse_inability(model, prepared)
    prepared.cut()
    return estimate(model, prepared.prompts(), store=store)


def _asked(
    model: Model,
    prepared: PreparedTask,
    options: TaskOptions,
    *,
    store: str | Path | None,
    max_cost: float | None,
    progress: Progress,
) -> tuple[list[TaskResponse], RunCounts]:
    """What the model said to every prompt, in the order of the prompts, and to further questions."""
    replies: dict[str, Outcome] = {}

    def hear(prompt: Prompt, outcome: Outcome) -> None:
        replies[prompt.id] = outcome

    expect(progress, prepared.requests)
    if isinstance(progress, Meter) and store is not None:
        progress.requests = estimate(model, prepared.prompts(), store=store).requests
    counts = ask_all(model, prepared.prompts(), done=hear, store=store, max_cost=max_cost, progress=progress)
    responses = [TaskResponse(one, replies[one]) for one in sorted(replies)]
    if options.re_ask and prepared.asking.text.asks is Asks.ONCE:
        responses += _asked_again(model, prepared, replies, options, store, max_cost, counts)
    return responses, counts


def _asked_again(
    model: Model,
    prepared: PreparedTask,
    replies: Mapping[str, Outcome],
    options: TaskOptions,
    store: str | Path | None,
    max_cost: float | None,
    counts: RunCounts,
) -> list[TaskResponse]:
    readings = ReplyReader(prepared, options, model.can.boxes).readings({name: [one] for name, one in replies.items()})
    rows = [
        row
        for row in prepared.cases.table.iter_rows(named=True)
        if readings[row["case"]].status is ReplyRead.FAILED and replies[row["case"]].answered
    ]
    again: list[TaskResponse] = []

    def hear(prompt: Prompt, outcome: Outcome) -> None:
        again.append(TaskResponse(prompt.id, outcome, again=True))

    prompts = (prepared.asking.again(row, replies[row["case"]].text) for row in rows)
    left = None if max_cost is None else max(0.0, max_cost - (counts.cost or 0.0))
    more = ask_all(model, prompts, done=hear, store=store, max_cost=left)
    counts.asked += more.asked
    counts.tokens_in += more.tokens_in
    counts.tokens_out += more.tokens_out
    counts.cost = None if counts.cost is None else counts.cost + (more.cost or 0.0)
    return sorted(again, key=lambda one: one.id)


def refuse_inability(model: Model, prepared: PreparedTask) -> None:
    """Say what the model cannot do before anything is sent; the first case, whose frames are cut, stands for all.

    Raises:
        InputInvalid: With everything that it cannot do.
    """
    first = prepared.only(prepared.cases.table.head(1))
    first.cut()
    check_prompts(model, first.prompts())


@requested("task parse", files=())
def parse_run(
    run: str | Path, *, root: str | Path | None = None, missing_keys: str | None = None, policy: str | None = None
) -> TaskResult:
    """The result of a run from what was stored of it, read by the present rules; nobody is asked.

    Args:
        run: Folder of one task and one model, as `task run` wrote it.
        root: The folder of the data set, where it is not where it was.
        missing_keys: Another rule for classes that an answer does not mention.
        policy: Another policy of reading; all three are set beside each other in any case.

    Raises:
        FileUnreadable: No such run, or a damaged one.
        InputInvalid: The data set is not there as it was.
    """
    folder = Path(run)
    path = folder / "run.json"
    given = {"missing_keys": missing_keys, "policy": policy}
    changes = {key: value for key, value in given.items() if value is not None}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        stored = task_options({**record["options"], "videos": tuple(record["options"]["videos"])})
        options = TaskOptions(**{**stored, "family": record["family"], "prompts": record["version"], **changes})
        sight = SightTest.of_dict(record["sight"]) if record.get("sight") else None
        about = RunAbout(record["model"], record["spec"], record["revision"], Can(**record["can"]), sight)
        counts, place = RunCounts(**record["counts"]), root or record["root"]
        task = record["task"] if record["task"] in TASKS else record["file"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise FileUnreadable(str(path), ["no run of a task; name the folder of one task and one model"]) from None
    prepared = prepare_task(task, about.can, place, options, frames=folder)
    responses = read_responses(folder)
    return result_of_responses(
        prepared, responses, about, options, counts=counts, level=float(record["level"]), root=place
    )
