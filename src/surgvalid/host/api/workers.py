"""What workers speak to. A token says which duties it has; a job is seen by the worker that has it, and nobody else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse

from surgvalid.errors import Misuse
from surgvalid.host import places
from surgvalid.host.acts import jobs, reports, tokens
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.refused import Refused
from surgvalid.host.acts.submissions import run_folder
from surgvalid.host.acts.uploads import received_path
from surgvalid.host.api.answers import answered, content_of, whole
from surgvalid.host.runs.models import Job, JobKind, RunRecord, Submission, WorkerToken
from surgvalid.host.tars import MOST_BYTES, files_below, tar_pieces, unpack
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.schema.shard import Shard
from surgvalid.submissions.phase_status import shard_folders
from surgvalid.submissions.stages import SCORES

_CHUNK = 1 << 20
MOST_PROGRESS = (1 << 31) - 1
"""What the column holds."""
_MEDIA = ("frames", "plain", "overlayed", "videos")
Members = Iterator[tuple[str, Path | bytes]]


def worker(request: HttpRequest) -> WorkerToken:
    """Whose token it is.

    Raises:
        Refused: Nobody's, or a revoked one.
    """
    token = tokens.worker_of(getattr(request, "bearer", ""))
    if token is None:
        raise Refused("unknown-token", "show a token of a worker that was not revoked.")
    return token


@answered("POST")
def claim(request: HttpRequest) -> HttpResponseBase:
    """The next job of a worker, or nothing."""
    content = content_of(request, duties=list, gpu_memory_mb=int)
    job = jobs.claim(
        worker(request),
        duties=[str(one) for one in content.get("duties") or ()],
        gpu_memory_mb=content.get("gpu_memory_mb") or 0,
    )
    return JsonResponse({"job": None if job is None else _facts(job)})


def _facts(job: Job) -> dict[str, Any]:
    facts = {
        "job": job.pk,
        "kind": job.kind,
        "phase": job.phase,
        "fencing": job.fencing,
        "shard": job.shard,
        "owner": job.owner,
        "lease_s": jobs.LEASE_S,
        "facts": job.facts,
    }
    if job.submission_id is not None:
        submission = Submission.objects.select_related("image", "description").get(pk=job.submission_id)
        facts |= {"rules": submission.rules, "image_sha256": submission.image.digest}
        if job.kind == JobKind.INTAKE and submission.description is not None:
            facts["description"] = submission.description.name
        if job.kind != JobKind.SCORING:
            facts["owner"] = ""  # whose it is is nobody's business where it runs
    return facts


@answered("POST")
def beat(request: HttpRequest, number: int) -> HttpResponseBase:
    """Keep a lease."""
    progress = content_of(request, progress=int).get("progress") or 0
    jobs.beat(worker(request), number, whole(request, "fencing"), progress=min(max(0, progress), MOST_PROGRESS))
    return JsonResponse({})


@answered("GET")
def image(request: HttpRequest, number: int) -> HttpResponseBase:
    """The archive that was handed in."""
    job = jobs.claimed(worker(request), number, whole(request, "fencing"))
    if job.kind not in (JobKind.INTAKE, JobKind.INFERENCE):
        raise Refused("duty-missing", "this job does not run or look at images.")
    submission = Submission.objects.select_related("image").get(pk=job.submission_id)
    return FileResponse(open(received_path(submission.image), "rb"), content_type="application/x-tar")


@answered("GET")
def inputs(request: HttpRequest, number: int) -> HttpResponseBase:
    """What a job needs beside the image, as an archive. Nothing in it is a reference."""
    job = jobs.claimed(worker(request), number, whole(request, "fencing"))
    members = {JobKind.INTAKE: _intake, JobKind.INFERENCE: _inference, JobKind.SCORING: _scoring, JobKind.BOARD: _board}
    return StreamingHttpResponse(tar_pieces(members[JobKind(job.kind)](job)), content_type="application/x-tar")


def _intake(job: Job) -> Members:
    description = Submission.objects.select_related("description").get(pk=job.submission_id).description
    if description is not None:
        yield description.name, received_path(description)


def _inference(job: Job) -> Members:
    phase = current_challenge().phase(job.phase)
    folder, shard = places.home() / phase.questions, Shard.read(job.shard)
    requests = load_questions(folder / "request.json", ()).requests.values()
    wanted = {name for one in requests if shard.holds(one.video) for name in (one.case, one.video)}
    for name, path in files_below(folder, "questions/"):
        if path.name.casefold().startswith("reference"):
            raise Misuse(f"{phase.questions} holds {path.name}; no references where submissions run: move them away")
        if path.parent.name not in _MEDIA or path.stem in wanted:
            yield name, path
    if phase.rules.warm_up is not None:
        yield f"questions-beside/{phase.rules.warm_up.name}", phase.rules.warm_up


def _scoring(job: Job) -> Members:
    run = RunRecord.objects.select_related("submission").get(pk=job.run_id)
    folder = run_folder(run.submission, run.number)
    yield "run/phase.json", folder / "phase.json"
    for _, _, place in shard_folders(folder):
        yield from files_below(place, f"run/{place.name}/")


def _board(job: Job) -> Members:
    named = {
        (one["submission"], one["run"]) for board in job.facts["boards"].values() for one in board["entries"].values()
    }
    for submission, run in sorted(named):
        place = run_folder(Submission(pk=submission), run) / SCORES
        yield from files_below(place, f"scores/{submission}-{run}/")


@answered("PUT")
def output(request: HttpRequest, number: int) -> HttpResponseBase:
    """Receive what a job wrote, as an archive; it counts once it is reported."""
    fencing = whole(request, "fencing")
    job = jobs.claimed(worker(request), number, fencing)
    place = _archive(job.pk, fencing)
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _drop_orphans(place.parent)
    with NamedTemporaryFile(dir=place.parent, prefix=f"{place.name}.", suffix=".part") as draft:
        size = 0
        while piece := request.read(_CHUNK):
            size += len(piece)
            if size > MOST_BYTES:
                raise Misuse(f"an output has at most {MOST_BYTES:,} bytes")
            draft.write(piece)
        declared = request.headers.get("Content-Length", "")
        if not declared.isdigit() or int(declared) != size:
            raise Misuse(f"{size:,} bytes came; the header says {declared or 'nothing'}; send it again")
        draft.flush()
        place.unlink(missing_ok=True)
        os.link(draft.name, place)
    return JsonResponse({"received_bytes": size})


def _drop_orphans(folder: Path) -> None:
    """Remove what workers sent and never reported: their lease is over, and its number is never given again."""
    held = {f"{pk}-{fencing}" for pk, fencing in jobs.claims()}
    for left in folder.iterdir():
        if left.name.partition(".")[0] not in held:
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)


def _archive(number: int, fencing: int) -> Path:
    return places.store() / "incoming" / f"{number}-{fencing}.tar"


@answered("POST")
def report(request: HttpRequest, number: int) -> HttpResponseBase:
    """Take a report: the job is done, or could not be."""
    token, fencing = worker(request), whole(request, "fencing")
    content = content_of(request, outcome=str, code=str, facts=dict, problems=list)
    outcome, code = content.get("outcome"), str(content.get("code") or "engine-failed")[:60]
    if outcome == "put-back":
        jobs.put_back(token, number, fencing, code=code)
    elif outcome == "failed-by-team":
        problems = [str(one) for one in content.get("problems") or []]
        reports.fail_by_team(token, number, fencing, code=code, problems=problems)
    elif outcome == "done":
        _done(token, number, fencing, content.get("facts") or {})
    else:
        raise Misuse(f"outcome must be done, put-back or failed-by-team; got {json.dumps(outcome)[:40]}")
    return JsonResponse({})


def _done(token: WorkerToken, number: int, fencing: int, facts: dict[str, Any]) -> None:
    archive = _archive(number, fencing)
    folder = archive.with_suffix("")
    if not jobs.is_reported(token, number, fencing):
        job = jobs.claimed(token, number, fencing)
        if job.kind != JobKind.INTAKE and not archive.exists():
            raise Misuse(f"job {number} is not done without its output; send that first")
        shutil.rmtree(folder, ignore_errors=True)
        unpacked = unpack(archive, folder) if archive.exists() else None
        reports.report(token, number, fencing, reports.WorkerReport(facts=facts, folder=unpacked))
    shutil.rmtree(folder, ignore_errors=True)
    archive.unlink(missing_ok=True)
