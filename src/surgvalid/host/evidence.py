"""Everything that a result rests on, held against the log: its chain, rows of the tables, and files of the store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from surgvalid.host.acting import log_problems
from surgvalid.host.acts.boards import board_folder, snapshot_digest
from surgvalid.host.acts.submissions import run_folder
from surgvalid.host.acts.uploads import received_path
from surgvalid.host.places import listing
from surgvalid.host.runs.models import BoardSnapshot, RunRecord, Upload
from surgvalid.host.seals import row_problems
from surgvalid.results.manifest import MANIFEST, sha256_of
from surgvalid.submissions.stages import SCORES


def problems(*, witnesses: dict[int, str] | None = None, images: bool = False) -> Iterator[str]:
    """What is not as the log says, one sentence each.

    Args:
        witnesses: Entries as leaderboards or exports printed them: digest by number.
        images: Read every byte of what teams handed in too; without it, only that it is there in its size.
    """
    yield from log_problems(witnesses=witnesses)
    yield from row_problems()
    yield from snapshot_problems()
    yield from upload_problems(images=images)
    yield from run_problems()


def snapshot_problems() -> Iterator[str]:
    """Leaderboards whose digest is not that of their columns, or whose files changed."""
    for one in BoardSnapshot.objects.order_by("pk").iterator():
        name = f"leaderboard {one.pk} ({one.phase}, {one.board}, number {one.number})"
        if snapshot_digest(one) != one.digest:
            yield f"{name}: its columns are not those of its digest"
        if one.files:
            yield from _file_problems(board_folder(one), one.files, name)


def upload_problems(*, images: bool) -> Iterator[str]:
    """Files that were handed in and are not in the store as they came."""
    for upload in Upload.objects.exclude(received_at=None).order_by("pk").iterator():
        path = received_path(upload)
        same = path.is_file() and path.stat().st_size == upload.size_bytes
        if not same or (images and sha256_of(path) != upload.digest):
            yield f"upload {upload.pk} ({upload.name}) is not in the store as it was handed in"


def run_problems() -> Iterator[str]:
    """Files of runs, answers and scores among them, that are missing, came later, or are not as they were reported."""
    for run in RunRecord.objects.select_related("submission").order_by("pk").iterator():
        folder, name = run_folder(run.submission, run.number), f"submission {run.submission.pk}, run {run.number}"
        if run.files:
            yield from _file_problems(folder, run.files, name)
        if run.scores_digest:
            yield from _score_problems(folder / SCORES, run.scores_digest, name)


def _score_problems(folder: Path, digest: str, name: str) -> Iterator[str]:
    """Of a run of an older version, which knows the manifest of its scores alone, and that the other files."""
    manifest = folder / MANIFEST
    if not manifest.is_file() or sha256_of(manifest) != digest:
        yield f"{name}: the scores are not as they were reported ({SCORES}/{MANIFEST})"
        return
    listed = {one["file"]: one["sha256"] for one in json.loads(manifest.read_text("utf-8")).get("outputs", ())}
    for place in sorted(listed):
        if not (folder / place).is_file() or sha256_of(folder / place) != listed[place]:
            yield f"{name}: {SCORES}/{place} is not as its manifest says"


def _file_problems(folder: Path, files: Mapping[str, str], name: str) -> Iterator[str]:
    there = listing(folder)
    for place in sorted(files.keys() | there.keys()):
        if place not in there:
            yield f"{name}: {place} is missing"
        elif place not in files:
            yield f"{name}: {place} was put there later"
        elif there[place] != files[place]:
            yield f"{name}: {place} is not as it was reported"
