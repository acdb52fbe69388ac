"""The commands of `surgeval annotate` in which people have the last word: reviews, moments, who confirmed what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from surgeval.cli import _options as o
from surgeval.cli._annotations import SOURCE_HELP, about_files, read_boxes, read_plain_table, read_procedures
from surgeval.cli._console import emit, new_folder, talk
from surgeval.cli._review_tasks import Reviewed, read_reviews
from surgeval.cli._stage_files import now, show, write_stage
from surgeval.cli._waiting import held

HISTORY_TEXTS = ("item", "who", "at", "field", "before", "after", "note")


def reviewed(
    files: Annotated[list[Path], typer.Argument(help="Reviews as exported from CVAT (XML) or Label Studio (JSON).")],
    out: o.OutNeeded,
    apply: Annotated[
        list[str] | None,
        typer.Option(
            "--apply", metavar="BOXES", help=f"Write these boxes with the corrections. {SOURCE_HELP} May be repeated."
        ),
    ] = None,
    fps: Annotated[float, typer.Option("--fps", help="Frame rate of the CVAT task.")] = 1.0,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Stage 3, afterwards: the flags with the reviews of the reviewers, and the corrected boxes."""
    new_folder(out, force=force)
    review = read_reviews(files, fps=fps)
    flags = review.flags
    tables, inputs, measures = {"flags": flags}, list(files), None
    if apply:
        boxes = read_boxes(apply, about_files(apply))
        measures, inputs = boxes.measures, [*files, *boxes.paths]
        tables |= _corrected(boxes.table, review)
    write_stage(out, "reviewed", tables, {"fps": fps, "apply": bool(apply)}, inputs, measures=measures)
    counts = [(pl.col("review") == name).sum().alias(name) for name in ("open", "right", "wrong")]
    shown = {"flags": flags.group_by("kind").agg(pl.len().alias("flags"), *counts).sort("kind")}
    if apply:
        shown["changes"] = tables["changes"].group_by("change").len("boxes").sort("change")
    show(shown, json, "")


def _corrected(table: pl.DataFrame, review: Reviewed) -> dict[str, pl.DataFrame]:
    from surgeval.questions.stages.corrections import corrected_boxes

    if review.elsewhere:
        talk(f"Warning: {review.elsewhere} boxes lie at seconds that no flag is about; they are not applied")
    made = corrected_boxes(table, review.flags, review.boxes, review.seconds)
    if made.unmended.height:
        talk(f"Warning: {made.unmended.height} flags are called right, but nothing was changed there (unmended.csv)")
    return {"boxes": made.boxes, "changes": made.changes, "unmended": made.unmended}


