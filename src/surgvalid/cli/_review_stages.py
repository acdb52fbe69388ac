"""The commands of `surgvalid data annotate` in which people have the last word: reviews, moments, who confirmed
what."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import typer

from surgvalid.cli._annotations import about_files, read_boxes, read_plain_table, read_procedures
from surgvalid.cli._console import emit, new_folder, talk
from surgvalid.cli._stage_files import Reviewed, now, read_reviews, show, single, write_stage
from surgvalid.cli._waiting import held

HISTORY_TEXTS = ("item", "who", "at", "field", "before", "after", "note")


def reviewed(
    files: list[str], *, out: Path, apply: list[str] | None, fps: float | None, json: bool, force: bool
) -> None:
    """Stage 3, afterwards: the flags with the reviews of the reviewers, and the corrected boxes."""
    new_folder(out, force=force)
    fps, reviews = fps or 1.0, [Path(name) for name in files]
    review = read_reviews(reviews, fps=fps)
    flags = review.flags
    tables, inputs, measures = {"flags": flags}, list(reviews), None
    if apply:
        boxes = read_boxes(apply, about_files(apply))
        measures, inputs = boxes.measures, [*reviews, *boxes.paths]
        tables |= _corrected(boxes.table, review)
    write_stage(out, "reviewed", tables, {"fps": fps, "apply": bool(apply)}, inputs, measures=measures)
    counts = [(pl.col("review") == name).sum().alias(name) for name in ("open", "right", "wrong")]
    shown = {"flags": flags.group_by("kind").agg(pl.len().alias("flags"), *counts).sort("kind")}
    if apply:
        shown["changes"] = tables["changes"].group_by("change").len("boxes").sort("change")
    show(shown, json, "")


def _corrected(table: pl.DataFrame, review: Reviewed) -> dict[str, pl.DataFrame]:
    from surgvalid.questions.stages.corrections import corrected_boxes

    if review.elsewhere:
        talk(f"Warning: {review.elsewhere} boxes lie at seconds that no flag is about; they are not applied")
    made = corrected_boxes(table, review.flags, review.boxes, review.seconds)
    if made.unmended.height:
        talk(f"Warning: {made.unmended.height} flags are called right, but nothing was changed there (unmended.csv)")
    return {"boxes": made.boxes, "changes": made.changes, "unmended": made.unmended}


def moments(
    files: list[str], *, out: Path, ratings: list[Path] | None, tolerance_s: int, json: bool, force: bool
) -> None:
    """Stage 5, moments of importance: when objects were inserted, retrieved, bagged or left in place.

    Exit code 0: everything is settled, or the form was written. 1: something is queued.
    """
    from surgvalid.questions.stages.moments import moment_form, settle_moments, with_moments
    from surgvalid.schema.procedures.procedure_files import write_procedure

    new_folder(out, force=force)
    annotations = [Path(name) for name in files]
    procedures = read_procedures(annotations, about_files(annotations))
    if not ratings:
        form = moment_form(procedures)
        write_stage(out, "moments", {"form": form}, {}, annotations)
        show({}, json, f"{form.height} rows wait for raters; fill in rater, happened (yes, no) and second")
        return
    votes = pl.concat(
        [read_plain_table(path, "video", "instance", "event", "rater", "happened") for path in ratings],
        how="diagonal_relaxed",
    )
    settled = settle_moments(votes, tolerance_s=tolerance_s)
    (out / "procedures").mkdir(parents=True, exist_ok=True)
    odd = []
    for number, procedure in enumerate(procedures, start=1):
        made = with_moments(procedure, settled)
        write_procedure(made.procedure, out / "procedures" / f"{number:04d}.json")
        odd += [(procedure.video, text) for text in made.contradictions]
        if made.open:
            talk(f"{procedure.video}: not settled for every object, so not declared: {', '.join(made.open)}")
    tables = {
        "moments": settled.table,
        "queue": settled.queue,
        "contradictions": pl.DataFrame(odd, schema={"video": pl.String, "contradiction": pl.String}, orient="row"),
    }
    write_stage(out, "moments", tables, {"tolerance_s": tolerance_s}, [*annotations, *ratings])
    counts = settled.table.group_by("event").agg(settled=pl.col("settled").sum(), queued=(~pl.col("settled")).sum())
    show({"moments": counts.sort("event"), "contradictions": tables["contradictions"]}, json, "")
    raise typer.Exit(int(bool(settled.queue.height or odd)))


def serve(
    folder: Path,
    rater: list[str],
    adjudicator: str,
    video_files: list[Path] | None,
    annotations: list[Path] | None,
    shown_at_once: bool,
    port: int = 0,
) -> None:
    """Show questions or instances in a browser on this machine, to be confirmed, corrected or objected to.

    A question is answered before its reference is shown (but for --with references). Raters do not see
    what others say; of more than two, each has a work list, and two see every item. Everything is added
    to history.csv in the folder, which `questions --history` obeys.
    """
    from surgvalid.report.review.items import material_in
    from surgvalid.report.review.log import ReviewLog
    from surgvalid.report.review.server import ReviewServer, history_file

    material = material_in(folder, annotations=annotations or (), video_files=video_files or ())
    log = ReviewLog(history_file(folder))
    server = ReviewServer(material, log, raters=rater, adjudicator=adjudicator, port=port, blind=not shown_at_once)
    for name in server.tokens.values():
        emit(f"{name}\t{server.address_of(name)}")
    lacking = {item.video for item in material.items} - set(material.video_files)
    if lacking:
        talk(
            f"Warning: no video file or image lies here of {len(lacking)} videos (first: {min(lacking)}); say where "
            "with --videos"
        )
    talk("The page shows patient images; its addresses work on this machine alone. Ctrl-C ends it.")
    try:
        with held():
            server.serve_forever()
    except KeyboardInterrupt:
        talk("ended")
    finally:
        server.server_close()


def verify(
    files: list[str],
    *,
    item: str | None,
    action: str,
    who: str,
    at: str,
    field: str,
    before: str,
    after: str,
    note: str,
    json: bool,
) -> None:
    """Where every item stands, after adding an entry where one is given. Entries are only ever added.

    Exit code 0: two people confirmed every item. 1: something is still open.
    """
    from surgvalid.questions.stages.history import ReviewState, action_named, history_from
    from surgvalid.report.review.log import COLUMNS, append

    history = single("verify", files)
    log = history_from(read_plain_table(history, *HISTORY_TEXTS))
    if item is not None:
        more = {"field": field, "before": before, "after": after, "note": note}
        log = log.add(item, action_named(action), who, at=at or now(), **more)
        if history.read_text(encoding="utf-8-sig").splitlines()[0] == ",".join(COLUMNS):
            append(history, log.entries[-1:])  # somebody may be adding to it now
        else:
            log.table().write_csv(history)
        talk(f"added to {history}")
    states = log.states()
    frame = pl.DataFrame(
        [(name, state.value, len(log.of(name))) for name, state in states.items()],
        schema={"item": pl.String, "state": pl.String, "entries": pl.Int64},
        orient="row",
    )
    show({"items": frame}, json, "")
    raise typer.Exit(int(any(state is not ReviewState.CONFIRMED for state in states.values())))
