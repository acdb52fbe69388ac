"""The worker: takes a job, does it with the subpackages that know how, and reports.

An inference worker gets questions and media, runs what a team handed in, and never sees a reference. A scoring worker
has the folder of the challenge with its references, and never runs anything of a team. They are different tokens.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from surgvalid.errors import (
    EngineFailed,
    ImageRefused,
    InputInvalid,
    Misuse,
    RunInterrupted,
    SurgvalidError,
)
from surgvalid.host.challenge.reading import read_challenge
from surgvalid.host.client import Host, HostLost, HostRefused
from surgvalid.host.tars import files_below, unpack, write_tar
from surgvalid.results.manifest import sha256_of
from surgvalid.sandbox import gpus_here, inspect_image
from surgvalid.schema.shard import Shard
from surgvalid.scoring.result import ScoreResult
from surgvalid.scoring.summary import CLINICAL, HEADLINE
from surgvalid.stats.ranking import rank
from surgvalid.stats.ranking.result import RankResult
from surgvalid.submissions.intake import handed_in_findings
from surgvalid.submissions.phase import SubmissionPhase, phase_of
from surgvalid.submissions.phase_run import run_submission
from surgvalid.submissions.phase_scores import score_submission
from surgvalid.submissions.stages import SCORES, Stage, note_stage

MOST_WAIT_S = 600.0
BOARD_HEADLINES = {"technical": HEADLINE[1], "clinical": CLINICAL[1]}


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """How a worker works."""

    scratch: Path
    """Where it keeps images and what is under way."""
    challenge: Path | None = None
    """The folder of the challenge with its references: for scoring alone."""
    duties: tuple[str, ...] = ()
    engine: str | None = None
    runtime: str | None = None
    gpu: str | None = None
    program: tuple[str, ...] = ()
    """A command of this machine that is run instead of every image: to try a service where no engine is installed."""
    replicates: int = 1000
    poll_s: float = 5.0


@dataclass(frozen=True)
class JobOutcome:
    """What became of a job."""

    outcome: str = "done"
    code: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    output: Path | None = None


def work(
    host: Host,
    options: WorkerOptions,
    *,
    most_jobs: int | None = None,
    stop: threading.Event | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> int:
    """The number of jobs done, once told to stop or after so many were tried; waits for more otherwise.

    A worker that has to put a job back waits longer each time: what is wrong may be this machine, and others are to
    have the job before its attempts are used up here.
    """
    stop, done, tried, in_a_row = stop or threading.Event(), 0, 0, 0
    options.scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
    while not stop.is_set() and (most_jobs is None or tried < most_jobs):
        job = host.call("POST", "worker/claim", _wants(options))["job"]
        if job is None:
            if most_jobs is not None:
                break
            stop.wait(options.poll_s)
            continue
        notice(f"job {job['job']}: {job['kind']} of {job['phase']}, shard {job['shard']}")
        outcome = do_job(host, job, options)
        why = f" ({'; '.join(outcome.problems)})" if outcome.problems else ""
        notice(f"job {job['job']}: {outcome.outcome} {outcome.code}".rstrip() + why)
        tried += 1
        done += outcome.outcome in ("done", "failed-by-team")
        in_a_row = in_a_row + 1 if outcome.outcome == "put-back" else 0
        if in_a_row:
            stop.wait(min(options.poll_s * 2**in_a_row, MOST_WAIT_S))
    return done


def _wants(options: WorkerOptions) -> dict[str, Any]:
    gpus = [one for one in gpus_here() if options.gpu in (one.index, one.uuid)] if options.gpu else []
    memory_mb = max((one.memory_mb for one in gpus), default=0)
    return {"duties": list(options.duties), "gpu_memory_mb": int(memory_mb)}


def do_job(host: Host, job: Mapping[str, Any], options: WorkerOptions) -> JobOutcome:
    """What became of a job, after it was reported; one that was lost meanwhile is dropped."""
    with TemporaryDirectory(dir=options.scratch, prefix=f"job-{job['job']}-") as name:
        place = Path(name)
        beating = _Beating(host, job, place / "run")
        with beating:
            outcome = _outcome(host, job, options, place, beating)
        if beating.lost:
            return JobOutcome("dropped", beating.lost)
        try:
            _report(host, job, outcome)
        except HostRefused as error:
            return JobOutcome("dropped", error.code)
    return outcome


def _outcome(host: Host, job: Mapping[str, Any], options: WorkerOptions, place: Path, beating: _Beating) -> JobOutcome:
    """Do it; whose fault it is when it cannot be done is decided by the kind of error."""
    try:
        return _DUTIES[job["kind"]](host, job, options, place, beating)
    except ImageRefused as error:
        return JobOutcome("failed-by-team", "image-refused", problems=tuple(error.problems))
    except RunInterrupted:
        return JobOutcome("put-back", "interrupted")
    except EngineFailed as error:
        return JobOutcome("put-back", "engine-failed", problems=(str(error),))
    except HostRefused as error:
        return JobOutcome("put-back", error.code)
    except HostLost:
        raise
    except (SurgvalidError, OSError) as error:
        return JobOutcome("put-back", f"{job['kind']}-failed", problems=(f"{type(error).__name__}: {error}",))


def _report(host: Host, job: Mapping[str, Any], outcome: JobOutcome) -> None:
    where = {"fencing": job["fencing"]}
    if outcome.output is not None:
        host.send_file("PUT", f"worker/jobs/{job['job']}/output", outcome.output, **where)
    content = {
        "outcome": outcome.outcome,
        "code": outcome.code,
        "facts": outcome.facts,
        "problems": list(outcome.problems),
    }
    host.call("POST", f"worker/jobs/{job['job']}/report", content, **where)


class _Beating:
    """Heartbeats beside the work. When the job is lost, the run is told to stop."""

    def __init__(self, host: Host, job: Mapping[str, Any], run: Path) -> None:
        self._host, self._job, self._run = host, job, run
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self.progress = 0
        self.lost = ""

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(float(self._job["lease_s"]) / 4):
            try:
                path = f"worker/jobs/{self._job['job']}/beat"
                self._host.call("POST", path, {"progress": self.progress}, fencing=self._job["fencing"])
            except HostLost:
                continue  # a service that comes back in time still knows this lease
            except HostRefused as error:
                self.lost = error.code
                if self._run.is_dir():
                    note_stage(self._run, Stage.CANCELLED, reason="the job was taken away")
                return


def _rules(job: Mapping[str, Any], folder: Path) -> SubmissionPhase:
    content = {name: value for name, value in job["rules"].items() if value is not None}
    return phase_of(content, where="job", folder=folder)


def _input(host: Host, job: Mapping[str, Any], place: Path) -> Path:
    path = f"worker/jobs/{job['job']}/input"
    return unpack(host.fetch(path, place / "input.tar", fencing=job["fencing"]), place / "input")


def _image(host: Host, job: Mapping[str, Any], options: WorkerOptions) -> Path:
    """The archive, fetched once for all shards of a submission; its bytes are those that were announced."""
    cache = options.scratch / "images"
    cache.mkdir(exist_ok=True)
    place = cache / f"{job['image_sha256']}.tar"
    if not place.exists():
        for old in sorted(cache.glob("*.tar"), key=os.path.getmtime)[:-8]:
            old.unlink(missing_ok=True)
        draft = cache / f"{job['job']}-{job['fencing']}.fetched"
        host.fetch(f"worker/jobs/{job['job']}/image", draft, fencing=job["fencing"])
        if sha256_of(draft) != job["image_sha256"]:
            draft.unlink()
            raise Misuse("the image that came is not the one that was handed in")
        draft.rename(place)
    os.utime(place)
    return place


def _intake(host: Host, job: Mapping[str, Any], options: WorkerOptions, place: Path, _: _Beating) -> JobOutcome:
    rules, folder = _rules(job, place), _input(host, job, place)
    digest = ""
    try:
        digest = inspect_image(_image(host, job, options), rules.image).clean_digest
        problems: list[str] = []
    except InputInvalid as error:
        problems = list(error.problems)
    if job.get("description"):
        findings = handed_in_findings(rules, image=None, weights=None, description=folder / job["description"])
        problems += [f"description: {one.message}" for one in findings if one.severity.value == "error"]
    return JobOutcome(facts={"image_digest": digest, "problems": problems})


def _inference(
    host: Host, job: Mapping[str, Any], options: WorkerOptions, place: Path, beating: _Beating
) -> JobOutcome:
    folder = _input(host, job, place)
    rules = _rules(job, folder / "questions-beside")
    ran = {"image": _image(host, job, options)} if not options.program else {}

    def step(count: int) -> None:
        beating.progress += count

    run_submission(
        rules,
        folder / "questions",
        out=place / "run",
        shard=Shard.read(job["shard"]),
        engine=options.engine,
        runtime=options.runtime,
        gpu=options.gpu,
        command=options.program,
        progress=step,
        **ran,  # type: ignore[arg-type]
    )
    return JobOutcome(output=write_tar(place / "output.tar", files_below(place / "run")))


def _scoring(host: Host, job: Mapping[str, Any], options: WorkerOptions, place: Path, _: _Beating) -> JobOutcome:
    if options.challenge is None:
        raise Misuse("scoring needs --challenge: the folder with the questions and references of every phase")
    phase = read_challenge(options.challenge / "challenge.toml").phase(job["phase"])
    run = _input(host, job, place) / "run"
    scored = score_submission(
        _rules(job, options.challenge),
        run,
        requests=options.challenge / phase.questions / "request.json",
        references=options.challenge / phase.references,
        judges=phase.judges,
        model=job["owner"],
        replicates=options.replicates,
        store=options.scratch / "verdicts" if phase.judges else None,
    )
    facts = {"values": board_values(scored), "references_digest": sha256_of(options.challenge / phase.references)}
    return JobOutcome(facts=facts, output=write_tar(place / "output.tar", files_below(run / SCORES, f"{SCORES}/")))


def board_values(scored: ScoreResult) -> dict[str, float]:
    """The mean over buckets on each leaderboard, as the summary has it; none where a leaderboard has no question."""
    rows = scored.summary.filter(scored.summary["level"] == HEADLINE[0]).iter_rows(named=True)
    named = {row["name"]: row["accuracy"] for row in rows if row.get("estimand", "rows") == "rows"}
    values = {board: named.get(name) for board, name in BOARD_HEADLINES.items()}
    return {board: value for board, value in values.items() if value is not None and math.isfinite(value)}


def _board(host: Host, job: Mapping[str, Any], _: WorkerOptions, place: Path, __: _Beating) -> JobOutcome:
    folder, out = _input(host, job, place), place / "boards"
    made = {}
    for board, facts in job["facts"]["boards"].items():
        if len(facts["entries"]) < 2 or set(facts["entries"]) <= set(facts["baselines"]):
            continue  # nobody competes on it yet, or with nobody
        tables = [folder / "scores" / f"{one['submission']}-{one['run']}" for one in facts["entries"].values()]
        ranked = ranked_board(board, tables, job["facts"]["rule"] | facts)
        ranked.to_dir(out / board)
        findings = [finding.as_dict() for finding in ranked.findings]
        rows = {name: frame.to_dicts() for name, frame in ranked.tables.items()}
        made[board] = {"tables": plain(rows), "findings": plain(findings)}
    out.mkdir(exist_ok=True)
    (out / "boards.json").write_text(json.dumps(made, allow_nan=False), encoding="utf-8")
    return JobOutcome(output=write_tar(place / "output.tar", files_below(out)))


def ranked_board(board: str, tables: list[Path], rule: Mapping[str, Any]) -> RankResult:
    """A leaderboard of these folders of scores, by the rule of the challenge."""
    return rank(
        tables,
        rule["rule"],
        **rule["options"],
        board=board,
        baselines=rule["baselines"],
        unpaid=list(rule["unpaid"]),
        prize_pool=rule["prize_pool"],
    )


def plain(value: Any) -> Any:
    """The value as JSON has it: what is not a number becomes nothing."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


_DUTIES: dict[str, Callable[[Host, Mapping[str, Any], WorkerOptions, Path, _Beating], JobOutcome]] = {
    "intake": _intake,
    "inference": _inference,
    "scoring": _scoring,
    "board": _board,
}


def clear_scratch(scratch: Path) -> None:
    """Remove what a killed worker left behind; containers that it left end by themselves."""
    for left in scratch.glob("job-*") if scratch.is_dir() else ():
        if time.time() - left.stat().st_mtime > 24 * 3600:
            shutil.rmtree(left, ignore_errors=True)
