"""`surgvalid data annotate run STAGE`: the annotation stages, from crowd answers to instances and expert questions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import typer

from surgvalid.cli._annotations import about_files, read_boxes, read_plain_table, read_procedures
from surgvalid.cli._console import new_folder, progress_bar
from surgvalid.cli._listed import OPTIONS, arguments
from surgvalid.cli._review_stages import HISTORY_TEXTS, moments, reviewed, verify
from surgvalid.cli._stage_files import (
    check_review_tool,
    detections,
    now,
    procedures_of,
    show,
    single,
    video_files,
    write_review_task,
    write_stage,
)
from surgvalid.errors import Misuse, UnknownName


def screen(files: list[str], *, out: Path, certain: float, min_votes: int, json: bool, force: bool) -> None:
    """Stage 1: what clips show, how good the workers are, and which clips need another look."""
    from surgvalid.questions.stages.screening import screen as work

    new_folder(out, force=force)
    options = {"certain": certain, "least_votes": min_votes}
    answers = single("screen", files)
    table = read_plain_table(answers, "video", "worker", "class_name")
    screened = work(table, certain=certain, least_votes=min_votes)
    tables = {"clips": screened.clips, "workers": screened.workers, "queue": screened.queue}
    write_stage(out, "screen", tables, options, [answers])
    show({"workers": screened.workers}, json, f"{screened.queue.height} of {screened.clips.height} clips are queued")


def boxes(
    files: list[str],
    *,
    out: Path,
    gold: Path | None,
    shown: Path | None,
    overlap: float | None,
    pass_mark: float,
    facts: dict[str, Any],
    seed: int,
    json: bool,
    force: bool,
    replicates: int = 1000,
) -> None:
    """Stage 2: one set of boxes out of those of several annotators, and how well they agree."""
    from surgvalid.questions.stages.localization import fuse, gold_check

    overlap = 0.5 if overlap is None else overlap
    new_folder(out, force=force)
    about = about_files(files[:1], **facts)
    boxes_read = read_boxes(files, about, annotated=True)
    seen = None if shown is None else read_plain_table(shown, "video", "annotator")
    fused = fuse(boxes_read.table, shown=seen, least=overlap, replicates=replicates, seed=seed)
    tables = {"boxes": fused.kept, "votes": fused.boxes, "agreement": fused.agreement}
    if gold is not None:
        known = read_boxes([str(gold)], about).table
        tables["gold"] = gold_check(boxes_read.table, known, least=overlap, pass_mark=pass_mark)
    options = {"overlap": overlap, "pass_mark": pass_mark, "fps": facts["fps"], "replicates": replicates}
    inputs = [*boxes_read.paths, *(path for path in (gold, shown) if path)]
    write_stage(out, "boxes", tables, options, inputs, seed=seed, measures=boxes_read.measures)
    queued = fused.boxes.filter("queued").height
    show(
        {name: tables[name] for name in ("agreement", "gold") if name in tables},
        json,
        f"{fused.kept.height} of {fused.boxes.height} boxes are kept; {queued} hung on one vote",
    )


def cross_check(
    files: list[str],
    *,
    out: Path,
    predictions: Path | None,
    images: Path | None,
    overlap: float | None,
    score: float,
    facts: dict[str, Any],
    review_fps: float,
    review_tool: str,
    json: bool,
    force: bool,
) -> None:
    """Stage 3: what a detector that never saw the videos sees otherwise, as flags and a review task."""
    from surgvalid.questions.stages.cross_check import Thresholds
    from surgvalid.questions.stages.cross_check import cross_check as work

    if predictions is None:
        raise Misuse("cross-check: name the detections with --predictions FILE")
    overlap = 0.45 if overlap is None else overlap
    check_review_tool(review_tool)
    new_folder(out, force=force)
    about = about_files(files, **facts)
    boxes_read = read_boxes(files, about)
    thresholds = Thresholds(overlap=overlap, score=score, touch=min(Thresholds().touch, overlap))
    flags = work(boxes_read.table, detections(predictions, images, about), thresholds=thresholds)
    options = {
        "overlap": overlap,
        "score": score,
        "fps": facts["fps"],
        "review_fps": review_fps,
        "review_tool": review_tool,
    }
    inputs = [*boxes_read.paths, predictions, *([images] if images else [])]
    write_stage(out, "cross-check", {"flags": flags}, options, inputs, measures=boxes_read.measures)
    write_review_task(flags, boxes_read, out / "review", about, tool=review_tool, fps=review_fps)
    counted = flags.group_by("kind").agg(flags=pl.len(), strong=(pl.col("strength") >= 0.8).sum()).sort("kind")
    show({"flags": counted}, json, f"the review task is in {out / 'review'}")


def instances(
    files: list[str],
    *,
    out: Path,
    check: bool,
    longest_gap_s: int,
    who: str,
    at: str,
    facts: dict[str, Any],
    annotated: list[str] | None,
    procedure_type: str | None,
    center: str | None,
    json: bool,
    force: bool,
) -> None:
    """Stage 4: which boxes are one object, what about it cannot be right, and a history for two-person review."""
    from surgvalid.questions.stages.appearance import looks_in_videos
    from surgvalid.questions.stages.box_tables import checked_boxes
    from surgvalid.questions.stages.consistency import consistency_flags
    from surgvalid.questions.stages.history import first_proposals
    from surgvalid.questions.stages.linking import propose_instances
    from surgvalid.video import pyav

    video = facts["video"]
    new_folder(out, force=force)
    if video:
        pyav()
    about = about_files(files, **facts, annotated=annotated, procedure_type=procedure_type, center=center)
    boxes_read = read_boxes(files, about)
    table, tables, looks = boxes_read.table, dict[str, pl.DataFrame](), None
    if video:
        with progress_bar("frames looked at") as step:
            looks = looks_in_videos(table, video_files(video, table), step=step)
    if not check:
        proposed = propose_instances(table, longest_gap_s=longest_gap_s, looks=looks)
        tables = {"links": proposed.links, "suggestions": proposed.suggestions}
        table, looks = proposed.boxes, None  # the boxes come back in another order, with looks already used
    events = {one.video: one.events for one in boxes_read.procedures} if check else None
    tables["flags"] = consistency_flags(table, events=events, looks=looks)
    table = tables["boxes"] = checked_boxes(table, "boxes", extra=("instance",))
    tables["history"] = first_proposals(table, who or "linker", at=at or now()).table()
    options = {
        "check": check,
        "longest_gap_s": longest_gap_s,
        "by": who or "linker",
        "at": at,
        "fps": facts["fps"],
        "appearance": bool(video),
    }
    known = boxes_read.measures
    write_stage(out, "instances", tables, options, boxes_read.paths, measures=known)
    procedures_of(table, boxes_read.procedures, about, out / "procedures", renamed=not check, measures=known)
    named = table.group_by("video", "class_name").agg(pl.col("instance").n_unique().alias("instances"), boxes=pl.len())
    counted = tables["flags"].group_by("kind").len("flags").sort("kind")
    show({"instances": named.sort("video", "class_name"), "flags": counted}, json, "")


def experts(
    files: list[str],
    *,
    out: Path,
    annotations: list[Path] | None,
    ratings: list[Path] | None,
    history: Path | None,
    at: str,
    facts: dict[str, Any],
    json: bool,
    force: bool,
) -> None:
    """Stage 5: questions by hand, checked against each other and the ledger.

    Exit code 0: nothing speaks against any question. 1: findings.
    """
    from surgvalid.questions.benchmark import table_of
    from surgvalid.questions.stages.expert_questions import (
        confirmed,
        ledger_findings,
        proposed,
        read_form,
        repetitions,
    )
    from surgvalid.questions.stages.history import history_from
    from surgvalid.questions.stages.tolerance import tolerance_from_spread
    from surgvalid.schema.procedures.ledger import Ledger
    from surgvalid.schema.rows import write_json_rows

    if not annotations:
        raise Misuse("experts: name the annotated procedures with --annotations FILE")
    form = single("experts", files)
    times = single("experts --ratings", ratings) if ratings else None
    new_folder(out, force=force)
    about = about_files(annotations, **facts)
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
    out.mkdir(parents=True, exist_ok=True)
    write_json_rows((question.request.as_row() for question in questions), out / "requests.json")
    write_json_rows((question.reference.as_row() for question in questions), out / "references.json")
    table_of(questions, "manual").write_parquet(out / "questions.parquet")
    rows = [(one.case, one.code, one.severity.value, one.message) for one in findings]
    kinds = dict.fromkeys(("case", "code", "severity", "message"), pl.String)
    reviewed_so_far = log or proposed(questions, at=at or now())
    tables = {
        "findings": pl.DataFrame(rows, schema=kinds, orient="row"),
        "history": reviewed_so_far.table(),
    }
    summary: dict[str, pl.DataFrame] = {"findings": tables["findings"]}
    if times is not None:
        spread = tolerance_from_spread(read_plain_table(times, "question", "rater"))
        summary["tolerance"] = tables["tolerance"] = pl.DataFrame([spread._asdict()])
    inputs = [form, *annotations, *(path for path in (times, history) if path)]
    write_stage(out, "experts", tables, {"at": at, "fps": facts["fps"]}, inputs)
    show(summary, json, f"{len(questions)} questions, {len(findings)} findings")
    raise typer.Exit(int(bool(findings)))


FILE_FACTS = ("fps", "size", "video", "video_name", "stills")
"""Options that tell what files of annotation tools do not, as `about_files` takes them."""
STAGES: dict[str, Callable[..., None]] = {
    "screen": screen,
    "boxes": boxes,
    "cross-check": cross_check,
    "reviewed": reviewed,
    "instances": instances,
    "verify": verify,
    "moments": moments,
    "experts": experts,
}
"""In the order of the work."""


def run(_: str, given: dict[str, Any]) -> None:
    """Do a stage with the options that it takes.

    Raises:
        UnknownName: No such stage.
        Misuse: An option that the stage would leave unused, or no place to write to.
    """
    name, files = given.pop("stage"), given.pop("files")
    if name not in STAGES:
        raise UnknownName("stage", name, STAGES)
    takes = {*inspect.signature(STAGES[name]).parameters}
    takes |= {*FILE_FACTS} if "facts" in takes else set()
    unused = [
        f"{OPTIONS[option].flag} {OPTIONS[option].component}".strip()
        for option, value in given.items()
        if (OPTIONS[option].argument or option) not in takes and value != OPTIONS[option].default
    ]
    if unused:
        raise Misuse(f"{', '.join(unused)}: not used by the stage {name}; leave out what is not used")
    if "out" in takes and given["out"] is None:
        raise Misuse("name the folder to write to: --out DIR")
    values = {key: value for key, value in arguments(given).items() if key in takes}
    if "facts" in takes:
        values["facts"] = {key: values.pop(key) for key in FILE_FACTS}
    STAGES[name](files, **values)