def moments(
    annotations: Annotated[
        list[Path], typer.Argument(help="Procedure files, folders of them, or files of annotation tools.")
    ],
    out: o.OutNeeded,
    ratings: Annotated[
        list[Path] | None,
        typer.Option("--ratings", help="Forms (CSV) that raters filled in; without any, the form is written."),
    ] = None,
    tolerance: Annotated[int, typer.Option("--tolerance", help="How far apart the times of raters may lie, in s.")] = 5,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Stage 5, moments of importance: when objects were inserted, retrieved, bagged or left in place.

    Exit code 0: everything is settled, or the form was written. 1: something is queued.
    """
    from surgeval.questions.stages.moments import moment_form, settle_moments, with_moments
    from surgeval.schema.procedure_files import write_procedure

    new_folder(out, force=force)
    procedures = read_procedures(annotations, about_files(annotations))
    if not ratings:
        form = moment_form(procedures)
        write_stage(out, "moments", {"form": form}, {}, annotations)
        show({}, json, f"{form.height} rows wait for raters; fill in rater, happened (yes, no) and second")
        return
    votes = pl.concat([read_plain_table(path, "video", "instance", "event", "rater", "happened") for path in ratings],
                     how="diagonal_relaxed")  # fmt: skip
    settled = settle_moments(votes, tolerance_s=tolerance)
    (out / "procedures").mkdir(parents=True, exist_ok=True)
    odd = []
    for number, procedure in enumerate(procedures, start=1):
        made = with_moments(procedure, settled)
        write_procedure(made.procedure, out / "procedures" / f"{number:04d}.json")
        odd += [(procedure.video, text) for text in made.contradictions]
        if made.open:
            talk(f"{procedure.video}: not settled for every object, so not declared: {', '.join(made.open)}")
    tables = {
        "moments": settled.table, "queue": settled.queue,
        "contradictions": pl.DataFrame(odd, schema={"video": pl.String, "contradiction": pl.String}, orient="row"),
    }  # fmt: skip
    write_stage(out, "moments", tables, {"tolerance_s": tolerance}, [*annotations, *ratings])
    counts = settled.table.group_by("event").agg(settled=pl.col("settled").sum(), queued=(~pl.col("settled")).sum())
    show({"moments": counts.sort("event"), "contradictions": tables["contradictions"]}, json, "")
    raise typer.Exit(int(bool(settled.queue.height or odd)))


def serve(
    folder: Annotated[
        Path, typer.Argument(help="Folder that 'surgeval questions' or 'surgeval annotate instances' wrote.")
    ],
    rater: Annotated[
        list[str], typer.Option("--rater", help="Who rates; everybody gets an address of their own. May be repeated.")
    ],
    adjudicator: Annotated[str, typer.Option("--adjudicator", help="Who decides what raters dispute.")] = "",
    films: Annotated[
        list[Path] | None, typer.Option("--films", help="Films, or folders of them, called as their videos.")
    ] = None,
    annotations: Annotated[
        list[Path] | None, typer.Option("--annotations", help="Procedure files, or folders of them, for the boxes.")
    ] = None,
    port: Annotated[int, typer.Option("--port", help="Of 127.0.0.1; 0 takes a free one.", show_default=False)] = 0,
) -> None:
    """Show questions or instances in a browser on this machine, to be confirmed, corrected or objected to.

    Raters do not see what others say. Everything is added to history.csv in the folder, which `questions --history`
    obeys.
    """
    from surgeval.report.review.items import material_in
    from surgeval.report.review.log import ReviewLog
    from surgeval.report.review.server import ReviewServer, history_file

    material = material_in(folder, annotations=annotations or (), films=films or ())
    log = ReviewLog(history_file(folder))
    server = ReviewServer(material, log, raters=rater, adjudicator=adjudicator, port=port)
    for name in server.tokens.values():
        emit(f"{name}\t{server.address_of(name)}")
    lacking = {item.video for item in material.items} - set(material.films)
    if lacking:
        talk(f"Warning: no film lies here of {len(lacking)} videos (first: {min(lacking)}); say where with --films")
    talk("The page shows patient images; its addresses work on this machine alone. Ctrl-C ends it.")
    try:
        with held():
            server.serve_forever()
    except KeyboardInterrupt:
        talk("ended")
    finally:
        server.server_close()


def verify(
    history: Annotated[Path, typer.Argument(help="History table (CSV) that 'instances' or 'experts' wrote.")],
    item: Annotated[str | None, typer.Option("--item", help="Add an entry about this item.")] = None,
    action: Annotated[str, typer.Option("--action", help="approved, objected, changed or upheld.")] = "approved",
    who: Annotated[str, typer.Option("--who", help="Who did it.")] = "",
    at: o.At = "",
    field: Annotated[str, typer.Option("--field", help="For a change: what was changed.")] = "",
    before: Annotated[str, typer.Option("--before", help="For a change: the old value.")] = "",
    after: Annotated[str, typer.Option("--after", help="For a change: the new value.")] = "",
    note: Annotated[str, typer.Option("--note", help="Anything worth saying.")] = "",
    json: o.Json = False,
) -> None:
    """Where every item stands, after adding an entry where one is given. Entries are only ever added.

    Exit code 0: two people confirmed every item. 1: something is still open.
    """
    from surgeval.questions.stages.history import ReviewState, action_named, history_from

    log = history_from(read_plain_table(history, *HISTORY_TEXTS))
    if item is not None:
        more = {"field": field, "before": before, "after": after, "note": note}
        log = log.add(item, action_named(action), who, at=at or now(), **more)
        log.table().write_csv(history)
        talk(f"added to {history}")
    states = log.states()
    frame = pl.DataFrame(
        [(name, state.value, len(log.of(name))) for name, state in states.items()],
        schema={"item": pl.String, "state": pl.String, "entries": pl.Int64}, orient="row",
    )  # fmt: skip
    show({"items": frame}, json, "")
    raise typer.Exit(int(any(state is not ReviewState.CONFIRMED for state in states.values())))
