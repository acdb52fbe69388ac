"""`surgvalid task`: run models on surgical tasks or questions, read their answers, compare with published rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from surgvalid.cli._console import (
    agreed,
    asking_line,
    deliver,
    emit,
    emit_json,
    emit_table,
    manifest_path,
    new_folder,
    talk,
)
from surgvalid.errors import InputInvalid, Misuse, UnknownName, WouldOverwrite
from surgvalid.schema.shown_text import without_secrets

if TYPE_CHECKING:
    from surgvalid.results.result import Result
    from surgvalid.tasks import TaskInstance


def list_tasks(name: str | None, study: str | None, json: bool) -> None:
    """Print every task: what is asked, on which data, and how it is measured; or everything that one states."""
    from surgvalid.tasks import open_task
    from surgvalid.tasks.listing import task_lines, task_table

    if name is not None:
        task = open_task(name)
        emit_json(task.as_dict()) if json else emit("\n".join(task_lines(task)))
        return
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


def check(name: str, root: Path, videos: Sequence[str], json: bool, split: str | None = None) -> None:
    """Look whether a folder holds what a task needs: cases, references, media; exit 1 where it does not."""
    from surgvalid.tasks.listing import checked

    try:
        facts = checked(name, root, split=split, videos=tuple(videos))
    except InputInvalid as error:
        emit_json({"usable": False, "problems": error.problems}) if json else emit(f"not usable: {error}")
        raise typer.Exit(1) from None
    if json:
        emit_json({"usable": True, **facts})
    else:
        emit("\n".join([f"{name}: usable", *(f"  {key}: {value}" for key, value in facts.items())]))


def run(
    names: list[str],
    model: list[str],
    root: Path,
    out: Path | None,
    shots: list[int],
    executor: str,
    judge: list[str],
    model_option: list[str],
    send_media_to: list[str],
    accept_blind: bool,
    max_cost: float | None,
    dry_run: bool,
    store: Path,
    level: float,
    json: bool,
    force: bool,
    missing_keys: str | None = None,
    policy: str | None = None,
    videos: Sequence[str] = (),
    prompts: str | None = None,
    **asked_of_task: Any,
) -> None:
    """Run models on tasks, in one way or several; every failure is counted, and exit 1 says that some run has no value.

    Several numbers of examples or prompts are run one after the other and compared, paired over videos.
    """
    from surgvalid.models import open_model, options_from
    from surgvalid.tasks import open_task

    options = options_from(model_option)
    tasks = {name: open_task(name) for name in names}
    given: dict[str, Any] = {
        **asked_of_task,
        "videos": tuple(videos),
        "missing_keys": missing_keys or "abstain",
        "policy": policy or "careful",
    }
    ways = _ways_of(shots, prompts)
    if len(ways) > 1:
        _check_several_ways(tasks.values(), kept=out is not None or dry_run)
    worded = len({way.prompts for way in ways}) > 1
    places = {
        (name, spec, way): _place(out, task.name, spec, way.shots, way.prompts if worded else "")
        for name, task in tasks.items()
        for spec in model
        for way in ways
    }
    _refuse_one_place_for_two(places)
    for place in places.values():
        new_folder(place, force=force)
    nothing, left = False, max_cost
    for (name, spec, way), place in places.items():
        task = tasks[name]
        suffix = (f", {way.prompts}" if worded else "") + (f" ({way.shots}-shot)" if way.shots else "")
        line = f"{task.name}, {without_secrets(spec)}{suffix}"
        given |= {"shots": way.shots, "prompts": way.prompts or None}
        talk(line)
        if dry_run:
            _say_estimate(task, spec, root, store, given, options)
            continue
        opened = open_model(spec, **options)
        host = opened.host
        if worded:
            given["name"] = opened.name + suffix
        opened.close()
        asked: dict[str, Any] = {
            "model": spec,
            "root": root,
            "store": store,
            "max_cost": left,
            "send_media_to": _sent_to(host, send_media_to),
            "accept_blind": accept_blind,
            **options,
        }
        with asking_line(line, store=store) as meter:
            done = _done(task, name, judge, executor, progress=meter, level=level, given=given, asked=asked)
        left = None if left is None else max(0.0, left - (done.cost or 0.0))
        deliver(done.result, out=place, as_json=json, force=force)
        nothing = nothing or done.lost
    if len(ways) > 1 and not dry_run:
        from surgvalid.tasks.board import task_board

        swept = task_board([one for one in places.values() if one], published=False, contrast="ways")
        deliver(swept, out=None, as_json=json)
    if nothing:
        raise typer.Exit(1)


class Way(NamedTuple):
    """One way of asking a task."""

    shots: int
    prompts: str
    """The version of the prompts; empty where it is that of the task."""


class DoneRun(NamedTuple):
    """What a run gave, whether it has no value, and what it cost."""

    result: Result
    lost: bool
    cost: float | None


def _ways_of(shots: Sequence[int], prompts: str | None) -> list[Way]:
    """Every version of the prompts with every number of examples."""
    if not shots or min(shots) < 0:
        raise Misuse("--shots: write numbers of 0 or more, such as 0,4")
    return [Way(count, text) for text in dict.fromkeys((prompts or "").split("+")) for count in dict.fromkeys(shots)]


def _check_several_ways(tasks: Iterable[TaskInstance], *, kept: bool) -> None:
    """Raises `Misuse` where several ways of asking cannot be compared."""
    from surgvalid.tasks.task import Layout

    if not kept:
        raise Misuse("--out: name a folder; several ways of asking are compared from what is kept there")
    if any(task.data.layout is Layout.QUESTIONS for task in tasks):
        raise Misuse("questions are asked in one way; leave out further --shots and --prompts")


def _done(
    task: TaskInstance,
    name: str,
    judges: list[str],
    executor: str,
    *,
    progress: Any,
    level: float,
    given: Mapping[str, Any],
    asked: Mapping[str, Any],
) -> DoneRun:
    """One run of a task or of questions."""
    from surgvalid.asking.cluster import LOCAL
    from surgvalid.tasks.questions import run_questions
    from surgvalid.tasks.run import run_task
    from surgvalid.tasks.task import Layout

    if task.data.layout is Layout.QUESTIONS:
        if executor != LOCAL:
            raise Misuse(f"questions of {task.name!r} are asked from here; leave --executor out")
        questioned = run_questions(name, judges=judges, progress=progress, **asked)
        return DoneRun(questioned.result, questioned.counts.is_void, questioned.counts.cost)
    made = run_task(name, frames=asked["store"], level=level, executor=executor, progress=progress, **given, **asked)
    return DoneRun(made, made.nothing_came or not made.is_finished, made.counts.cost if made.counts else None)


def _say_estimate(
    task: TaskInstance, spec: str, root: Path, store: Path, given: dict[str, Any], options: dict[str, Any]
) -> None:
    """Print what a run would take; frames are cut, nothing is sent."""
    from surgvalid.models import open_model
    from surgvalid.tasks.prepare import TaskOptions
    from surgvalid.tasks.questions import estimate_questions
    from surgvalid.tasks.run import estimate_task
    from surgvalid.tasks.task import Layout

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


def _refuse_one_place_for_two(places: Mapping[tuple[str, str, Way], Path | None]) -> None:
    """Raises `Misuse` where two runs would lie in one folder."""
    taken: dict[Path, tuple[str, str, Way]] = {}
    for run, place in places.items():
        if place is not None and place in taken:
            both = " and ".join(f"{name} with {without_secrets(spec)}" for name, spec, _ in (taken[place], run))
            raise Misuse(f"{both} would both be written to {place}; run them into two folders, or rename one task file")
        if place is not None:
            taken[place] = run


def _place(out: Path | None, task: str, model: str, shots: int, prompts: str) -> Path | None:
    """The folder of one task and one model, asked in one way."""
    if out is None:
        return None
    word = re.sub(r"[^\w.-]+", "_", without_secrets(f"{model}-{prompts}" if prompts else model)).strip("_.") or "model"
    return out / task / (f"{word}-{shots}-shot" if shots else word)


def parse(
    folder: Path,
    root: Path | None,
    missing_keys: str | None,
    policy: str | None,
    out: Path | None,
    json: bool,
    force: bool,
) -> None:
    """Read the stored answers of a run again by the present rules and score them; nobody is asked."""
    from surgvalid.tasks.run import parse_run

    new_folder(out, force=force)
    result = parse_run(folder, root=root, missing_keys=missing_keys, policy=policy)
    deliver(result, out=out, as_json=json, force=force)
    if result.nothing_came or not result.is_finished:
        raise typer.Exit(1)


def cases(runs: list[Path] | None, root: Path | None, out: Path | None, force: bool, limit: int | None = None) -> None:
    """Write one page with the cases of runs and scores, complete in itself."""
    from surgvalid.tasks.viewer import MOST_CASES, case_page

    if out is None or out.suffix.lower() != ".html":
        raise Misuse("--out: name the page, such as cases.html")
    if out.exists() and not force:
        raise WouldOverwrite(out)
    page = case_page(runs or [], data=root, limit=limit or MOST_CASES)
    out.write_text(page, encoding="utf-8", errors="replace")
    talk(f"written to {out}")


def board(
    runs: list[Path] | None,
    tasks: Sequence[str],
    published: bool,
    contrast: str | None,
    models: list[str],
    out: Path | None,
    json: bool,
    force: bool,
) -> None:
    """Set runs beside each other and beside published rows, and print what a statement about them rests on."""
    from surgvalid.tasks.board import task_board

    new_folder(out, force=force)
    if len(models) not in (0, 2):
        raise Misuse("--models: name two sides, such as A,B or A+B,C")
    first, second = (side.split("+") for side in models) if models else ([], [])
    result = task_board(runs or [], tasks=tasks, published=published, contrast=contrast, first=first, second=second)
    deliver(result, out=out, as_json=json, force=force)


def ask(
    model: str,
    requests: list[str],
    model_option: list[str],
    send_media_to: list[str],
    accept_blind: bool,
    max_cost: float | None,
    dry_run: bool,
    store: Path,
    out: Path | None,
    json: bool,
    force: bool,
    **asked: Any,
) -> None:
    """Ask a model; exit 1 where it answered nothing, or could not be asked everything."""
    from surgvalid.models import ask as run
    from surgvalid.models import estimate_ask, open_model, options_from

    _check_out(out, force=force)
    options = options_from(model_option)
    asked |= {"store": store, "policy": asked["policy"] or "careful"}
    host = open_model(model, **options).host
    if dry_run:
        asked.pop("policy")
        estimate = estimate_ask(model, requests, **asked, **options)
        emit_json(estimate.as_dict()) if json else emit("\n".join(estimate.lines()))
        if host is not None:
            talk(f"images or video would be sent to {host}")
        return
    allowed = _sent_to(host, send_media_to)  # before the line that counts is drawn
    with asking_line(f"asking {without_secrets(model)}", store=store) as meter:
        result = run(
            model,
            requests,
            **asked,
            max_cost=max_cost,
            send_media_to=allowed,
            accept_blind=accept_blind,
            progress=meter,
            **options,
        )
    if out is not None and out.suffix.lower() == ".json":
        from surgvalid.results.manifest import write_manifest

        result.to_answers(out)
        write_manifest(manifest_path(out), result.manifest({out.name: out}))
        talk(f"written to {out}")
        deliver(result, out=None, as_json=json)
    else:
        deliver(result, out=out, as_json=json, force=force)
    if result.counts is not None and result.counts.is_void:
        raise typer.Exit(1)


def _sent_to(host: str | None, send_media_to: list[str]) -> list[str]:
    """Hosts that images may go to: those named, and this one where a person at the terminal agrees."""
    if host is None or host.lower() in {name.strip().lower() for name in send_media_to}:
        return send_media_to
    allowed = agreed(f"Images or video of patients would be sent to {host}. Is that allowed for these data?")
    return [*send_media_to, *([host] if allowed else [])]


def _check_out(out: Path | None, *, force: bool) -> None:
    """Refuse a place that is taken, before anything is asked."""
    if out is None:
        return
    if out.suffix.lower() != ".json":
        new_folder(out, force=force)
        return
    if not out.parent.is_dir():
        raise Misuse(f"--out {out}: folder {out.parent} does not exist")
    for path in (out, manifest_path(out)):
        if path.exists() and not force:
            raise WouldOverwrite(path)
