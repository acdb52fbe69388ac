"""Sharing what an evaluation rests on: the file of sums per video, and a page that says exactly what is in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import Misuse
from surgvalid.evaluation.result import EvaluationResult
from surgvalid.evaluation.sharing import CELL_SIZE, MINIMUM_CASES, SharedFile, key_path, shared_file
from surgvalid.report.html import page
from surgvalid.report.section import Note, Point, Points, Prose, ReportTable, Section
from surgvalid.results.result import write_text
from surgvalid.schema.documents import json_text, read_json

SUBTRACTED = (
    "Whoever holds several files of this hospital can subtract them. This one was held against those that {record} "
    "lists, under any name of the site: a video has the same cases in all files and in two files of one model the same "
    "metrics and counts; videos that left as one sum do so for every model. Files made in another folder, or of the "
    "same model or the same video under another name, are not known there. Keep one folder for all that leaves."
)


def share(
    result: EvaluationResult,
    path: str | Path,
    *,
    site: str,
    minimum_cases: int = MINIMUM_CASES,
    cell_size: int = CELL_SIZE,
    force: bool = False,
) -> Path:
    """Write the sums of every video that `combine` pools over sites, and a page beside them that says what leaves.

    Args:
        result: Of `evaluate` with `share=True`.
        path: A `.parquet` file; the page has its name with `.html`.
        site: What this hospital is called in the file.
        minimum_cases: Videos with fewer cases are left out.
        cell_size: Counts from 1 to below it do not leave; videos are put together until there is none.
        force: Replace an earlier file.

    What left earlier is kept beside the key (`surgvalid-share.releases.json`), because two files can be subtracted: of
    a model a video leaves again only with the same metrics and counts, under any name of the site, and of every model
    with the same cases, in the same sums or in sums of these, because references are the same for all.

    Raises:
        Misuse: The evaluation kept nothing to share, nothing of it may leave, or an earlier file could be subtracted.
        WouldOverwrite: The file exists and `force` is off.
    """
    if result.shareable is None:
        raise Misuse("this evaluation kept nothing to share; evaluate with share=True (--share)")
    path = Path(path)
    record = key_path(path).with_suffix(".releases.json")
    kept = read_json(record) if record.exists() else []
    released = _told_together(kept, str(result.shareable.head["model"]))
    limits = {"minimum_cases": minimum_cases, "cell_size": cell_size}
    shared = shared_file(result.shareable, path, site=site, **limits, force=force, earlier=released)
    earlier = add_release(shared, record, kept)
    shared.write()
    path.with_suffix(".html").write_text(share_page(shared, path, earlier), encoding="utf-8", errors="replace")
    return path


def _told_together(kept: Sequence[Mapping[str, Any]], model: str) -> list[list[str]]:
    """The videos whose sums left together: of the model itself where it was shared before, else of all others."""
    released: dict[tuple[int, str], list[str]] = {}
    for place, one in enumerate([one for one in kept if one["model"] == model] or kept):
        for video, digest in one["videos"].items():
            released.setdefault((place, digest), []).append(video)
    return list(released.values())


def add_release(shared: SharedFile, record: Path, kept: Sequence[Mapping[str, Any]]) -> list[str]:
    """Keep what leaves, and say how it differs from what left earlier in other patients.

    Raises:
        Misuse: Somebody who has an earlier file too could subtract it.
    """
    new = {video: (name, digest) for name, digest in _digests(shared).items() for video in shared.members[name]}
    changes, problems, cell = [], [], shared.head["cell_size"] > 1
    for one in kept:
        old, where = one["videos"], f"{one['file']} of {one['date']}"
        alike = one["model"] == shared.model
        both, cases = old.keys() & new.keys(), one.get("cases", {})
        others = {video for video in both if cell and cases.get(video, shared.cases[video]) != shared.cases[video]}
        changed = others | {video for video in both if alike and old[video] != new[video][1]}
        if near := sorted({new[video][0] for video in changed}):
            also = ", or other metrics or counts" * alike
            problems.append(
                f"{len(near)} videos (first: {near[0]}) have other cases than in {where}{also}, which both files "
                "together give away"
            )
        if alike and one["site"] == shared.site and old.keys() != new.keys():
            changes.append(
                f"{where} held {len(old.keys() - new.keys())} videos that this file lacks, and lacked "
                f"{len(new.keys() - old.keys())}: who came between the two can be seen."
            )
    if problems:
        way = (
            f"if that file never left, remove its entry from {record}; else send all sites the earlier file, and "
            "evaluate every model on the same cases"
        )
        raise Misuse(f"--share {shared.place}: {'; '.join(problems)}; {way}")
    entry = {
        "file": Path(shared.place).name,
        "date": datetime.now(UTC).date().isoformat(),
        "model": shared.model,
        "site": shared.site,
        "videos": {video: digest for video, (_, digest) in sorted(new.items())},
        "cases": dict(shared.cases),
    }
    write_text(record, json_text([*kept, entry]))
    return changes


def _digests(shared: SharedFile) -> dict[str, str]:
    """A hash of all that leaves about each video, or about those it is summed with: who they are, cases and numbers."""
    frame, cases = shared.statistics.frame, shared.head["cases"]
    held: dict[str, list[str]] = {
        name: [*members, str([cases[one] for one in shared.head["members"].get(name, [name]) if one in cases])]
        for name, members in shared.members.items()
    }
    for row in (*frame.drop("model").to_dicts(), *shared.head["counts"]):
        held[row["video"]].append(json_text({key: row[key] for key in sorted(row) if key != "video"}))
    return {name: hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()[:32] for name, texts in held.items()}


def share_page(shared: SharedFile, path: Path, earlier: Sequence[str] = ()) -> str:
    """What leaves the hospital, in words and rows."""
    head, frame = shared.head, shared.statistics.frame
    first = frame["video"][0]
    rows = frame.filter(pl.col("video") == first).select(
        "metric",
        "array",
        _joined(pl.col("shape"), " x "),
        _joined(pl.col("numbers").list.head(12), ", "),
        "cases",
    )
    leaves = [
        f"{head['groups']} videos or groups of videos of {head['model']}, {frame['metric'].n_unique()} metrics each: "
        "sums and counts over all of it, no single case, frame, label, score, time or image.",
        f"The number of cases of each video, a name such as {first} that only this hospital can trace back, and a "
        "keyed hash of which cases were scored, so that models are compared on the same ones.",
        "How many cases were right and wrong, where that is all a score says"
        + (f", for every combination of {', '.join(head['by'])}." if head.get("by") else "."),
        f"The name of the site ({head['site']}), of the model, and the options of each metric (names of classes, say).",
    ]
    together = (
        ""
        if not head["members"]
        else (f"videos that would give one away leave as sums of several ({head['videos']} videos as {head['groups']})")
    )
    withheld = ", ".join(head["withheld"])
    small = "; ".join(filter(None, [together, f"and these metrics stay: {withheld}" if withheld else ""]))
    stays = [
        f"{head['left_out']} videos with fewer than {head['minimum_cases']} cases.",
        f"Every count from 1 to below {head['cell_size']}: " + (f"{small}." if small else "none was so small."),
        f"The key {key_path(path).name}: without it nobody can tell which patient a row is about. Never send it.",
        "Names of videos and files, predictions, references, and everything else that was read.",
    ]
    unshared = [f"{name}: {why}" for name, why in head["unshared"].items()] or ["none"]
    one_patient = (
        "Each row is about one video, so in most studies about one patient. Counts of rare events can single a patient "
        "out for somebody who knows the case. Whether such rows may leave is for your data protection to decide."
    )
    sections = [
        Section(
            "leaves",
            "What leaves this hospital",
            (
                Points("leaves", "In the file", tuple(map(Point, leaves))),
                Points("stays", "What stays", tuple(map(Point, stays))),
                *(Note(text) for text in earlier),
                Note(one_patient),
                Prose(SUBTRACTED.format(record=key_path(path).with_suffix(".releases.json").name)),
            ),
        ),
        Section("unshared", "Metrics that are not shared", (Points("metrics", "", tuple(map(Point, unshared))),)),
        Section(
            "look",
            "One video, as it is in the file",
            (
                ReportTable(
                    "rows",
                    f"Everything that the file says about {first}",
                    rows,
                    "The first twelve numbers of each array are shown.",
                ),
                Prose(
                    f"The file {path.name} holds {frame.height:,} such rows. It is a Parquet table: look at all of it."
                ),
            ),
        ),
    ]
    if head["counts"]:
        counts = ReportTable("counts", "All counts in the head of the file", pl.DataFrame(head["counts"]))
        sections.append(Section("counts", "Right and wrong cases", (counts,)))
    title = f"What {path.name} gives away"
    return page(title, "Shared statistics", f"site {head['site']}", sections)


def _joined(column: pl.Expr, between: str) -> pl.Expr:
    """A list of numbers as text."""
    return column.list.eval(pl.element().round(4).cast(pl.String)).list.join(between)
