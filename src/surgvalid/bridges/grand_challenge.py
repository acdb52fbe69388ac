"""An evaluation method for grand-challenge: its pack, its rehearsal with the platform's mounts, and its leaderboard.

The platform ranks by order of numbers; who is better, and how sure, needs all submissions at once. So the pack gives
each submission its value with an interval and its difference to the baselines, and the leaderboard is made by the
organiser from what the platform's API tells.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.bridges.method import PER_CASE, PORT, TRUTH, MethodSettings
from surgvalid.errors import EngineFailed, FileUnreadable, Misuse, UnknownName, WouldOverwrite
from surgvalid.schema.documents import read_json, read_text

_FILES = {
    "Containerfile": """\
# podman build -t method . && podman save method | gzip > method.tar.gz
# BASE is an image with surgvalid in it (packaging/Containerfile of its repository).
ARG BASE
FROM ${BASE}
LABEL org.grand-challenge.api-method="invoke"
COPY evaluate.toml scoring.py /opt/pack/
USER 65532
ENTRYPOINT ["python", "-m", "surgvalid.bridges.method", "serve", "/opt/pack"]
""",
    "evaluate.toml": """\
case_socket = "case-name"        # the input whose value, or whose image's name, names the case
output_socket = "answer"         # the output with the prediction
metric = "accuracy"
better = "larger"
level = 0.95
per_case = false                 # true: declare the output per-case-scores too, and hide it from participants
""",
    "scoring.py": '''\
"""What one case scores."""


def score(reference: str, prediction: object) -> float:
    """1 where the prediction is the reference; change it to what your task asks for."""
    return float(str(prediction).strip().casefold() == reference.strip().casefold())
''',
    "ground_truth/references.csv": "case,video,reference\n",
    "ground_truth/baselines.csv": "model,case,value\n",
}
_ENGINE = (
    "--detach --runtime runc --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --network none --cap-drop all "
    "--security-opt no-new-privileges --memory 8g --pids-limit 128 --read-only --user 65534:65534 --env HOME=/tmp"
).split()
_CALL = (
    "import urllib.request as u; print(u.urlopen(u.Request('http://127.0.0.1:{port}{path}', method='{verb}')).status)"
)
_READY_S = 300
KEEPS = ("last", "best")


def new(folder: str | Path) -> list[Path]:
    """Write a pack to change: Containerfile, settings, the scoring of a case, ground truth, settings of the phase.

    Raises:
        WouldOverwrite: A file is there.
    """
    place = Path(folder)
    if there := [name for name in _FILES if (place / name).exists()]:
        raise WouldOverwrite(place / there[0], by_force=False)
    for name, text in _FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    settings = phase_settings(MethodSettings.read(place / "evaluate.toml"))
    (place / "phase_settings.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return [*(place / name for name in _FILES), place / "phase_settings.json"]


def pack_files(pack: Path, folder: str) -> dict[str, str]:
    """The files of a pack that run, or those of its ground truth, by name.

    Raises:
        FileUnreadable: One is not there.
    """
    wanted = [name for name in _FILES if str(Path(name).parent) == (folder or ".") and name != "Containerfile"]
    return {Path(name).name: read_text(pack / name) for name in wanted}


def phase_settings(settings: MethodSettings, baselines: Sequence[str] = ()) -> dict[str, Any]:
    """What to type into the settings of the phase; paths are keys with points between them."""
    order = "desc" if settings.better == "larger" else "asc"
    columns = [
        {"title": f"ahead of {name}", "path": f"baselines.{name}.ahead", "order": "desc", "exclude_from_ranking": True}
        for name in baselines
    ]
    return {
        "score_title": settings.metric,
        "score_jsonpath": "value",
        "score_error_jsonpath": "half_width",
        "score_default_sort": order,
        "extra_results_columns": columns,
        "display_all_metrics": not settings.per_case,
    }


class Rehearsed(NamedTuple):
    """What the platform would have seen."""

    health: int
    invoke: int
    metrics: dict[str, Any]
    stderr: str


def rehearse(
    pack: str | Path,
    given: str | Path,
    out: str | Path,
    *,
    root: str | Path = "",
    image: str = "",
    mounts: Sequence[str] = (),
) -> Rehearsed:
    """Run a pack under podman as the platform does: its mounts, no network, nobody's rights.

    Args:
        pack: The folder that `new` wrote.
        given: What the platform mounts as `/input`.
        out: An empty folder, `/output`.
        root: A folder that is the container's root; instead of an image.
        image: The image.
        mounts: Further ones, `HOST:CONTAINER:ro`.

    Raises:
        Misuse: Neither or both of root and image.
        EngineFailed: There is no podman, or the container does not start or answer.
    """
    if bool(root) == bool(image):
        raise Misuse("give a root folder or an image")
    if shutil.which("podman") is None:
        raise EngineFailed("podman", "not installed here; install it to rehearse")
    place, name = Path(pack).resolve(), f"surgvalid-rehearsal-{uuid.uuid4().hex[:12]}"
    binds = {f"{Path(given).resolve()}:/input:ro", f"{place}:/opt/pack:ro", f"{place / 'ground_truth'}:{TRUTH}:ro"}
    volumes = [
        word for bind in (*sorted(binds), f"{Path(out).resolve()}:/output", *mounts) for word in ("--volume", bind)
    ]
    what = ["--rootfs", str(root)] if root else [image]
    program = ["python3", "-m", "surgvalid.bridges.method", "serve", "/opt/pack"]
    _podman("run", *_ENGINE, "--name", name, "--tmpfs", "/tmp", *volumes, *what, *program)
    try:
        health = _ready(name)
        invoke = _asked(name, "/invoke", "POST")
        stopped = _podman("stop", "--time", "10", name)
        stderr = _podman("logs", name).stderr
    finally:
        subprocess.run(["podman", "rm", "--force", "--time", "0", name], capture_output=True, check=False)
    summary = Path(out) / "metrics.json"
    return Rehearsed(health, invoke, read_json(summary) if summary.is_file() else {}, stderr + stopped.stderr)


def _ready(name: str) -> int:
    until = time.monotonic() + _READY_S
    while not (code := _asked(name, "/health", "GET")) and time.monotonic() < until:
        time.sleep(0.5)
    return code


def _asked(name: str, path: str, verb: str) -> int:
    """The status of an answer; 0 where there is none, 500 where it says so."""
    program = _CALL.format(port=PORT, path=path, verb=verb)
    done = subprocess.run(
        ["podman", "exec", name, "python3", "-c", program], capture_output=True, text=True, check=False
    )
    return int(done.stdout) if done.stdout.strip().isdecimal() else 500 if "HTTP Error 500" in done.stderr else 0


def _podman(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["podman", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineFailed("podman", f"{words[0]}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done


class PlatformScores(NamedTuple):
    """The scores of all submissions, for `surgvalid.rank` and `surgvalid.study`."""

    scores: pl.DataFrame
    left_out: tuple[str, ...]
    """Submissions without scores of cases, and why; they are never 0."""


def leaderboard(
    evaluations: str | Path | Sequence[Mapping[str, Any]], *, keep: str = "last", better: str = "larger"
) -> PlatformScores:
    """The scores of a phase, from the evaluations that the platform's API tells.

    Args:
        evaluations: The list, or the file with it (`/api/v1/evaluations/`, or its `results`).
        keep: Which submission of a user counts: the `last`, or the `best` by its value.
        better: Which values are better, for `best`.

    Raises:
        FileUnreadable: There is no evaluation with scores of cases.
    """
    if keep not in KEEPS:
        raise UnknownName("choice among the submissions of a user", keep, KEEPS)
    where = str(evaluations) if isinstance(evaluations, str | Path) else "evaluations"
    several = read_json(evaluations) if isinstance(evaluations, str | Path) else list(evaluations)
    several = several.get("results", []) if isinstance(several, dict) else several
    if not all(isinstance(one, dict) and "submission" in one for one in several):
        raise FileUnreadable(where, ["no list of evaluations; take what /api/v1/evaluations/ answers"])
    left_out: list[str] = []
    by_user: dict[str, tuple[Any, list[dict[str, Any]]]] = {}
    for one in sorted(several, key=lambda one: str(one.get("created"))):
        user = str(one["submission"]["creator"]["username"])
        rows, value = _rows(one)
        if not rows:
            left_out.append(f"{one.get('pk')} of {user}: {one.get('status')}, without scores of cases")
            continue
        if keep == "best" and user in by_user and not _is_better(value, by_user[user][0], better):
            continue
        by_user[user] = (value, [{**row, "model": user} for row in rows])
    if not by_user:
        raise FileUnreadable(where, [f"no evaluation has scores of cases (the output {PER_CASE[:-5]})"])
    scores = pl.concat([pl.DataFrame(rows) for _, rows in by_user.values()], how="diagonal_relaxed")
    return PlatformScores(scores.select("model", pl.exclude("model")), tuple(left_out))


def _is_better(value: Any, other: Any, better: str) -> bool:
    return bool(value > other) if better == "larger" else bool(value < other)


def _rows(one: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Any]:
    """The scores of cases of an evaluation, and its value."""
    values = {_slug(output): output.get("value") for output in one.get("outputs") or []}
    rows, summary = values.get(PER_CASE.removesuffix(".json")), values.get("metrics-json-file")
    return rows if isinstance(rows, list) else [], summary.get("value") if isinstance(summary, dict) else None


def _slug(output: Mapping[str, Any]) -> str:
    about = output.get("socket") or output.get("interface") or {}
    return str(about.get("slug"))
