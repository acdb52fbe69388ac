"""`surgeval task`: run vision-language models on surgical tasks, read their answers, set them beside published rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import asking_line, emit, emit_json, emit_table, new_folder, talk
from surgeval.cli._deliver import deliver
from surgeval.cli._evaluate import ExecutorOption, VideosOption
from surgeval.cli.ask import agreed_at_terminal
from surgeval.errors import InputInvalid, Misuse, UnknownName
from surgeval.schema.shown_text import without_secrets

if TYPE_CHECKING:
    from surgeval.results.result import Result
    from surgeval.tasks import TaskInstance

_NAME = typer.Argument(..., help="A name of `surgeval task list`, or a TOML file of a task.")
_ROOT_HELP = "Folder of the data set, or your own with cases.csv."
_ROOT = typer.Option(..., "--root", help=_ROOT_HELP)
_SPLIT = typer.Option(None, "--split", metavar="[SCHEME:]PART", help="Another part than the task's.")
_KEYS = typer.Option(
    "abstain",
    "--missing-keys",
    help="What becomes of a class that an answer does not mention: abstain, negative, fail.",
)
_LENIENT_HELP = "Exchange start and end where an answer has them the wrong way round."
_LENIENT = typer.Option(False, "--lenient", help=_LENIENT_HELP)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    task = typer.Typer(help="Run models on surgical tasks that are data.", no_args_is_help=True)
    task.command("list")(list_tasks)
    task.command("show")(show)
    task.command("check")(check)
    task.command("run")(run)
    task.command("parse")(parse)
    task.command("board")(board)
    app.add_typer(task, name="task")


def list_tasks(
    study: str | None = typer.Option(None, "--study", help="Only the tasks of this study."), json: o.Json = False
) -> None:
    """Print every task: what is asked, on which data, and how it is measured."""
    from surgeval.tasks.listing import task_table

    table = task_table()
    if study is not None:
        known = set(table["study"])
        if study not in known:
            raise UnknownName("study", study, known)
        table = table.filter(table["study"] == study)
    if json:
        emit_json(table.to_dicts())
    else:
        emit_table(table.select("task", "form", "data", "access", "demands", "samples", "metric", "summary"))


def show(name: str = _NAME, json: o.Json = False) -> None:
    """Print everything that a task states: data, media, answer, prompts with their faults, metrics, published rows."""
    from surgeval.tasks import open_task
    from surgeval.tasks.listing import task_lines

    task = open_task(name)
    emit_json(task.as_dict()) if json else emit("\n".join(task_lines(task)))


def check(
    name: str = _NAME,
    root: Path = _ROOT,
    split: str | None = _SPLIT,
    videos: VideosOption = "",
    json: o.Json = False,
) -> None:
    """Look whether a folder holds what a task needs: cases, references, media; exit 1 where it does not."""
    from surgeval.tasks.listing import checked

    try:
        facts = checked(name, root, split=split, videos=_names(videos))
    except InputInvalid as error:
        emit_json({"usable": False, "problems": error.problems}) if json else emit(f"not usable: {error}")
        raise typer.Exit(1) from None
    if json:
        emit_json({"usable": True, **facts})
    else:
        emit("\n".join([f"{name}: usable", *(f"  {key}: {value}" for key, value in facts.items())]))


def run(
    names: list[str] = typer.Argument(..., help="Names of `surgeval task list`, or TOML files of tasks."),
    model: list[str] = typer.Option(..., "--model", help="One of {models}; may be repeated."),
    root: Path = _ROOT,
    out: Path | None = typer.Option(None, "--out", help="Folder for the runs, one below it per task and model."),
    shots: int = typer.Option(0, "--shots", min=0, help="Examples of every class before each question."),
    prompts: str | None = typer.Option(None, "--prompts", help="mended or faithful; mended where there is one."),
    family: str | None = typer.Option(
        None, "--prompt-family", help="Family of prompts; by what the model can do if left out."
    ),
    split: str | None = _SPLIT,
    videos: VideosOption = "",
    limit: int | None = typer.Option(None, "--limit", min=1, help="So many cases at most, evenly spread."),
    shard: str | None = typer.Option(None, "--shard", metavar="I/N", help="Only the videos of part I of N."),
    structured: bool = typer.Option(False, "--structured", help="Hold the model to the JSON schema of the answer."),
    re_ask: bool = typer.Option(False, "--re-ask", help="Ask once more where an answer could not be read."),
    missing_keys: str = _KEYS,
    lenient: bool = _LENIENT,
    judge: list[str] = typer.Option(
        [], "--judge", help="Of free text, for tasks made of questions: one of {judges}.", show_default=False
    ),
    executor: ExecutorOption = "local",
    model_option: o.ModelOption = [],
    send_media_to: o.SendMediaTo = [],
    max_cost: o.MaxCost = None,
    dry_run: o.DryRun = False,
    store: o.AnswerStore = o.STORE,
    seed: o.Seed = 42,
    level: o.Level = 0.95,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Run models on tasks; every failure is counted, and exit 1 says that some run has no answer at all."""
    from surgeval.asking.cluster import LOCAL
    from surgeval.models import open_model, options_from
    from surgeval.tasks import open_task
    from surgeval.tasks.questions import run_questions
    from surgeval.tasks.run import run_task
    from surgeval.tasks.task import Layout

    options = options_from(model_option)
    tasks = {name: open_task(name) for name in names}
    given: dict[str, Any] = {
        "shots": shots, "prompts": prompts, "family": family, "split": split, "videos": _names(videos), "limit": limit,
        "shard": shard, "structured": structured, "re_ask": re_ask, "missing_keys": missing_keys, "lenient": lenient,
        "seed": seed,
    }  # fmt: skip
    places = {(name, spec): _place(out, task.name, spec, shots) for name, task in tasks.items() for spec in model}
    _refuse_one_place_for_two(places)
    for place in places.values():
        new_folder(place, force=force)
    nothing, left = False, max_cost
    for name, task in tasks.items():
        for spec in model:
            line = f"{task.name}, {without_secrets(spec)}"
            talk(line)
            if dry_run:
                _say_estimate(task, spec, root, store, given, options)
                continue
            opened = open_model(spec, **options)
            host = opened.host
            opened.close()
            agreed = [*send_media_to, *([host] if host is not None and agreed_at_terminal(host, send_media_to) else [])]
            asked: dict[str, Any] = {
                "model": spec, "root": root, "store": store, "max_cost": left, "send_media_to": agreed, **options
            }  # fmt: skip
            with asking_line(line) as meter:
                if task.data.layout is Layout.QUESTIONS:
                    if executor != LOCAL:
                        raise Misuse(f"questions of {task.name!r} are asked from here; leave --executor out")
                    questioned = run_questions(name, judges=judge, progress=meter, **asked)
                    result: Result = questioned.result
                    lost, cost = questioned.counts.all_failed, questioned.counts.cost
                else:
                    result = made = run_task(
                        name, frames=store, level=level, executor=executor, progress=meter, **given, **asked
                    )
                    lost, cost = made.nothing_came, made.counts.cost if made.counts else None
            left = None if left is None else max(0.0, left - (cost or 0.0))
            deliver(result, out=places[name, spec], as_json=json, force=force)
            nothing = nothing or lost
    if nothing:
        raise typer.Exit(1)


