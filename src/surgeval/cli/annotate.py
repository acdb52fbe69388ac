"""`surgeval annotate STAGE`: the annotation stages, from crowd answers to reviewed instances and expert questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from surgeval.cli import _options as o
from surgeval.cli._annotations import SOURCE_HELP, about_files, read_boxes, read_plain_table, read_procedures
from surgeval.cli._console import new_folder, progress_bar
from surgeval.cli._review_stages import HISTORY_TEXTS, moments, reviewed, serve, verify
from surgeval.cli._review_tasks import check_review_tool, write_review_task
from surgeval.cli._stage_files import detections, films, now, procedures_of, show, write_stage

SourcesArgument = Annotated[list[str], typer.Argument(metavar="BOXES...", help=SOURCE_HELP, show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the verb with one command per stage."""
    verb = typer.Typer(help="Go through the annotation stages, from crowd answers to instances.", no_args_is_help=True)
    for name, command in (
        ("screen", screen), ("boxes", boxes), ("cross-check", cross_check), ("reviewed", reviewed),
        ("instances", instances), ("verify", verify), ("moments", moments), ("experts", experts),
        ("serve", serve),
    ):  # fmt: skip
        verb.command(name)(command)
    app.add_typer(verb, name="annotate")


def screen(
    answers: Annotated[
        Path, typer.Argument(help="Table with a row per answer: video, clip, class_name, worker, present.")
    ],
    out: o.OutNeeded,
    certain: Annotated[float, typer.Option("--certain", help="Clips less certain than this are queued.")] = 0.95,
    least_votes: Annotated[int, typer.Option("--least-votes", help="Clips with fewer answers are queued.")] = 2,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Stage 1: what clips show, how good the workers are, and which clips need another look."""
    from surgeval.questions.stages.screening import screen as work

    new_folder(out, force=force)
    folder = out
    options = {"certain": certain, "least_votes": least_votes}
    screened = work(
        read_plain_table(answers, "video", "worker", "class_name"), certain=certain, least_votes=least_votes
    )
    tables = {"clips": screened.clips, "workers": screened.workers, "queue": screened.queue}
    write_stage(folder, "screen", tables, options, [answers])
    show({"workers": screened.workers}, json, f"{screened.queue.height} of {screened.clips.height} clips are queued")


def boxes(
    sources: Annotated[
        list[str], typer.Argument(metavar="[NAME=]BOXES...", help=f"{SOURCE_HELP} NAME is the annotator.")
    ],
    out: o.OutNeeded,
    gold: Annotated[Path | None, typer.Option("--gold", help="Boxes that are known, to score annotators by.")] = None,
    shown: Annotated[
        Path | None, typer.Option("--shown", help="Table of who was shown what: video, second, annotator.")
    ] = None,
    overlap: Annotated[float, typer.Option("--overlap", help="Smallest overlap of boxes that mean the same.")] = 0.5,
    pass_mark: Annotated[float, typer.Option("--pass-mark", help="F1 on gold boxes that annotators need.")] = 0.8,
    fps: o.Fps = None,
    size: o.Size = None,
    video: o.Film = None,
    video_name: o.VideoName = None,
    stills: o.Stills = False,
    boot: o.Boot = 1000,
    seed: o.Seed = 42,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Stage 2: one set of boxes out of those of several annotators, and how well they agree."""
    from surgeval.questions.stages.localization import fuse, gold_check

    new_folder(out, force=force)
    folder = out
    about = about_files(sources[:1], fps=fps, size=size, video=video, video_name=video_name, stills=stills)
    boxes_read = read_boxes(sources, about, annotated=True)
    seen = None if shown is None else read_plain_table(shown, "video", "annotator")
    fused = fuse(boxes_read.table, shown=seen, least=overlap, replicates=boot, seed=seed)
    tables = {"boxes": fused.kept, "votes": fused.boxes, "agreement": fused.agreement}
    if gold is not None:
        known = read_boxes([str(gold)], about).table
        tables["gold"] = gold_check(boxes_read.table, known, least=overlap, pass_mark=pass_mark)
    options = {"overlap": overlap, "pass_mark": pass_mark, "fps": fps, "replicates": boot}
    inputs = [*boxes_read.paths, *(path for path in (gold, shown) if path)]
    write_stage(folder, "boxes", tables, options, inputs, seed=seed, measures=boxes_read.measures)
    queued = fused.boxes.filter("queued").height
    show(
        {name: tables[name] for name in ("agreement", "gold") if name in tables},
        json, f"{fused.kept.height} of {fused.boxes.height} boxes are kept; {queued} hung on one vote",
    )  # fmt: skip


def cross_check(
    sources: SourcesArgument,
    predictions: Annotated[
        Path,
        typer.Option("--predictions", help="Detections: COCO results (JSON, with --images) or a table with a score."),
    ],
    out: o.OutNeeded,
    images: Annotated[Path | None, typer.Option("--images", help="COCO file whose images the results name.")] = None,
    overlap: Annotated[float, typer.Option("--overlap", help="Boxes that overlap less do not agree.")] = 0.45,
    score: Annotated[float, typer.Option("--score", help="Detections below it never accuse.")] = 0.5,
    fps: o.Fps = None,
    size: o.Size = None,
    video: o.Film = None,
    video_name: o.VideoName = None,
    stills: o.Stills = False,
    review_fps: Annotated[
        float, typer.Option("--review-fps", help="Frame rate of the CVAT task for the review.")
    ] = 1.0,
    review_tool: Annotated[
        str, typer.Option("--review-tool", help="Whom the review task is for: cvat or label_studio.")
    ] = "cvat",
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Stage 3: what a detector that never saw the videos sees otherwise, as flags and a review task."""
    from surgeval.questions.stages.cross_check import Thresholds
    from surgeval.questions.stages.cross_check import cross_check as work

    check_review_tool(review_tool)
    new_folder(out, force=force)
    folder = out
    about = about_files(sources, fps=fps, size=size, video=video, video_name=video_name, stills=stills)
    boxes_read = read_boxes(sources, about)
    thresholds = Thresholds(overlap=overlap, score=score, touch=min(Thresholds().touch, overlap))
    flags = work(boxes_read.table, detections(predictions, images, about), thresholds=thresholds)
    options = {"overlap": overlap, "score": score, "fps": fps, "review_fps": review_fps, "review_tool": review_tool}
    inputs = [*boxes_read.paths, predictions, *([images] if images else [])]
    write_stage(folder, "cross-check", {"flags": flags}, options, inputs, measures=boxes_read.measures)
    write_review_task(flags, boxes_read, folder / "review", about, tool=review_tool, fps=review_fps)
    counted = flags.group_by("kind").agg(flags=pl.len(), strong=(pl.col("strength") >= 0.8).sum()).sort("kind")
    show({"flags": counted}, json, f"the review task is in {folder / 'review'}")


def instances(
    sources: SourcesArgument,
    out: o.OutNeeded,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the instances that the boxes have; propose none.")
    ] = False,
    longest_gap: Annotated[int, typer.Option("--longest-gap", help="Seconds after which an object is a new one.")] = 60,
    video: Annotated[
        list[str] | None,
        typer.Option(
            "--video",
            metavar="[NAME=]FILE",
            help="Film of a video, for its measures and to link by appearance; repeatable.",
        ),
    ] = None,
    by: Annotated[str, typer.Option("--by", help="Who proposes, for the history.")] = "linker",
    at: o.At = "",
    fps: o.Fps = None,
    size: o.Size = None,
    video_name: o.VideoName = None,
    stills: o.Stills = False,
    annotated: o.WhatAnnotated = None,
    procedure_type: o.ProcedureType = None,
    center: o.Center = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Stage 4: which boxes are one object, what about it cannot be right, and a history for two-person review."""
    from surgeval.questions.stages.appearance import looks_in_videos
    from surgeval.questions.stages.box_tables import checked_boxes
    from surgeval.questions.stages.consistency import consistency_flags
    from surgeval.questions.stages.history import first_proposals
    from surgeval.questions.stages.instances import propose_instances
    from surgeval.video import pyav

    new_folder(out, force=force)
    if video:
        pyav()
    folder = out
    about = about_files(
        sources, fps=fps, size=size, video=video, video_name=video_name, stills=stills, annotated=annotated,
        procedure_type=procedure_type, center=center,
    )  # fmt: skip
    boxes_read = read_boxes(sources, about)
    table, tables, looks = boxes_read.table, dict[str, pl.DataFrame](), None
    if video:
        with progress_bar("frames looked at") as step:
            looks = looks_in_videos(table, films(video, table), step=step)
    if not check:
        proposed = propose_instances(table, longest_gap_s=longest_gap, looks=looks)
        tables = {"links": proposed.links, "suggestions": proposed.suggestions}
        table, looks = proposed.boxes, None  # the boxes come back in another order, with looks already used
    events = {one.video: one.events for one in boxes_read.procedures} if check else None
    tables["flags"] = consistency_flags(table, events=events, looks=looks)
    table = tables["boxes"] = checked_boxes(table, "boxes", extra=("instance",))
    tables["history"] = first_proposals(table, by, at=at or now()).table()
    options = {"check": check, "longest_gap_s": longest_gap, "by": by, "at": at, "fps": fps, "appearance": bool(video)}
    known = boxes_read.measures
    write_stage(folder, "instances", tables, options, boxes_read.paths, measures=known)
    procedures_of(table, boxes_read.procedures, about, folder / "procedures", renamed=not check, measures=known)
    named = table.group_by("video", "class_name").agg(pl.col("instance").n_unique().alias("instances"), boxes=pl.len())
    counted = tables["flags"].group_by("kind").len("flags").sort("kind")
    show({"instances": named.sort("video", "class_name"), "flags": counted}, json, "")


def experts(
    form: Annotated[Path, typer.Argument(help="The form (CSV): columns of the public data sets, and the author.")],
    annotations: Annotated[
        list[Path], typer.Option("--annotations", help="Procedure files or files of annotation tools; repeatable.")
    ],
    out: o.OutNeeded,
    ratings: Annotated[
        Path | None, typer.Option("--ratings", help="Times of several raters (question, rater, seconds).")
    ] = None,
    history: o.ReviewHistory = None,
    at: o.At = "",
    fps: o.Fps = None,
    size: o.Size = None,
    video: o.Film = None,
    video_name: o.VideoName = None,
    stills: o.Stills = False,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Stage 5: questions by hand, checked against each other and the ledger.

    Exit code 0: nothing speaks against any question. 1: findings.
    """
    from surgeval.questions.stages.expert_questions import (
        confirmed,
        data_set_table,
        ledger_findings,
        proposed,
        read_form,
        repetitions,
    )
    from surgeval.questions.stages.history import history_from
    from surgeval.questions.stages.tolerance import tolerance_from_spread
    from surgeval.schema.ledger import Ledger
    from surgeval.schema.rows import write_json_rows

    new_folder(out, force=force)
    folder = out
    about = about_files(annotations, fps=fps, size=size, video=video, video_name=video_name, stills=stills)
    known = {one.video: one for one in read_procedures(annotations, about)}
    questions = read_form(form, durations_s={name: one.duration_s for name, one in known.items()})
    log = None if history is None else history_from(read_plain_table(history, *HISTORY_TEXTS))
    questions = questions if log is None else confirmed(questions, log)
    findings = repetitions(questions)
    with progress_bar("questions checked", len(questions)) as step:
        for name in dict.fromkeys(question.request.video for question in questions):
            ledger = Ledger(known[name])
            for question in (one for one in questions if one.request.video == name):
                findings += ledger_findings(question, ledger)
                step(1)
    folder.mkdir(parents=True, exist_ok=True)
    write_json_rows((question.request.as_row() for question in questions), folder / "requests.json")
    write_json_rows((question.reference.as_row() for question in questions), folder / "references.json")
    data_set_table(questions).write_parquet(folder / "questions.parquet")
    rows = [(one.case, one.code, one.severity.value, one.message) for one in findings]
    kinds = dict.fromkeys(("case", "code", "severity", "message"), pl.String)
    reviewed_so_far = log or proposed(questions, at=at or now())
    tables = {
        "findings": pl.DataFrame(rows, schema=kinds, orient="row"),
        "history": reviewed_so_far.table(),
    }
    summary: dict[str, pl.DataFrame] = {"findings": tables["findings"]}
    if ratings is not None:
        spread = tolerance_from_spread(read_plain_table(ratings, "question", "rater"))
        summary["tolerance"] = tables["tolerance"] = pl.DataFrame([spread._asdict()])
    inputs = [form, *annotations, *(path for path in (ratings, history) if path)]
    write_stage(folder, "experts", tables, {"at": at, "fps": fps}, inputs)
    show(summary, json, f"{len(questions)} questions, {len(findings)} findings")
    raise typer.Exit(int(bool(findings)))