def _say_estimate(
    task: TaskInstance, spec: str, root: Path, store: Path, given: dict[str, Any], options: dict[str, Any]
) -> None:
    """Print what a run would take; frames are cut, nothing is sent."""
    from surgeval.models import open_model
    from surgeval.tasks.prepare import TaskOptions
    from surgeval.tasks.questions import estimate_questions
    from surgeval.tasks.run import estimate_task
    from surgeval.tasks.task import Layout

    if task.data.layout is Layout.QUESTIONS:
        guess = estimate_questions(task, model=spec, root=root, store=store, **options)
        emit("\n".join(f"  {line}" for line in guess.lines()))
        return
    opened = open_model(spec, **options)
    try:
        guess = estimate_task(task, model=opened, root=root, options=TaskOptions(**given), frames=store, store=store)
    finally:
        opened.close()
    emit("\n".join(f"  {line}" for line in guess.lines()))


def _refuse_one_place_for_two(places: dict[tuple[str, str], Path | None]) -> None:
    """Raises `Misuse` where two runs would lie in one folder."""
    taken: dict[Path, tuple[str, str]] = {}
    for run, place in places.items():
        if place is not None and place in taken:
            both = " and ".join(f"{name} with {without_secrets(spec)}" for name, spec in (taken[place], run))
            raise Misuse(f"{both} would both be written to {place}; run them into two folders, or rename one task file")
        if place is not None:
            taken[place] = run


def _names(text: str) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _place(out: Path | None, task: str, model: str, shots: int) -> Path | None:
    """The folder of one task and one model."""
    if out is None:
        return None
    word = re.sub(r"[^\w.-]+", "_", without_secrets(model)).strip("_.") or "model"
    return out / task / (f"{word}-{shots}-shot" if shots else word)


def parse(
    folder: Path = typer.Argument(..., metavar="RUN", help="Folder of one task and one model."),
    root: Path | None = typer.Option(None, "--root", help=_ROOT_HELP),
    missing_keys: str | None = typer.Option(None, "--missing-keys", help="Another rule than the run's."),
    lenient: bool | None = typer.Option(None, "--lenient/--strict", help=_LENIENT_HELP),
    out: o.Out = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Read the stored answers of a run again by the present rules and score them; nobody is asked."""
    from surgeval.tasks.run import parse_run

    new_folder(out, force=force)
    result = parse_run(folder, root=root, missing_keys=missing_keys, lenient=lenient)
    deliver(result, out=out, as_json=json, force=force)
    if result.nothing_came:
        raise typer.Exit(1)


def board(
    runs: list[Path] = typer.Argument(None, help="Folders of runs; those below them count too."),
    task: list[str] = typer.Option(
        [],
        "--task",
        help="Published rows of this task too, or of all tasks of a study; may be repeated.",
        show_default=False,
    ),
    published: bool = typer.Option(True, "--published/--no-published", help="Published rows beside the runs."),
    contrast: str | None = typer.Option(
        None, "--contrast", help="shots (examples against none), demands (recognition against reasoning) or models."
    ),
    first: list[str] = typer.Option([], "--first", help="Model of one side; may be repeated.", show_default=False),
    second: list[str] = typer.Option([], "--second", help="Model of the other side.", show_default=False),
    out: o.Out = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Set runs beside each other and beside published rows, and print what a statement about them rests on."""
    from surgeval.tasks.board import task_board

    new_folder(out, force=force)
    result = task_board(
        runs or [], tasks=task, published=published, contrast=contrast, first=first, second=second
    )  # fmt: skip
    deliver(result, out=out, as_json=json, force=force)
